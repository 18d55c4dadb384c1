"""The PESC paper's chapter of the audit: claims about EP given the place of the constrained minimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.evidence.audit import Chapter
from papers.evidence.verdicts import NO, SHOWN, YES, Block, Inference, Line, finding
from papers.pesc.accuracy import AWAY, CLAIMS, MEAN, SD

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = "as-described"
"""With the corrections of docs/pesc.md, without which variances are negative."""

MOST = CLAIMS["PESC1"].margin["share"]
"""Share of the problems a claim about accuracy asks for."""

HEADING = "Which claims of the PESC paper hold"
LEGEND = f"""\
Rejection sampling draws from the exact posterior and keeps what the factors allow; the standard error of a
mean is 0.007 standard deviations from 20,000 draws, and 0.02 from the fewest behind a moment (`fewest`). The
problems are drawn from the prior. A claim about accuracy asks for {100 * MOST:g} % of the problems."""
WITHIN = "problems within the tolerances"
TOLERANCES = (
    f"share of problems with all means within {MEAN:g} sd and sds within {100 * SD:g} % at least "
    f"{100 * MOST:g} %; exact binomial interval"
)


def within(lines: pd.DataFrame, suffix: str = "") -> pd.Series:
    """Which problems have all moments within the tolerances; False where nothing could be compared."""
    return (lines[f"mean_error{suffix}"] <= MEAN) & (lines[f"sd_error{suffix}"] <= SD)


def chapter(lines: pd.DataFrame, note: Sequence[str] = ()) -> Chapter:
    """Every claim, from the lines of the study of accuracy, with a note about their standing."""
    judged = {"PESC1": _posterior, "PESC2": _converged, "PESC3": _predictive}
    findings = [
        finding(name, PROTOCOL, [judge(lines) if len(lines) else _missing()])
        for name, judge in judged.items()
    ]
    return Chapter(HEADING, findings, LEGEND, dict.fromkeys(judged, note))


def _missing() -> Block:
    line = Line("problems", WITHIN, "share")
    return Block("rejection sampling", WITHIN, (line,), float, "needs accuracy.csv (`snakemake pesc`)")


def _shares(
    lines: pd.DataFrame, fine: pd.Series, quantity: str, needed: float, status: str = ""
) -> list[Line]:
    """A line a family: the share of its problems that are fine; its status is judged, or the given one."""
    shares = []
    for family, of_family in fine.groupby(lines["family"], sort=False):
        hits, n = int(of_family.sum()), len(of_family)
        judged = status or (YES if hits / n >= needed else NO)
        sample = Inference(judged, *_interval(hits, n))
        shares.append(Line(family, quantity, "share", hits / n, sample=sample, n=n, note=f"{hits} of {n}"))
    return shares


def _interval(hits: int, n: int) -> tuple[float, float]:
    """The exact binomial interval, 95 %."""
    from scipy.stats import binomtest

    if not n:
        return math.nan, math.nan
    interval = binomtest(hits, n).proportion_ci()
    return float(interval.low), float(interval.high)


def _posterior(lines: pd.DataFrame) -> Block:
    shares = _shares(lines, within(lines, "_points"), WITHIN, MOST)
    return Block("at the points and x*", TOLERANCES, tuple(shares), float)


def _converged(lines: pd.DataFrame) -> Block:
    fine, iterations = lines["converged"], lines["iterations"][lines["converged"]]
    lost = ", ".join(f"{line.family} {line.problem}" for line in lines[~fine].itertuples())
    halved, negative = int((lines["halvings"] > 0).sum()), int((lines["negative_sites"] > 0).sum())
    remark = (
        f"{int(fine.sum())} of {len(lines)}, in {iterations.median():g} iterations (median; "
        f"at most {iterations.max()}); the step was halved on {halved}, sites of negative "
        f"precision remain on {negative}; not converged: {lost or 'none'}"
    )
    test = "share of converged problems is 100 %; exact binomial interval"
    shares = _shares(lines, fine, "problems on which EP converges", 1.0)
    return Block("to 1e-4", test, tuple(shares), float, remark)


def _predictive(lines: pd.DataFrame) -> Block:
    worst = lines[~within(lines)]
    near = int((worst["worst_distance"] < AWAY).sum())
    remark = (
        f"{int(within(lines).sum())} of {len(lines)} problems; on {near} of the {len(worst)} others the "
        f"worst moment is nearer to x* than {AWAY:g} lengthscales; {100 * lines['within'].mean():.1f} % of "
        f"single moments are within; with an EP without error {int(within(lines, '_last').sum())} problems "
        "would be"
    )
    shares = _shares(lines, within(lines), WITHIN, MOST)
    for suffix, what in (
        ("_away", "away from x*"),
        ("_exact", "g exact in the last factor"),
        ("_q", "EP alone (34)"),
        ("_last", "last factor alone (35-37)"),
    ):
        shares += _shares(lines, within(lines, suffix), f"{WITHIN}, {what}", MOST, SHOWN)
    return Block("at random inputs", TOLERANCES, tuple(shares), float, remark)

"""The PESC paper's chapter of the audit: claims about EP given the place of the constrained minimum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilted.experiments.pesc_accuracy import AWAY, MEAN, SD
from tilted.results import stamps, studies
from tilted.results.audit.text import Chapter
from tilted.results.audit.verdicts import NO, SHOWN, YES, Block, Finding, Inference, Line

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = "as-described"
"""With the corrections of docs/pesc.md, without which variances are negative."""

MOST = 0.9
"""Share of the problems a claim about accuracy asks for."""

HEADING = "Which claims of the PESC paper hold"
TITLES = {
    "PESC1": "EP's Gaussian factors give the posterior given the place of the minimum",
    "PESC2": "parallel EP with the printed damping converges to 1e-4",
    "PESC3": "the last factor's Gaussian has the means and variances of the NFCPD",
}
MEANINGS = {
    "PESC1": (
        "Holds: on at least 90 % of the random problems of each family, the means of f and of all "
        f"constraints at the data's inputs and at x* are within {MEAN:g} standard deviations of those of "
        f"rejection sampling, and the standard deviations within {100 * SD:g} %: all of a problem's."
    ),
    "PESC2": (
        "Holds: EP converges on every problem of each family. Measured is the change a full step would make; "
        "the printed rule is about the damped step, which halving alone makes small."
    ),
    "PESC3": (
        "Holds: on at least 90 % of the problems of each family, means and standard deviations of f and of "
        "all constraints at 20 random inputs are within the same tolerances: all of a problem's. Beside it "
        f"the inputs at least {AWAY:g} lengthscales from x*, each step alone (q before the last factor; the "
        "last factor on exact moments before it), and the share of single moments."
    ),
}
LEGEND = f"""\
Rejection sampling draws from the exact posterior and keeps what the factors allow; the standard error of a
mean is 0.007 standard deviations from 20,000 draws, and 0.02 from the fewest behind a moment (`fewest`). The
problems are drawn from the prior. A claim about accuracy asks for {100 * MOST:g} % of the problems."""
STUDIED = dict.fromkeys(TITLES, studies.ACCURACY)


def within(found: pd.DataFrame, suffix: str = "") -> pd.Series:
    """Which problems have all moments within the tolerances; False where nothing could be compared."""
    return (found[f"mean_error{suffix}"] <= MEAN) & (found[f"sd_error{suffix}"] <= SD)


def chapter(found: pd.DataFrame | None) -> Chapter:
    """Every claim, from the study of accuracy; None where it was not made."""
    blocks = {"PESC1": _posterior(found), "PESC2": _converged(found), "PESC3": _predictive(found)}
    findings = [Finding(name, PROTOCOL, tuple(judged)) for name, judged in blocks.items()]
    notes = {name: stamps.note(studies.made(of, found)) for name, of in STUDIED.items()}
    return Chapter(HEADING, findings, TITLES, MEANINGS, LEGEND, notes)


def _missing(quantity: str) -> list[Block]:
    remark = f"needs {studies.ACCURACY} (`snakemake pesc`)"
    return [Block("rejection sampling", quantity, (Line("problems", quantity, "share"),), _same, remark)]


def _same(effect: float) -> float:
    return effect


def _shares(
    found: pd.DataFrame, fits: pd.Series, quantity: str, needed: float, status: str | None = None
) -> tuple[Line, ...]:
    """A line a family: the share of its problems that are fine."""
    lines = []
    for family, which in found.groupby("family", sort=False).groups.items():
        fine, n = int(fits[which].sum()), len(which)
        share = fine / n
        low, high = _interval(fine, n)
        sample = Inference(status or (YES if share >= needed else NO), low, high)
        lines.append(Line(family, quantity, "share", share, sample=sample, n=n, note=f"{fine} of {n}"))
    return tuple(lines)


def _interval(fine: int, n: int) -> tuple[float, float]:
    """The exact binomial interval, 95 %."""
    from scipy.stats import binomtest

    if not n:
        return math.nan, math.nan
    interval = binomtest(fine, n).proportion_ci()
    return float(interval.low), float(interval.high)


TOLERANCES = f"means within {MEAN:g} sd and sds within {100 * SD:g} %"


def _posterior(found: pd.DataFrame | None) -> list[Block]:
    quantity = "problems within the tolerances"
    if found is None:
        return _missing(quantity)
    test = f"share of problems with all {TOLERANCES} at least {100 * MOST:g} %; exact binomial interval"
    return [
        Block("at the points and x*", test, _shares(found, within(found, "_points"), quantity, MOST), _same)
    ]


def _converged(found: pd.DataFrame | None) -> list[Block]:
    quantity = "problems on which EP converges"
    if found is None:
        return _missing(quantity)
    fine = found["converged"].astype(bool)
    lost = ", ".join(f"{p.family} {p.problem}" for p in found[~fine].itertuples())
    halved, negative = int((found["halvings"] > 0).sum()), int((found["negative_sites"] > 0).sum())
    remark = (
        f"{int(fine.sum())} of {len(found)}, in {found['iterations'][fine].median():g} iterations (median; "
        f"at most {found['iterations'][fine].max()}); the step was halved on {halved}, sites of negative "
        f"precision remain on {negative}; not converged: {lost or 'none'}"
    )
    test = "share of converged problems is 100 %; exact binomial interval"
    return [Block("to 1e-4", test, _shares(found, fine, quantity, 1.0), _same, remark)]


def _predictive(found: pd.DataFrame | None) -> list[Block]:
    quantity = "problems within the tolerances"
    if found is None:
        return _missing(quantity)
    test = f"share of problems with all {TOLERANCES} at least {100 * MOST:g} %; exact binomial interval"
    worst = found[~within(found)]
    near = int((worst["worst_distance"] < AWAY).sum())
    remark = (
        f"{int(within(found).sum())} of {len(found)} problems; on {near} of the {len(worst)} others the "
        f"worst moment is nearer to x* than {AWAY:g} lengthscales; {100 * found['within'].mean():.1f} % of "
        f"single moments are within; with an EP without error {int(within(found, '_last').sum())} problems "
        "would be"
    )
    shown = [
        *_shares(found, within(found, "_away"), f"{quantity}, away from x*", MOST, SHOWN),
        *_shares(found, within(found, "_exact"), f"{quantity}, g exact in the last factor", MOST, SHOWN),
        *_shares(found, within(found, "_q"), f"{quantity}, EP alone (34)", MOST, SHOWN),
        *_shares(found, within(found, "_last"), f"{quantity}, last factor alone (35-37)", MOST, SHOWN),
    ]
    lines = (*_shares(found, within(found), quantity, MOST), *shown)
    return [Block("at random inputs", test, lines, _same, remark)]

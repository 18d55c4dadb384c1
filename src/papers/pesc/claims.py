"""The PESC paper's chapter of the audit: claims about EP given the place of the constrained minimum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.core.audit import Chapter
from papers.core.claims import of_paper
from papers.core.statistics import share_interval
from papers.core.verdicts import NO, SHOWN, UNDECIDED, YES, Block, Inference, Line, finding
from papers.pesc import formulas
from papers.pesc.accuracy import AWAY, ENOUGH, MEAN, SD, WANTED

if TYPE_CHECKING:
    import pandas as pd

CLAIMS = of_paper("PESC")

PROTOCOL = "corrected"
"""Six equations are corrected (docs/paper-entropy-search.md); as printed, variances are negative."""

ACCURATE, CONVERGED = (CLAIMS[name].margin["share"] for name in ("PESC1", "PESC2"))
"""Shares of the problems that the claims ask for."""

HEADING = "Which claims of the PESC paper hold"
LEGEND = f"""\
`corrected`: six equations of the supplement are (docs/paper-entropy-search.md); as they are printed,
variances are negative.
Rejection sampling draws from the exact posterior and keeps what the factors allow; the standard error of a
mean is {WANTED**-0.5:.3f} standard deviations from {WANTED:,} draws, and {ENOUGH**-0.5:.2f} from the fewest
behind a moment ({ENOUGH:,}). The problems are drawn from the prior. The tolerances are ours: the supplement
states no accuracy. A family is yes if the exact 95 %
binomial interval of its share of problems begins at {100 * ACCURATE:g} % or above (of convergence, at
{100 * CONVERGED:g} %), no if it ends below, and else undecided."""
WITHIN = "problems within the tolerances"
INTERVAL = "exact 95 % binomial interval, against {:g} %"
TOLERANCES = (
    f"share of problems with all means within {MEAN:g} sd and sds within {100 * SD:g} %; "
    f"{INTERVAL.format(100 * ACCURATE)}"
)


def within(lines: pd.DataFrame, suffix: str = "") -> pd.Series:
    """Return, for each problem, whether all moments are within the tolerances; False if not compared."""
    return (lines[f"mean_error{suffix}"] <= MEAN) & (lines[f"sd_error{suffix}"] <= SD)


def chapter(lines: pd.DataFrame, note: Sequence[str] = ()) -> Chapter:
    """Return the chapter of every claim, from the rows on accuracy and a note on their status."""
    judges = {"PESC1": _posterior, "PESC2": _converged, "PESC3": _predictive}
    blocks = {name: judge(lines) if len(lines) else [_missing()] for name, judge in judges.items()}
    blocks["PESC3"].insert(0, formulas.stated())
    findings = [finding(name, PROTOCOL, of_claim) for name, of_claim in blocks.items()]
    return Chapter(HEADING, findings, LEGEND, dict.fromkeys(judges, note))


def _missing() -> Block:
    line = Line("problems", WITHIN, "share")
    return Block("rejection sampling", WITHIN, (line,), "needs accuracy.csv (`snakemake pesc`)")


def _shares(
    lines: pd.DataFrame, fine: pd.Series, quantity: str, needed: float, status: str = ""
) -> list[Line]:
    """Return a line for each family: the share of its problems that are fine, and its status."""
    shares = []
    for family, of_family in fine.groupby(lines["family"], sort=False):
        hits, n = int(of_family.sum()), len(of_family)
        low, high = share_interval(hits, n)
        sample = Inference(status or _judged(low, high, needed), low, high)
        shares.append(Line(family, quantity, "share", hits / n, sample=sample, n=n, note=f"{hits} of {n}"))
    return shares


def _judged(low: float, high: float, needed: float) -> str:
    """Return the status of a share by its interval."""
    if low >= needed:
        return YES
    return NO if high < needed else UNDECIDED


def _posterior(lines: pd.DataFrame) -> list[Block]:
    shares = _shares(lines, within(lines, "_points"), WITHIN, ACCURATE)
    return [Block("at the points and x*", TOLERANCES, tuple(shares), _not_compared(lines))]


def _not_compared(lines: pd.DataFrame) -> str:
    """Return a remark on problems with too few remaining draws; they count as not within."""
    n = int((lines["compared"] == 0).sum())
    few = f"of {n} of {len(lines)} problems fewer than {ENOUGH:,} draws were kept: they count as outside"
    return few if n else ""


def _converged(lines: pd.DataFrame) -> list[Block]:
    """Judge convergence on as many problems as the rule asks for; a second block has every problem."""
    fine, iterations = lines["converged"], lines["iterations"][lines["converged"]]
    halved, negative = int((lines["halvings"] > 0).sum()), int((lines["negative_sites"] > 0).sum())
    remark = (
        f"{int(fine.sum())} of {len(lines)}, in {iterations.median():g} iterations (median; at most "
        f"{iterations.max()}); the step was halved on {halved}, sites of negative precision remain on "
        f"{negative}"
    )
    quantity = "problems on which EP converges"
    shares = _shares(lines, fine, quantity, CONVERGED)
    every = [
        Line(x.row, quantity, "share", x.effect, sample=Inference(YES if x.effect == 1.0 else NO), n=x.n)
        for x in shares
    ]
    test = f"share of converged problems; {INTERVAL.format(100 * CONVERGED)}"
    return [
        Block("to 1e-4", test, tuple(shares), remark),
        Block("on every problem", "all converged", tuple(every)),
    ]


FURTHER = {
    "_away": "away from x*",
    "_exact": "g exact in the last factor",
    "_q": "EP alone (34)",
    "_last": "last factor alone (35-37)",
}
"""Suffix of further errors, after those of the predictive moments -> description."""


def _predictive(lines: pd.DataFrame) -> list[Block]:
    worst = lines[~within(lines)]
    near = int((worst["worst_distance"] < AWAY).sum())
    remark = (
        f"{int(within(lines).sum())} of {len(lines)} problems; on {near} of the {len(worst)} others the "
        f"worst moment is nearer to x* than {AWAY:g} lengthscales; {100 * lines['within'].mean():.1f} % of "
        f"single moments are within; with an EP without error {int(within(lines, '_last').sum())} problems "
        "would be"
    )
    remark = "; ".join(filter(None, [remark, _not_compared(lines)]))
    shares = _shares(lines, within(lines), WITHIN, ACCURATE)
    for suffix, description in FURTHER.items():
        shares += _shares(lines, within(lines, suffix), f"{WITHIN}, {description}", ACCURATE, SHOWN)
    return [Block("at random inputs, by tolerances of ours", TOLERANCES, tuple(shares), remark)]

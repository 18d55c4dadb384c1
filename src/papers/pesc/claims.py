"""The PESC paper's chapter of the audit: claims about EP given the place of the constrained minimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
FURTHER = {
    "_away": "away from x*",
    "_exact": "g exact in the last factor",
    "_q": "EP alone (34)",
    "_last": "last factor alone (35-37)",
}
"""Suffix of further errors, after those of the predictive moments -> description."""


INTERVAL = "exact 95 % binomial interval, against {:g} %"
TOLERANCES = (
    f"share of problems with all means within {MEAN:g} sd and sds within {100 * SD:g} %; "
    f"{INTERVAL.format(100 * ACCURATE)}"
)


def within(problems: pd.DataFrame, suffix: str = "") -> pd.Series:
    """Return, for each problem, whether all moments are within the tolerances; False if not compared."""
    return (problems[f"mean_error{suffix}"] <= MEAN) & (problems[f"sd_error{suffix}"] <= SD)


def chapter(problems: pd.DataFrame, note: Sequence[str] = ()) -> Chapter:
    """Return the chapter of every claim, from the rows on accuracy and a note on their status."""
    judges = {"PESC1": _posterior, "PESC2": _convergence, "PESC3": _predictions}
    not_run = [Block("not run", WITHIN, ())]
    blocks = {name: judge(problems) if len(problems) else not_run for name, judge in judges.items()}
    blocks["PESC3"] = [formulas.judge_formulas(), *blocks["PESC3"]]
    findings = [finding(name, PROTOCOL, of_claim) for name, of_claim in blocks.items()]
    return Chapter(HEADING, findings, LEGEND, dict.fromkeys(judges, note))


def _posterior(problems: pd.DataFrame) -> list[Block]:
    """Judge the moments at the points and x*, to which EP alone contributes."""
    shares = _shares(problems, within(problems, "_points"), WITHIN, ACCURATE)
    return [Block("at the points and x*", TOLERANCES, tuple(shares), _not_compared(problems))]


def _convergence(problems: pd.DataFrame) -> list[Block]:
    """Judge convergence on as many problems as the rule asks for; a second block has every problem."""
    converged = problems["converged"]
    iterations = problems["iterations"][converged]
    halved, negative = ((problems[name] > 0).sum() for name in ("halvings", "negative_sites"))
    remark = (
        f"{converged.sum()} of {len(problems)}, in {iterations.median():g} iterations (median; at most "
        f"{iterations.max()}); the step was halved on {halved}, sites of negative precision remain on "
        f"{negative}"
    )
    shares = _shares(problems, converged, "problems on which EP converges", CONVERGED)
    all_or_none = [replace(x, sample=Inference(YES if x.effect == 1.0 else NO), note="") for x in shares]
    return [
        Block(
            "to 1e-4",
            f"share of converged problems; {INTERVAL.format(100 * CONVERGED)}",
            tuple(shares),
            remark,
        ),
        Block("on every problem", "all converged", tuple(all_or_none)),
    ]


def _predictions(problems: pd.DataFrame) -> list[Block]:
    """Judge the predictive moments at random inputs; errors of further kinds are for display."""
    outside = problems[~within(problems)]
    near = (outside["worst_distance"] < AWAY).sum()
    single = 100 * problems["within"].mean()
    remark = (
        f"{within(problems).sum()} of {len(problems)} problems; on {near} of the {len(outside)} others the "
        f"worst moment is nearer to x* than {AWAY:g} lengthscales; {single:.1f} % of single moments are "
        f"within; with an EP without error {within(problems, '_last').sum()} problems would be"
    )
    shares = _shares(problems, within(problems), WITHIN, ACCURATE)
    for suffix, description in FURTHER.items():
        quantity = f"{WITHIN}, {description}"
        further = _shares(problems, within(problems, suffix), quantity, ACCURATE)
        shares += [replace(x, sample=replace(x.sample, status=SHOWN)) for x in further]
    remarks = "; ".join(filter(None, [remark, _not_compared(problems)]))
    return [Block("at random inputs, by tolerances of ours", TOLERANCES, tuple(shares), remarks)]


def _shares(problems: pd.DataFrame, hit: pd.Series, quantity: str, needed: float) -> list[Line]:
    """Return a line for each family: the share of its problems that are hits, and its status."""
    lines = []
    for family, hits in hit.groupby(problems["family"], sort=False):
        n, total = len(hits), int(hits.sum())
        low, high = share_interval(total, n)
        status = YES if low >= needed else NO if high < needed else UNDECIDED
        sample = Inference(status, low, high)
        lines.append(Line(family, quantity, "share", total / n, sample=sample, n=n, note=f"{total} of {n}"))
    return lines


def _not_compared(problems: pd.DataFrame) -> str:
    """Return a remark on problems with too few remaining draws; they count as not within."""
    n = (problems["compared"] == 0).sum()
    few = f"of {n} of {len(problems)} problems fewer than {ENOUGH:,} draws were kept: they count as outside"
    return few if n else ""

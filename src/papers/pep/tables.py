"""Tables of the experiments: wins, ranks and means as CSV, and all to read as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.data.classification import RELEASED
from papers.evidence.comparisons import estimate
from papers.evidence.grid import grid, items
from papers.evidence.store import write_text
from papers.pep import compare, scores
from papers.pep.regression import DESCRIBED, FAILED, FULL, OK, STOPPED
from papers.pep.scores import label, name_of

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.evidence.comparisons import Score
    from papers.evidence.grid import Grid
    from papers.pep.published import Printed

ALL = "all"


class About(NamedTuple):
    """What tables and figures of one kind of experiments are called, and what is said before them.

    Files of the protocol ``plain`` have the stem alone, those of others are named after it.
    """

    stem: str
    title: str
    introduction: str
    plain: str

    def under(self, protocol: str) -> About:
        """The same under a protocol."""
        ending = "" if protocol == self.plain else f"_{protocol}"
        return self._replace(stem=f"{self.stem}{ending}", title=f"{self.title}, {protocol}")


REGRESSION = About(
    "pep",
    "Power EP for sparse Gaussian-process regression",
    """\
Sections 4.1 and 4.2 of "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using Power
Expectation Propagation" (Bui, Yan and Turner, JMLR 2017), computed afresh by the collapsed energy. α = 0 is
VFE, α = 1 is EP (FITC). All scores are better low.""",
    DESCRIBED,
)
CLASSIFICATION = About(
    "pep_classification",
    "Power EP for sparse Gaussian-process classification",
    """\
Section 4.3 of "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using Power Expectation
Propagation" (Bui, Yan and Turner, JMLR 2017), computed afresh with converged sites, where the paper has
unconverged sites, minibatches and Adam. Searches are by L-BFGS-B with at most 1000 evaluations `as-released`,
by BFGS until it converges `corrected`. α = 0 is the bound of Hensman et al. (2015), α = 1 is EP. All scores
are better low; ties, which are many in the error, are no wins.""",
    RELEASED,
)


def names(about: About) -> tuple[str, ...]:
    """What `write` writes."""
    return f"{about.stem}.md", *(f"{about.stem}_{table}.csv" for table in ("wins", "ranks", "means"))


def write(
    fits: pd.DataFrame,
    printed: Sequence[Printed],
    folder: str | Path,
    made: Sequence[str] = (),
    about: About = REGRESSION,
    more: Sequence[str] = (),
) -> None:
    """Write the shares of wins, ranks and means as CSV, and all to read as Markdown (`names`).

    Parameters
    ----------
    fits : pandas.DataFrame
        `scores.compared`.
    printed : sequence of Printed
    folder : str or Path
    made : sequence of str
        Lines that say what made the fits (`standing.note`).
    about : About
        Title and introduction, and what the files are called.
    more : sequence of str
        Lines of a further section of the page.
    """
    page, *files = (Path(folder, name) for name in names(about))
    tables = wins(fits), ranks(fits), compare.means(fits)
    for path, table in zip(files, tables, strict=True):
        write_text(path, table.to_csv(index=False, lineterminator="\n", float_format="%.6g"))
    text = markdown(fits, *tables, printed, about)
    text += "\n".join(["", *more]) if more else ""
    text += "\n".join(["", "## Provenance", "", *made, ""]) if made else ""
    write_text(page, text)


# The numbers

WIN_COLUMNS = (
    *"score first second dataset n won lost tied share low high sets_low sets_high".split(),
    *"won_beyond lost_beyond left_out".split(),
)


def wins(fits: pd.DataFrame) -> pd.DataFrame:
    """A line a score, ordered pair of powers and data set (`ALL` first): the experiments won and lost."""
    import pandas as pd

    real = scores.real(fits)
    groups = {ALL: real} | {name: real[real["dataset"] == name] for name in scores.datasets(real)}
    lines = []
    for score in scores.predictive(fits):
        for first, second in permutations(scores.alphas(real), 2):
            for name, group in groups.items():
                duel = compare.duel(group, first, second, score)
                if duel is not None:
                    lines.append((score.name, first, second, name, *_won(duel, score)))
    return pd.DataFrame(lines, columns=WIN_COLUMNS)


def _won(duel: compare.Duel, score: Score) -> tuple[float, ...]:
    """The numbers of a line of `WIN_COLUMNS`."""
    over_splits, over_sets = (_interval(duel.shares(unit)) for unit in ("split", "dataset"))
    counts = duel.n, duel.wins, duel.losses, duel.ties
    return *counts, duel.share, *over_splits, *over_sets, *duel.beyond(score.margin), duel.n_left_out


def _interval(shares: np.ndarray) -> tuple[float, ...]:
    """95 % interval of a mean share, cut at 0 and 1; NaN with too few."""
    mean = estimate(shares)
    return tuple(np.clip(mean.interval(), 0.0, 1.0).tolist()) if mean else (math.nan, math.nan)


def ranks(fits: pd.DataFrame) -> pd.DataFrame:
    """`compare.mean_ranks` of both predictive scores on the UCI sets."""
    import pandas as pd

    return pd.concat([compare.mean_ranks(scores.real(fits), score) for score in scores.predictive(fits)])


# The page

LEGEND = """\
An experiment is a (data set, split, M); powers are compared on the same experiment, one without a number for
both is left out. A search that stopped before it converged has numbers and counts as any other. Won: share
of the experiments that are not tied. Intervals: 95 %, by t over splits (the share of a split number over data
sets and M, whose mean is not the share over all where ties differ); "other sets": over data sets."""
MEANS_LEGEND = """\
Mean ± standard error over the fits that gave numbers, those of searches that stopped before they converged
among them; how many these are stands below the means of a data set. "-": one fit. A star: at least one fit of
the cell failed."""
RANK_LEGEND = (
    "Rank among all powers of an experiment, 1 the best; ± standard errors over splits, over data sets."
)


def markdown(
    fits: pd.DataFrame,
    won: pd.DataFrame,
    ranked: pd.DataFrame,
    means: pd.DataFrame,
    printed: Sequence[Printed],
    about: About = REGRESSION,
) -> str:
    """Everything to read, legible as plain text."""
    lines = [f"# {about.title}", "", *about.introduction.splitlines(), "", *items(covered(fits)), ""]
    if len(won):
        lines += _section("## Experiments won, ours and published", published_wins(won, printed), LEGEND)
        for score in scores.predictive(fits):
            lines += _section(f"## {score.name}: experiments won, row against column (%)", matrix(won, score))
        lines += _section("## By data set", by_dataset(won, printed))
    if len(ranked):
        lines += _section("## Average ranks", average_ranks(ranked), RANK_LEGEND)
    lines += ["## Means", "", *MEANS_LEGEND.splitlines(), ""]
    for name, of_set in means.groupby("dataset", sort=False):
        for score in scores.scores_of(fits):
            lines += _section(f"### {name_of(name)}, {score.name}", mean_table(of_set, score))
        if of_set["n_stopped"].any():
            heading = f"### {name_of(name)}, searches that did not converge"
            lines += _section(heading, stopped_table(of_set))
    lines += _section("## How the searches ended", endings(fits))
    lines += ["## Fits that failed or did not converge", "", *items(troubles(fits))]
    return "\n".join(lines) + "\n"


def _section(heading: str, table: Grid, legend: str = "") -> list[str]:
    return [heading, "", *([*legend.splitlines(), ""] if legend else []), *grid(*table), ""]


def covered(fits: pd.DataFrame) -> list[str]:
    """A sentence each for the synthetic, the UCI and other sets, of what the records cover."""
    groups = {"Synthetic": scores.made_up(fits), "UCI": scores.real(fits), "Others": scores.added(fits)}
    return [
        f"{name}: {scores.coverage(group)}{'' if scores.is_classification(fits) else _references(group)}."
        for name, group in groups.items()
        if len(group)
    ]


def _references(fits: pd.DataFrame) -> str:
    full = fits[fits["alpha"] == FULL]
    n_failed = int((full["outcome"] == FAILED).sum())
    return f"; full GP on {len(full)} splits, {n_failed} failed" if len(full) else "; no full GP"


def published_wins(won: pd.DataFrame, printed: Sequence[Printed]) -> Grid:
    """Header, alignment and cells: the printed shares beside ours."""
    header = (
        *("Score", "Power", "beats", "Published", "Ours", "Interval", "Other sets"),
        *("Won", "Lost", "Tied", "By more than matters", "Left out"),
    )
    table = won[won["dataset"] == ALL].set_index(["score", "first", "second"])
    cells = []
    for line in printed:
        share = "no clear winner" if math.isnan(line.percent) else f"{line.percent:g} %"
        key = (line.score, line.first, line.second)
        ours = _ours(table.loc[key]) if key in table.index else ["not run", *[""] * 7]
        cells.append((line.score, label(line.first), label(line.second), share, *ours))
    return header, "lllrrrrrrrrr", cells


def _ours(line: pd.Series) -> list[str]:
    return [
        _percent(line["share"]),
        _range(line["low"], line["high"]),
        _range(line["sets_low"], line["sets_high"]),
        *(f"{line[name]}" for name in ("won", "lost", "tied")),
        f"{line['won_beyond']} : {line['lost_beyond']}",
        f"{line['left_out']}",
    ]


def matrix(won: pd.DataFrame, score: Score) -> Grid:
    """Header, alignment and cells of all pairs of powers."""
    lines = won[(won["dataset"] == ALL) & (won["score"] == score.name)]
    share = lines.set_index(["first", "second"])["share"]
    powers = sorted(set(won["first"]), key=float)
    cells = [
        (label(a), *(_percent(share.get((a, b), math.nan)).removesuffix(" %") for b in powers))
        for a in powers
    ]
    return ("", *(f"α = {b}" for b in powers)), "l" + "r" * len(powers), cells


def by_dataset(won: pd.DataFrame, printed: Sequence[Printed]) -> Grid:
    """Header, alignment and cells: the printed pairs, a column a data set; counts where some tie."""
    sets = [name for name in scores.NAMES if name in set(won["dataset"])]
    table = {(line.score, line.first, line.second, line.dataset): line for line in won.itertuples()}
    cells = []
    for pair in printed:
        shares = (_counted_share(table.get((pair.score, pair.first, pair.second, name))) for name in sets)
        cells.append((pair.score, f"{label(pair.first)} over {label(pair.second)}", *shares))
    return ("Score", "Pair", *map(name_of, sets)), "ll" + "r" * len(sets), cells


def _counted_share(line: Any) -> str:
    """Share won of a line of `wins`, if there is one."""
    if line is None:
        return ""
    counts = f" ({line.won} : {line.lost})" if line.tied else ""
    return f"{_percent(line.share)}{counts}".lstrip()


def average_ranks(ranked: pd.DataFrame) -> Grid:
    """Header, alignment and cells: a line a score and power."""
    header = ("Score", "Power", "Rank", "± splits", "± sets", "Experiments", "Left out")
    cells = []
    for line in ranked.itertuples():
        errors = ("-" if math.isnan(x) else f"{x:.2f}" for x in (line.se_splits, line.se_datasets))
        counts = f"{line.n}", f"{line.n_left_out}"
        cells.append((line.score, label(line.alpha), f"{line.rank:.2f}", *errors, *counts))
    return header, "llrrrrr", cells


def mean_table(of_set: pd.DataFrame, score: Score) -> Grid:
    """Header, alignment and cells of one data set: a line an M, a column a power."""
    small = of_set[score.column].abs().min() < 1e-2
    form = ".1f" if score == scores.NLML else ".2e" if small else ".4f"
    return _by_size(of_set, lambda line: _mean(line, score, form))


def stopped_table(of_set: pd.DataFrame) -> Grid:
    """The same with the searches that stopped before they converged, of those with numbers."""
    return _by_size(of_set, lambda line: f"{line['n_stopped']} of {line['n']}")


def _by_size(of_set: pd.DataFrame, shown: Callable[[dict[str, Any]], str]) -> Grid:
    """Header, alignment and cells: a line an M and one of the full GP, a column a power."""
    cells = {(line["m"], line["alpha"]): shown(line) for line in of_set.to_dict("records")}
    powers = [alpha for alpha in dict.fromkeys(of_set["alpha"]) if alpha != FULL]
    sizes = sorted({m for m, alpha in cells if alpha != FULL})
    rows = [(f"{m}", *(cells.get((m, alpha), "") for alpha in powers)) for m in sizes]
    if (0, FULL) in cells:
        rows.append(("full GP", cells[0, FULL], *[""] * (len(powers) - 1)))
    return ("M", *map(label, powers)), "r" * (1 + len(powers)), rows


def _mean(line: dict[str, Any], score: Score, form: str) -> str:
    mean, error = line[score.column], line[f"{score.column}_se"]
    if math.isnan(mean):
        return "failed"
    star = "*" if line["n_failed"] else ""
    return f"{mean:{form}} ± {'-' if math.isnan(error) else f'{error:{form}}'}{star}"


def endings(fits: pd.DataFrame) -> Grid:
    """Header, alignment and cells: how many searches converged, a line a kind of sets and power."""
    cells = []
    for name, sets in {"UCI": scores.real(fits), "Synthetic": scores.made_up(fits)}.items():
        runs = scores.sparse(sets)
        groups = {label(alpha): runs[runs["alpha"] == alpha] for alpha in scores.alphas(runs)}
        for power, group in {**groups, "all": runs}.items():
            counts = [int((group["outcome"] == outcome).sum()) for outcome in (OK, STOPPED, FAILED)]
            if len(group):
                cells.append((name, power, f"{len(group)}", *map(str, counts)))
    return ("Sets", "Power", "Searches", "Converged", "Stopped before", "Failed"), "llrrrr", cells


def troubles(fits: pd.DataFrame) -> Iterable[str]:
    """Fits that are not ok, counted by data set, power, outcome and what they say first."""
    place = {name: k for k, name in enumerate([*scores.datasets(fits), *scores.alphas(fits), FULL])}
    bad = fits[fits["outcome"] != OK]
    bad = bad.assign(reason=bad["message"].str.split(";").str[0], set_place=bad["dataset"].map(place))
    bad = bad.assign(power_place=bad["alpha"].map(place))
    keys = ["set_place", "power_place", "dataset", "alpha", "outcome", "reason"]
    for (_, _, name, alpha, outcome, reason), group in bad.groupby(keys):
        where = ", ".join(f"{m} ({n})" for m, n in group["m"].value_counts().sort_index().items())
        yield f"{name_of(name)}, {label(alpha)}: {len(group)} {outcome} ({reason}); M (fits): {where}"


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.0f} %"


def _range(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"[{100 * low:.0f}, {100 * high:.0f}]"

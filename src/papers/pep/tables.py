"""Tables of the experiments: wins, ranks and means as CSV files, and all tables as a Markdown page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import render
from papers.core.grid import grid, items
from papers.core.render import Column, text
from papers.core.store import write_csv, write_text
from papers.data import classification, regression
from papers.data.classification import PROTOCOLS
from papers.pep import compare, scores
from papers.pep.regression import FAILED, FULL, OK, SEARCHES, STOPPED
from papers.pep.scores import label, name_of

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.comparisons import Score
    from papers.core.grid import Grid
    from papers.pep.published import Printed


class About(NamedTuple):
    """File stem, title and introduction of the tables and figures of one kind of experiments.

    Files of the first of the ``protocols`` have the stem as their name; others add the protocol to it.
    """

    stem: str
    title: str
    introduction: str
    protocols: Sequence[str]

    def under(self, protocol: str) -> About:
        """Return the description for a protocol."""
        ending = "" if protocol == self.protocols[0] else f"_{protocol}"
        return self._replace(stem=f"{self.stem}{ending}", title=f"{self.title}, {protocol}")


REGRESSION = About(
    "pep",
    "Power EP for sparse Gaussian-process regression",
    """\
Sections 4.1 and 4.2 of "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using Power
Expectation Propagation" (Bui, Yan and Turner, JMLR 2017), computed afresh by the collapsed energy. α = 0 is
VFE, α = 1 is EP (FITC). All scores are better low.""",
    tuple(SEARCHES),
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
    PROTOCOLS,
)


def names(about: About) -> tuple[str, ...]:
    """Return the names of the files that `write` writes."""
    return f"{about.stem}.md", *(f"{about.stem}_{table}.csv" for table in ("wins", "ranks", "means"))


def write(
    fits: pd.DataFrame,
    printed: Sequence[Printed],
    folder: str | Path,
    origin: Sequence[str],
    about: About,
    more: Sequence[str],
) -> None:
    """Write shares of wins, ranks and means as CSV files, and all tables as a Markdown page (`names`).

    Parameters
    ----------
    fits : pandas.DataFrame
        `scores.compared`.
    printed : sequence of Printed
        Those of other scores are ignored.
    folder : str or Path
    origin : sequence of str
        Lines about the origin of the fits (`provenance.note`).
    about : About
        Title, introduction and file names.
    more : sequence of str
        Lines of a further section of the page.
    """
    page, *files = (Path(folder, name) for name in names(about))
    tables = compare.wins(fits), compare.ranks_of_powers(fits), compare.means(fits)
    for path, table in zip(files, tables, strict=True):
        write_csv(path, table)
    measured = {score.name for score in scores.predictive(fits)}
    content = markdown(fits, *tables, [line for line in printed if line.score in measured], about)
    content += "\n".join(["", *more]) if more else ""
    write_text(page, content + "\n".join(["", "## Provenance", "", *origin, ""]))


# The page

LEGEND = """\
An experiment is a (data set, split, M); powers are compared on the same experiment, one without a number for
both is left out. A search that stopped before it converged has numbers and counts as any other. Ours: the
share won of a split number's experiments (data sets and M) that are not tied, on average over split numbers,
with a 95 % interval by t over these; "other sets": over data sets. Where split numbers have different sets or
M it is not the share of all experiments, whose numbers won and lost stand beside."""
MEANS_LEGEND = """\
Mean ± standard error over the fits that gave numbers, those of searches that stopped before they converged
among them. Fits: how many these are with each power, the fewest to the most where that differs: rows with
other numbers are means of other splits. "-": one fit. A star: at least one fit of the cell failed."""
FULL_LEGEND = "The full GP is that of the splits of its row, by one search."
SHORT_LEGEND = """\
Where VFE's NLML, which bounds that of the full GP from above, ends below it by more than a nat, this search
ended in a worse optimum:"""
RANK_LEGEND = """\
Rank among all powers of an experiment, 1 the best: the mean of a split number's experiments, on average over
split numbers; ± standard errors over these, over data sets."""


def markdown(
    fits: pd.DataFrame,
    won: pd.DataFrame,
    ranked: pd.DataFrame,
    means: pd.DataFrame,
    printed: Sequence[Printed],
    about: About,
) -> str:
    """Return the page of all tables, legible as plain text."""
    lines = [f"# {about.title}", "", *about.introduction.splitlines(), "", *items(covered(fits)), ""]
    if len(won):
        lines += _section("## Experiments won, ours and published", published_wins(won, printed), LEGEND)
        for score in scores.predictive(fits):
            lines += _section(f"## {score.name}: experiments won, row against column (%)", matrix(won, score))
        lines += _section("## By data set", by_dataset(won, printed))
    if len(ranked):
        lines += ["## Average ranks", "", *RANK_LEGEND.splitlines(), ""]
        lines += [*render.markdown(RANK_COLUMNS, ranked.itertuples()), ""]
    lines += ["## Means", "", *MEANS_LEGEND.splitlines(), *_about_full(fits), ""]
    for name, of_set in means.groupby("dataset", sort=False):
        for score in scores.scores_of(fits):
            lines += _section(f"### {name_of(name)}, {score.name}", mean_table(of_set, score))
        if of_set["n_stopped"].any():
            heading = f"### {name_of(name)}, searches that did not converge"
            lines += _section(heading, stopped_table(of_set))
    lines += _section("## How the searches ended", endings(fits))
    lines += ["## Fits that failed or did not converge", "", *items(troubles(fits))]
    return "\n".join(lines) + "\n"


def _about_full(fits: pd.DataFrame) -> list[str]:
    """Explain the full GP's column, and name the sets where it falls short of the largest evidence."""
    if not (scores.with_numbers(fits)["alpha"] == FULL).any():
        return []
    short = [
        f"{name_of(name)} on {n} of {of} splits (by up to {most:.0f} nats)"
        for name, (n, of, most) in compare.short_of_bound(fits).items()
    ]
    return [FULL_LEGEND, *([f"{SHORT_LEGEND} {', '.join(short)}."] if short else [])]


def _section(heading: str, table: Grid, legend: str = "") -> list[str]:
    return [heading, "", *([*legend.splitlines(), ""] if legend else []), *grid(*table), ""]


def covered(fits: pd.DataFrame) -> list[str]:
    """Return a sentence each on the coverage of the synthetic, the UCI and the other sets."""
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
    """Return header, alignment and cells: the printed shares and the measured ones."""
    header = (
        *("Score", "Power", "beats", "Published", "Ours", "Interval", "Other sets"),
        *("Won", "Lost", "Tied", "By more than matters", "Left out"),
    )
    table = won[won["dataset"] == compare.ALL].set_index(["score", "first", "second"])
    cells = []
    for line in printed:
        share = "no clear winner" if math.isnan(line.percent) else f"{line.percent:g} %"
        key = (line.score, line.first, line.second)
        measured = _measured(table.loc[key]) if key in table.index else ["not run", *[""] * 7]
        cells.append((line.score, label(line.first), label(line.second), share, *measured))
    return header, "lllrrrrrrrrr", cells


def _measured(line: pd.Series) -> list[str]:
    return [
        _percent(line["share"]),
        _range(line["low"], line["high"]),
        _range(line["sets_low"], line["sets_high"]),
        *(f"{line[name]}" for name in ("won", "lost", "tied")),
        f"{line['won_beyond']} : {line['lost_beyond']}",
        f"{line['left_out']}",
    ]


def matrix(won: pd.DataFrame, score: Score) -> Grid:
    """Return header, alignment and cells of all pairs of powers."""
    lines = won[(won["dataset"] == compare.ALL) & (won["score"] == score.name)]
    share = lines.set_index(["first", "second"])["share"]
    powers = sorted(set(won["first"]), key=float)
    cells = [
        (label(a), *(_percent(share.get((a, b), math.nan)).removesuffix(" %") for b in powers))
        for a in powers
    ]
    return ("", *(f"α = {b}" for b in powers)), "l" + "r" * len(powers), cells


def by_dataset(won: pd.DataFrame, printed: Sequence[Printed]) -> Grid:
    """Return header, alignment and cells: the printed pairs by data set; counts where some tie."""
    sets = [name for name in scores.NAMES if name in set(won["dataset"])]
    table = {(line.score, line.first, line.second, line.dataset): line for line in won.itertuples()}
    cells = []
    for pair in printed:
        shares = (_counted_share(table.get((pair.score, pair.first, pair.second, name))) for name in sets)
        cells.append((pair.score, f"{label(pair.first)} over {label(pair.second)}", *shares))
    return ("Score", "Pair", *map(name_of, sets)), "ll" + "r" * len(sets), cells


def _counted_share(line: Any) -> str:
    """Return the share won of a row of `wins`, if there is one."""
    if line is None:
        return ""
    counts = f" ({line.won} : {line.lost})" if line.tied else ""
    return f"{_percent(line.share)}{counts}".lstrip()


RANK_COLUMNS = (
    text("Score", "score"),
    text("Power", lambda line: label(line.alpha)),
    Column("Rank", "rank", ".2f"),
    Column("± splits", "se_splits", ".2f"),
    Column("± sets", "se_datasets", ".2f"),
    Column("Experiments", "n"),
    Column("Left out", "n_left_out"),
)


def mean_table(of_set: pd.DataFrame, score: Score) -> Grid:
    """Return header, alignment and cells of one data set: a row for each M, a column for each power."""
    small = of_set[score.column].abs().min() < 1e-2
    form = ".1f" if score == scores.NLML else ".2e" if small else ".4f"
    return _by_size(of_set, lambda line: _mean(line, score, form))


def stopped_table(of_set: pd.DataFrame) -> Grid:
    """Return the same table of the searches that stopped before they converged, of those with numbers."""
    return _by_size(of_set, lambda line: f"{line['n_stopped']} of {line['n']}")


def _by_size(of_set: pd.DataFrame, cell_of: Callable[[dict[str, Any]], str]) -> Grid:
    """Return header, alignment and cells: a row for each M, a column for each power and for the full GP."""
    cells = {(line["m"], line["alpha"]): cell_of(line) for line in of_set.to_dict("records")}
    columns = list(dict.fromkeys(of_set["alpha"]))
    counts = of_set[of_set["alpha"] != FULL].groupby("m")["n"].agg(["min", "max"])
    rows = [
        (f"{m}", "–".join(map(str, dict.fromkeys(n))), *(cells.get((m, alpha), "") for alpha in columns))
        for m, *n in counts.itertuples()
    ]
    return ("M", "Fits", *map(label, columns)), "r" * (2 + len(columns)), rows


def _mean(line: dict[str, Any], score: Score, form: str) -> str:
    mean, error = line[score.column], line[f"{score.column}_se"]
    if math.isnan(mean):
        return "failed"
    star = "*" if line["n_failed"] else ""
    return f"{mean:{form}} ± {'-' if math.isnan(error) else f'{error:{form}}'}{star}"


def endings(fits: pd.DataFrame) -> Grid:
    """Return header, alignment and cells: how many searches converged, by kind of sets and power."""
    cells = []
    kinds = {"UCI": scores.real(fits), "Synthetic": scores.made_up(fits), "Others": scores.added(fits)}
    for name, sets in kinds.items():
        runs = scores.sparse(sets)
        groups = {label(alpha): runs[runs["alpha"] == alpha] for alpha in scores.alphas(runs)}
        for power, group in {**groups, "all": runs}.items():
            counts = [int((group["outcome"] == outcome).sum()) for outcome in (OK, STOPPED, FAILED)]
            if len(group):
                cells.append((name, power, f"{len(group)}", *map(str, counts)))
    return ("Sets", "Power", "Searches", "Converged", "Stopped before", "Failed"), "llrrrr", cells


def troubles(fits: pd.DataFrame) -> Iterable[str]:
    """Yield text on the fits that are not ok, counted by data set, power, outcome and reason."""
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


# The data sets

DATA_SETS = "pep_datasets.md"
PRINTED = "pep_datasets.csv"
ENTRIES = {"red wine": "wine_red"}
"""Printed names that are not those of `papers.data`."""

DATA_SETS_TITLE = """\
# Data sets of the Power-EP paper

Tables 1 and 2 of "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using Power
Expectation Propagation" (Bui, Yan and Turner, JMLR 2017) beside what is read here, which every reading of a
raw file checks (`data/sources.yaml`). Train, test: rows of a split, of twenty. Columns: with the target."""

REGRESSION_SETS = """\
Used: columns that a fit sees, with the target. Naval has two targets, of which one is used, as no feature."""

CLASSIFICATION_SETS = """\
`as-released` has the printed counts, `corrected` every complete record, no id and no constant column, and
Australian's label in place of its first column (docs/paper-power-ep.md)."""


def write_data_sets(folder: str | Path, published: str | Path) -> None:
    """Write `DATA_SETS` into a folder, from the published numbers (`PRINTED`) and the registry."""
    import pandas as pd

    table = pd.read_csv(Path(published, PRINTED), dtype=str, keep_default_na=False)
    printed = table.to_dict("records")
    write_text(
        Path(folder, DATA_SETS),
        "\n".join([DATA_SETS_TITLE, *_regression(printed), *_classification(printed), ""]),
    )


def _regression(printed: Sequence[Mapping[str, str]]) -> Iterator[str]:
    yield from ("", "## Regression (table 1)", "", REGRESSION_SETS, "")
    cells = []
    for row in (row for row in printed if row["task"] == "regression"):
        entry = regression.entry_of(ENTRIES.get(row["dataset"], row["dataset"]))
        n, features = entry["shape"]
        read = [*_train_and_test(n), str(entry["columns"])]
        cells.append([entry["title"], *_counts(row), *read, str(features + 1)])
    header = ["Data set", *(f"{name}, printed" for name in COUNTS), *COUNTS, "Used"]
    yield from grid(header, "l" + "r" * 7, cells)


def _classification(printed: Sequence[Mapping[str, str]]) -> Iterator[str]:
    yield from ("", "## Classification (table 2)", "", CLASSIFICATION_SETS, "")
    cells = []
    for row in (row for row in printed if row["task"] == "classification"):
        entry = classification.entry_of(row["dataset"])
        cells.append([entry["title"], "printed", *_counts(row), row["positive"], row["negative"]])
        for protocol in PROTOCOLS:
            n, features = entry["shapes"][protocol]
            labels = (str(count) for count in entry["labels"][protocol])
            cells.append([entry["title"], protocol, *_train_and_test(n), str(features + 1), *labels])
    yield from grid(["Data set", "", *COUNTS, "+1", "-1"], "ll" + "r" * 5, cells)


COUNTS = ("Train", "Test", "Columns")


def _counts(row: Mapping[str, str]) -> list[str]:
    return [row["n_train"], row["n_test"], row["D_with_target"]]


def _train_and_test(n: int) -> list[str]:
    """Return text: training and test rows of a split."""
    train = regression.n_train(n)
    return [str(train), str(n - train)]

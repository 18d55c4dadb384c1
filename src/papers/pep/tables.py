"""Tables of the experiments: wins, ranks and means as CSV, and all to read as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence.comparisons import estimate
from papers.evidence.grid import grid, items
from papers.evidence.store import write_text
from papers.pep import compare, scores, words
from papers.pep.published import Printed
from papers.pep.scores import FAILED, FULL, NAMES, OK, name_of

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import pandas as pd

    from papers.evidence.comparisons import Score
    from papers.evidence.grid import Grid

ALL = "all"
LEGEND = """\
An experiment is a (data set, split, M); powers are compared on the same experiment, one without a number for
both is left out. A search that stopped before it converged has numbers and counts as any other. Won: share
of the experiments that are not tied. Intervals: 95 %, by t over splits (the share of a split number over data
sets and M, whose mean is not the share over all where ties differ); "other sets": over data sets."""
MEANS_LEGEND = """\
Mean ± standard error over the fits that gave numbers, those of searches that stopped before they converged
among them; how many these are stands below the means of a data set. "-": one fit. A star: at least one fit of
the cell failed."""


def wins(fits: pd.DataFrame) -> pd.DataFrame:
    """A line a score, ordered pair of powers and data set (`ALL` first): the experiments won and lost."""
    import pandas as pd

    real = scores.real(fits)
    lines = []
    for score in scores.predictive(fits):
        for first, second in permutations(scores.alphas(real), 2):
            for name in [ALL, *scores.datasets(real)]:
                part = real if name == ALL else real[real["dataset"] == name]
                found = compare.duel(part, first, second, score)
                if found is not None:
                    lines.append(_win(name, score, first, second, found))
    return pd.DataFrame(lines, columns=WIN_COLUMNS)


WIN_COLUMNS = (
    *"score first second dataset n won lost tied share low high sets_low sets_high".split(),
    *"won_beyond lost_beyond left_out".split(),
)


def _win(name: str, score: Score, first: str, second: str, found: compare.Duel) -> dict[str, Any]:
    intervals = [_interval(found.shares(unit)) for unit in ("split", "dataset")]
    values = (found.n, found.wins, found.losses, found.ties, found.share, *intervals[0], *intervals[1],
              *found.beyond(score.margin), found.n_left_out)  # fmt: skip
    return dict(zip(WIN_COLUMNS, (score.name, first, second, name, *values), strict=True))


def _interval(shares: np.ndarray) -> tuple[float, float]:
    found = estimate(shares)
    low, high = found.interval() if found else (math.nan, math.nan)
    return (max(low, 0.0), min(high, 1.0)) if found else (low, high)


def ranks(fits: pd.DataFrame) -> pd.DataFrame:
    """`compare.mean_ranks` of both predictive scores on the UCI sets."""
    import pandas as pd

    return pd.concat([compare.mean_ranks(scores.real(fits), score) for score in scores.predictive(fits)])


def names(stem: str) -> tuple[str, ...]:
    """What `write` writes."""
    return f"{stem}.md", *(f"{stem}_{what}.csv" for what in ("wins", "ranks", "means"))


def write(
    fits: pd.DataFrame,
    printed: Sequence[Printed],
    folder: str | Path,
    made: Sequence[str] = (),
    about: words.About = words.REGRESSION,
    more: Sequence[str] = (),
) -> list[Path]:
    """Write the shares of wins, ranks and means as CSV, and all to read as Markdown (`names`).

    Parameters
    ----------
    fits : pandas.DataFrame
        `scores.compared`.
    printed : sequence of Printed
    folder : str or Path
    made : sequence of str
        Lines that say what made the fits (`standing.note`).
    about : words.About
        Title and introduction, and what the files are called.
    more : sequence of str
        Lines of a further section of the page.
    """
    page, *rest = (Path(folder, name) for name in names(about.stem))
    tables = won, ranked, means = wins(fits), ranks(fits), compare.means(fits)
    text = markdown(fits, won, ranked, means, printed, about)
    text += "\n".join(["", *more]) if more else ""
    text += "\n".join(["", "## Provenance", "", *made, ""]) if made else ""
    return [
        *(write_text(path, _csv(table)) for path, table in zip(rest, tables, strict=True)),
        write_text(page, text),
    ]


def _csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, lineterminator="\n", float_format="%.6g")


def markdown(
    fits: pd.DataFrame,
    won: pd.DataFrame,
    ranked: pd.DataFrame,
    means: pd.DataFrame,
    printed: Sequence[Printed],
    about: words.About = words.REGRESSION,
) -> str:
    """Everything to read, legible as plain text."""
    lines = [f"# {about.title}", "", *about.introduction.splitlines(), "", *items(covered(fits)), ""]
    if len(won):
        lines += ["## Experiments won, ours and published", "", *LEGEND.splitlines(), ""]
        lines += [*grid(*published_wins(won, printed)), ""]
        for score in scores.predictive(fits):
            lines += [
                f"## {score.name}: experiments won, row against column (%)",
                "",
                *grid(*matrix(won, score)),
                "",
            ]
        lines += ["## By data set", "", *grid(*by_dataset(won, printed)), ""]
    if len(ranked):
        lines += ["## Average ranks", "", RANK_LEGEND, "", *grid(*average_ranks(ranked)), ""]
    lines += ["## Means", "", *MEANS_LEGEND.splitlines(), ""]
    for name, part in means.groupby("dataset", sort=False):
        for score in scores.scores_of(fits):
            lines += [f"### {name_of(name)}, {score.name}", "", *grid(*mean_table(part, score)), ""]
        if part["n_stopped"].any():
            lines += [
                f"### {name_of(name)}, searches that did not converge",
                "",
                *grid(*stopped_table(part)),
                "",
            ]
    lines += ["## Fits that failed or did not converge", "", *items(troubles(fits))]
    return "\n".join(lines) + "\n"


RANK_LEGEND = (
    "Rank among all powers of an experiment, 1 the best; ± standard errors over splits, over data sets."
)


def covered(fits: pd.DataFrame) -> list[str]:
    """A sentence each for the synthetic, the UCI and other sets, of what the records cover."""
    parts = {"Synthetic": scores.made_up(fits), "UCI": scores.real(fits), "Others": scores.added(fits)}
    return [
        f"{name}: {scores.coverage(part).text}{'' if scores.is_classification(fits) else _references(part)}."
        for name, part in parts.items()
        if len(part)
    ]


def _references(part: pd.DataFrame) -> str:
    full = part[part["alpha"] == FULL]
    failed = int((full["outcome"] == FAILED).sum())
    return f"; full GP on {len(full)} splits, {failed} failed" if len(full) else "; no full GP"


def published_wins(won: pd.DataFrame, printed: Sequence[Printed]) -> Grid:
    """Header, alignment and cells: the printed shares beside ours."""
    header = ("Score", "Power", "beats", "Published", "Ours", "Interval", "Other sets", "Won", "Lost", "Tied",
              "By more than matters", "Left out")  # fmt: skip
    table = won[won["dataset"] == ALL].set_index(["score", "first", "second"])
    cells = []
    for line in printed:
        key = (line.score, line.first, line.second)
        share = "no clear winner" if math.isnan(line.percent) else f"{line.percent:g} %"
        name = (line.score, *(scores.label(a) for a in key[1:]), share)
        cells.append((*name, *(_won(table.loc[key]) if key in table.index else ["not run", *[""] * 7])))
    return header, "lllrrrrrrrrr", cells


def _won(line: pd.Series) -> list[str]:
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
    table = won[(won["dataset"] == ALL) & (won["score"] == score.name)].set_index(["first", "second"])[
        "share"
    ]
    powers = sorted(set(won["first"]), key=float)
    cells = [
        (scores.label(a), *(_percent(table.get((a, b), math.nan)).removesuffix(" %") for b in powers))
        for a in powers
    ]
    return ("", *(f"α = {b}" for b in powers)), "l" + "r" * len(powers), cells


def by_dataset(won: pd.DataFrame, printed: Sequence[Printed]) -> Grid:
    """Header, alignment and cells: the printed pairs, a column a data set; counts where some tie."""
    names = [name for name in NAMES if name in set(won["dataset"])]
    table = {(line.score, line.first, line.second, line.dataset): line for line in won.itertuples()}
    cells = [
        (line.score, f"{scores.label(line.first)} over {scores.label(line.second)}",
         *(_counted_share(table.get((line.score, line.first, line.second, name))) for name in names))
        for line in printed
    ]  # fmt: skip
    return ("Score", "Pair", *(NAMES[name] for name in names)), "ll" + "r" * len(names), cells


def _counted_share(line: Any) -> str:
    """Share won of a line of `wins`, if there is one."""
    if line is None:
        return ""
    return (
        f"{_percent(line.share)} ({line.won} : {line.lost})".lstrip() if line.tied else _percent(line.share)
    )


def average_ranks(ranked: pd.DataFrame) -> Grid:
    """Header, alignment and cells: a line a score and power."""
    header = ("Score", "Power", "Rank", "± splits", "± sets", "Experiments", "Left out")
    cells = [
        (line.score, scores.label(line.alpha), f"{line.rank:.2f}", _error(line.se_splits),
         _error(line.se_datasets), f"{line.n}", f"{line.n_left_out}")
        for line in ranked.itertuples()
    ]  # fmt: skip
    return header, "llrrrrr", cells


def mean_table(part: pd.DataFrame, score: Score) -> Grid:
    """Header, alignment and cells of one data set: a line an M, a column a power."""
    form = ".1f" if score.column == "nlml" else ".2e" if part[score.column].abs().min() < 1e-2 else ".4f"
    return _by_size(part, lambda line: _mean(line, score, form))


def stopped_table(part: pd.DataFrame) -> Grid:
    """The same with the searches that stopped before they converged, of those with numbers."""
    return _by_size(part, lambda line: f"{line['n_stopped']} of {line['n']}")


def _by_size(part: pd.DataFrame, shown: Callable[[dict[str, Any]], str]) -> Grid:
    """Header, alignment and cells: a line an M and one of the full GP, a column a power."""
    cells = {(line["m"], line["alpha"]): shown(line) for line in part.to_dict("records")}
    powers = [a for a in dict.fromkeys(part["alpha"]) if a != FULL]
    sizes = sorted({m for m, alpha in cells if alpha != FULL})
    rows = [(f"{m}", *(cells.get((m, alpha), "") for alpha in powers)) for m in sizes]
    full = cells.get((0, FULL))
    rows += [("full GP", full, *[""] * (len(powers) - 1))] if full else []
    return ("M", *(scores.label(alpha) for alpha in powers)), "r" * (1 + len(powers)), rows


def _mean(line: dict[str, Any], score: Score, form: str) -> str:
    mean, error = line[score.column], line[f"{score.column}_se"]
    star = "*" if line["n_failed"] else ""
    if math.isnan(mean):
        return "failed"
    return f"{mean:{form}} ± {'-' if math.isnan(error) else f'{error:{form}}'}{star}"


def troubles(fits: pd.DataFrame) -> list[str]:
    """Fits that are not ok, counted by data set, power, outcome and what they say first."""
    part = fits[fits["outcome"] != OK]
    place = {name: k for k, name in enumerate([*scores.datasets(fits), *scores.alphas(fits), FULL])}
    part = part.assign(reason=part["message"].str.split(";").str[0], a=part["alpha"].map(place))
    part = part.assign(d=part["dataset"].map(place))
    found = []
    for key, group in part.groupby(["d", "a", "dataset", "alpha", "outcome", "reason"]):
        name, alpha, outcome, reason = key[2:]
        where = ", ".join(f"{m} ({n})" for m, n in group["m"].value_counts().sort_index().items())
        found.append(
            f"{name_of(name)}, {scores.label(alpha)}: {len(group)} {outcome} ({reason}); M (fits): {where}"
        )
    return found


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.0f} %"


def _range(low: float, high: float) -> str:
    return "" if math.isnan(low) else f"[{100 * low:.0f}, {100 * high:.0f}]"


def _error(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"

"""Tables of the PESC studies: the page ``pesc.md``, and the same numbers as CSV files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import render
from papers.core.grid import grid
from papers.core.render import Column, text
from papers.core.store import write_csv, write_text
from papers.pesc import records
from papers.pesc.accuracy import AWAY, MEAN, SD
from papers.pesc.claims import within

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.grid import Grid
    from papers.core.study import Study

TITLE = "Predictive entropy search with constraints"
ACCURACY = f"""\
EP against rejection sampling on random problems: the share of problems whose means are all within {MEAN:g}
standard deviations and whose standard deviations are all within {100 * SD:g} %, at the data's inputs and x*
(q), at 20 random inputs (NFCPD), at those of them at least {AWAY:g} lengthscales from x*, and at all with g
kept exact in the last factor (not in the paper: `bayesopt.boundary`). Each step alone: EP's q at the inputs
before the last factor, against the draws before it; the last factor, (35) to (37), on the exact moments
before it, which an EP without error would have. The share of single moments; medians over problems of the
largest error of the acquisition function, relative to its largest value, and the share of problems where its
maximum over the inputs is that of the truth."""
OUTSIDE = f"""\
The problems with a moment outside the tolerances ({MEAN:g} standard deviations, {100 * SD:g} %), by cause:
the step that alone is outside, both steps, or neither alone (sum). On how many the moment furthest outside is
one of f, and on how many it is nearer to x* than {AWAY:g} lengthscales; medians over them of the largest
error of a mean and of a standard deviation, of the same of each step alone, and with g exact in the last
factor; on how many that is within."""
REGRET = """\
Objective minus the constrained minimum after so many evaluations, median [quartiles] over repeats: at the
place the model recommends, and the best feasible observation. A recommended place that is not feasible, and
no feasible observation, count as infinite."""
SOLVED = 1e-2
SAME = 1e-9
RULES = {"pesc": "PESC", "improvement": "expected improvement", "random": "random"}
PROBLEMS = {"gramacy": "Toy of Gramacy et al. 2016, two constraints", "gp": "Drawn from GPs, one constraint"}
NAMES = ("pesc.md", "pesc_accuracy.csv", "pesc_regret.csv")

SHARES = {
    "q_within": "_points",
    "nfcpd_within": "",
    "away_within": "_away",
    "exact_within": "_exact",
    "ep_within": "_q",
    "last_within": "_last",
}
"""Share of problems within the tolerances -> suffix of the errors."""


def accuracy(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each family, and one for all."""
    import pandas as pd

    families = [*lines.groupby("family", sort=False), ("all", lines)]
    return pd.DataFrame([_accuracy(name, of_family) for name, of_family in families])


def _accuracy(name: str, lines: pd.DataFrame) -> dict[str, Any]:
    return {
        "family": name,
        "problems": len(lines),
        "converged": int(lines["converged"].sum()),
        **{share: within(lines, suffix).mean() for share, suffix in SHARES.items()},
        "moments_within": lines["within"].mean(),
        "acquisition_error": (lines["acquisition_error"] / lines["acquisition_top"]).median(),
        "same_maximum": (lines["acquisition_regret"] <= SAME).mean(),
    }


def regret(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem, rule and number of evaluations: gap quartiles, share solved."""
    import pandas as pd

    summaries = []
    for (problem, rule, n), looks in lines.groupby(["problem", "rule", "evaluations"], sort=False):
        summary = {"problem": problem, "rule": rule, "evaluations": n, "repeats": len(looks)}
        for kind in ("recommended", "observed"):
            gaps = looks[f"{kind}_gap"].fillna(np.inf)
            for name, q in (("low", 0.25), ("median", 0.5), ("high", 0.75)):
                summary[f"{kind}_{name}"] = np.quantile(gaps, q, method="inverted_cdf")
            summary[f"{kind}_solved"] = (gaps.abs() <= SOLVED).mean()
        summaries.append(summary)
    return pd.DataFrame(summaries)


def _percent(heading: str, name: str, digits: int = 0) -> Column:
    """Return a column of shares in percent."""
    return Column(heading, lambda row: f"{100 * getattr(row, name):.{digits}f} %")


ACCURACY_COLUMNS = (
    text("Family", "family"),
    Column("Problems", "problems"),
    Column("Converged", "converged"),
    _percent("q", "q_within"),
    _percent("NFCPD", "nfcpd_within"),
    _percent("away from x*", "away_within"),
    _percent("g exact", "exact_within"),
    _percent("EP alone", "ep_within"),
    _percent("last factor alone", "last_within"),
    _percent("single moments", "moments_within", 1),
    _percent("acquisition, error", "acquisition_error"),
    _percent("same maximum", "same_maximum"),
)


CAUSES = ("EP", "last factor", "both", "sum", "too few draws")
"""Causes of a moment outside the tolerances; without enough draws no moment could be compared."""


def outside(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the problems that are not within the tolerances at the inputs, with their cause."""
    beyond = lines[~within(lines)].copy()
    ep, last = ~within(beyond, "_q"), ~within(beyond, "_last")
    causes = np.select([ep & last, ep, last], ["both", "EP", "last factor"], "sum")
    beyond["cause"] = np.where(beyond["mean_error"].isna(), "too few draws", causes)
    return beyond


def outside_cells(table: pd.DataFrame) -> Grid:
    """Return the table of these problems, a row for each cause."""
    header = "Cause|Problems|worst: f|near x*|NFCPD|EP alone|Last factor alone|g exact|within".split("|")
    rows = []
    for cause in CAUSES:
        of_cause = table[table["cause"] == cause]
        if of_cause.empty:
            continue
        flags = of_cause["worst_function"] == "f", of_cause["worst_distance"] < AWAY
        errors = [_errors(of_cause, suffix) for suffix in ("", "_q", "_last", "_exact")]
        counts = [f"{len(of_cause)}", *(f"{int(flag.sum())}" for flag in flags)]
        rows.append([cause, *counts, *errors, f"{int(within(of_cause, '_exact').sum())}"])
    return header, "l" + 8 * "r", rows


def _errors(lines: pd.DataFrame, suffix: str) -> str:
    """Return medians of the largest errors of a mean and of a standard deviation, where there are some."""
    mean, sd = (lines[f"{kind}_error{suffix}"].median() for kind in ("mean", "sd"))
    return "none" if np.isnan(mean) else f"{mean:.2f}, {100 * sd:.0f} %"


def _gap(kind: str) -> Column:
    """Return a column of gaps: median and quartiles."""

    def gap(row: Any) -> str:
        low, median, high = (f"{getattr(row, f'{kind}_{name}'):.1e}" for name in ("low", "median", "high"))
        return f"{median} [{low}, {high}]"

    return Column(kind.capitalize(), gap)


REGRET_COLUMNS = (
    text("Problem", lambda row: PROBLEMS[row.problem]),
    text("Rule", lambda row: RULES[row.rule]),
    Column("Evaluations", "evaluations"),
    _gap("recommended"),
    _percent("within 1e-2", "recommended_solved"),
    _gap("observed"),
    _percent("within 1e-2", "observed_solved"),
)


class Table(NamedTuple):
    """A study's table: heading, introduction, file, function of the study's rows, and columns of the page."""

    heading: str
    introduction: str
    file: str
    summarise: Callable[[pd.DataFrame], pd.DataFrame]
    columns: Sequence[Column]


TABLES = {
    records.ACCURACY: Table("Accuracy", ACCURACY, NAMES[1], accuracy, ACCURACY_COLUMNS),
    records.REGRET: Table("Searches", REGRET, NAMES[2], regret, REGRET_COLUMNS),
}


def write(
    frames: Mapping[Study, pd.DataFrame], folder: str | Path, notes: Mapping[Study, list[str]]
) -> list[Path]:
    """Write `NAMES`, of the available records; ``notes`` are about their status."""
    page, paths = [f"# {TITLE}", ""], []
    for study, table in TABLES.items():
        if frames[study].empty:
            continue
        summary = table.summarise(frames[study])
        paths.append(write_csv(Path(folder, table.file), summary))
        page += [f"## {table.heading}", "", *table.introduction.splitlines(), ""]
        rows = summary[summary["evaluations"] % 10 == 0] if study is records.REGRET else summary
        page += [*render.markdown(table.columns, rows.itertuples()), ""]
        if study is records.ACCURACY:
            page += [*OUTSIDE.splitlines(), "", *grid(*outside_cells(outside(frames[study]))), ""]
        page += [*notes[study], ""]
    return [write_text(Path(folder, NAMES[0]), "\n".join(page).rstrip() + "\n"), *paths]

"""Tables of the PESC studies: the page ``pesc.md``, and the same numbers as CSV files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core.render import Column, markdown, text
from papers.core.store import write_csv, write_text
from papers.pesc.accuracy import ACCURACY, AWAY, MEAN, SD
from papers.pesc.claims import within
from papers.pesc.searches import REGRET

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Study

NAMES = ("pesc.md", "pesc_accuracy.csv", "pesc_regret.csv")
TITLE = "Predictive entropy search with constraints"
FAMILIES = f"""\
EP against rejection sampling on random problems: the share of problems whose means are all within {MEAN:g}
standard deviations and whose standard deviations are all within {100 * SD:g} %, at the data's inputs and x*
(q), at 20 random inputs (NFCPD), at those of them at least {AWAY:g} lengthscales from x*, and at all with g
kept exact in the last factor (not in the paper: `bayesopt.boundary`). Each step alone: EP's q at the inputs
before the last factor, against the draws before it; the last factor, (35) to (37), on the exact moments
before it, which an EP without error would have. The share of single moments; medians over problems of the
largest error of the acquisition function, relative to its largest value, and the share of problems where its
maximum over the inputs is that of the truth."""
CAUSES = f"""\
The problems with a moment outside the tolerances ({MEAN:g} standard deviations, {100 * SD:g} %), by cause:
the step that alone is outside, both steps, or neither alone (sum). On how many the moment furthest outside is
one of f, and on how many it is nearer to x* than {AWAY:g} lengthscales; medians over them of the largest
error of a mean and of a standard deviation, of the same of each step alone, and with g exact in the last
factor; on how many that is within."""
SEARCHES = """\
Objective minus the constrained minimum after so many evaluations, median [quartiles] over repeats: at the
place the model recommends, and the best feasible observation. A recommended place that is not feasible, and
no feasible observation, count as infinite."""
SOLVED = 1e-2
SAME = 1e-9
RULES = {"pesc": "PESC", "improvement": "expected improvement", "random": "random"}
PROBLEMS = {"gramacy": "Toy of Gramacy et al. 2016, two constraints", "gp": "Drawn from GPs, one constraint"}


def write(frames: Mapping[Study, pd.DataFrame], folder: str | Path, notes: Mapping[Study, list[str]]) -> None:
    """Write `NAMES`, of the available records; ``notes`` are about their status."""
    page = [f"# {TITLE}", ""]
    problems, searches = frames[ACCURACY], frames[REGRET]
    if len(problems):
        families = by_family(problems)
        write_csv(Path(folder, NAMES[1]), families)
        page += ["## Accuracy", "", *_table(FAMILIES, FAMILY_COLUMNS, families)]
        page += [*_table(CAUSES, CAUSE_COLUMNS, by_cause(problems)), *notes[ACCURACY], ""]
    if len(searches):
        gaps = by_rule(searches)
        write_csv(Path(folder, NAMES[2]), gaps)
        every_tenth = gaps[gaps["evaluations"] % 10 == 0]
        page += ["## Searches", "", *_table(SEARCHES, GAP_COLUMNS, every_tenth), *notes[REGRET], ""]
    write_text(Path(folder, NAMES[0]), "\n".join(page).rstrip() + "\n")


def _table(introduction: str, columns: Sequence[Column], rows: pd.DataFrame) -> list[str]:
    return [*introduction.splitlines(), "", *markdown(columns, rows.itertuples()), ""]


def by_family(problems: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each family, and one for all: shares of the problems within the tolerances."""
    import pandas as pd

    suffixes = {"q": "_points", "nfcpd": "", "away": "_away", "exact": "_exact", "ep": "_q", "last": "_last"}
    families = [*problems.groupby("family", sort=False), ("all", problems)]
    return pd.DataFrame(
        {
            "family": name,
            "problems": len(rows),
            "converged": rows["converged"].sum(),
            **{f"{share}_within": within(rows, suffix).mean() for share, suffix in suffixes.items()},
            "moments_within": rows["within"].mean(),
            "acquisition_error": (rows["acquisition_error"] / rows["acquisition_top"]).median(),
            "same_maximum": (rows["acquisition_regret"] <= SAME).mean(),
        }
        for name, rows in families
    )


def by_cause(problems: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each cause of a moment outside the tolerances: counts, and medians of errors."""
    outside = problems[~within(problems)]
    ep, last = ~within(outside, "_q"), ~within(outside, "_last")
    causes = {
        "too few draws": outside["mean_error"].isna(),
        "both": ep & last,
        "EP": ep,
        "last factor": last,
    }
    cause = np.select(list(causes.values()), list(causes), "sum")
    counts = {
        "f": outside["worst_function"] == "f",
        "near": outside["worst_distance"] < AWAY,
        "within_exactly": within(outside, "_exact"),
    }
    errors = [f"{kind}_error{suffix}" for suffix in ("", "_q", "_last", "_exact") for kind in ("mean", "sd")]
    groups = outside.assign(problems=1, **counts).groupby(cause)
    table = groups[errors].median().join(groups[["problems", *counts]].sum()).rename_axis("cause")
    order = ("EP", "last factor", "both", "sum", "too few draws")
    return table.reindex([name for name in order if name in table.index]).reset_index()


def by_rule(searches: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem, rule and number of evaluations: gap quartiles, share solved."""
    import pandas as pd

    keys = ["problem", "rule", "evaluations"]
    summaries = []
    for key, rows in searches.groupby(keys, sort=False):
        summary = dict(zip(keys, key, strict=True)) | {"repeats": len(rows)}
        for kind in ("recommended", "observed"):
            gaps = rows[f"{kind}_gap"].fillna(np.inf)
            for name, q in (("low", 0.25), ("median", 0.5), ("high", 0.75)):
                summary[f"{kind}_{name}"] = np.quantile(gaps, q, method="inverted_cdf")
            summary[f"{kind}_solved"] = (gaps.abs() <= SOLVED).mean()
        summaries.append(summary)
    return pd.DataFrame(summaries)


def _percent(heading: str, name: str, digits: int = 0) -> Column:
    """Return a column of shares in percent."""
    return Column(heading, lambda row: f"{100 * getattr(row, name):.{digits}f} %")


def _errors(heading: str, suffix: str) -> Column:
    """Return a column of errors of means and of standard deviations, where there are some."""

    def errors(row: Any) -> str:
        mean, sd = (getattr(row, f"{kind}_error{suffix}") for kind in ("mean", "sd"))
        return "none" if np.isnan(mean) else f"{mean:.2f}, {100 * sd:.0f} %"

    return Column(heading, errors)


def _gap(kind: str) -> Column:
    """Return a column of gaps: median and quartiles."""

    def gap(row: Any) -> str:
        low, median, high = (f"{getattr(row, f'{kind}_{name}'):.1e}" for name in ("low", "median", "high"))
        return f"{median} [{low}, {high}]"

    return Column(kind.capitalize(), gap)


FAMILY_COLUMNS = (
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
CAUSE_COLUMNS = (
    text("Cause", "cause"),
    Column("Problems", "problems"),
    Column("worst: f", "f"),
    Column("near x*", "near"),
    _errors("NFCPD", ""),
    _errors("EP alone", "_q"),
    _errors("Last factor alone", "_last"),
    _errors("g exact", "_exact"),
    Column("within", "within_exactly"),
)
GAP_COLUMNS = (
    text("Problem", lambda row: PROBLEMS[row.problem]),
    text("Rule", lambda row: RULES[row.rule]),
    Column("Evaluations", "evaluations"),
    _gap("recommended"),
    _percent("within 1e-2", "recommended_solved"),
    _gap("observed"),
    _percent("within 1e-2", "observed_solved"),
)

"""Tables of the PESC studies: ``pesc.md``, and the same numbers as CSV files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments.pesc_accuracy import AWAY, MEAN, SD
from tilted.results import stamps, studies
from tilted.results.grid import grid
from tilted.results.pesc.claims import within
from tilted.results.store import write_text

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

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
The problems with a moment outside the tolerances ({MEAN:g} standard deviations, {100 * SD:g} %): function and
distance from x* (in lengthscales) of the moment that is furthest outside; largest error of a mean and of a
standard deviation, the same of each step alone and with g exact in the last factor. Cause: the step that
alone is outside; sum: neither alone."""
REGRET = """\
Objective minus the constrained minimum after so many evaluations, median [quartiles] over repeats: at the
place the model recommends, and the best feasible observation. A recommended place that is not feasible, and
no feasible observation, count as infinite."""
SOLVED = 1e-2
RULES = {"pesc": "PESC", "improvement": "expected improvement", "random": "random"}
PROBLEMS = {"gramacy": "Toy of Gramacy et al. 2016, two constraints", "gp": "Drawn from GPs, one constraint"}
NAMES = ("pesc.md", "pesc_accuracy.csv", "pesc_regret.csv")
SAME = 1e-9


def accuracy(found: pd.DataFrame) -> pd.DataFrame:
    """A line a family, and one of all."""
    import pandas as pd

    parts = [*found.groupby("family", sort=False), ("all", found)]
    return pd.DataFrame([_accuracy(name, part) for name, part in parts])


def _accuracy(name: str, part: pd.DataFrame) -> dict[str, Any]:
    relative = part["acquisition_error"] / part["acquisition_top"]
    return {
        "family": name,
        "problems": len(part),
        "converged": int(part["converged"].sum()),
        "q_within": within(part, "_points").mean(),
        "nfcpd_within": within(part).mean(),
        "away_within": within(part, "_away").mean(),
        "exact_within": within(part, "_exact").mean(),
        "ep_within": within(part, "_q").mean(),
        "last_within": within(part, "_last").mean(),
        "moments_within": part["within"].mean(),
        "acquisition_error": relative.median(),
        "same_maximum": (part["acquisition_regret"] <= SAME).mean(),
    }


def regret(found: pd.DataFrame) -> pd.DataFrame:
    """A line a problem, rule and number of evaluations: quartiles of both gaps, and the share solved."""
    import pandas as pd

    lines = []
    for (problem, rule, n), part in found.groupby(["problem", "rule", "evaluations"], sort=False):
        line = {"problem": problem, "rule": rule, "evaluations": n, "repeats": len(part)}
        for kind in ("recommended", "observed"):
            gaps = part[f"{kind}_gap"].fillna(np.inf)
            for name, q in (("low", 0.25), ("median", 0.5), ("high", 0.75)):
                line[f"{kind}_{name}"] = np.quantile(gaps, q, method="inverted_cdf")
            line[f"{kind}_solved"] = (gaps.abs() <= SOLVED).mean()
        lines.append(line)
    return pd.DataFrame(lines)


def accuracy_cells(table: pd.DataFrame) -> tuple[list[str], str, list[list[str]]]:
    """Header, alignment and rows of the table of accuracy."""
    header = ["Family", "Problems", "Converged", "q", "NFCPD", "away from x*", "g exact", "EP alone",
              "last factor alone", "single moments", "acquisition, error", "same maximum"]  # fmt: skip
    rows = [
        [line.family, str(line.problems), str(line.converged),
         *(f"{100 * getattr(line, f'{name}_within'):.0f} %"
           for name in ("q", "nfcpd", "away", "exact", "ep", "last")),
         f"{100 * line.moments_within:.1f} %", f"{100 * line.acquisition_error:.0f} %",
         f"{100 * line.same_maximum:.0f} %"]
        for line in table.itertuples()
    ]  # fmt: skip
    return header, "l" + 11 * "r", rows


def outside(found: pd.DataFrame) -> pd.DataFrame:
    """The problems that are not within the tolerances at the inputs, with their cause."""
    part = found[~within(found)].copy()
    ep, last = ~within(part, "_q"), ~within(part, "_last")
    causes = np.select([ep & last, ep, last], ["both", "EP", "last factor"], "sum")
    part["cause"] = np.where(part["mean_error"].isna(), "too few draws", causes)
    return part


def outside_cells(table: pd.DataFrame) -> tuple[list[str], str, list[list[str]]]:
    """Header, alignment and rows of the table of these."""
    header = ["Problem", "Function", "Distance", "NFCPD", "EP alone", "Last factor alone", "g exact", "Cause"]
    rows = [
        [f"{line['family']}: {line['problem']}", str(line["worst_function"]), f"{line['worst_distance']:.1g}",
         *(_errors(line, suffix) for suffix in ("", "_q", "_last", "_exact")), line["cause"]]
        for line in table.to_dict("records")
    ]  # fmt: skip
    return header, "llrrrrrl", rows


def _errors(line: dict[str, Any], suffix: str) -> str:
    mean, sd = line[f"mean_error{suffix}"], line[f"sd_error{suffix}"]
    return "none" if np.isnan(mean) else f"{mean:.2f}, {100 * sd:.0f} %"


def regret_cells(table: pd.DataFrame, shown: int = 10) -> tuple[list[str], str, list[list[str]]]:
    """The same of the gaps, after every ``shown`` evaluations."""
    header = ["Problem", "Rule", "Evaluations", "Recommended", "within 1e-2", "Observed", "within 1e-2"]
    part = table[table["evaluations"] % shown == 0]
    rows = [
        [PROBLEMS[line.problem], RULES[line.rule], str(line.evaluations),
         _gap(line, "recommended"), f"{100 * line.recommended_solved:.0f} %",
         _gap(line, "observed"), f"{100 * line.observed_solved:.0f} %"]
        for line in part.itertuples()
    ]  # fmt: skip
    return header, "ll" + 5 * "r", rows


def _gap(line: Any, kind: str) -> str:
    low, median, high = (_number(getattr(line, f"{kind}_{name}")) for name in ("low", "median", "high"))
    return f"{median} [{low}, {high}]"


def _number(gap: float) -> str:
    return "inf" if np.isinf(gap) else f"{gap:.1e}"


def write(found: dict[str, pd.DataFrame | None], folder: str | Path) -> list[Path]:
    """Write `NAMES`, of what studies there are."""
    text, paths = [f"# {TITLE}", ""], []
    parts = {
        studies.ACCURACY: (accuracy, accuracy_cells, "Accuracy", ACCURACY, NAMES[1]),
        studies.REGRET: (regret, regret_cells, "Searches", REGRET, NAMES[2]),
    }
    for name, (summarise, cells, heading, words, file) in parts.items():
        if found[name] is None:
            continue
        table = summarise(found[name])
        csv = table.to_csv(index=False, lineterminator="\n", float_format="%.6g")
        paths.append(write_text(Path(folder, file), csv))
        header, align, rows = cells(table)
        text += [f"## {heading}", "", *words.splitlines(), "", *grid(header, align, rows), ""]
        if name == studies.ACCURACY:
            text += [*OUTSIDE.splitlines(), "", *grid(*outside_cells(outside(found[name]))), ""]
        text += [*stamps.note(studies.made(name, found[name])), ""]
    return [write_text(Path(folder, NAMES[0]), "\n".join(text).rstrip() + "\n"), *paths]

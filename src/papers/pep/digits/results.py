"""PEP11, figures 31 and 32, ``pep_mnist``: the results of the trainings on the digits.

The paper shows curves without a statement about them, so there is no claim to judge. A further block judges
its statement in section 3.9 that Power EP is as scalable as variational inference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import claims, style
from papers.core.grid import counted, grid, items
from papers.core.store import write_csv, write_text
from papers.core.verdicts import NO, YES, Block, Inference, Line
from papers.pep import scores
from papers.pep.digits.training import RUN
from papers.pep.figures import Figure, looks
from papers.pep.regression import FAILED, OK

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes

    from papers.core.grid import Grid

LEVELS = (0.05, 0.03)
"""Shares of errors; the time at which a training reached each is reported."""


class End(NamedTuple):
    """The results of the trainings with the same power, number of pseudo-points and number of steps.

    Attributes
    ----------
    alpha : str
    m, steps, n_runs : int
    done : pandas.DataFrame
        Last measurements of the trainings that completed with numbers; the others failed.
    reached : dict
        Level of `LEVELS` -> seconds by seed until the first measurement at or below it (`times`).
    skipped, refused : int
        Totals over all trainings, at the last measurement that has them.
    """

    alpha: str
    m: int
    steps: int
    n_runs: int
    done: pd.DataFrame
    reached: dict[float, pd.Series]
    skipped: int
    refused: int

    @property
    def n_failed(self) -> int:
        return self.n_runs - len(self.done)


def ends(frame: pd.DataFrame) -> Iterator[End]:
    """Yield the results of all trainings by M and power, separately for each length."""
    for (m, alpha, steps), runs in frame.groupby(["m", "alpha", "steps"]):
        done = runs[(runs["step"] == steps) & (runs["outcome"] == OK)]
        reached = {level: times(runs, level) for level in LEVELS}
        skipped, refused = runs.groupby("seed")[["skipped", "refused"]].max().sum()
        yield End(f"{alpha:g}", m, steps, runs["seed"].nunique(), done, reached, int(skipped), int(refused))


def times(runs: pd.DataFrame, level: float) -> pd.Series:
    """Return, by seed, the seconds until the first measurement with at most this share of errors."""
    return runs[runs["error"] <= level].sort_values("step").groupby("seed")["seconds"].first()


def covered(frame: pd.DataFrame) -> str:
    """Return a sentence without a full stop: the coverage of the record."""
    grids = []
    for (m, steps), runs in frame.drop_duplicates(list(RUN)).groupby(["m", "steps"]):
        powers = ", ".join(f"{a:g} ({counted(n, 'run')})" for a, n in runs.groupby("alpha").size().items())
        grids.append(f"M = {m}, {steps} steps: α = {powers}")
    return f"{'; '.join(grids)}; {sum(end.n_failed for end in ends(frame))} failed"


# The tables

NAMES = ("pep_mnist.csv", "pep_mnist.md")
TITLE = "Even against odd digits by minibatches"
INTRODUCTION = """\
Section 3.9 and appendix I.4 of the Power-EP paper: MNIST, 60,000 images to train and 10,000 to test, even
digits against odd ones, probit likelihood. A minibatch updates its sites once, then kernel and
pseudo-inputs take a step of Adam (docs/paper-power-ep.md). The paper shows curves (figures 31 and 32) and
prints no number, so there is nothing to put beside ours."""
LEGEND = """\
Seconds of a processor: of the training alone, measurements and the first clustering left out; median [least,
most] over seeds. To 5 %, 3 %: until the first measurement with no more errors than this; measurements are a
factor of 1.3 apart. Errors and log p(y*) in nats, of the test images, after the last step: mean [least,
most] over seeds. Skipped: updates of sites left out; refused: steps refused; both of all runs together."""
HEADER = "M|α|Steps|Runs|Failed|To 5 %|To 3 %|All, s|Errors, %|log p(y*)|Skipped|Refused".split("|")


def write(frame: pd.DataFrame, origin: Sequence[str], folder: str | Path) -> None:
    """Write `NAMES`; ``origin`` holds the lines about the record's origin (`provenance.note`)."""
    import pandas as pd

    write_csv(Path(folder, NAMES[0]), pd.DataFrame(map(_line, ends(frame))))
    failed = (
        f"M = {line.m}, α = {line.alpha:g}, seed {line.seed}, step {line.step}: {line.message}"
        for line in frame[frame["outcome"] == FAILED].itertuples()
    )
    lines = [f"# {TITLE}", "", *INTRODUCTION.splitlines(), "", *items([f"{covered(frame)}."]), ""]
    lines += [*LEGEND.splitlines(), "", *grid(*cells(frame)), "", "## Failures", "", *items(failed), ""]
    lines += ["## Provenance", "", *origin, ""]
    write_text(Path(folder, NAMES[1]), "\n".join(lines))


def _line(end: End) -> dict[str, Any]:
    """Return a row of the CSV file."""
    line: dict[str, Any] = {"m": end.m, "alpha": end.alpha, "steps": end.steps}
    line |= {"n_runs": end.n_runs, "n_failed": end.n_failed}
    line |= {f"seconds_to_{100 * level:g}_percent": end.reached[level].median() for level in LEVELS}
    line |= {f"n_to_{100 * level:g}_percent": len(end.reached[level]) for level in LEVELS}
    line["seconds"] = end.done["seconds"].median()
    for name in ("error", "log_likelihood"):
        values = end.done[name]
        line |= {name: values.mean(), f"{name}_least": values.min(), f"{name}_most": values.max()}
    return line | {"skipped": end.skipped, "refused": end.refused}


def cells(frame: pd.DataFrame) -> Grid:
    """Return header, alignment and cells: a row for each M and power."""
    return HEADER, "r" * len(HEADER), [_cells(end) for end in ends(frame)]


def _cells(end: End) -> list[str]:
    power = scores.label(end.alpha).removeprefix("α = ")
    errors, log_likelihood, seconds = 100 * end.done["error"], end.done["log_likelihood"], end.done["seconds"]
    return [
        *(f"{end.m}", power, f"{end.steps}", f"{end.n_runs}", f"{end.n_failed}"),
        *(_reached(end.reached[level], end.n_runs) for level in LEVELS),
        _spread(seconds, seconds.median(), ".0f"),
        _spread(errors, errors.mean(), ".2f"),
        _spread(log_likelihood, log_likelihood.mean(), ".4f"),
        *(f"{end.skipped}", f"{end.refused}"),
    ]


def _reached(seconds: pd.Series, n_runs: int) -> str:
    """Return median and range of the seconds, and the number of runs that got there if not all did."""
    if not len(seconds):
        return "never"
    some = "" if len(seconds) == n_runs else f" ({len(seconds)} of {n_runs})"
    return _spread(seconds, seconds.median(), ".1f") + some


def _spread(values: pd.Series, middle: float, form: str) -> str:
    if not len(values):
        return "-"
    ends = f" [{values.min():{form}}, {values.max():{form}}]" if len(values) > 1 else ""
    return f"{middle:{form}}{ends}"


# The verdict

NUMBERS_OF_POINTS = (100, 200)
VARIATIONAL = 0.0
AS_FAST = claims.load()["PEP11"].margin["factor"]
"""A training is as fast as another if it needs at most this many times its seconds; measurements are a factor
of 1.33 apart."""

UNSAID = "the text says nothing of the outcome and the figures print no numbers"
SCALABLE = "as scalable as VB (section 3.9)"
TEST = (
    f"median over seeds of the ratio of processor seconds to those of α = 0, same seed, at most {AS_FAST:g}; "
    "interval: smallest and largest; one seed says nothing"
)


def minibatches(frame: pd.DataFrame | None) -> list[Block]:
    """Judge PEP11 from rows of `DIGITS`; None means that there are none."""
    quantity = "error and log-likelihood against time"
    rows = tuple(Line(f"M = {m}", quantity, "factor", note=UNSAID) for m in NUMBERS_OF_POINTS)
    remark = "needs mnist.csv" if frame is None else covered(frame)
    name = "what the paper says of figures 31 and 32"
    block = Block(name, "none", rows, remark, untestable=UNSAID, best=-math.inf)
    return [block] if frame is None else [block, Block(SCALABLE, TEST, tuple(_ratios(frame)), best=-math.inf)]


def _ratios(frame: pd.DataFrame) -> Iterator[Line]:
    for m in sorted({*NUMBERS_OF_POINTS, *frame["m"].tolist()}):
        of_size = frame[frame["m"] == m]
        if of_size.empty:
            yield from (Line(f"M = {m}", _quantity(level), "factor", note="not run") for level in LEVELS)
        base = of_size[of_size["alpha"] == VARIATIONAL]
        for alpha, runs in of_size[of_size["alpha"] != VARIATIONAL].groupby("alpha"):
            yield from (_ratio(f"M = {m}, α = {alpha:g}", level, runs, base) for level in LEVELS)


def _quantity(level: float) -> str:
    return f"seconds to {100 * level:g} % errors, of those of α = 0"


def _ratio(row: str, level: float, runs: pd.DataFrame, base: pd.DataFrame) -> Line:
    base_times = times(base, level)
    seeds = set(runs["seed"])
    common = [seed for seed in base_times.index if seed in seeds]
    if not common:
        return Line(row, _quantity(level), "factor", note="α = 0 does not get there, or was not run")
    ratios = times(runs, level).reindex(common, fill_value=np.inf) / base_times[common]
    effect = float(ratios.median())
    if len(ratios) == 1:
        return Line(row, _quantity(level), "factor", note=f"one seed, {effect:.2f}")
    sample = Inference(YES if effect <= AS_FAST else NO, float(ratios.min()), float(ratios.max()))
    late, without = int(np.isinf(ratios).sum()), len(seeds) - len(common)
    notes = [f"{late} never got there"] if late else []
    notes += [f"{without} left out: α = 0 does not get there"] if without else []
    return Line(row, _quantity(level), "factor", effect, sample=sample, n=len(common), note="; ".join(notes))


# The figures

PANELS = (("error", "test errors (%)"), ("log_likelihood", "test log p(y*) (nats)"))
EVERY = 4
"""Measurements from one marker to the next."""


def draw(frame: pd.DataFrame, stem: Path, m: int) -> None:
    """Draw the trainings with ``m`` pseudo-points, if any has a number."""
    frame = frame[frame["m"] == m]
    if not (frame["outcome"] == OK).any():
        return
    powers = {f"{alpha:g}": runs for alpha, runs in frame.groupby("alpha")}
    with style.drawing(stem, (6.9, 3.3)) as figure:
        for axes, (score, name) in zip(figure.subplots(1, 2), PANELS, strict=True):
            for k, (alpha, runs) in enumerate(powers.items()):
                look = {"color": looks.colour(alpha), "marker": looks.marker(alpha, list(powers))}
                _curves(axes, runs, score, k, look)
            axes.set(xscale="log", xlabel="processor seconds", ylabel=name)
            axes.grid(True, axis="y")
            looks.plain_ticks(axes.xaxis, axes.get_xlim(), most=7)
        errors = figure.axes[0]
        errors.set_yscale("log")
        looks.plain_ticks(errors.yaxis, errors.get_ylim(), most=7)
        figure.suptitle(f"Even against odd digits by minibatches, M = {m}")
        handles = looks.handles(list(powers), 1.2)
        place: dict[str, Any] = {"loc": "outside lower center", "ncols": len(handles)}
        legend = figure.legend(handles=handles, title=covered(frame), title_fontsize=style.SMALL, **place)
        legend.get_title().set(color=style.GREY)


def _curves(axes: Axes, runs: pd.DataFrame, score: str, first: int, look: dict[str, Any]) -> None:
    """Draw every seed, and their mean where all seeds have it; powers have markers at different steps."""
    factor = 100.0 if score == "error" else 1.0
    for _, run in runs[runs["outcome"] == OK].groupby("seed"):
        line = run.sort_values("step")
        axes.plot(line["seconds"], factor * line[score], color=look["color"], alpha=0.4, linewidth=0.6)
    marked = look | {"markersize": 3.2, "markeredgewidth": 0, "markevery": (first % EVERY, EVERY)}
    for _, same_length in runs.groupby("steps"):
        middle = curve(same_length, score)
        axes.plot(middle["seconds"], factor * middle[score], linewidth=1.4, zorder=3, **marked)


def curve(runs: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return mean seconds and score at each step that all seeds reached with numbers."""
    groups = runs[runs["outcome"] == OK].groupby("step")[["seconds", score]]
    return groups.mean()[groups.size() == runs["seed"].nunique()]


FIGURES = {
    name: Figure(
        partial(draw, m=m),
        f"Even against odd digits, M = {m}: errors and mean log p(y*) on the test images against processor "
        "seconds of the training. A thin line a seed, the bold one their mean, step by step.",
    )
    for name, m in zip(("figure31", "figure32"), NUMBERS_OF_POINTS, strict=True)
}

"""Tables of the digits: ``pep_mnist.csv`` and, to read, ``pep_mnist.md``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments.mnist import FAILED
from tilted.results import stamps, studies
from tilted.results.grid import grid, items
from tilted.results.pep import mnist, scores
from tilted.results.pep.mnist import LEVELS, End
from tilted.results.store import write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from tilted.results.grid import Grid

NAMES = ("pep_mnist.csv", "pep_mnist.md")
TITLE = "Even against odd digits by minibatches"
INTRODUCTION = """\
Section 3.9 and appendix I.4 of the Power-EP paper: MNIST, 60,000 images to train and 10,000 to test, even
digits against odd ones, probit likelihood. A minibatch updates its sites once, then kernel and
pseudo-inputs take a step of Adam (docs/pep.md). The paper shows curves (figures 31 and 32) and prints no
number, so there is nothing to put beside ours."""
LEGEND = """\
Seconds of a processor: of the training alone, measurements and the first clustering left out; median [least,
most] over seeds. To 5 %, 3 %: until the first measurement with no more errors than this; measurements are a
factor of 1.3 apart. Errors and log p(y*) in nats, of the test images, after the last step: mean [least,
most] over seeds. Skipped: updates of sites left out; refused: steps refused; both of all runs together."""
HEADER = ("M", "α", "Steps", "Runs", "Failed", "To 5 %", "To 3 %", "All, s", "Errors, %", "log p(y*)",
          "Skipped", "Refused")  # fmt: skip
COLUMNS = (
    "m", "alpha", "steps", "n_runs", "n_failed",
    *(f"seconds_to_{100 * level:g}_percent" for level in LEVELS),
    *(f"n_to_{100 * level:g}_percent" for level in LEVELS),
    "seconds", "error", "error_least", "error_most",
    "log_likelihood", "log_likelihood_least", "log_likelihood_most", "skipped", "refused",
)  # fmt: skip


def write(table: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Write `NAMES`."""
    import pandas as pd

    lines = pd.DataFrame([_line(end) for end in mnist.ends(table)], columns=list(COLUMNS))
    csv = lines.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    return [write_text(Path(folder, NAMES[0]), csv), write_text(Path(folder, NAMES[1]), markdown(table))]


def _line(end: End) -> tuple[object, ...]:
    reached = [end.reached[level] for level in LEVELS]
    least_and_most = [f(x) if len(x) else np.nan for x in (end.error, end.log_likelihood)
                      for f in (np.mean, np.min, np.max)]  # fmt: skip
    return (
        *(end.m, end.alpha, end.steps, end.n_runs, end.n_failed),
        *(float(np.median(x)) if len(x) else np.nan for x in reached),
        *(len(x) for x in reached),
        float(np.median(end.seconds)) if len(end.seconds) else np.nan,
        *least_and_most,
        *(end.skipped, end.refused),
    )


def cells(table: pd.DataFrame) -> Grid:
    """Header, alignment and cells: a line an M and power."""
    return HEADER, "r" * len(HEADER), [_cells(end) for end in mnist.ends(table)]


def _cells(end: End) -> tuple[str, ...]:
    counts = (f"{end.m}", scores.label(end.alpha).removeprefix("α = "), f"{end.steps}", f"{end.n_runs}",
              f"{end.n_failed}")  # fmt: skip
    times = (_reached(end.reached[level], end.n_runs) for level in LEVELS)
    last = (
        _spread(end.seconds, np.median, ".0f"),
        _spread(100 * end.error, np.mean, ".2f"),
        _spread(end.log_likelihood, np.mean, ".4f"),
    )
    return (*counts, *times, *last, f"{end.skipped}", f"{end.refused}")


def _reached(seconds: np.ndarray, n_runs: int) -> str:
    """Median and range, and in how many runs if not in all; a run without it has no time."""
    if not len(seconds):
        return "never"
    some = "" if len(seconds) == n_runs else f" ({len(seconds)} of {n_runs})"
    return _spread(seconds, np.median, ".1f") + some


def _spread(values: np.ndarray, middle: Callable[[np.ndarray], float], form: str) -> str:
    if not len(values):
        return "-"
    text = f"{middle(values):{form}}"
    return f"{text} [{values.min():{form}}, {values.max():{form}}]" if len(values) > 1 else text


def markdown(table: pd.DataFrame) -> str:
    """Everything to read, legible as plain text."""
    lines = [f"# {TITLE}", "", *INTRODUCTION.splitlines(), "", *items([f"{mnist.covered(table)}."]), ""]
    lines += [
        *LEGEND.splitlines(),
        "",
        *grid(*cells(table)),
        "",
        "## Failures",
        "",
        *items(_failures(table)),
        "",
    ]
    lines += ["## Provenance", "", *stamps.note(studies.made(mnist.FILE, table))]
    return "\n".join(lines) + "\n"


def _failures(table: pd.DataFrame) -> list[str]:
    """Measurements without numbers, and trainings that ended early."""
    failed = table[table["outcome"] == FAILED]
    return [
        f"M = {line.m}, α = {mnist.power(line.alpha)}, seed {line.seed}, step {line.step}: {line.message}"
        for line in failed.itertuples()
    ]

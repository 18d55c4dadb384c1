"""PEP11, figures 31 and 32, ``pep_mnist``: training on even against odd MNIST digits by minibatches.

A training is a (alpha, M, seed): Power EP by minibatches (`tilted.learning.minibatch`), measured on the test
set at steps that are about equally far apart in their logarithm [Bui et al. 2017, section 3.9 and appendix
I.4]. The paper gives neither the batches nor the rates nor the starting points. The choices made here are in
the constants below and in docs/paper-power-ep.md.

The paper shows curves without a statement about them, so there is no claim to judge. A further block judges
its statement in section 3.9 that Power EP is as scalable as variational inference.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import claims, render, style
from papers.core.grid import counted, items
from papers.core.render import Column
from papers.core.store import write_csv, write_text
from papers.core.verdicts import NO, YES, Block, Inference, Line
from papers.data import mnist
from papers.pep import looks, scores
from papers.pep.looks import Figure
from papers.pep.regression import FAILED, OK, centres
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.minibatch import Trained, Training, begin, train
from tilted.learning.sparse import Problem
from tilted.likelihoods.probit import Probit
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes

# The experiment

VARIANCE, LENGTHSCALE, JITTER = 4.0, 6.0, 1e-4
TRAINING = Training(batch=500, sweeps=1, rate=0.1, decay=0.0, learning_rate=0.01)
CLUSTERED = 2000
"""Images whose cluster centres are the first pseudo-inputs."""

EACH_DECADE = 8
"""Measurements while the number of steps grows ten times."""

RUN = ("dataset", "alpha", "m", "seed")
SCORES = ("error", "log_likelihood", "energy")
KERNEL, COUNTS = ("variance", "lengthscale"), ("skipped", "refused")


def schedule(steps: int) -> list[int]:
    """Return the steps after which a training of ``steps`` is measured, the last step included."""
    decades = np.arange(0.0, np.log10(steps), 1.0 / EACH_DECADE)
    return list(dict.fromkeys([*(int(round(10.0**x)) for x in decades), steps]))


def pseudo_inputs(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Return the centres [m, D] of clusters of `CLUSTERED` rows of ``X`` [N, D] that ``seed`` draws.

    Raises
    ------
    ValueError
        For more centres than rows to cluster.
    """
    rng = np.random.default_rng([seed, m])
    rows = rng.permutation(len(X))[:CLUSTERED]
    if m > len(rows):
        raise ValueError(f"{m} pseudo-points for {len(rows)} images")
    return centres(X[rows], m, rng)


def run(
    digits: mnist.Digits, alpha: float, m: int, seed: int, steps: int, training: Training = TRAINING
) -> Iterator[dict[str, Any]]:
    """Yield the measurements of a training.

    Parameters
    ----------
    digits : Digits
    alpha : float in [0, 1]
        Power; 0 is VB.
    m : int
        Number of pseudo-points.
    seed : int
        Seed of the first pseudo-inputs and of the order of the data.
    steps : int
    training : Training, optional
        Its ``steps`` and ``seed`` are not used.

    Yields
    ------
    line : dict
        A row of `records.DIGITS`, with None for each missing number. A failed training ends with such a row;
        after a failed measurement the training continues.

    Raises
    ------
    ValueError
        For an invalid power, number of pseudo-points or number of steps.
    """
    problem = Problem(digits.X, digits.y, Probit(), alpha, jitter=JITTER)
    training = replace(training, steps=steps, seed=seed)
    identity = {
        "dataset": mnist.NAME,
        "alpha": float(alpha),
        "m": int(m),
        "seed": int(seed),
        "steps": int(steps),
    }
    Z = pseudo_inputs(digits.X, m, seed)
    state: Trained | None = None
    began, apart = time.process_time(), 0.0
    for step in schedule(steps):
        line = {**identity, "step": step}
        try:
            if state is None:
                state = begin(problem, SquaredExponential(VARIANCE, LENGTHSCALE), Z)
            state = train(problem, state, replace(training, steps=step))
        except (NotPositiveDefinite, ArithmeticError, ValueError) as error:
            yield {**line, "seconds": time.process_time() - began - apart, **_failure(error)}
            return
        stopped = time.process_time()
        yield {**line, "seconds": stopped - began - apart, **_measured(state, digits)}
        apart += time.process_time() - stopped


def _measured(state: Trained, digits: mnist.Digits) -> dict[str, Any]:
    """Return the scores of a state on the test set."""
    kernel = dict(zip(KERNEL, state.pseudo.kernel.parameters().tolist(), strict=True))
    counts = {"skipped": int(state.skipped), "refused": int(state.refused)}
    about = {"energy": state.energy, **kernel, **counts}
    try:
        latent = state.predict(digits.X_test)
    except (NotPositiveDefinite, ArithmeticError) as error:
        return {**_failure(error), **about, "energy": None}
    return {
        "error": float(np.mean(Probit().errors(digits.y_test, *latent))),
        "log_likelihood": float(np.mean(Probit().log_predictive(digits.y_test, *latent))),
        **about,
        "outcome": OK,
        "message": "",
    }


def _failure(error: Exception) -> dict[str, Any]:
    return {
        **dict.fromkeys((*SCORES, *KERNEL, *COUNTS)),
        "outcome": FAILED,
        "message": " ".join(str(error).split()),
    }


# The tables

TABLES = ("pep_mnist.csv", "pep_mnist.md")
LEVELS = (0.05, 0.03)
"""Shares of errors; the time at which a training reached each is reported."""

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


CSV = (
    *"m alpha steps n_runs n_failed seconds_to_5_percent seconds_to_3_percent n_to_5_percent".split(),
    *"n_to_3_percent seconds error error_least error_most log_likelihood log_likelihood_least".split(),
    *"log_likelihood_most skipped refused".split(),
)


def ends(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row of results for each number of pseudo-points, power and length of trainings.

    Errors, log-likelihoods and ``seconds`` are of the trainings that completed with numbers; the others
    failed. Skipped and refused updates are counted over all. The least and the largest number of an average
    are in columns ``_least`` and ``_most``.
    """
    import pandas as pd

    rows = []
    for (m, alpha, steps), runs in frame.groupby(["m", "alpha", "steps"]):
        done = runs[(runs["step"] == steps) & (runs["outcome"] == OK)]
        row = {"m": m, "alpha": f"{alpha:g}", "steps": steps, "n_runs": runs["seed"].nunique()}
        columns = [("seconds", done["seconds"], "median")]
        columns += [(score, done[score], "mean") for score in ("error", "log_likelihood")]
        for level in LEVELS:
            reached = times(runs, level)
            row[f"n_to_{100 * level:g}_percent"] = len(reached)
            columns.append((f"seconds_to_{100 * level:g}_percent", reached, "median"))
        for name, values, average in columns:
            row |= {name: values.agg(average), f"{name}_least": values.min(), f"{name}_most": values.max()}
        row |= runs.groupby("seed")[list(COUNTS)].max().sum().astype(int).to_dict()
        rows.append({**row, "n_failed": row["n_runs"] - len(done)})
    return pd.DataFrame(rows)


def times(runs: pd.DataFrame, level: float) -> pd.Series:
    """Return, by seed, the seconds until the first measurement with at most this share of errors."""
    return runs[runs["error"] <= level].sort_values("step").groupby("seed")["seconds"].first()


def covered(frame: pd.DataFrame) -> str:
    """Return a sentence without a full stop: the coverage of the record."""
    results = ends(frame)
    grids = []
    for (m, steps), powers in results.groupby(["m", "steps"]):
        runs = ", ".join(f"{row.alpha} ({counted(row.n_runs, 'run')})" for row in powers.itertuples())
        grids.append(f"M = {m}, {steps} steps: α = {runs}")
    return f"{'; '.join(grids)}; {results['n_failed'].sum()} failed"


def _spread(row: Any, name: str, form: str, factor: float = 1.0, missing: str = "-") -> str:
    """Return the text of an average with its least and largest number, if there are several."""
    middle, least, most = (factor * getattr(row, f"{name}{end}") for end in ("", "_least", "_most"))
    if math.isnan(middle):
        return missing
    return f"{middle:{form}}" + (f" [{least:{form}}, {most:{form}}]" if least < most else "")


def _reached(row: Any, percent: int) -> str:
    """Return median and range of the seconds, and the number of runs that got there if not all did."""
    n = getattr(row, f"n_to_{percent}_percent")
    some = f" ({n} of {row.n_runs})" if 0 < n < row.n_runs else ""
    return _spread(row, f"seconds_to_{percent}_percent", ".1f", missing="never") + some


COLUMNS = (
    Column("M", "m"),
    Column("α", lambda row: scores.label(row.alpha).removeprefix("α = ")),
    Column("Steps", "steps"),
    Column("Runs", "n_runs"),
    Column("Failed", "n_failed"),
    Column("To 5 %", lambda row: _reached(row, 5)),
    Column("To 3 %", lambda row: _reached(row, 3)),
    Column("All, s", lambda row: _spread(row, "seconds", ".0f")),
    Column("Errors, %", lambda row: _spread(row, "error", ".2f", 100.0)),
    Column("log p(y*)", lambda row: _spread(row, "log_likelihood", ".4f")),
    Column("Skipped", "skipped"),
    Column("Refused", "refused"),
)


def write(frame: pd.DataFrame, origin: Sequence[str], folder: str | Path) -> None:
    """Write `TABLES`; ``origin`` holds the lines about the record's origin (`provenance.note`)."""
    results = ends(frame)
    write_csv(Path(folder, TABLES[0]), results[list(CSV)])
    failed = (
        f"M = {line.m}, α = {line.alpha:g}, seed {line.seed}, step {line.step}: {line.message}"
        for line in frame[frame["outcome"] == FAILED].itertuples()
    )
    lines = [f"# {TITLE}", "", *INTRODUCTION.splitlines(), "", *items([f"{covered(frame)}."]), ""]
    lines += [*LEGEND.splitlines(), "", *render.markdown(COLUMNS, results.itertuples()), ""]
    lines += ["## Failures", "", *items(failed), "", "## Provenance", "", *origin, ""]
    write_text(Path(folder, TABLES[1]), "\n".join(lines))


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


def minibatches(frame: pd.DataFrame) -> list[Block]:
    """Judge PEP11 from rows of `records.DIGITS`."""
    quantity = "error and log-likelihood against time"
    rows = tuple(Line(f"M = {m}", quantity, "factor", note=UNSAID) for m in NUMBERS_OF_POINTS)
    return [
        Block(
            "what the paper says of figures 31 and 32",
            "none",
            rows,
            covered(frame),
            untestable=UNSAID,
            best=-math.inf,
        ),
        Block(SCALABLE, TEST, tuple(_ratios(frame)), best=-math.inf),
    ]


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

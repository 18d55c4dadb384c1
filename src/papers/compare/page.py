"""The comparison as one page (Markdown, and HTML that opens by itself) and as JSON."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from papers.compare import methods
from papers.compare.answer import Answer, Difference, Row
from papers.compare.folds import BASELINE, FOLDS, R_HAT, Exact, Outcome
from papers.compare.table import CLASSIFICATION, COUNTS, REGRESSION, Table
from papers.evidence import runs, store, style
from papers.evidence.grid import grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("comparison.json", "comparison.md", "comparison.html", "comparison.png")
METHOD = """\
Ten folds (equal rows in one fold), squared-exponential kernel, each method at the hyperparameters that
maximise its own evidence; relaxed EP, which has none, at EP's, its penalty chosen on a fifth of the training
rows. Intervals are 95 % intervals of the corrected resampled t test (Nadeau and Bengio 2003), because folds
share training rows; p-values are Holm's over methods. *better*, *worse*: shown; *alike*: shown to differ by
less than matters; *undecided*: neither. Ten folds of one table say how methods do on tables like this one
drawn again, and nothing of other tables."""


CALIBRATION = {
    True: "Calibration error: how far predicted chances are from the shares seen, over ten bins.",
    False: "In 90 % intervals: the share of targets that their predicted central 90 % interval holds.",
}
"""Whether targets are labels -> what the number for calibration is."""

GUESS = {
    CLASSIFICATION: "shares of the classes",
    COUNTS: "Poisson of the mean count",
    REGRESSION: "Laplace noise about the median",
}
"""Task -> what a guess without the features is."""

WILD = 10.0
"""Mean absolute errors by so many spans of the targets are no predictions."""

WILDLY = (
    " Errors of {} are beyond any target: on some row the data say so little of f that its tail rules the "
    "expectation; the log loss is not moved by it."
)


class Comparison(NamedTuple):
    """Everything that is said."""

    table: Table
    seed: int
    margins: tuple[float, float]
    outcomes: list[Outcome]
    rows: list[Row]
    differences: list[Difference]
    exact: Exact | None
    why_not_exact: str
    answer: Answer
    ard: bool = False

    @property
    def folds(self) -> int:
        """How many were finished."""
        return self.rows[0].folds

    def as_dict(self) -> dict[str, Any]:
        """As JSON values; what is missing is null."""
        table, stamp = self.table, runs.stamp()
        about = {
            "data": table.name,
            "file": table.file,
            "sha256": table.sha256,
            "rows": len(table.y),
            "features": list(table.features),
            "task": table.task,
            "remarks": list(table.remarks),
        }
        scored = [
            {k: v for k, v in x._asdict().items() if k not in ("probability", "label")} for x in self.outcomes
        ]
        exact = self.exact and {
            **self.exact._asdict(),
            "sound": self.exact.sound,
            "nearness": [near._asdict() for near in self.exact.nearness],
        }
        said = {
            "answer": self.answer._asdict(),
            "table": about,
            "seed": self.seed,
            "ard": self.ard,
            "folds": self.folds,
            "margins": dict(zip(("loss", "error"), self.margins, strict=True)),
            "methods": [row._asdict() for row in self.rows],
            "differences": [difference._asdict() for difference in self.differences],
            "exact": exact,
            "why_not_exact": self.why_not_exact,
            "outcomes": scored,
            "environment": {k: stamp[k] for k in ("commit", "version", "environment", "date")},
        }
        return _without_nan(said)

    def markdown(self) -> str:
        """The page."""
        table, first = self.table, self.rows[0].method
        shape = f"{len(table.y)} rows, {len(table.features)} features, {table.task}"
        lines = [f"# Which method for {table.name}?", "", self.answer.sentence, ""]
        if self.folds < FOLDS:
            lines += [f"**Interrupted: all numbers are of {self.folds} of {FOLDS} folds.**", ""]
        lines += [f"{shape}. {'. '.join([*table.remarks, ''])}".strip(), ""]
        lines += ["![Differences in log score with intervals](comparison.png)", "", "## Scores", ""]
        lines += [*self._scores(), "", f"## Differences from {first}", "", *self._differences(), ""]
        lines += ["## Against the exact posterior", "", *self._exact(), "", "## How", "", METHOD, ""]
        lengthscales = "A lengthscale a feature (ARD)" if self.ard else "One lengthscale for all features"
        return "\n".join([*lines, f"{lengthscales}. Seed {self.seed}. {_stamped()}", ""])

    def _scores(self) -> list[str]:
        labels = self.table.task == CLASSIFICATION
        scores = ("Wrong", "Calibration error") if labels else ("Mean abs. error", "In 90 % intervals")
        spent = ("Seconds a fold", "In all")
        header = ("Method", "Log loss, nats", *scores, *spent, "Converged", "Failed", "Is")
        names = [row.method for row in self.rows if row.method != BASELINE]
        titles = {m.name: m.title for m in methods.of(self.table.task, names)}
        titles[BASELINE] = GUESS[self.table.task]
        cells = [
            (
                row.method,
                _digits(row.loss, 4),
                (_percent if labels else _digits)(row.error),
                _percent(row.calibration),
                f"{row.seconds:.2f}",
                f"{row.total:.1f}",
                f"{row.converged} of {row.folds}",
                str(row.failed),
                titles[row.method],
            )
            for row in self.rows
        ]
        span = float(self.table.y.max() - self.table.y.min())
        wild = [row.method for row in self.rows if not labels and row.error > WILD * span]
        without = [method.name for method in methods.every(self.table.task) if method.name not in titles]
        said = f"{CALIBRATION[labels]} Seconds are of processor."
        said += WILDLY.format(", ".join(wild)) if wild else ""
        if without:
            slow = "".join(f"; {name} takes the longest" for name in without if name in methods.SLOW)
            said += f" Not compared: {', '.join(without)} (--methods{slow})."
        return [*grid(header, "lrrrrrrrl", cells), "", said, *self._said()]

    def _said(self) -> list[str]:
        """What fits failed by or warned of, with their folds."""
        heard: dict[tuple[str, str], list[str]] = {}
        for outcome in self.outcomes:
            if outcome.message:
                heard.setdefault((outcome.method, outcome.message), []).append(str(outcome.fold))
        said = [f"- {method}, fold {', '.join(k)}: {text}" for (method, text), k in heard.items()]
        return ["", "What was said of fits:", "", *said] if said else []

    def _differences(self) -> list[str]:
        names = {"loss": "log loss, nats", "error": "error"}
        header = ("Method", "Score", "Is", "Difference", "95 % interval", "p (Holm)", "Folds")
        cells = [
            (
                d.method,
                names[d.score],
                d.says,
                _digits(d.mean, 2),
                _interval(d),
                _digits(d.p, 2),
                str(d.folds),
            )
            for d in self.differences
        ]
        small = (
            f"Below zero is better. What matters: {self.margins[0]:g} nats, {self.margins[1]:.3g} of error."
        )
        return [*grid(header, "lllrrrr", cells), "", small]

    def _exact(self) -> list[str]:
        if self.exact is None:
            return [self.why_not_exact]
        found = self.exact
        header = ("Method", "Means off, exact sds", "Variance / exact", "Log loss - exact, nats", "Note")
        cells = [(x.method, *map(_digits, x[1:4]), x.message) for x in found.nearness]
        sure = f"R-hat at most {found.r_hat:.3f}, at least {found.effective:.0f} independent draws"
        noise = f"an exact method would have means off by {found.noise:.4f}"
        lines = [*grid(header, "lrrrl", cells), ""]
        where = (
            "The first fold's test rows, all methods at EP's hyperparameters, by elliptical slice sampling"
        )
        said = f"{where}: {sure}; {noise}."
        loud = f" **The chains do not agree (R-hat above {R_HAT}): take more --iterations first.**"
        return [*lines, said + ("" if found.sound else loud)]


def write(found: Comparison, folder: Path) -> list[Path]:
    """Write the JSON, both pages and the figure."""
    with style.applied():
        picture = io.BytesIO()
        _figure(found.differences, found.margins[0]).savefig(picture, format="png", dpi=style.DPI)
    text = found.markdown()
    encoded = base64.b64encode(picture.getvalue()).decode()
    body = text.replace("(comparison.png)", f"(data:image/png;base64,{encoded})")
    return [
        store.write_text(folder / NAMES[0], json.dumps(found.as_dict(), indent=1, allow_nan=False) + "\n"),
        store.write_text(folder / NAMES[1], text),
        store.write_text(folder / NAMES[2], _html(found.table.name, body)),
        store.write_bytes(folder / NAMES[3], picture.getvalue()),
    ]


def _html(name: str, text: str) -> str:
    from jinja2 import Environment
    from markdown_it import MarkdownIt

    template = resources.files("papers.compare").joinpath("page.html.j2").read_text(encoding="utf-8")
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return (
        Environment(autoescape=True)
        .from_string(template)
        .render(title=f"Which method for {name}?", body=body)
    )


def _figure(differences: Sequence[Difference], margin: float) -> Figure:
    from matplotlib.figure import Figure

    shown = [d for d in differences if d.score == "loss" and math.isfinite(d.mean)]
    figure = Figure(figsize=(5.2, 1.1 + 0.32 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    axes.axvspan(-margin, margin, color=style.LIGHT, zorder=0)
    for k, d in enumerate(shown):
        if math.isfinite(d.low):
            axes.plot([d.low, d.high], [k, k], "|-", color=style.BLUE, markersize=9)
        axes.plot([d.mean], [k], "o", color=style.BLUE, markersize=3)
    axes.locator_params(axis="x", nbins=5)
    style.row_axis([axes], [f"{d.method}: {d.says}" for d in shown])
    axes.set_xlabel(
        "log loss minus the first method's, nats a test row\n(below 0: better; grey: does not matter)"
    )
    return figure


def _stamped() -> str:
    stamp = runs.stamp()
    return f"{stamp['environment']}; commit {stamp['commit'] or 'unknown'}; {stamp['date']}."


def _interval(d: Difference) -> str:
    return f"[{_digits(d.low, 2)}, {_digits(d.high, 2)}]" if math.isfinite(d.low) else ""


def _digits(value: float, significant: int = 3) -> str:
    return "" if not math.isfinite(value) else f"{value:.{significant}g}"


def _percent(value: float) -> str:
    return "" if not math.isfinite(value) else f"{100 * value:.3g} %"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

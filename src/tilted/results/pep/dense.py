"""PEP9 and figure 33: sparse EP with M = N beside dense EP, from the study `studies.DENSE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tilted.data import classification
from tilted.experiments import pep_dense
from tilted.results import studies, style
from tilted.results.audit.verdicts import Block, Line
from tilted.results.pep.limits import QUANTITY, line_of, smallness

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ACCURACY = 1e-6
TEST = f"largest relative difference at most {ACCURACY:g} on the whole grid; interval: smallest and largest"
QUANTITIES = (pep_dense.ENERGY, pep_dense.NLL)


def record(path: str | Path, mirror: str | None = None) -> Path:
    """Run the study and write its record, every line with its stamp."""
    dataset = classification.load(pep_dense.DATA, classification.RELEASED, mirror=mirror)
    return studies.record(path, studies.DENSE, pep_dense.study(dataset))


def equal(found: pd.DataFrame | None) -> list[Block]:
    """PEP9 from the study; None where it was not made."""
    if found is None:
        remark = f"needs {studies.DENSE} (`tilted dense`)"
        return [Block("direct computation", TEST, (Line("M = N", QUANTITY, "excess"),), smallness, remark)]
    lines = []
    for quantity in QUANTITIES:
        part = found[found["quantity"] == quantity]
        sound = bool(part["converged"].all())
        note = f"{len(part)} pairs of hyperparameters, N = {part['n'].iloc[0]}"
        note += "" if sound else "; not all converged"
        lines.append(line_of(f"{quantity}, M = N", part["difference"], sound, note, ACCURACY))
    return [Block("direct computation", TEST, tuple(lines), smallness)]


def draw(found: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Figure 33: both quantities against the lengthscale, a colour a variance, and their differences."""
    from matplotlib.figure import Figure

    with style.applied():
        figure = Figure(figsize=(6.9, 2.6), layout="constrained")
        panels = figure.subplots(1, 3)
        for axes, quantity in zip(panels, QUANTITIES, strict=False):
            _curves(axes, found[found["quantity"] == quantity])
            axes.set_title("energy (nats)" if quantity == pep_dense.ENERGY else "test NLL (nats)")
        for quantity, marker in zip(QUANTITIES, "os", strict=True):
            part = found[(found["quantity"] == quantity) & (found["difference"] > 0)]
            equal = int(((found["quantity"] == quantity) & (found["difference"] == 0)).sum())
            panels[2].plot(part["lengthscale"], part["difference"], color="black", linestyle="",
                           markerfacecolor="none" if marker == "s" else "black",
                           marker=marker, markersize=3.0, markeredgewidth=0.6,
                           label=f"{quantity} ({equal} equal)" if equal else quantity)  # fmt: skip
        panels[2].axhline(ACCURACY, color=style.GREY, linestyle=(0, (4, 2)), linewidth=0.8)
        panels[2].set(yscale="log", title="relative difference")
        panels[0].legend(title="variance", fontsize=6.5, title_fontsize=6.5)
        panels[2].legend(fontsize=6.5, loc="lower right")
        for axes in panels:
            axes.set(xscale="log", xlabel="lengthscale")
        n = int(found["n"].iloc[0])
        figure.suptitle(f"Ionosphere, M = N = {n}: dense EP (lines) and sparse EP (dots)", fontsize=9.0)
        return style.save(figure, stem)


def _curves(axes: Axes, part: pd.DataFrame) -> None:
    from matplotlib import colormaps

    groups = list(part.sort_values("lengthscale").groupby("variance"))
    for k, (variance, line) in enumerate(groups):
        colour = colormaps["plasma"](0.85 * k / max(len(groups) - 1, 1))
        axes.plot(line["lengthscale"], line["dense"], color=colour, linewidth=1.0)
        axes.plot(line["lengthscale"], line["sparse"], color=colour, linestyle="", marker="o",
                  markersize=3.0, markeredgewidth=0, label=f"{variance:.0f}")  # fmt: skip

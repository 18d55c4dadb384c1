"""The gap EP - QP by EP's prior variance: where on the flat ridge a search stopped.

On separable data the evidence rises ever more slowly with the prior variance, and where a search stops on
that ridge is its tolerance's choice, but the test log-likelihoods, and QP's advantage, depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilted.results import published
from tilted.results.aggregate import FIELDS
from tilted.results.compact import FAILED
from tilted.results.gaps import FIT
from tilted.results.grid import grid
from tilted.results.published import ROWS

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

EDGES = (1e2, 1e4, 1e6)
"""Between the classes of prior variance."""

NAMES = ("below 1e2", "1e2 to 1e4", "1e4 to 1e6", "above 1e6")


def by_variance(frame: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Folds of classification and their mean gap, EP as reported, by class of EP's prior variance.

    Parameters
    ----------
    frame : pandas.DataFrame
        Compact records (`compact.read`).
    protocol : str

    Returns
    -------
    classes : pandas.DataFrame
        Columns dataset, variance (index of `NAMES`), folds, gap (printed units); a line for each class that
        has folds with numbers from both methods.
    """
    import numpy as np

    fits = frame[
        (frame["protocol"] == protocol) & (frame["outcome"] != FAILED) & (frame["dataset"] != "coal")
    ]
    sides = [fits[fits["method"] == method][[*FIT, "ntll", "variance"]] for method in ("ep", "qp")]
    both = sides[0].merge(sides[1], on=FIT, suffixes=("_ep", "_qp"))
    both = both.assign(
        gap=FIELDS["NTLL"][1] * (both["ntll_ep"] - both["ntll_qp"]),
        variance=np.searchsorted(EDGES, both["variance_ep"], side="right"),
    )
    grouped = both.groupby(["dataset", "variance"], observed=True)["gap"]
    return grouped.agg(folds="size", gap="mean").reset_index()


def markdown(classes: pd.DataFrame, path: str | Path) -> list[str]:
    """Lines of a section: a row a data set, a column a class; printed gaps from the published table."""
    printed = published.load(path).set_index(["row", "metric", "method"])["published_mean"]
    cells = []
    for dataset, row in ROWS.items():
        part = classes[classes["dataset"] == dataset].set_index("variance")
        if len(part):
            shown = [
                f"{part.loc[k, 'gap']:+.2f} ({part.loc[k, 'folds']})" if k in part.index else "-"
                for k in range(len(NAMES))
            ]
            gap = printed[row, "NTLL", "ep"] - printed[row, "NTLL", "qp"]
            cells.append((row, *shown, f"{gap:+z.1f}"))
    text = [
        "Mean EP - QP of the NTLL in printed units (folds) by EP's prior variance; in the last column the",
        "published gap, a difference of two rounded numbers, known to 0.1.",
    ]
    return ["## Gap by prior variance", "", *text, "", *grid(("Data", *NAMES, "Published"), "lrrrrr", cells)]

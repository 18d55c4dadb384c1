"""The compared scores, the names of data sets and powers, and the coverage of a frame of fits.

A fit that failed has no number. A fit whose search stopped before it converged has one. Only fits from the
default initial values are compared; the others belong to the study of initial values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from papers.core import claims
from papers.core.comparisons import Score
from papers.core.grid import counted
from papers.core.spans import spans
from papers.pep.regression import DEFAULT, DESCRIBED, FAILED, FULL, STOPPED, SYNTHETIC

if TYPE_CHECKING:
    import pandas as pd

MADE_UP = (SYNTHETIC, "banana")
NAMES = {
    "boston": "Boston",
    "concrete": "Concrete",
    "energy": "Energy",
    "kin8nm": "Kin8nm",
    "naval": "Naval",
    "yacht": "Yacht",
    "power": "Power",
    "wine_red": "Red wine",
    SYNTHETIC: "Synthetic",
    "australian": "Australian",
    "breast": "Breast",
    "crabs": "Crabs",
    "iono": "Ionosphere",
    "pima": "Pima",
    "sonar": "Sonar",
    "banana": "Banana (made up)",
}
"""Data set -> printed name, in the order of the paper's Tables 1 and 2."""

ENDS = {"0": "VFE", "1": "EP"}
"""Powers that have a name."""

SYNTHETIC_MARGIN, EVIDENCE_MARGIN, CLASS_MARGIN = (
    claims.load()[name].margin for name in ("PEP1", "PEP2", "PEP7")
)
SMSE = Score("smse", "SMSE", "relative", SYNTHETIC_MARGIN["log_smse"])
SMLL = Score("smll", "SMLL", "nats", SYNTHETIC_MARGIN["smll"])
NLML = Score("nlml", "NLML", "nats", EVIDENCE_MARGIN["nlml"])
PREDICTIVE = (SMSE, SMLL)
ERROR = Score("error", "Error", "error", CLASS_MARGIN["error"])
NLL = Score("nll", "NLL", "nats", CLASS_MARGIN["nll"])


def name_of(dataset: str) -> str:
    """Return the printed name of a data set; its own name if the paper does not have the set."""
    return NAMES.get(dataset, dataset)


def label(alpha: str) -> str:
    """Return the displayed text of a power, with its name if it is at an end of the range."""
    if alpha == FULL:
        return "full GP"
    return f"α = {alpha} ({ENDS[alpha]})" if alpha in ENDS else f"α = {alpha}"


def is_classification(fits: pd.DataFrame) -> bool:
    """Return True if a frame holds classifications (`records.CLASSIFICATION`)."""
    return ERROR.column in fits


def predictive(fits: pd.DataFrame) -> tuple[Score, Score]:
    """Return the two predictive scores that a frame has."""
    return (ERROR, NLL) if is_classification(fits) else PREDICTIVE


def scores_of(fits: pd.DataFrame) -> tuple[Score, ...]:
    """Return the predictive scores and the energy."""
    return (*predictive(fits), NLML)


def natural(fits: pd.DataFrame, score: Score) -> pd.Series:
    """Return the score as drawn: as recorded, but NLML divided by the number of training points."""
    return fits[score.column] / fits["n_train"] if score == NLML else fits[score.column]


def values(fits: pd.DataFrame, score: Score) -> pd.Series:
    """Return the score in the scale of its differences: log SMSE, other scores as drawn."""
    drawn = natural(fits, score).astype(float)
    if score != SMSE:
        return drawn
    if (drawn <= 0).any():
        raise ValueError("an SMSE is not positive")
    return np.log(drawn)


def compared(frame: pd.DataFrame, protocol: str = DESCRIBED) -> pd.DataFrame:
    """Select the fits of a protocol to compare: regressions from the default start, or classifications."""
    fits = frame[frame["protocol"] == protocol]
    return fits[fits["start"] == DEFAULT] if "start" in fits else fits


def with_numbers(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits that did not fail."""
    return fits[fits["outcome"] != FAILED]


def real(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits of the UCI sets."""
    return fits[fits["dataset"].isin(set(NAMES).difference(MADE_UP))]


def made_up(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits of the synthetic sets."""
    return fits[fits["dataset"].isin(MADE_UP)]


def added(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits of sets that the paper does not have."""
    return fits[~fits["dataset"].isin(NAMES)]


def sparse(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits with pseudo-points."""
    return fits[fits["alpha"] != FULL]


def alphas(fits: pd.DataFrame) -> list[str]:
    """Return the powers that were run, ascending."""
    return sorted(set(sparse(fits)["alpha"]), key=float)


def datasets(fits: pd.DataFrame) -> list[str]:
    """Return the data sets that were run: the paper's in its order, then others by name."""
    present = set(fits["dataset"])
    return [name for name in NAMES if name in present] + sorted(present.difference(NAMES))


def coverage(fits: pd.DataFrame) -> str:
    """Return a sentence without a full stop: the coverage of a frame's sparse fits, from the records alone.

    Combinations of a data set's splits, its sizes and the powers without a record are counted as not run.
    """
    runs = sparse(fits)
    groups = {name: runs[runs["dataset"] == name] for name in datasets(runs)}
    splits = {name: _numbers(group["split"]) for name, group in groups.items()}
    sizes = {name: _numbers(group["m"]) for name, group in groups.items()}
    powers = alphas(runs)
    n_absent = len(powers) * sum(len(splits[name]) * len(sizes[name]) for name in groups) - len(runs)
    n_stopped, n_failed = (int((runs["outcome"] == outcome).sum()) for outcome in (STOPPED, FAILED))
    grid = [_sets(splits), f"α {', '.join(powers)}", _by_value(sizes, "M", _listed)]
    protocols = sorted(set(runs["protocol"]) - {DESCRIBED})
    grid = [", ".join(protocols), *grid] if protocols else grid
    counts = [counted(len(runs), "fit")]
    counts += [f"{n_stopped} not converged"] if n_stopped else []
    counts += [f"{n_failed} failed"]
    counts += [f"{n_absent} not run"] if n_absent else []
    return f"{'; '.join(grid)}; {', '.join(counts)}"


def _numbers(column: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in column}))


def _sets(splits: dict[str, tuple[int, ...]]) -> str:
    if list(splits) == [SYNTHETIC]:
        n = len(splits[SYNTHETIC])
        return f"{n} synthetic {'set' if n == 1 else 'sets'}"
    return f"{counted(len(splits), 'set')}, {_by_value(splits, 'splits', spans)}"


def _by_value(numbers: dict[str, tuple[int, ...]], noun: str, form: Callable[[tuple[int, ...]], str]) -> str:
    """Return the text ``noun`` 0-4 if all data sets have the same, else each group by name."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, values_of_set in numbers.items():
        groups.setdefault(values_of_set, []).append(name_of(name))
    if len(groups) == 1:
        return f"{noun} {form(next(iter(groups)))}"
    return f"{noun} " + ", ".join(f"{form(group)} ({', '.join(names)})" for group, names in groups.items())


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))

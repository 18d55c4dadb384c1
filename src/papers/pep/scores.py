"""What is compared: scores, names of data sets and powers, and what a frame of fits covers.

A fit that failed has no number; one whose search stopped before it converged has. Only fits from the default
initial values are compared, the others belong to the study of initial values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from papers.data import classification, regression
from papers.evidence.comparisons import Score
from papers.evidence.grid import counted
from papers.evidence.spans import spans
from papers.pep.regression import DESCRIBED

if TYPE_CHECKING:
    import pandas as pd

SYNTHETIC, FULL, START = "synthetic", "full", "data"
MADE_UP = (SYNTHETIC, "banana")
OK, STOPPED, FAILED = "ok", "stopped", "failed"
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


def name_of(dataset: str) -> str:
    """Printed name of a data set; of one that the paper does not have, its name."""
    return NAMES.get(dataset, dataset)


ENDS = {"0": "VFE", "1": "EP"}


SMSE = Score("smse", "SMSE", "relative", 1e-3)
SMLL = Score("smll", "SMLL", "nats", 1e-3)
NLML = Score("nlml", "NLML", "nats", 1e-3)
PREDICTIVE = (SMSE, SMLL)
SCORES = (SMSE, SMLL, NLML)
ERROR = Score("error", "Error", "error", 5e-4)
NLL = Score("nll", "NLL", "nats", 1e-3)


def is_classification(fits: pd.DataFrame) -> bool:
    """Whether a frame is of classifications (`forms.CLASSIFICATION`)."""
    return ERROR.column in fits


def predictive(fits: pd.DataFrame) -> tuple[Score, Score]:
    """The two scores of predictions that a frame has."""
    return (ERROR, NLL) if is_classification(fits) else PREDICTIVE


def scores_of(fits: pd.DataFrame) -> tuple[Score, ...]:
    """The scores of predictions, and the energy."""
    return (*predictive(fits), NLML)


def values(fits: pd.DataFrame, score: Score) -> pd.Series:
    """The score in the scale of its differences: log SMSE, NLML by training point, others as recorded."""
    found = fits[score.column].astype(float)
    if score.column == "smse":
        if (found <= 0).any():
            raise ValueError("an SMSE is not positive")
        return np.log(found)
    return found / fits["n_train"] if score.column == "nlml" else found


def compared(frame: pd.DataFrame, protocol: str = DESCRIBED) -> pd.DataFrame:
    """Regressions of a protocol from the default initial values, or the classifications of one protocol.

    Raises
    ------
    ValueError
        Two records of one fit, an outcome or a data set that does not exist, or a fit that did not fail and
        lacks a number.
    """
    if is_classification(frame):
        fits = frame
    else:
        fits = frame[(frame["start"] == START) & (frame["protocol"] == protocol)]
    if fits.duplicated(["dataset", "split", "alpha", "m"]).any():
        raise ValueError("two records of one fit")
    known = {*NAMES, *(classification if is_classification(fits) else regression).names()}
    unknown = (set(fits["outcome"]) - {OK, STOPPED, FAILED}) | (set(fits["dataset"]) - known)
    if unknown:
        raise ValueError(f"unknown outcome or data set: {', '.join(sorted(unknown))}")
    if fits.loc[fits["outcome"] != FAILED, [s.column for s in scores_of(fits)]].isna().any(axis=None):
        raise ValueError("a fit that did not fail lacks a number")
    return fits


def real(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits of the UCI sets."""
    return fits[fits["dataset"].isin(set(NAMES).difference(MADE_UP))]


def made_up(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits of the synthetic sets."""
    return fits[fits["dataset"].isin(MADE_UP)]


def added(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits of sets that the paper does not have."""
    return fits[~fits["dataset"].isin(NAMES)]


def sparse(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits with pseudo-points."""
    return fits[fits["alpha"] != FULL]


def alphas(fits: pd.DataFrame) -> list[str]:
    """The powers that were run, ascending."""
    return sorted(set(sparse(fits)["alpha"]), key=float)


def datasets(fits: pd.DataFrame) -> list[str]:
    """The data sets that were run, in the paper's order, then those it does not have by name."""
    present = set(fits["dataset"])
    return [name for name in NAMES if name in present] + sorted(present.difference(NAMES))


def label(alpha: str) -> str:
    """A power as a reader sees it, with the name it has at the ends."""
    if alpha == FULL:
        return "full GP"
    return f"α = {alpha} ({ENDS[alpha]})" if alpha in ENDS else f"α = {alpha}"


@dataclass(frozen=True)
class Coverage:
    """What a frame of fits covers, from the records alone.

    Attributes
    ----------
    splits, sizes : dict
        Data set -> its splits, its numbers of pseudo-points.
    alphas : list of str
    n_fits, n_stopped, n_failed, n_absent : int
        ``n_absent``: combinations of a data set's splits, sizes and the powers without a record.
    protocol : str
        Of classifications.
    """

    splits: dict[str, tuple[int, ...]]
    sizes: dict[str, tuple[int, ...]]
    alphas: list[str]
    n_fits: int
    n_stopped: int
    n_failed: int
    n_absent: int
    protocol: str = ""

    @property
    def text(self) -> str:
        """One sentence, without a full stop."""
        protocol = [self.protocol] if self.protocol else []
        parts = [
            *protocol,
            _sets(self.splits),
            f"α {', '.join(self.alphas)}",
            _alike(self.sizes, "M", _listed),
        ]
        counts = [
            counted(self.n_fits, "fit"),
            *(f"{n} {what}" for n, what in ((self.n_stopped, "not converged"),) if n),
            f"{self.n_failed} failed",
            *(f"{n} not run" for n in (self.n_absent,) if n),
        ]
        return f"{'; '.join(parts)}; {', '.join(counts)}"


def coverage(fits: pd.DataFrame) -> Coverage:
    """What sparse fits cover."""
    part = sparse(fits)
    groups = {name: part[part["dataset"] == name] for name in datasets(part)}
    splits = {name: _sorted(group["split"]) for name, group in groups.items()}
    sizes = {name: _sorted(group["m"]) for name, group in groups.items()}
    powers = alphas(part)
    expected = sum(len(splits[name]) * len(sizes[name]) * len(powers) for name in groups)
    outcomes = part["outcome"]
    n_stopped, n_failed = (int((outcomes == what).sum()) for what in (STOPPED, FAILED))
    protocol = ", ".join(sorted(set(part["protocol"]))) if is_classification(part) else ""
    return Coverage(splits, sizes, powers, len(part), n_stopped, n_failed, expected - len(part), protocol)


def _sorted(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in numbers}))


def _sets(splits: dict[str, tuple[int, ...]]) -> str:
    if list(splits) == [SYNTHETIC]:
        n = len(splits[SYNTHETIC])
        return f"{n} synthetic {'set' if n == 1 else 'sets'}"
    return f"{counted(len(splits), 'set')}, {_alike(splits, 'splits', spans)}"


def _alike(found: dict[str, tuple[int, ...]], what: str, shown: Callable[[tuple[int, ...]], str]) -> str:
    """``what`` 0-4 if all data sets have the same, else each group by name."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, numbers in found.items():
        groups.setdefault(numbers, []).append(name_of(name))
    if len(groups) == 1:
        return f"{what} {shown(next(iter(groups)))}"
    return f"{what} " + ", ".join(f"{shown(n)} ({', '.join(names)})" for n, names in groups.items())


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))

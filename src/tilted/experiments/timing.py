"""How long one inference takes: EP against QP at the same hyperparameters, each from flat sites.

The paper says that with lookup tables both take almost the same time [Zhang 2020, appendix J]. The records
of the full runs cannot tell, since EP's times include its search for hyperparameters. Here EP is tuned
once a fold and then every method infers at these hyperparameters alone, to the protocol's own tolerance.
Times are processor seconds, the best of a few repeats; run it on an otherwise idle machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilted import api, lookup, protocols
from tilted.data import Dataset, split
from tilted.experiments import qp
from tilted.inference import RULES
from tilted.inference.options import Options
from tilted.kernels.squared_exponential import SquaredExponential

if TYPE_CHECKING:
    from typing import Any

    from tilted.inference.rule import Projector

METHODS = ("ep", "qp", "qp-lookup")
"""EP, QP by direct quadrature, QP with the certified lookup table."""

COLUMNS = tuple("dataset protocol seed fold method sweeps seconds N".split())
TASK = "classification"
REPEATS = 3


def modules_of(protocol: str, dataset: str) -> list[str]:
    """Modules whose closures the times depend on (some are imported by name at run time)."""
    return [__name__, *qp.modules_of(protocol, dataset, "ep"), RULES["qp"]]


def measure(
    dataset: Dataset,
    protocol: str,
    cells: Iterable[tuple[int, int]],
    methods: Sequence[str] = METHODS,
    repeats: int = REPEATS,
) -> Iterator[dict[str, Any]]:
    """Time one cold inference of each method on some folds of a classification data set.

    Parameters
    ----------
    dataset : Dataset
        In the variant of the protocol.
    protocol : str
    cells : iterable of (seed, fold)
    methods : sequence of str, optional
        Of `METHODS`.
    repeats : int
        Inferences a time is the best of.

    Yields
    ------
    record : dict
        `COLUMNS`; ``seconds`` and ``sweeps`` are None where EP could not be tuned, or where the
        inference failed or did not converge: such a time compares with nothing.

    Raises
    ------
    ValueError
        Not a classification data set, unknown names, or fewer than one repeat.
    """
    if qp.task_of(dataset.name) != TASK:
        raise ValueError(f"'{dataset.name}' is not a classification data set")
    if repeats < 1:
        raise ValueError(f"need at least one repeat, got {repeats}")
    table = lookup.build()
    for seed, fold in cells:
        tuned = qp.run_cell(dataset, protocol, "ep", seed, fold)[0]
        for method in methods:
            name, projection = ("qp", table) if method == "qp-lookup" else (method, None)
            sweeps, seconds = _timed(dataset, protocol, tuned, name, repeats, projection)
            values = (dataset.name, protocol, seed, fold, method, sweeps, seconds, tuned["n_train"])
            yield dict(zip(COLUMNS, values, strict=True))


def _timed(
    dataset: Dataset,
    protocol: str,
    tuned: dict[str, Any],
    method: str,
    repeats: int,
    projection: Projector | None = None,
) -> tuple[int | None, float | None]:
    """Sweeps and the least processor seconds of ``repeats`` inferences at EP's hyperparameters."""
    if tuned["hyperparameters"] is None:
        return None, None
    block, spec = protocols.block(protocol, TASK), protocols.method(protocol, TASK, "ep")
    part = split(dataset, block["split"], tuned["seed"], tuned["fold"], standardise=block["standardise"])
    kernel = SquaredExponential(tuned["hyperparameters"]["variance"], tuned["hyperparameters"]["lengthscale"])
    options = Options(**block["sites"], min_precision=spec.get("min_precision", -np.inf))
    arguments = (part.X_train, part.y_train, block["likelihood"], method, kernel)
    seconds = np.inf
    for _ in range(repeats):
        began = time.process_time()
        try:
            fitted = api.fit(
                *arguments, mean=block["mean"], optimise=False, options=options, projection=projection
            )
        except ArithmeticError:  # an improper posterior
            return None, None
        seconds = min(seconds, time.process_time() - began)
    return (fitted.status.sweeps, seconds) if fitted.status.converged else (None, None)

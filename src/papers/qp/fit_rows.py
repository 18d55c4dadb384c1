"""A row of the records of fits, from a fit record; the studies are in `papers.qp.records`.

``dataset, method, seed, fold, n_train, n_test``
    the key of the fit, with its sizes; ``ep-tune`` is EP's first tuning where a protocol tunes twice;
``outcome, reason``
    ``ok``, ``not converged`` (numbers, but a convergence test was not met) or ``failed`` (no numbers);
``sweeps, evaluations, clipped, retries, negative_sites``
    of the fit's status (`tilted.inference.result.Status`);
``variance, lengthscale, log_evidence, test_error, ntll, seconds``
    hyperparameters (``lengthscale`` is text, one number or one a dimension joined by ``:``, see
    `lengthscales`), log evidence, scores in natural units, processor seconds;
``pair, n_above, ratio_min, ratio_median, ratio_max``
    on rows of method ``qp`` only: the EP record that its predictive variances are compared with
    (`papers.qp.pairs`), the number of test points with v_qp > v_ep (1 + 1e-9), and the
    smallest, median and largest v_qp / v_ep.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from papers.qp.published import FOLDS, is_counts
from tilted.kernels.squared_exponential import SquaredExponential

if TYPE_CHECKING:
    from typing import Any

KEY = ("dataset", "method", "seed", "fold")
FOLD = ("protocol", "dataset", "seed", "fold")
SEED = ("protocol", "dataset", "method", "seed")
STATUS = ("sweeps", "evaluations", "clipped", "retries", "negative_sites")
NUMBERS = ("log_evidence", "test_error", "ntll")
PAIR = ("pair", "n_above", "ratio_min", "ratio_median", "ratio_max")
COLUMNS = (
    *(*KEY, "n_train", "n_test", "outcome", "reason"),
    *STATUS,
    *("variance", "lengthscale", *NUMBERS, "seconds"),
    *PAIR,
)
OUTCOMES = OK, UNCONVERGED, FAILED = ("ok", "not converged", "failed")
NO_PAIR: Mapping[str, Any] = {"pair": ""} | dict.fromkeys(PAIR[1:])

NUMBER = r"[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|\b(?:inf|nan)\b)"
ENTRY = rf"(?:np\.float64\({NUMBER}\)|{NUMBER})"
VECTOR = rf"\({ENTRY}(?:, {ENTRY})+\)"


def n_folds(dataset: str) -> int:
    """Return the number of folds that make a seed of a data set complete."""
    return 1 if is_counts(dataset) else FOLDS


def lengthscales(text: str) -> np.ndarray:
    """Return the numbers of a ``lengthscale`` entry: [1], [D] for one per dimension, [0] for a failed fit."""
    return np.array([float(scale) for scale in text.split(":") if scale])


def kernel_of(line: Mapping[str, Any]) -> SquaredExponential:
    """Return the kernel at the hyperparameters of a row whose fit did not fail."""
    scales = lengthscales(line["lengthscale"])
    return SquaredExponential(line["variance"], scales[0] if len(scales) == 1 else tuple(scales))


def line_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a fit record (`papers.qp.fits`) to a row without a pair."""
    status, kernel = record["status"], record["hyperparameters"] or {}
    failed = record["test_error"] is None or record["ntll"] is None
    outcome = FAILED if failed else OK if status["converged"] else UNCONVERGED
    message = str(status.get("message") or "no reason given").removeprefix("failed: ")
    scales = np.atleast_1d(kernel.get("lengthscale", ()))
    return {
        **{name: record[name] for name in ("protocol", *KEY, "n_train", "n_test")},
        "outcome": outcome,
        "reason": "" if outcome == OK else " ".join(message.split()),
        **{name: status[name] for name in STATUS},
        "variance": kernel.get("variance"),
        "lengthscale": ":".join(f"{scale:.12g}" for scale in scales),
        **{name: record[name] for name in (*NUMBERS, "seconds")},
        **NO_PAIR,
    }


def clause_of(reason: str) -> str:
    """Return a reason's first clause; a vector, which may have sixty numbers, becomes ``(#)``."""
    return re.sub(VECTOR, "(#)", reason.split(";")[0]).strip(": ")


def reason_class(reason: str) -> str:
    """Return a reason's first clause without its numbers (``#``), so that it names the kind of error only."""
    return re.sub(NUMBER, "#", clause_of(reason))

"""What hyperparameters are learned by, on small rows of Table 1: mean negative log predictive densities.

    python benchmarks/objectives.py [--mirror FOLDER] [--seeds 3] [--rows wine12 crabs] [--folds 1]

Splits, standardisation, likelihoods, start and search of protocol `as-released`. Objectives: EP's log
evidence, the same to second order (``optimise="corrected-evidence"``), VB's bound, QP's evidence, and the sum
of leave-one-out log predictive densities, of EP's and of QP's cavities, by Nelder and Mead's simplex from
EP's optimum. A line is "learned by: predicted by"; prints what docs/corrections.md and docs/qp-objective.md
say, with standard errors of differences over folds. Ten seconds of processor time a fold at most.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from scipy.optimize import minimize

import tilted
from papers.data import folds, load, registry, split
from papers.qp import protocols
from tilted.corrections import CorrectionWarning
from tilted.gaussian import cavity
from tilted.learning.search import Search
from tilted.projections import table

PROTOCOL = "as-released"
ROWS = ("wine12", "wine13", "wine23", "crabs", "coal")
LARGEST = np.log(1e9)  # of a parameter that a simplex may reach, either way


def left_out(fit: tilted.Fit) -> np.ndarray:
    """Log predictive densities [N] of the data, each by its own cavity."""
    marginals, sites = fit.inference.state.marginals, fit.inference.sites
    m, v = cavity(marginals.mean, marginals.variance, sites.tau, sites.nu)
    if not (fit.status.converged and np.all(v > 0)):
        return np.full(len(m), -1e3)
    return fit.problem.likelihood.log_predictive(fit.problem.y, m, v)


def by_leaving_out(fit_at, kernel):
    """The fit whose sum of `left_out` a simplex finds highest, from ``kernel``; and whether it ended."""

    def loss(theta: np.ndarray) -> float:
        if np.any(np.abs(theta) > LARGEST):
            return 1e6
        try:
            return -float(np.sum(left_out(fit_at(kernel.with_parameters(np.exp(theta))))))
        except ArithmeticError:
            return 1e6

    options = {"xatol": 1e-2, "fatol": 1e-3, "maxfev": 150}
    found = minimize(loss, np.log(kernel.parameters()), method="Nelder-Mead", options=options)
    return fit_at(kernel.with_parameters(np.exp(found.x))), bool(found.success)


def one_fold(part, block, sigma) -> tuple[dict[str, float], dict[str, float]]:
    """Mean negative log densities by what was learned by and predicted by; counts and seconds."""
    counts, losses = defaultdict(float), {}
    data = part.X_train, part.y_train, block["likelihood"]
    shared = {"mean": block["mean"], "search": Search(**block["search"])}
    start = tilted.SquaredExponential(1.0, 1.0)

    def fit(inference, kernel=start, optimise=False):
        projection = sigma if inference == "qp" and block["likelihood"] == "probit" else None
        return tilted.fit(*data, inference, kernel, optimise=optimise, projection=projection, **shared)

    def score(name, of):
        losses[name] = -float(np.mean(of.log_predictive(part.X_test, part.y_test)))

    began = time.process_time()
    ep = fit("ep", optimise=True)
    counts["s EP's search"] = time.process_time() - began
    began = time.process_time()
    corrected = fit("ep", optimise="corrected-evidence")
    counts["s corrected search"] = time.process_time() - began
    counts["EP's kept"] = "which are kept" in corrected.status.message
    counts["infeasible steps"] = "infeasible" in corrected.status.message
    counts["not converged"] = not corrected.status.converged
    counts["nats gained"] = corrected.corrected_evidence().value - ep.corrected_evidence().value
    counts["|log variance|"] = abs(np.log(corrected.kernel.variance / ep.kernel.variance))
    for name, kernel in (("EP", ep.kernel), ("corrected", corrected.kernel)):
        for method in ("ep", "vb", "qp"):
            score(f"{name}: {method.upper()}", fit(method, kernel))
    score("VB: VB", fit("vb", optimise=True))
    score("QP: QP", fit("qp", ep.kernel, optimise=True))
    for method in ("ep", "qp"):
        began = time.process_time()
        best, ended = by_leaving_out(lambda kernel, by=method: fit(by, kernel), ep.kernel)
        counts[f"s {method} left out"] = time.process_time() - began
        counts[f"{method} left out, not ended"] = not ended
        score(f"{method.upper()} left out: {method.upper()}", best)
        counts[f"{method} left out, |log variance|"] = abs(np.log(best.kernel.variance / ep.kernel.variance))
    return losses, counts


def main() -> None:
    """Print a line a row and column: mean, difference from EP and its standard error, times 1000."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", CorrectionWarning)
    sigma = table.build()
    for row in arguments.rows:
        block = protocols.block(PROTOCOL, registry.task_of(row))
        dataset = load(row, block["variant"], mirror=arguments.mirror)
        losses, counts = defaultdict(list), defaultdict(list)
        for seed in range(arguments.seeds):
            for fold in range(min(arguments.folds, folds(block["split"]))):
                part = split(dataset, block["split"], seed, fold, standardise=block["standardise"])
                found = one_fold(part, block, sigma)
                for into, values in zip((losses, counts), found, strict=True):
                    for name, value in values.items():
                        into[name].append(value)
        base = np.array(losses["EP: EP"])
        print(f"\n{row}: {len(base)} folds")
        for name, values in losses.items():
            gap = 1000.0 * (np.array(values) - base)
            error = np.std(gap, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            print(f"  {name:24s} {1000 * np.mean(values):9.2f} {np.mean(gap):+9.2f} +- {error:.2f}")
        print(
            "  " + "; ".join(f"{name} {np.mean(values):.3g}" for name, values in counts.items()), flush=True
        )


if __name__ == "__main__":
    main()

"""Corrections through pseudo-points against the exact posterior of the model with these pseudo-points.

    python benchmarks/sparse_corrections.py [--mirror FOLDER] [--samples 200000] [--points 20]

Half of each set is learned from, inputs standardised, with EP's evidence and pseudo-inputs that stay; the
first test points of the other half are judged. The exact posterior is one of M numbers: importance sampling
from EP's Gaussian over them. Prints the table of docs/corrections.md.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.special import logsumexp

from papers.data import load
from papers.pep.classification import draw_banana
from tilted import SparseGPClassifier
from tilted.corrections import CorrectionWarning

SETS = ("crescents", "ionosphere", "pima", "crabs")
M, CHUNK = 20, 500


def halves(name: str, mirror: str | None) -> tuple[np.ndarray, ...]:
    """Standardised inputs and labels, of one half and the other."""
    if name == "crescents":
        X, y = draw_banana(0, 800)
    else:
        data = load(name, "corrected", mirror=mirror)
        X, y = data.X, data.y
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[::2], order[1::2]
    sd = np.where(np.std(X[train], axis=0) > 0, np.std(X[train], axis=0), 1.0)
    X = (X - np.mean(X[train], axis=0)) / sd
    return X[train], y[train], X[test], y[test]


def sampled(model, X: np.ndarray, y: np.ndarray, samples: int) -> dict[str, np.ndarray]:
    """Log evidence with its error, effective samples, variances [N*] and log densities [N*] of y."""
    prior, state = model.fitted.posterior, model.fitted.inference.state
    rng, likelihood = np.random.default_rng(1), model.likelihood
    e = rng.normal(size=(samples, len(state.factor)))
    z = (e + state.projected) @ state.factor
    log_w = 0.5 * np.sum(e**2 - z**2, axis=1) + np.sum(np.log(np.diagonal(state.factor)))
    for rows in np.array_split(np.arange(samples), max(1, samples // CHUNK)):
        h = model.mean + z[rows] @ prior.V
        at = (np.broadcast_to(values, h.shape).ravel() for values in (model.problem.y, prior.extra))
        targets, extra = at
        log_w[rows] += likelihood.log_predictive(targets, h.ravel(), extra).reshape(h.shape).sum(axis=1)
    log_z = logsumexp(log_w) - np.log(samples)
    w = np.exp(log_w - logsumexp(log_w))
    V = prior.pseudo.root @ prior.pseudo.cross(X)
    extra, h = prior.pseudo.left_over(X, V)[0], model.mean + z @ V
    variance = w @ (h - w @ h) ** 2 + extra
    at = (np.broadcast_to(values, h.shape).ravel() for values in (y, extra))
    targets, extra = at
    log_p = likelihood.log_predictive(targets, h.ravel(), extra).reshape(h.shape)
    effective = 1.0 / np.sum(w**2)
    log_density = logsumexp((log_w - logsumexp(log_w))[:, None] + log_p, axis=0)
    return {
        "log_z": log_z,
        "error": np.sqrt(1.0 / effective - 1.0 / samples),
        "effective": effective,
        "variance": variance,
        "log_density": log_density,
    }


def main() -> None:
    """A line a set and grade."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror")
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--points", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    warnings.simplefilter("ignore", CorrectionWarning)
    for name in SETS:
        X, y, new, labels = halves(name, arguments.mirror)
        new, labels = new[: arguments.points], labels[: arguments.points]
        began = time.process_time()
        found = SparseGPClassifier("ep", n_pseudo=M).fit(X, y)
        spent = time.process_time() - began
        kept = {"kernel": found.kernel_, "pseudo_inputs": found.pseudo_inputs_, "optimise": None}
        exact = sampled(found.models_[0], new, labels, arguments.samples)
        print(
            f"{name} ({len(y)}): search {spent:.1f} s; sampled {exact['log_z']:.3f} +- {exact['error']:.3f}"
        )
        print(f"  {exact['effective']:.0f} effective samples; {found.kernel_}")
        for grade in (None, "cheap", "nearly-exact"):
            model = SparseGPClassifier("ep", correction=grade, **kept).fit(X, y)
            began = time.process_time()
            value = model.log_marginal_likelihood() if grade != "nearly-exact" else np.nan
            evidence = time.process_time() - began
            began = time.process_time()
            sd = model.predict_latent(new, return_std=True)[1]
            marginals = time.process_time() - began
            log_p = model.predict_log_proba(new)[np.arange(len(new)), (labels > 0).astype(int)]
            rms = np.sqrt(np.mean(np.log(sd**2 / exact["variance"]) ** 2))
            gap = np.mean(np.abs(log_p - exact["log_density"]))
            refused = 0 if grade is None else np.sum(~model.models_[0].corrected(new).trusted)
            print(f"  {grade}: evidence {value:.3f} ({evidence:.2f} s)", end="")
            print(f", variances {rms:.4f}, densities {gap:.5f}, refused {refused}", end="")
            print(f" ({marginals:.2f} s)", flush=True)


if __name__ == "__main__":
    main()

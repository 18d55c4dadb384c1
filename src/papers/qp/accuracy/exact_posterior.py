"""The exact posterior of a split by sampling, and EP, QP and VB at the same hyperparameters.

The hyperparameters are those of EP's (first) tuning, as in the QP paper. The exact posterior and evidence are
sampled (``tilted.exact``) from the reference Gaussian of EP's sites raised to the power ``FRACTION``. This is
wider than EP's posterior because the exact one has heavier tails on separable data.

Numbers in the record are rounded: estimates to 7 significant digits, standard errors and diagnostics to 3.
Training latents are those of the distinct inputs: equal rows share one. Times are processor seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from papers.core import store
from papers.data import standard
from papers.qp import fits
from papers.qp.accuracy import weighted_draws
from papers.qp.accuracy.approximations import approximated
from papers.qp.published import TRUTH_PROTOCOL, is_counts
from tilted.corrections import require_sampled
from tilted.exact.annealing import Annealed, anneal, schedule
from tilted.exact.chains import Length, Moments, Sample, sample
from tilted.exact.moves import Moves, suited
from tilted.exact.target import Reference, Target
from tilted.gaussian import Sites
from tilted.kernels.squared_exponential import SquaredExponential

if TYPE_CHECKING:
    from typing import Any

    from papers.data import Dataset, Split
    from papers.qp.accuracy.approximations import Approximated

    Seed = int | list[int]
    Columns = tuple[dict[str, float], dict[str, dict[str, list[float]]]]

SUBSETS = ("train", "test")
FRACTION = 0.7
JOINT_STEPS = 4  # at each power of the annealing; with fewer, runs caught in a tail dominate the weights
DIGITS, ERROR_DIGITS = 7, 3


@dataclass(frozen=True)
class Effort:
    """The amount of sampling: chains of ``iterations`` after a warm-up of a fifth more, then annealed runs.

    ``share`` sets how fine the annealing is (``annealing.schedule``).
    """

    chains: int
    iterations: int
    runs: int
    share: float = 0.997

    @property
    def length(self) -> Length:
        """Return the length of the chains."""
        return Length(self.chains, self.iterations // 5, self.iterations)


def sample_split(split: int, effort: Mapping[str, Any], data: str, log: str) -> Iterator[dict[str, Any]]:
    """Yield the record of one split (`run`) of a standard file; the sampler's numbers go to the log."""
    dataset = standard.read_standard(data)
    seed, fold = (split, 0) if is_counts(dataset.name) else (0, split)
    sampling = effort["draws"] if "draws" in effort else Effort(**effort)
    record = run(dataset, sampling, seed=seed, fold=fold)
    details = record["details"]
    store.write_text(log, f"{details['sampler']} {details['annealing']} {details['seconds']}\n")
    yield record


def run(
    dataset: Dataset,
    effort: Effort | int,
    kernel: SquaredExponential | None = None,
    seed: int = 0,
    fold: int = 0,
) -> dict[str, Any]:
    """Compare the methods with the exact posterior on one fold.

    Parameters
    ----------
    dataset : Dataset
        Data set in the variant of the protocol as-released.
    effort : Effort or int
        Number and length of chains, or number of weighted draws (labels only).
    kernel : SquaredExponential, optional
        Hyperparameters; those of EP's first tuning on this fold by default.
    seed, fold : int
        The split; they also start the random numbers of the sampler.

    Returns
    -------
    record : dict
        The columns of `papers.qp.accuracy.records.TRUTH`, with the sampler's diagnostics as ``details``. In
        ``latents`` the columns of `TRUTH_LATENTS` at training inputs (``train``) and test inputs (``test``).

    Raises
    ------
    ArithmeticError
        If EP's tuning or a method's inference fails: there is nothing to compare.
    ValueError
        Draws were asked for a data set of counts.
    """
    kernel = kernel or tuned_kernel(dataset, seed, fold)
    result = approximated(dataset, kernel, seed, fold)
    points, ep = result.points, result.fits["ep"]
    target = _target(result)
    entropy = [seed, fold] if fold else seed
    if isinstance(effort, int):
        require_sampled(ep.problem.likelihood)
        rng, began = np.random.default_rng(np.random.SeedSequence(entropy)), time.process_time()
        drawn = weighted_draws.draw(kernel, points, target.mean, target.inputs, effort, rng)
        exact = _drawn(drawn, effort, time.process_time() - began)
    else:
        exact = _sampled(Reference.build(target, ep.inference.sites, FRACTION), points, effort, entropy)
        if ep.problem.likelihood.name == "poisson-square":
            exact["details"]["mirror"] = _mirror(target, ep.inference.sites, effort, entropy, exact)
    evidences, columns = columns_of_methods(result)
    return {
        "dataset": dataset.name,
        "seed": seed,
        "fold": fold,
        "n_train": len(points.y_train),
        "n_latents": len(target),
        "n_test": len(points.y_test),
        "variance": kernel.variance,
        "lengthscale": kernel.lengthscale,
        **exact,
        **evidences,
        "seconds": sum(exact["details"]["seconds"].values()),
        "latents": {subset: exact["latents"][subset] | columns[subset] for subset in SUBSETS},
    }


def _target(result: Approximated) -> Target:
    """Return the exact posterior of the model that the methods approximate."""
    points, ep = result.points, result.fits["ep"]
    assert isinstance(ep.kernel, SquaredExponential), "inference keeps the kernel"
    return Target.build(ep.kernel, points.X_train, points.y_train, ep.problem.likelihood, ep.problem.mean)


def tuned_kernel(dataset: Dataset, seed: int, fold: int) -> SquaredExponential:
    """Return the hyperparameters of EP's first tuning; ArithmeticError if it failed."""
    first = fits.run_fold(dataset, TRUTH_PROTOCOL, "ep", seed, fold)[0]
    if first["hyperparameters"] is None:
        raise ArithmeticError(f"EP's tuning on {dataset.name} failed: {first['status']['message']}")
    return fits.kernel_at(first["hyperparameters"])


def columns_of_methods(result: Approximated) -> Columns:
    """Return the methods' log evidences by column, and part -> their columns of latents."""
    distinct = np.unique(_target(result).latent, return_index=True)[1]
    evidences: dict[str, float] = {}
    latents: dict[str, dict[str, list[float]]] = {subset: {} for subset in SUBSETS}
    for method, fit in result.fits.items():
        mean, variance = fit.predict_latent(result.points.X_test)
        density = fit.problem.likelihood.log_predictive(result.points.y_test, mean, variance)
        marginals = fit.inference.state.marginals
        evidences[f"log_evidence_{method}"] = fit.log_evidence
        latents["train"] |= {
            f"mean_{method}": _rounded(marginals.mean[distinct]),
            f"variance_{method}": _rounded(marginals.variance[distinct]),
        }
        latents["test"] |= {
            f"mean_{method}": _rounded(mean),
            f"variance_{method}": _rounded(variance),
            f"log_density_{method}": _rounded(density),
        }
    return evidences, latents


def _sampled(reference: Reference, points: Split, effort: Effort, seed: Seed) -> dict[str, Any]:
    """Return sampled moments, predictions and evidence, with standard errors and diagnostics."""
    rng, rng_annealing = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    began = time.process_time()
    drawn = sample(reference, rng, effort.length, inputs=points.X_test, labels=points.y_test)
    sampled = time.process_time()
    assert drawn.others is not None and drawn.log_density is not None and drawn.se_log_density is not None
    moves = _annealing_moves(reference)
    powers = schedule(reference, rng_annealing, effort.share, moves)
    annealed = anneal(reference, rng_annealing, powers, effort.runs, moves)
    return {
        "log_evidence": annealed.log_evidence,
        "se_log_evidence": float(annealed.standard_error),
        "latents": {
            "train": _moments_of_chains(drawn.latents),
            "test": _moments_of_chains(drawn.others) | _densities(drawn.log_density, drawn.se_log_density),
        },
        "details": {
            "sampler": _sampler(drawn, effort, reference),
            "annealing": _annealing(annealed, powers, moves),
            "seconds": {"sampling": sampled - began, "annealing": time.process_time() - sampled},
            "train": {"r_hat_max": float(drawn.latents.r_hat.max())},
            "test": {"r_hat_max": float(drawn.others.r_hat.max())},
        },
    }


def _drawn(drawn: weighted_draws.Drawn, n_draws: int, seconds: float) -> dict[str, Any]:
    """Return the entries of `_sampled` from draws; there are no chains that R-hat could compare."""
    at = len(drawn.mean.value) - len(drawn.log_density.value)
    latents = {
        subset: _moments(
            *(drawn.mean.value[rows], drawn.variance.value[rows]),
            *(drawn.mean.error[rows], drawn.variance.error[rows]),
            np.full(len(drawn.mean.value[rows]), drawn.effective),
        )
        for subset, rows in (("train", slice(at)), ("test", slice(at, None)))
    }
    latents["test"] |= _densities(*drawn.log_density)
    return {
        "log_evidence": float(drawn.log_evidence.value),
        "se_log_evidence": float(drawn.log_evidence.error),
        "latents": latents,
        "details": {
            "sampler": {
                "draws": n_draws,
                "effective": drawn.effective,
                "share_of_heaviest": drawn.heaviest,
            },
            "annealing": None,
            "seconds": {"drawing": seconds},
            **dict.fromkeys(SUBSETS, {"r_hat_max": None}),
        },
    }


def _moments(
    mean: np.ndarray,
    variance: np.ndarray,
    se_mean: np.ndarray,
    se_variance: np.ndarray,
    effective_size: np.ndarray,
) -> dict[str, list[float]]:
    """Return columns of latents [N] of the exact posterior."""
    return {
        "mean": _rounded(mean),
        "variance": _rounded(variance),
        "se_mean": _rounded(se_mean, ERROR_DIGITS),
        "se_variance": _rounded(se_variance, ERROR_DIGITS),
        "effective_size": _rounded(effective_size, ERROR_DIGITS),
    }


def _moments_of_chains(moments: Moments) -> dict[str, list[float]]:
    errors = moments.se_mean, moments.se_variance
    return _moments(moments.mean, moments.variance, *errors, moments.effective_size)


def _densities(log_density: np.ndarray, error: np.ndarray) -> dict[str, list[float]]:
    return {"log_density": _rounded(log_density), "se_log_density": _rounded(error, ERROR_DIGITS)}


def _sampler(drawn: Sample, effort: Effort, reference: Reference) -> dict[str, Any]:
    moves = suited(reference)
    return {
        "chains": effort.chains,
        "warmup": effort.length.warmup,
        "iterations": effort.iterations,
        "joint_steps": moves.joint,
        "sweeps": moves.sweeps,
        "fraction": FRACTION,
        "evaluations": drawn.evaluations,
        "stuck": drawn.stuck,
        "floored": drawn.floored,
    }


def _annealing_moves(reference: Reference) -> Moves:
    sweeps = suited(reference).sweeps
    return Moves(joint=1 if sweeps else JOINT_STEPS, sweeps=sweeps)


def _annealing(annealed: Annealed, powers: np.ndarray, moves: Moves) -> dict[str, Any]:
    return {
        "runs": len(annealed.log_weights),
        "steps": len(powers) - 1,
        "joint_steps": moves.joint,
        "sweeps": moves.sweeps,
        "effective": annealed.effective,
        "share_of_heaviest": annealed.share_of_heaviest,
        "sd_log_weights": float(annealed.log_weights.std()),
        "stuck": annealed.stuck,
    }


def _mirror(
    target: Target, sites: Sites, effort: Effort, seed: Seed, exact: dict[str, Any]
) -> dict[str, Any]:
    """Measure the mass of the mode at -f, which the likelihood of f^2 cannot tell from the one at f.

    ``log_odds`` is the evidence annealed from the mirrored reference, minus the evidence. ``r_hat`` is of
    chains started at draws of both references; it is large if the two modes do not communicate.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
    reference = Reference.build(target, sites, FRACTION)
    mirrored = Reference.build(target, Sites(sites.tau, -sites.nu), FRACTION)
    moves = _annealing_moves(mirrored)
    powers = schedule(mirrored, rng, effort.share, moves)
    annealed = anneal(mirrored, rng, powers, min(effort.runs, 2048), moves)
    starts = [r.mean[:, None] + r.draw(rng, 16) for r in (reference, mirrored)]
    both = sample(reference, rng, Length(32, 200, 1000), start=np.concatenate(starts, axis=1))
    return {
        "log_odds": annealed.log_evidence - exact["log_evidence"],
        "se_log_odds": float(np.hypot(annealed.standard_error, exact["se_log_evidence"])),
        "effective": annealed.effective,
        "stuck": annealed.stuck,
        "r_hat_both_signs": float(both.latents.r_hat.max()),
        "ended_at_other_sign": int(np.sum(both.ends.mean(axis=0) < 0)),
    }


def _rounded(values: np.ndarray, digits: int = DIGITS) -> list[float]:
    """Round values to so many significant digits."""
    return [float(f"{value:.{digits}g}") for value in values]

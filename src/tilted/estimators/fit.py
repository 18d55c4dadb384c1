"""``tilted.fit``: fit one latent function with the options and starts of the estimators."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from tilted import api, likelihoods
from tilted.estimators.base import generator
from tilted.estimators.dense import EVIDENCES, DenseSettings, fit_dense
from tilted.estimators.diagnostics import shortcomings
from tilted.estimators.models import LEARNED, choice
from tilted.estimators.validation import require_flag
from tilted.inference import rule_of
from tilted.inference.pep import power_rule
from tilted.inference.rule import Rule
from tilted.learning.starts import require_moderate, start_kernel, start_variance, with_notes
from tilted.likelihoods.ordinal import Ordinal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tilted.gaussian import Sites
    from tilted.inference.options import Options
    from tilted.inference.rule import Projector
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.learning.search import Search
    from tilted.likelihoods.contract import Likelihood

INFERENCES = tuple(name for name in DenseSettings.inferences if name != "rep")  # which is no rule


def fit(
    X: ArrayLike,
    y: ArrayLike,
    likelihood: str | Likelihood = "probit",
    inference: str | Rule = "ep",
    kernel: Kernel | None = None,
    mean: float | str = 0.0,
    optimise: str | bool | None = True,
    search: Search | None = None,
    options: Options | None = None,
    start: Sites | None = None,
    projection: Projector | None = None,
    *,
    ard: bool = False,
    n_restarts: int = 0,
    power: float = 0.5,
    priors: LogNormal | str | None = None,
    max_time: float = 600.0,
    random_state: int | np.random.Generator = 0,
    learn_likelihood: bool = False,
) -> api.Fit:
    """Fit a Gaussian-process model.

    Parameters
    ----------
    X : array [N, D]
        Inputs; zero-variance columns and duplicate rows are allowed.
    y : array [N]
        Labels -1 and +1 (probit, logit, noisy-step), classes 0 to C - 1 in order (ordinal), counts
        (poisson-square, poisson-exp, negative-binomial) or reals (gaussian, laplace, student-t). The noise of
        gaussian has variance 1; for another pass ``likelihoods.gaussian.GaussianNoise(variance)``, which the
        search moves with ``learn_likelihood`` alone.
    likelihood : str or Likelihood
        A name from ``tilted.likelihoods.names()`` or a likelihood object. "ordinal" has thresholds for the
        levels of y, 0 to the highest, at which f of the prior has their shares.
    inference : str or Rule
        "ep", "qp", "vb" or "power-ep" (of ``power``), or a rule such as
        ``tilted.inference.pep.power_rule(0.5)``.
    kernel : Kernel, optional
        Any of ``tilted.kernels``: start of the search, or the hyperparameters to use. By default a squared
        exponential of variance 1 for labels, else from the targets about ``mean``, and a lengthscale from the
        median distance between inputs, about which the search looks for promising starts. A tuple of
        lengthscales makes it ARD.
    mean : float or "constant"
        Constant prior mean, 0 for reals too where ``GPRegressor`` takes the targets' mean, or learned from 0
        with the kernel. For "poisson-square" 0 is a trap: f and -f
        have the same likelihood, so that from flat sites every mean stays 0 and the data teach nothing but
        the scale of f. Give another mean, or sites that tell the signs apart (``start``). A search from 0 is
        refused; an inference (``optimise=False``) says in ``status.message`` where this happened.
    optimise : {True, "evidence", "ep-evidence", "corrected-evidence", False, None}
        Maximise the log evidence over the kernel's parameters (and the prior on them), EP's whatever the
        inference, or EP's with its second-order terms; or keep them. See ``tilted.GPClassifier``.
    search : tilted.learning.search.Search, optional
        How to search; by default over logarithms of the parameters.
    options : tilted.inference.options.Options, optional
        How to iterate the sites.
    start : Sites, optional
        Warm start.
    projection : Projector, optional
        How "qp" projects; by quadrature if not given. ``tilted.projections.table.build()`` (probit) gives
        the same to 1e-10 and is faster; ``tilted.projections.moments.TableGrid()`` is the QP paper's own
        table.
    ard, n_restarts, power, priors, max_time, random_state : see ``tilted.GPClassifier``
    learn_likelihood : bool
        Whether the search moves the parameters of the likelihood too (noise, scale, dispersion), to
        ``problem.likelihood``.

    Returns
    -------
    Fit
        Also when not converged: ``status`` says so, and why. A UserWarning says where nothing was learnt.

    Raises
    ------
    ValueError
        For NaN or infinite values, one class only, labels outside the likelihood's domain, fewer than
        two points, shapes that do not match, unknown names, arguments of another kind than these, and a
        search from mean 0 where f and -f have the same likelihood.
    ArithmeticError
        If the posterior is improper at the start.

    Examples
    --------
    >>> import numpy as np, tilted
    >>> X = np.linspace(-2, 2, 8)[:, None]
    >>> y = np.array([-1, -1, -1, 1, -1, 1, 1, 1])
    >>> result = tilted.fit(X, y, inference="ep")
    >>> result.status.converged
    True
    """
    if not isinstance(optimise, bool | np.bool_):
        choice("optimise", optimise, (True, False, None, *EVIDENCES))
    if not isinstance(inference, Rule):
        choice("inference", inference, INFERENCES)
    rule = rule_of(power_rule(power) if inference == "power-ep" else inference, projection)
    require_flag(ard=ard, learn_likelihood=learn_likelihood)
    learned = isinstance(mean, str)
    if learned:
        choice("mean", mean, (LEARNED,))
    at = 0.0 if isinstance(mean, str) else mean
    by_levels = isinstance(likelihood, str) and likelihood == "ordinal"
    likelihood = Ordinal.of_all_levels(cast("np.ndarray", y)) if by_levels else likelihoods.get(likelihood)
    problem = api.make_problem(X, y, likelihood, rule, at, options)  # checks what is given
    require_moderate("mean", np.array([at]))
    if start is not None:
        api.require_sites(start, len(problem.y))
    variance = start_variance(likelihood, problem.y, float(at))
    first = start_kernel(kernel, problem.X, ard, variance)
    if by_levels:
        likelihood = Ordinal.of_all_levels(problem.y, float(np.mean(first.diagonal(problem.X))), float(at))
    settings = DenseSettings(
        likelihood=likelihood,
        inference=rule,
        mean=float(at),
        learn_mean=learned,
        optimise=optimise if optimise in EVIDENCES else "evidence" if optimise else None,
        n_restarts=n_restarts,
        power=power,
        search=search,
        options=options,
        guessed=kernel is None,
        priors=priors,
        max_time=max_time,
        weights=None,
        cv=2,
        penalty=0.0,
        projection=None,
        start=start,
        learn_likelihood=learn_likelihood,
    )
    rng = generator(random_state)
    model = fit_dense(problem.X, problem.y, first, settings, rng, stratified=False)
    notes = shortcomings(model, problem.X) if optimise else []
    lost = [] if np.isfinite(model.fit.log_evidence) else [f"no finite evidence: {model.status.message}"]
    for note in notes + lost:
        warnings.warn(note, UserWarning, stacklevel=2)
    named = replace(model.fit.problem, names=problem.names)
    return replace(model.fit, problem=named, status=with_notes(model.status, *notes))

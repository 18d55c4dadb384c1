"""Minimise an expensive function under expensive constraints.

>>> found = minimise(lambda x: x[0] + x[1], [lambda x: x[0] * x[1] - 0.1], [(0, 1), (0, 1)], 20, seed=0)

Every iteration learns the hyperparameters of every function, asks a rule of `rules` where to evaluate next,
and writes what it found to the log. Random numbers depend on the seed and the iteration only, so that a
search that goes on from its log ends where it would have ended uninterrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc

from tilted.bayesopt import hyperparameters, surrogate
from tilted.bayesopt import log as logs
from tilted.bayesopt.rules import RULES, Proposal, Settings, recommend
from tilted.inference.options import require_whole
from tilted.likelihoods.contract import as_floats

if TYPE_CHECKING:
    from typing import Any

Function = Callable[[np.ndarray], float]
LARGEST = 1e50
"""Size of places and observations: powers of larger ones overflow."""
MOST_INITIAL = 10_000
"""Places before the first that is learned."""


@dataclass(frozen=True)
class Evaluation:
    """One line of the log.

    Attributes
    ----------
    iteration : int
    x : tuple of float
    values : tuple of float or None
        f, c_1, ...; None where a function was not evaluated.
    why : dict
        What the rule says about its proposal.
    """

    iteration: int
    x: tuple[float, ...]
    values: tuple[float | None, ...]
    why: dict[str, Any] = field(default_factory=dict)

    @property
    def feasible(self) -> bool | None:
        """Return whether all constraints hold here; None where one is unknown."""
        constraints = self.values[1:]
        if any(c is not None and c < 0 for c in constraints):
            return False
        return None if None in constraints else True


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes
    ----------
    recommended : array [D]
        Where the model puts the minimum.
    confident : bool
        Whether the model holds that place feasible with the confidence asked for.
    best : Evaluation or None
        The best feasible one; None without any.
    evaluations : tuple of Evaluation
    resumed : int
        How many of these came from the log.
    message : str
    """

    recommended: np.ndarray
    confident: bool
    best: Evaluation | None
    evaluations: tuple[Evaluation, ...] = field(repr=False)
    resumed: int = 0
    message: str = ""


def minimise(
    objective: Function,
    constraints: Sequence[Function],
    bounds: Sequence[tuple[float, float]],
    n_iter: int,
    seed: int,
    log: str | Path | None = None,
    *,
    rule: str = "pesc",
    initial: int | None = None,
    settings: Settings | None = None,
    progress: Callable[[Evaluation], None] | None = None,
) -> Found:
    """Minimise f(x) subject to c_k(x) >= 0 by evaluations alone.

    The model of a constraint is continuous: one that is 0 throughout is to it as likely to hold as not.

    Parameters
    ----------
    objective, constraints : callables
        x [D] -> float, possibly noisy. There may be no constraints.
    bounds : sequence of (low, high)
    n_iter : int
        Evaluations, the first ones included.
    seed : int
    log : str or Path, optional
        A JSONL file; a search that was interrupted goes on from there. It knows functions by their number
        and order alone: that they are the same ones is the caller's to see to.
    rule : str
        pesc, improvement or random.
    initial : int, optional
        Evaluations of a Latin hypercube at the start; default 2 D + 1.
    settings : Settings, optional
    progress : callable, optional
        Called with every new `Evaluation`.

    Raises
    ------
    ValueError
        Bad bounds, numbers or rule; an observation that is not a finite number (the evaluations before it
        are in the log); a log of another search, which one is at work on, or from which lines are missing;
        a file that is no log.
    """
    low, high = check_bounds(bounds)
    require_whole("n_iter", n_iter, 1)
    settings = settings or Settings()
    functions = (objective, *constraints)
    about = header(bounds, seed, len(functions), rule, initial, settings)
    log = None if log is None else Path(log).absolute()  # whatever folder the functions go to
    with nullcontext() if log is None else logs.locked(log):
        done = _resume(log, about)
        resumed = len(done)
        for iteration in range(resumed, n_iter):
            proposal = propose(done, iteration, about, settings, len(low))
            x = in_box(proposal.place, low, high)
            values = _observe(functions, x, proposal)
            done.append(Evaluation(iteration, tuple(x.tolist()), values, proposal.why))
            if log is not None:
                logs.append(log, asdict(done[-1]))
            if progress is not None:
                progress(done[-1])
    return conclude(done[:n_iter], about, settings, min(resumed, n_iter))


def header(
    bounds: Sequence[tuple[float, float]],
    seed: int,
    functions: int,
    rule: str,
    initial: int | None,
    settings: Settings,
) -> dict[str, Any]:
    """Return a search's settings, the first line of its log; ValueError for bad bounds, numbers or rule."""
    low, high = check_bounds(bounds)
    initial = 2 * len(low) + 1 if initial is None else initial
    require_whole("initial", initial, 2, MOST_INITIAL)
    require_whole("seed", seed, 0)
    if rule not in list(RULES):  # which need not be a text
        raise ValueError(f"no rule {rule!r}; known: {', '.join(RULES)}")
    if settings.decoupled and rule != "pesc":
        raise ValueError(f"only by the rule 'pesc' is one function observed at a time, not by {rule!r}")
    return {
        "bounds": np.transpose([low, high]).tolist(),
        "seed": int(seed),
        "functions": functions,
        "rule": rule,
        "initial": int(initial),
        "settings": {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in asdict(settings).items()
        },
    }


def check_bounds(bounds: Sequence[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends [D].

    Raises
    ------
    ValueError
        Not pairs of finite numbers, the first below the second, none beyond `LARGEST`.
    """
    pairs = as_floats(bounds, "bounds")
    if pairs.ndim != 2 or pairs.shape[1:] != (2,) or not len(pairs):
        raise ValueError(f"bounds are pairs (low, high), one a dimension, got shape {pairs.shape}")
    if not np.all(np.isfinite(pairs)) or not np.all(pairs[:, 0] < pairs[:, 1]):
        wrong = [i for i, (a, b) in enumerate(pairs) if not (np.isfinite(a) and np.isfinite(b) and a < b)]
        raise ValueError(f"bounds must be finite, low below high; not so in dimension {wrong[0]}")
    if np.max(np.abs(pairs)) > LARGEST:
        raise ValueError(f"bounds reach {np.max(np.abs(pairs)):.1e}, beyond {LARGEST:g}: scale x")
    return pairs[:, 0], pairs[:, 1]


def _resume(log: str | Path | None, header: dict[str, Any]) -> list[Evaluation]:
    """Evaluations in the log; a new log gets its first line."""
    if log is None:
        return []
    lines = logs.read(log)
    if not lines:
        logs.begin(log, header)
        return []
    first = lines[0] if isinstance(lines[0], dict) else {}
    different = sorted(name for name in header if first.get(name) != header[name])
    if different:
        raise ValueError(f"{log} is the log of another search: {', '.join(different)} differ")
    done = []
    for place, line in enumerate(lines[1:], 2):
        try:
            evaluation = Evaluation(line["iteration"], tuple(line["x"]), tuple(line["values"]), line["why"])
        except (KeyError, TypeError):
            raise ValueError(f"{log}: line {place} is no evaluation") from None
        fits = len(evaluation.x) == len(header["bounds"]) and len(evaluation.values) == header["functions"]
        if not fits or evaluation.iteration != place - 2:
            raise ValueError(f"{log}: line {place} is not evaluation {place - 2} of this search")
        done.append(evaluation)
    return done


def _name(j: int) -> str:
    return "the objective" if j == 0 else f"constraint {j}"


def propose(
    done: Sequence[Evaluation], iteration: int, header: dict[str, Any], settings: Settings, dimension: int
) -> Proposal:
    seed = header["seed"]
    if iteration < header["initial"]:
        design = qmc.LatinHypercube(dimension, rng=np.random.default_rng(seed)).random(header["initial"])
        return Proposal(design[iteration], None, {"rule": "initial"})
    rng = np.random.default_rng([seed, iteration])
    functions, unfinished = model(done, header["bounds"])
    proposal = RULES[header["rule"]](functions, rng, settings)
    return replace(proposal, why=proposal.why | {"unfinished_hyperparameters": unfinished})


def _observe(functions: Sequence[Function], x: np.ndarray, proposal: Proposal) -> tuple[float | None, ...]:
    values: list[float | None] = []
    for j, function in enumerate(functions):
        if proposal.function not in (None, j):
            values.append(None)
            continue
        values.append(number(function(x.copy()), _name(j), x))
    return tuple(values)


def number(value: object, name: str, x: np.ndarray) -> float:
    """Return a function's value, if it is one finite number whose powers do not overflow."""
    try:
        if np.asarray(value).dtype.kind in "bcmM":
            raise TypeError  # complex, times, true, false (of a constraint it would be 0, which holds)
        result = np.nan if np.ma.is_masked(value) else np.asarray(value, dtype=float).item()
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {value!r} at {x.tolist()}, which is not a number") from None
    if not np.isfinite(result):
        raise ValueError(f"{name} is {value} at {x.tolist()}; observations must be finite")
    if abs(result) > LARGEST:
        advice = "for a failure tell a number like the worst others"
        raise ValueError(f"{name} is {result} at {x.tolist()}, beyond {LARGEST:g}: {advice}")
    return result


def model(
    done: Sequence[Evaluation], bounds: Sequence[Sequence[float]]
) -> tuple[list[surrogate.Surrogate], int]:
    """Surrogates of all functions in the unit cube, at the places visited.

    In the units of `hyperparameters.scaled`, which differ between functions but keep every sign. Beside them
    the number of functions whose search for hyperparameters ended without meeting its tolerance.
    """
    points = surrogate.union([in_unit_cube(done, bounds)])
    functions, unfinished = [], 0
    for j in range(len(done[0].values)):
        X, data = _observations(done, bounds, j)
        learned = hyperparameters.learn(X, data)
        unfinished += not learned.outcome.success
        functions.append(surrogate.condition(learned.kernel, learned.noise, X, data.y, points, data.mean))
    return functions, unfinished


def _observations(
    done: Sequence[Evaluation], bounds: Sequence[Sequence[float]], j: int
) -> tuple[np.ndarray, hyperparameters.Scaled]:
    """Places [n, D] in the unit cube where a function was observed, and what was."""
    observed = [e for e in done if e.values[j] is not None]
    X = in_unit_cube(observed, bounds)
    return X, hyperparameters.scaled(X, np.array([e.values[j] for e in observed]), minimised=j == 0)


def in_unit_cube(done: Sequence[Evaluation], bounds: Sequence[Sequence[float]]) -> np.ndarray:
    """Places [n, D] of evaluations."""
    low, high = np.transpose(bounds)
    places: np.ndarray = (np.array([e.x for e in done]) - low) / (high - low)
    return places


def recommendation(
    done: Sequence[Evaluation], bounds: Sequence[Sequence[float]], settings: Settings, seed: int
) -> tuple[np.ndarray, bool]:
    """Return the estimated minimum after these evaluations, and whether it has the settings' confidence."""
    low, high = np.transpose(bounds)
    rng = np.random.default_rng([seed, len(done), 1])
    place, confident = recommend(model(done, bounds)[0], rng, settings)
    return in_box(place, low, high), confident


def in_box(place: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A place of the unit cube in the box, whose walls rounding does not cross."""
    return np.clip(low + place * (high - low), low, high)


def conclude(done: Sequence[Evaluation], header: dict[str, Any], settings: Settings, resumed: int) -> Found:
    feasible = [(value, e) for e in done if e.feasible and (value := e.values[0]) is not None]
    best = min(feasible, key=lambda pair: pair[0])[1] if feasible else None
    place, confident = recommendation(done, header["bounds"], settings, header["seed"])
    message = f"{len(done)} evaluations, {len(feasible)} of them feasible"
    if not feasible:
        message += "; no feasible one was found"
    if not confident:
        message += "; no place is held feasible with confidence: recommended is where all most likely hold"
    for j in range(len(done[0].values)):
        observed = _observations(done, header["bounds"], j)[1]
        if j == 0 and len(observed.y) > 1 and observed.alike:
            message += "; the objective is the same everywhere, to rounding: nothing says where it is least"
        if observed.held:
            message += f"; {_name(j)} has values that dwarf all others ({observed.held}, modelled nearer)"
    return Found(place, confident, best, tuple(done), resumed, message)

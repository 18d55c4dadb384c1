"""Run the command `tilted compare`: read a table, cross-validate the methods, write a page."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.compare import methods, report, table
from papers.compare.methods import BASELINE, Fold
from papers.compare.table import Table
from papers.data.table import CLASSIFICATION, REGRESSION, Description

if TYPE_CHECKING:
    import argparse

    import tilted

FOLDS, MOST_SAMPLED = 10, 1000
FRACTION, CHAINS = 0.7, 64
"""The sampler's power of EP's sites in its reference, as for the QP paper, and number of chains."""
Row = dict[str, Any]


def run(arguments: argparse.Namespace) -> int:
    """Return 0 if every method ran on every fold, 1 if one failed somewhere, 130 after an interruption."""
    if 0 < arguments.iterations < 10 or not arguments.margin > 0:
        raise ValueError("--iterations is 0 or at least 10, --margin is positive")
    reading = {"rows", "seed", *Description.__annotations__}
    options = {name: value for name, value in vars(arguments).items() if name in reading}
    data = table.read(Path(arguments.data).expanduser(), **options)
    name = re.sub(r"[^\w.+-]+", "_", f"{data.name}-{data.target}")[:80]
    folder = Path(arguments.output).expanduser() / name
    folder.mkdir(parents=True, exist_ok=True)  # fails before the fits rather than after them
    result = compare(data, arguments)
    report.write(result, folder)
    answer = result["answer"]["sentence"].replace("**", "")
    print(json.dumps(result, indent=1) if arguments.json else answer)
    log(f"Page: {folder}/comparison.html and .md; numbers: {folder}/comparison.json")
    return 130 if result["folds"] < result["folds_planned"] else int(bool(result["failures"]))


def compare(data: Table, arguments: argparse.Namespace) -> Row:
    """Compare methods on the folds of a table; after ctrl-C, on the folds that are complete."""
    from joblib import Parallel, delayed

    names = methods.names(data.task, arguments.methods)
    folds = list(split(data, arguments.seed, arguments.ard))
    log(f"{data.name}: {data.X.shape[0]} rows, {data.X.shape[1]} features, {data.task}")
    for remark in data.remarks:
        log(f"  {remark if remark.isprintable() else ascii(remark)}")
    log(f"{len(folds)} folds, methods: {', '.join(names)}. Log loss in nats a test row, lower is better:")
    iterations = arguments.iterations if len(data.y) <= MOST_SAMPLED else 0
    tasks = (delayed(evaluate)(fold, names, 0 if fold.number else iterations) for fold in folds)
    parallel = Parallel(min(arguments.cores, len(folds)), return_as="generator")
    outcomes: list[Row] = []
    failures: list[Row] = []
    exact, complete = None, 0
    try:
        for scores, failed, sampled in parallel(tasks):
            outcomes, failures, exact = outcomes + scores, failures + failed, exact or sampled
            texts = [f"{x['method']} {x['loss']:.3f}" for x in scores]
            log(f"  fold {complete}: {', '.join(texts + [x['method'] + ' failed' for x in failed])}")
            complete += 1
    except KeyboardInterrupt:
        if not complete:
            raise
        log(f"interrupted: the page is of {complete} of {len(folds)} folds")
    about = {name: getattr(arguments, name) for name in ("seed", "ard", "margin")}
    about |= {"folds": complete, "folds_planned": len(folds), "exact": exact}
    return report.summarise(data, outcomes, failures, arguments.margin) | about


def split(data: Table, seed: int, ard: bool) -> Iterator[Fold]:
    """Split rows into folds, stratified by class; a group, or rows of equal features, stay in one fold."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold
    from sklearn.preprocessing import StandardScaler

    groups = np.unique(data.X, axis=0, return_inverse=True)[1].ravel() if data.groups is None else data.groups
    kind = StratifiedGroupKFold if data.task == CLASSIFICATION else GroupKFold
    folds = kind(min(FOLDS, len(np.unique(groups))), shuffle=True, random_state=seed)
    for number, (train, test) in enumerate(folds.split(data.X, data.y, groups)):
        train = np.random.default_rng([seed, number]).permutation(train)
        X, y, scaler, level, scale = data.X.to_numpy(), data.y, StandardScaler(), 0.0, 1.0
        if data.task == REGRESSION:
            level, scale = float(y[train].mean()), float(y[train].std()) or 1.0
        training = (scaler.fit_transform(X[train]), (y[train] - level) / scale)
        testing = (scaler.transform(X[test]), (y[test] - level) / scale)
        yield Fold(number, data.task, ard, *training, *testing, scale)


def evaluate(fold: Fold, names: Sequence[str], iterations: int) -> tuple[list[Row], list[Row], Row | None]:
    """Return the scores of methods and of the guess, the failures, and the exact posterior if sampled."""
    outcomes, failures, ep, exact = [], [], None, None
    for name in [*names, BASELINE, "exact posterior"]:
        try:
            if name != "exact posterior":
                result, outcome = methods.evaluate(name, fold, ep)
                outcomes.append(outcome)
                ep = result if name == "ep" else ep
            elif ep and iterations:
                exact = sample(fold, ep, names, iterations)
        except (ArithmeticError, ValueError) as error:
            failures.append({"method": name, "fold": fold.number, "reason": str(error)})
    return outcomes, failures, exact


def sample(fold: Fold, ep: tilted.Fit, names: Sequence[str], iterations: int) -> Row:
    """Sample the exact latents at the test rows, and measure each method's distance at EP's hyperparameters.

    ``mean``: root mean square difference of means, in exact standard deviations. ``variance``: geometric mean
    of variance over exact variance. ``loss``: log loss minus the exact one, in nats.
    """
    from tilted.exact import chains
    from tilted.exact.target import Reference, Target

    likelihood, y = ep.problem.likelihood, fold.y_test
    target = Target.build(ep.kernel, fold.X, fold.y, likelihood, ep.problem.mean)
    reference = Reference.build(target, ep.inference.state.sites, FRACTION)
    length, rng = chains.Length(CHAINS, iterations // 5, iterations), np.random.default_rng([0, iterations])
    draws = chains.sample(reference, rng, length, inputs=fold.X_test, labels=y)
    exact = draws.others
    assert exact is not None and draws.log_density is not None
    nearness: list[Row] = []
    for name in names:
        if name == "gp":  # has another likelihood
            continue
        row: Row = {"method": name}
        try:
            result = methods.fit(name, fold, ep, at_ep=True)
            m, v = result.predict_latent(fold.X_test)
            row["mean"] = float(np.sqrt(np.mean((m - exact.mean) ** 2 / exact.variance)))
            row["variance"] = float(np.exp(np.mean(np.log(v / exact.variance))))
            row["loss"] = float(np.mean(draws.log_density - likelihood.log_predictive(y, m, v)))
            row["message"] = "" if result.status.converged else result.status.message
        except (ArithmeticError, ValueError) as error:
            row["message"] = f"failed: {error}"
        nearness.append(row)
    r_hat = max(float(draws.latents.r_hat.max()), float(exact.r_hat.max()))
    return {"r_hat": r_hat, "effective": float(exact.effective_size.min()), "nearness": nearness}


def log(text: str) -> None:
    """Print to the error stream."""
    print(text, file=sys.stderr, flush=True)

"""Splits: which rows train and which test, under each protocol's scheme.

legacy-shuffle        the released code: ``numpy.random.seed(10 i)``, shuffle, floor(n/10) rows a fold; the
                      remainder is never tested
ten-folds             a permutation from seed i, ten folds that cover every row
stratified-ten-folds  the same, stratified by label, exact duplicate rows kept in one fold
legacy-seed-i         legacy-shuffle with ``numpy.random.seed(i)``, as the text numbers its seeds
legacy-every-row      legacy-shuffle whose remainder is tested too: its rows join folds 0, 1, ..., one each
half-of-years         counts, released code: ``numpy.random.seed(i)``, a year trains when rand() > 0.5
thinned-events        counts, the text: every event goes to train or test with probability 1/2, which gives
                      two series of counts on the same years
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from papers.data.registry import DataError
from papers.data.standard import Dataset

FOLDS = {
    "legacy-shuffle": 10,
    "ten-folds": 10,
    "stratified-ten-folds": 10,
    "legacy-seed-i": 10,
    "legacy-every-row": 10,
    "half-of-years": 1,
    "thinned-events": 1,
}
MOST_EVENTS = 2e7
COUNT_SCHEMES = ("half-of-years", "thinned-events")

Masked = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Split:
    """The training and test data of one fold, with the rows of the data set they come from."""

    X_train: np.ndarray = field(repr=False)
    y_train: np.ndarray = field(repr=False)
    X_test: np.ndarray = field(repr=False)
    y_test: np.ndarray = field(repr=False)
    train_rows: np.ndarray = field(repr=False)
    test_rows: np.ndarray = field(repr=False)


def folds(scheme: str) -> int:
    """Return the number of folds of a scheme; ValueError for an unknown one."""
    if scheme not in FOLDS:
        raise ValueError(f"unknown split '{scheme}'; known: {', '.join(FOLDS)}")
    return FOLDS[scheme]


def split(dataset: Dataset, scheme: str, seed: int, fold: int = 0, standardise: bool = True) -> Split:
    """Return one fold of a data set.

    Parameters
    ----------
    dataset : Dataset
    scheme : str
        See the module's docstring.
    seed : int
        Index i = 0, 1, ...; the scheme maps it to its generator's seed.
    fold : int
        0 to ``folds(scheme)`` - 1.
    standardise : bool
        Features to mean 0 and population sd 1 on the training rows; constant ones are only centred.

    Raises
    ------
    ValueError
        For an unknown scheme, a scheme of the other task, or a fold out of range.
    """
    n_folds = folds(scheme)
    if fold not in range(n_folds):
        raise ValueError(f"fold must be 0 to {n_folds - 1} for '{scheme}', got {fold!r}")
    if (scheme in COUNT_SCHEMES) != dataset.counts:
        suits = [s for s in FOLDS if (s in COUNT_SCHEMES) == dataset.counts]
        raise ValueError(
            f"split '{scheme}' does not apply to data set '{dataset.name}'; those that do: {', '.join(suits)}"
        )
    y_train, y_test = dataset.y, dataset.y
    if scheme == "thinned-events":
        train = test = np.arange(len(dataset.y))
        y_train, y_test = _thin(dataset.y, seed)
    else:
        order, tested = _SCHEMES[scheme](dataset, seed, fold)
        train, test = order[~tested], order[tested]
    X_train, X_test = dataset.X[train], dataset.X[test]
    if standardise:
        centre, scale = _centre_and_scale(X_train)
        X_train, X_test = (X_train - centre) / scale, (X_test - centre) / scale
    return Split(X_train, y_train[train], X_test, y_test[test], train, test)


def _centre_and_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and population sd [D] of the columns; a constant column has its value and scale 1.

    Constancy is tested on the values: the computed sd of a constant such as 0.1 is not 0 but rounding.
    """
    constant = X.max(axis=0) == X.min(axis=0)
    return np.where(constant, X[0], X.mean(axis=0)), np.where(constant, 1.0, X.std(axis=0))


# A scheme returns an order of the rows, and a mask of the places in it that are tested.


def _legacy_shuffle(dataset: Dataset, seed: int, fold: int) -> Masked:
    return _legacy_seed_i(dataset, 10 * seed, fold)


def _legacy_seed_i(dataset: Dataset, seed: int, fold: int) -> Masked:
    # the released code shuffles the table itself; shuffling row numbers takes the same permutation
    order = np.arange(len(dataset.y)).reshape(-1, 1)
    np.random.RandomState(seed).shuffle(order)
    size = len(order) // 10
    place = np.arange(len(order))
    return order[:, 0], (place >= fold * size) & (place < (fold + 1) * size)


def _legacy_every_row(dataset: Dataset, seed: int, fold: int) -> Masked:
    order, tested = _legacy_shuffle(dataset, seed, fold)
    extra = 10 * (len(order) // 10) + fold  # place of the remainder's row that this fold tests
    return order, tested | (np.arange(len(order)) == extra)


def _ten_folds(dataset: Dataset, seed: int, fold: int) -> Masked:
    order = np.random.default_rng(seed).permutation(len(dataset.y))
    tested = np.array_split(np.arange(len(order)), 10)[fold]
    return order, np.isin(np.arange(len(order)), tested)


def _stratified(dataset: Dataset, seed: int, fold: int) -> Masked:
    from sklearn.model_selection import StratifiedGroupKFold

    groups = np.unique(dataset.X, axis=0, return_inverse=True)[1].ravel()
    n_folds, n_groups = FOLDS["stratified-ten-folds"], int(groups.max()) + 1
    if n_groups < n_folds:
        raise DataError(
            f"{dataset.name}: {n_folds} folds that keep equal rows together need as many rows whose features "
            f"differ, and it has {n_groups}"
        )
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    pairs = list(splitter.split(dataset.X, dataset.y, groups))
    place = np.arange(len(dataset.y))
    return place, np.isin(place, pairs[fold][1])


def _half_of_years(dataset: Dataset, seed: int, fold: int) -> Masked:
    draws = np.random.RandomState(seed).rand(len(dataset.y))
    return np.arange(len(dataset.y)), draws <= 0.5


_SCHEMES = {
    "legacy-shuffle": _legacy_shuffle,
    "ten-folds": _ten_folds,
    "stratified-ten-folds": _stratified,
    "legacy-seed-i": _legacy_seed_i,
    "legacy-every-row": _legacy_every_row,
    "half-of-years": _half_of_years,
}


def _thin(counts: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of training events and of test events, drawn event by event."""
    if counts.sum() > MOST_EVENTS:
        raise DataError(
            f"counts of {counts.sum():g} events: 'thinned-events' draws one by one, {MOST_EVENTS:g} at most"
        )
    rng = np.random.default_rng(seed)
    to_train = rng.random(int(counts.sum())) < 0.5
    year = np.repeat(np.arange(len(counts)), counts.astype(int))
    train = np.bincount(year[to_train], minlength=len(counts)).astype(float)
    return train, counts - train

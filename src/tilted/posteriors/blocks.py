"""The posterior of many rows as a chain of overlapping blocks, for lengthscales that are short.

Rows are divided into blocks b by a k-d tree. H_b are the rows of earlier blocks that are nearest to the box
of b, ``neighbours`` of them. With A(S) = log of the integral of N(h_S; mean, K_SS) prod_{i in S} site_i(h_i),
the log normaliser of dense inference is replaced by

    F = sum_b A(H_b and b) - A(H_b),

a region-based free energy [Yedidia et al. 2005; Heskes et al. 2003] with the regions of block-wise Vecchia
approximations [Vecchia 1988; Katzfuss & Guinness 2021]. It is exact where every H_b has all earlier rows.

Marginals are the derivatives of F in the sites: E[h_i] = sum of the means of row i over all regions, those of
H_b with a minus sign, and E[h_i^2] likewise. So the evidence is stationary in the sites at a fixed point of
EP, Power EP and VB, as that of a dense posterior. Every term is a `Dense` posterior of a region; conditioning
takes O(N m^2) for regions of m rows.

A variance that is a sum of such terms may come out at zero or below, where the neighbours are too few for the
lengthscale. It is refused (`TooFewNeighbours`), never repaired.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np
from scipy.spatial import KDTree

from tilted.gaussian import Marginals, Sites, anchors, log_sites
from tilted.numerics.chunks import in_chunks
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

SIZE = 80  # rows of a block, at most
NEIGHBOURS = 120
HALO = 2  # times as many neighbours around a block where it predicts: earlier rows and later ones
MOST_KEPT = 60_000_000  # numbers of prior covariances that are stored (480 MB), not computed again
MOST_JOINT = 3000  # rows of the one region of a joint covariance
PARALLEL = "blocks have parallel sweeps only: Options(schedule='parallel', fallback=False)"
SPREAD = (
    "the joint covariance of these rows needs more than {:,} training rows: give fewer rows, or rows that "
    "are nearer to each other"
)


class TooFewNeighbours(ArithmeticError):
    """Marginal variances of a chain of blocks are not positive: it needs more neighbours.

    It ends an inference at once. An improper posterior (`NotPositiveDefinite`) calls for a smaller step, but
    sites whose precisions are not negative make no posterior improper.
    """

    def __init__(self, rows: int, neighbours: int) -> None:
        super().__init__(f"{rows} marginal variances are not positive with {neighbours} neighbours")


@dataclass(frozen=True)
class Region:
    """The rows of a neighbourhood H_b and of its block b.

    Attributes
    ----------
    rows : array of int
        Those of H_b first.
    shared : int
        The number of rows in H_b.
    """

    rows: np.ndarray
    shared: int

    @property
    def block(self) -> np.ndarray:
        """The rows of b."""
        return self.rows[self.shared :]


@dataclass(frozen=True)
class BlockState:
    """A chain of blocks conditioned on sites.

    Attributes
    ----------
    sites : Sites
    marginals : Marginals
        Mean and variance [N] of h; the extra variance is zero.
    log_normaliser : float
        F.
    anchored : float
        The same with the exponents about `gaussian.anchors`, for the evidence.
    negative_sites : int
    """

    sites: Sites
    marginals: Marginals
    log_normaliser: float
    anchored: float
    negative_sites: int = 0


@dataclass(frozen=True)
class Blocks:
    """A Gaussian prior on N points, ready to be conditioned on sites block by block.

    Parameters
    ----------
    kernel : Kernel
    X : array [N, D]
    mean : array [N]
        Prior mean of h.
    regions : tuple of Region
        In the order of the chain.
    neighbours : int
        The largest number of rows in an H_b.
    refused : list of int
        The number of variances that were not positive, of every conditioning that was refused for them.
    """

    kernel: Kernel
    X: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    regions: tuple[Region, ...] = field(repr=False)
    neighbours: int
    refused: list[int] = field(repr=False, default_factory=list)

    jitter: ClassVar[float] = 0.0

    @classmethod
    def build(
        cls,
        kernel: Kernel,
        X: np.ndarray,
        mean: float | np.ndarray = 0.0,
        size: int = SIZE,
        neighbours: int = NEIGHBOURS,
        regions: tuple[Region, ...] | None = None,
    ) -> Blocks:
        """Build the prior at ``X`` [N, D].

        Parameters
        ----------
        kernel : Kernel
        X : array [N, D]
        mean : float or array [N]
        size : int
            Rows of a block, at most.
        neighbours : int
            Rows of an H_b, at most.
        regions : tuple of Region, optional
            Those of another chain at the same rows; by default `regions_of` the inputs in lengthscales.
        """
        if regions is None:
            regions = regions_of(scaled_inputs(kernel, X), size, neighbours)
        return cls(kernel, X, np.broadcast_to(mean, len(X)).astype(float), regions, neighbours)

    def __len__(self) -> int:
        return len(self.X)

    @cached_property
    def matrices(self) -> list[np.ndarray] | None:
        """Prior covariances of the regions; None where they are too large to store."""
        if sum(len(region.rows) ** 2 for region in self.regions) > MOST_KEPT:
            return None
        return [self.kernel.matrix(self.X[region.rows]) for region in self.regions]

    def condition(self, sites: Sites) -> BlockState:
        """Return the posterior given ``sites``.

        Raises
        ------
        NotPositiveDefinite
            If the posterior of a region is improper, or a marginal variance is not positive, perhaps for
            negative site precisions.
        TooFewNeighbours
            If a marginal variance is not positive, and no site precision is negative.
        """
        indices, signs, means, variances = [], [], [], []
        log_normaliser = anchored = 0.0
        for _, terms in self._regions():
            for sign, rows, prior in terms:
                state = prior.condition(_at(sites, rows))
                log_normaliser += sign * state.log_normaliser
                anchored += sign * state.anchored
                indices.append(rows)
                signs.append(np.full(len(rows), sign))
                means.append(state.marginals.mean)
                variances.append(state.marginals.variance)
        index, sign_of, m, v = (np.concatenate(each) for each in (indices, signs, means, variances))
        mean = np.bincount(index, sign_of * m)
        variance = np.bincount(index, sign_of * (v + (m - mean[index]) ** 2))
        if not (variance > 0).all():
            self.refused.append(int(np.sum(~(variance > 0))))
            if (sites.tau < 0).any():
                raise NotPositiveDefinite("Sigma", int(np.argmin(variance > 0)) + 1, len(variance))
            raise TooFewNeighbours(self.refused[-1], self.neighbours)
        c, own = anchors(mean, sites.tau), _at(sites, index)
        if c.any():  # regions have anchors at means of their own
            moved = log_sites(m, own, c[index]) - log_sites(m, own, anchors(m, own.tau))
            anchored += float(sign_of @ moved)
        else:
            anchored = log_normaliser
        negative = int(np.count_nonzero(sites.tau < 0))
        marginals = Marginals(mean, variance, np.zeros(len(mean)))
        return BlockState(sites, marginals, log_normaliser, anchored, negative)

    def correlations(self, state: BlockState, costly: bool = False) -> None:
        """Return None: there are no products with the correlations of all rows."""

    def covariance(self, state: BlockState) -> NoReturn:
        """Raise ValueError: there is no covariance that a sequential sweep could carry."""
        raise ValueError(PARALLEL)

    def evidence_gradient(self, state: BlockState) -> tuple[np.ndarray, float]:
        """Return the gradient of the log evidence with the sites held fixed: the whole one at fixed points.

        Sum over regions of 1/2 tr[(a a^T - W) dK] [Rasmussen & Williams 2006, eq. 5.23], those of H_b with
        a minus sign.

        Returns
        -------
        by_parameters : array [P]
            By the kernel's parameters.
        by_mean : float
            By a constant prior mean.
        """
        by_parameters, by_mean = np.zeros(len(self.kernel.parameters())), 0.0
        for region, terms in self._regions():
            K, G = terms[0][2].K, np.zeros((len(region.rows), len(region.rows)))
            for sign, rows, prior in terms:
                dense, n = prior.condition(_at(state.sites, rows)), len(rows)
                G[:n, :n] += sign * prior.evidence_derivative(dense)
                by_mean += sign * float(np.sum(dense.weights))
            by_parameters += self.kernel.contract_gradient(self.X[region.rows], K, G)
        return by_parameters, by_mean

    def predict(
        self, state: BlockState, Xs: np.ndarray, prior_mean: float | np.ndarray = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance [N*] of f at ``Xs`` [N*, D], `Dense` ones of the nearest rows.

        Rows of ``Xs`` whose nearest row is in the same block are predicted together, from as many rows as a
        block and `HALO` times the neighbours have, on all sides. A variance is NaN where rounding loses it.
        """
        mean, variance = np.empty(len(Xs)), np.empty(len(Xs))
        prior = np.broadcast_to(prior_mean, len(Xs))
        for queries, rows in self._halos(Xs):
            dense = self._among(rows).condition(_at(state.sites, rows))
            for some in in_chunks(queries):
                cross = self.kernel.matrix(Xs[some], self.X[rows])
                variances = self.kernel.diagonal(Xs[some])
                mean[some], variance[some] = dense.predict(cross, variances, prior[some])
        return mean, variance

    def joint(
        self, state: BlockState, Xs: np.ndarray, prior_mean: float | np.ndarray = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return mean [N*] and covariance [N*, N*] of f at ``Xs`` [N*, D], from one region for all of them.

        Raises
        ------
        ValueError
            If that region has more than `MOST_JOINT` rows.
        """
        rows = np.unique(np.concatenate([rows for _, rows in self._halos(Xs)]))
        if len(rows) > MOST_JOINT:
            raise ValueError(SPREAD.format(MOST_JOINT))
        dense, cross = (
            self._among(rows).condition(_at(state.sites, rows)),
            self.kernel.matrix(Xs, self.X[rows]),
        )
        return prior_mean + cross @ dense.weights, dense.covariance(cross, self.kernel.matrix(Xs))

    def _regions(self) -> Iterator[tuple[Region, list[tuple[float, np.ndarray, Dense]]]]:
        """Yield every region with its terms of F: sign, rows and prior of H_b and b, and of H_b."""
        for i, region in enumerate(self.regions):
            whole = self._among(region.rows, None if self.matrices is None else self.matrices[i])
            terms = [(1.0, region.rows, whole)]
            if n := region.shared:
                terms.append((-1.0, region.rows[:n], Dense(whole.K[:n, :n], whole.mean[:n], whole.extra[:n])))
            yield region, terms

    def _among(self, rows: np.ndarray, K: np.ndarray | None = None) -> Dense:
        """Return the dense prior of some rows."""
        return Dense.build(self.kernel.matrix(self.X[rows]) if K is None else K, self.mean[rows])

    def _halos(self, Xs: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield numbers of rows of ``Xs`` [N*, D] predicted together, and the rows that predict them."""
        X, at = scaled_inputs(self.kernel, self.X), scaled_inputs(self.kernel, Xs)
        owner = np.empty(len(X), dtype=int)
        for number, region in enumerate(self.regions):
            owner[region.block] = number
        owner_of_query = owner[KDTree(X).query(at)[1]]
        for number in np.unique(owner_of_query):
            queries = np.flatnonzero(owner_of_query == number)
            most = len(self.regions[number].block) + HALO * self.neighbours
            yield queries, nearest_rows(X, at[queries], most)


def scaled_inputs(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Return inputs [N, D] in units of the kernel's lengthscales, if it has such of its own."""
    return X / np.asarray(getattr(kernel, "lengthscale", 1.0))


def regions_of(X: np.ndarray, size: int, neighbours: int) -> tuple[Region, ...]:
    """Return the regions of a chain, whose blocks have at most ``size`` rows of ``X`` [N, D]."""
    regions, earlier = [], np.zeros(len(X), dtype=bool)
    for block in _halved(X, np.arange(len(X)), size):
        shared = nearest_rows(X, X[block], neighbours, np.flatnonzero(earlier))
        regions.append(Region(np.concatenate([shared, block]), len(shared)))
        earlier[block] = True
    return tuple(regions)


def nearest_rows(
    X: np.ndarray, inside: np.ndarray, number: int, among: np.ndarray | None = None
) -> np.ndarray:
    """Return the ``number`` rows of ``X`` [N, D], ``among`` some, that are nearest to a box.

    Parameters
    ----------
    inside : array [n, D]
        Points whose smallest box it is.
    """
    candidates = np.arange(len(X)) if among is None else among
    if number >= len(candidates):
        return candidates
    at = X[candidates]
    outside = np.maximum(np.maximum(np.min(inside, axis=0) - at, at - np.max(inside, axis=0)), 0.0)
    nearest = np.argpartition(np.einsum("nd,nd->n", outside, outside), number)[:number]
    return np.sort(candidates[nearest])


def _halved(X: np.ndarray, rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield the leaves of a k-d tree: halves along the longest side of their box, until they are small."""
    if len(rows) <= size:
        yield rows
        return
    column = int(np.argmax(np.ptp(X[rows], axis=0)))
    order = rows[np.argsort(X[rows, column], kind="stable")]
    yield from _halved(X, order[: len(rows) // 2], size)
    yield from _halved(X, order[len(rows) // 2 :], size)


def _at(sites: Sites, rows: np.ndarray) -> Sites:
    return Sites(sites.tau[rows], sites.nu[rows])

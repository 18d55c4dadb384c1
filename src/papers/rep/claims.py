"""REP3 to REP6: convergence and test errors on the made-up set and the real ones [Qi & Guo 2012, section 6].

Each function takes the fits of one protocol's methods and returns blocks, the deciding one first. Effects are
signed so that the claim is worst off where they are smallest. Where a protocol has REP in several readings,
all of them are tested as one family and each row is judged by the one that is most favourable to the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core.claims import of_paper
from papers.core.comparisons import Draft, Resampled, higher, tested
from papers.core.grid import counted
from papers.core.statistics import share_interval
from papers.core.verdicts import MISSING, NO, SHOWN, UNDECIDED, YES, Block, Inference, Line
from papers.rep.fits import BLOBS
from papers.rep.methods import METHODS
from tilted.inference.relaxations import READINGS
from tilted.inference.textbook import CONVERGED, DIVERGED

if TYPE_CHECKING:
    import pandas as pd

CLAIMS = of_paper("REP")
ERROR_MARGIN = CLAIMS["REP4"].margin["test_error"]
SWEEPS_MARGIN, SOMETIMES = (CLAIMS["REP3"].margin[name] for name in ("sweeps", "sometimes"))
FEWEST = int(CLAIMS["REP3"].margin["fewest"])
"""Differences a test needs: a few numbers of sweeps may all differ by the same, which no t test can judge."""

EP, PEP, SPAM = "ep", "pep", "spam"
UCI = ("heart", "pima", "diabetes", "haberman")
ORDER = (BLOBS, *UCI, SPAM)
"""Data sets as in tables."""
NAMES = {"heart": "Heart", "pima": "Pima", "diabetes": "Diabetes", "haberman": "Haberman", SPAM: "Spam"}
EP_ENGINE, REP_ENGINE = "ep-engine", "rep-engine"
FURTHER = ("ep-damped", EP_ENGINE)
T_TEST = "paired t over splits, Holm"


class Protocol(NamedTuple):
    """A reading of the paper: its name and the methods that count as REP in it."""

    name: str
    rep: tuple[str, ...]

    def favouring(self, choice: str) -> str:
        """Return words for a result that is the best of several readings, none for a single reading."""
        return f", the {choice}" if len(self.rep) > 1 else ""


DESCRIBED = Protocol("as-described", ("rep-as-described",))
CORRECTED = Protocol("corrected", tuple(f"rep-{reading}" for reading in READINGS))
PROTOCOLS = (DESCRIBED, CORRECTED)


def once(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits with parameters chosen once for a data set."""
    return fits[fits["chosen_on"] == 0]


def _cells(fits: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the fits of every data set and share of flipped labels, by name, in order."""
    cells = {}
    groups = dict(iter(fits.groupby(["dataset", "flips"])))
    for dataset, flips in sorted(groups, key=lambda cell: (ORDER.index(cell[0]), cell[1])):
        name = NAMES.get(dataset, "Made-up")
        cells[f"{name}, {100 * flips:g} % flipped" if flips else name] = groups[dataset, flips]
    return cells


def errors(fits: pd.DataFrame, protocol: Protocol) -> list[Block]:
    """Judge REP4, REP5 or REP6: errors of EP and Power EP minus that of REP; then EP by other iterations."""
    cells = _cells(fits)
    if not cells:
        return [_not_run("test error", "test error", "error")]
    favour = protocol.favouring("reading whose verdict favours each row most")
    blocks = [
        _compared(cells, f"against EP and Power EP{favour}", (EP, PEP), protocol.rep),
        _compared(cells, "against damped EP and the engine's EP", FURTHER, protocol.rep),
    ]
    if len(protocol.rep) > 1:
        blocks.append(
            _compared(cells, "EP against REP, both by the engine", (EP_ENGINE,), (REP_ENGINE,)),
        )
    return blocks


def _not_run(name: str, row: str, unit: str) -> Block:
    return Block(name, T_TEST, (Line(row, "not run", unit),), "not run")


def _compared(
    cells: Mapping[str, pd.DataFrame], name: str, rivals: tuple[str, ...], rep: tuple[str, ...]
) -> Block:
    """Compare other methods with REP; adjust p-values over all readings, keep each row's best reading."""
    by_row = [[_error_drafts(cell, fits, rival, rep) for rival in rivals] for cell, fits in cells.items()]
    lines = iter(tested([draft for row in by_row for drafts in row for draft in drafts]))
    best: list[Line] = []
    for row in by_row:
        by_rival = [[next(lines) for _ in drafts] for drafts in row]
        readings = max(map(len, by_rival))
        # a method that was not run has one line
        padded = [judged * (readings // len(judged)) for judged in by_rival]
        best += max(zip(*padded, strict=True), key=_favour)
    methods = (*rivals, *rep)
    remarks = [_not_converged(cell, fits, methods) for cell, fits in cells.items()]
    remarks += [_lengthscales(cell, fits, methods) for cell, fits in cells.items()]
    return Block(name, T_TEST, tuple(best), "; ".join(filter(None, remarks)))


def _favour(lines: Iterable[Line]) -> tuple[list[int], float]:
    """Rank a reading by how much it favours the claim: by its worst statuses, then by its smallest effect."""
    order = (MISSING, NO, UNDECIDED, YES)
    effects, statuses = zip(*((line.effect, order.index(line.sample.status)) for line in lines), strict=True)
    return sorted(statuses), -np.inf if np.isnan(effects).any() else min(effects)


def _error_drafts(cell: str, fits: pd.DataFrame, rival: str, rep: tuple[str, ...]) -> list[Draft]:
    """Return the other method's error minus that of REP, a draft for each reading that was run."""
    quantity = f"{rival} - REP, test error"
    scores = fits.pivot(index="split", columns="method", values="error")
    lengthscales, first = _chosen_lengthscales(fits), fits.iloc[0]
    drafts = []
    for name in rep:
        if not {rival, name} <= set(scores):
            continue
        pairs = (scores[rival] - scores[name]).dropna().to_numpy()
        lost = len(scores) - len(pairs)
        notes = [name.removeprefix("rep-")] if len(rep) > 1 else []
        notes += [f"{counted(lost, 'split')} left out"] if lost else []
        if lengthscales[rival] != lengthscales[name]:
            notes.append(f"lengthscales {lengthscales[rival]:.3g} and {lengthscales[name]:.3g}")
        drawn = draft(cell, quantity, "error", pairs, ERROR_MARGIN, "; ".join(notes))
        if first["dataset"] != BLOBS:  # splits of one data set
            general = Resampled(pairs, float(first["n_train"]), float(first["n_test"]))
            drawn = replace(drawn, general=general)
        drafts.append(drawn)
    return drafts or [draft(cell, quantity, "error", np.empty(0), ERROR_MARGIN)]


def draft(
    row: str, quantity: str, unit: str, differences: np.ndarray, margin: float, note: str = ""
) -> Draft:
    """Return a draft of differences claimed to be above 0; sets are drawn anew, so estimands are equal."""
    return Draft(
        row,
        quantity,
        unit,
        sample=differences,
        general=differences,
        margin=margin,
        judge=higher,
        n=len(differences),
        of="difference",
        note=note,
        fewest=FEWEST,
    )


def _not_converged(cell: str, fits: pd.DataFrame, methods: Iterable[str]) -> str:
    """Return text on runs that did not converge, by method; their scores are of the last proper posterior."""
    counts = []
    for method in methods:
        outcomes = fits["outcome"][fits["method"] == method]
        missed = (outcomes != CONVERGED).sum()
        counts += [f"{method} {missed} of {len(outcomes)}"] if missed else []
    return f"{cell}: not converged {', '.join(counts)}" if counts else ""


def _lengthscales(cell: str, fits: pd.DataFrame, methods: Iterable[str]) -> str:
    """Return text on the chosen lengthscales where they differ: they contribute to a difference of errors."""
    chosen = _chosen_lengthscales(fits)
    chosen = chosen[[method for method in methods if method in chosen]]
    texts = ", ".join(f"{name} {value:.3g}" for name, value in chosen.items())
    return f"{cell}: lengthscales {texts}" if chosen.nunique() > 1 else ""


def _chosen_lengthscales(fits: pd.DataFrame) -> pd.Series:
    """Return the lengthscale of each method."""
    return fits.drop_duplicates("method").set_index("method")["lengthscale"]


def converges(fits: pd.DataFrame, protocol: Protocol) -> list[Block]:
    """Judge REP3: REP converges in every run and needs fewer sweeps; some runs of EP and Power EP diverge."""
    cells = _cells(fits)
    if not cells:
        return [_not_run("made-up set", "convergence", "share")]
    counts, drafts, further = [], [], []
    for cell, lines in cells.items():
        runs = {name: lines[lines["method"] == name].set_index("split").sort_index() for name in METHODS}
        best = max(protocol.rep, key=lambda name: _convergence(runs[name]))
        counts.append(_always(cell, runs[best], best))
        counts += [_sometimes(cell, runs[name], name) for name in (EP, PEP)]
        drafts += [_fewer(cell, runs[name], runs[best], name) for name in (EP, PEP)]
        further += [
            _share(f"{cell}: {name}", runs[name], CONVERGED, SHOWN) for name in (*FURTHER, REP_ENGINE)
        ]
    test = "counts; sweeps: paired t over sets on which both converged, Holm"
    name = f"made-up set{protocol.favouring('reading that converges most often')}"
    sweeps = tested(drafts)
    for k, line in enumerate(sweeps):
        if line.sample.status == MISSING:  # both methods converged on too few sets
            sweeps[k] = replace(line, sample=Inference(UNDECIDED), general=Inference(UNDECIDED))
    sets = min(line.n for line in counts)
    first = Block(name, test, (*counts, *sweeps), covered={"sets": sets})
    return [first, Block("damped EP, and the engine's EP and REP", "counts", tuple(further))]


def _convergence(runs: pd.DataFrame) -> tuple[float, float]:
    """Return the share of runs that converged, and minus their mean sweeps: larger is better."""
    converged = runs[runs["outcome"] == CONVERGED]
    return (len(converged) / len(runs), -converged["sweeps"].mean()) if len(converged) else (0.0, 0.0)


def _share(row: str, runs: pd.DataFrame, outcome: str, status: str, note: str = "") -> Line:
    """Return a line: the share of runs with an outcome."""
    hits, n = int((runs["outcome"] == outcome).sum()), len(runs)
    if not n:
        return Line(row, f"runs {outcome}", "share", note="not run")
    return Line(row, f"runs {outcome}", "share", hits / n, sample=Inference(status), n=n, note=note)


def _always(cell: str, runs: pd.DataFrame, method: str) -> Line:
    """Return a line: yes if all runs of REP converged."""
    diverged, unsettled = _unconverged(runs)
    status = NO if diverged + unsettled else YES
    note = f"{method}: {diverged} diverged, {unsettled} unsettled" if status == NO else method
    return _share(f"{cell}: REP converges", runs, CONVERGED, status, note)


def _unconverged(runs: pd.DataFrame) -> tuple[int, int]:
    """Count the runs that diverged, and those that neither diverged nor converged."""
    diverged = int((runs["outcome"] == DIVERGED).sum())
    return diverged, int((runs["outcome"] != CONVERGED).sum()) - diverged


def _sometimes(cell: str, runs: pd.DataFrame, method: str) -> Line:
    """Return a line: yes if a run diverged, no if divergence is shown to be rarer than a limit."""
    diverged, unsettled = _unconverged(runs)
    rare = len(runs) and share_interval(unsettled, len(runs))[1] < SOMETIMES
    status = YES if diverged else (NO if rare else UNDECIDED)
    note = f"{diverged} diverged, {unsettled} unsettled"
    return _share(f"{cell}: {method} sometimes diverges", runs, DIVERGED, status, note)


def _fewer(cell: str, rival: pd.DataFrame, rep: pd.DataFrame, method: str) -> Draft:
    """Return a draft: the other method's sweeps minus REP's, where both converged."""
    both = (rival["outcome"] == CONVERGED) & (rep["outcome"] == CONVERGED)
    difference = (rival["sweeps"] - rep["sweeps"])[both].to_numpy(float)
    note = f"{int(both.sum())} of {len(both)} sets where both converged"
    row = f"{cell}: fewer sweeps than {method}"
    return draft(row, f"{method} - REP, sweeps", "sweeps", difference, SWEEPS_MARGIN, note)

"""REP3 to REP6: convergence and test errors on the made-up set and the real ones [Qi & Guo 2012, section 6].

Each function takes the fits of one protocol's methods and returns blocks, the deciding one first. Effects are
signed so that the claim is worst off where they are smallest. Where a protocol has REP in several readings,
all of them are tested as one family and each row is judged by the one that is most favourable to the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.experiments.rep import BLOBS, METHODS
from tilted.inference.rep import READINGS
from tilted.inference.textbook import CONVERGED, DIVERGED
from tilted.results.audit.rows import higher
from tilted.results.audit.units import Draft, tested
from tilted.results.audit.verdicts import MISSING, NO, SHOWN, UNDECIDED, YES, Block, Inference, Line
from tilted.results.grid import counted

if TYPE_CHECKING:
    import pandas as pd

    Cell = tuple[str, float]
    """A data set and a share of flipped labels."""

ERROR_MARGIN = 0.005
"""Smallest difference of error rates that matters: half a percentage point."""

SWEEPS_MARGIN = 0.5
FEWEST = 5
"""Differences a test needs: a few numbers of sweeps may all differ by the same, which no t test can judge."""

EP, PEP, SPAM = "ep", "pep", "spam"
UCI = ("heart", "pima", "diabetes", "haberman")
NAMES = {"heart": "Heart", "pima": "Pima", "diabetes": "Diabetes", "haberman": "Haberman", SPAM: "Spam"}
BESIDE = ("ep-damped", "ep-engine")
BY_ENGINE = ("ep-engine", "rep-engine")
T_TEST = "paired t over splits, Holm"


class Protocol(NamedTuple):
    """A reading of the paper: its name and the methods that are REP in it."""

    name: str
    rep: tuple[str, ...]


DESCRIBED = Protocol("as-described", ("rep-as-described",))
CORRECTED = Protocol("corrected", tuple(f"rep-{reading}" for reading in READINGS))
PROTOCOLS = (DESCRIBED, CORRECTED)


def once(fits: pd.DataFrame | None) -> pd.DataFrame | None:
    """The fits with parameters chosen once for a data set."""
    return None if fits is None else fits[fits["chosen_on"] == 0]


def scores(fits: pd.DataFrame, dataset: str, flips: float) -> pd.DataFrame:
    """Error rates [splits, methods]; a fit that failed has none."""
    return _of_cell(fits, (dataset, flips)).pivot(index="split", columns="method", values="error")


def of_paper(fits: pd.DataFrame | None, datasets: Iterable[str]) -> list[Cell]:
    """(data set, share of flips) that were run, in order."""
    if fits is None:
        return []
    found = fits[["dataset", "flips"]].drop_duplicates()
    return [
        (name, float(flips))
        for name in datasets
        for flips in sorted(found[found["dataset"] == name]["flips"])
    ]


def errors(fits: pd.DataFrame | None, protocol: Protocol, cells: Iterable[Cell]) -> list[Block]:
    """REP4, REP5, REP6: error of EP, and of Power EP, minus that of REP; beside it EP by other iterations."""
    cells = list(cells)
    if fits is None or not cells:
        return [Block("test error", T_TEST, (Line("test error", "not run", "error"),), float, "not run")]
    blocks: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [
        (f"against EP and Power EP{_favour(protocol)}", (EP, PEP), protocol.rep),
        ("against damped EP and the engine's EP", BESIDE, protocol.rep),
    ]
    if len(protocol.rep) > 1:
        blocks += [("EP against REP, both by the engine", (BY_ENGINE[0],), (BY_ENGINE[1],))]
    return [_block(fits, cells, *of) for of in blocks]


def _favour(protocol: Protocol) -> str:
    return ", the most favourable reading of each row" if len(protocol.rep) > 1 else ""


def _block(
    fits: pd.DataFrame, cells: list[Cell], name: str, others: tuple[str, ...], rep: tuple[str, ...]
) -> Block:
    """Other methods minus REP; p-values are adjusted over every reading, of which the best is shown."""
    groups = [_drafts(fits, cell, other, rep) for cell in cells for other in others]
    lines = iter(tested([draft for group in groups for draft in group]))
    best = [max([next(lines) for _ in group], key=_effect) for group in groups]
    about = (what(fits, cell, (*others, *rep)) for what in (_troubles, _lengthscales) for cell in cells)
    return Block(name, T_TEST, tuple(best), float, "; ".join(filter(None, about)))


def _effect(line: Line) -> float:
    return -np.inf if np.isnan(line.effect) else line.effect


def _row(cell: Cell) -> str:
    dataset, flips = cell
    return f"{NAMES.get(dataset, 'Made-up')}, {100 * flips:g} % flipped" if flips else NAMES[dataset]


def _drafts(fits: pd.DataFrame, cell: Cell, other: str, rep: tuple[str, ...]) -> list[Draft]:
    """The drafts of one data set: the other method's error minus that of REP, one a reading that was run."""
    table, part = scores(fits, *cell), _of_cell(fits, cell)
    parts = None if cell[0] == BLOBS else (float(part["n_train"].iloc[0]), float(part["n_test"].iloc[0]))
    found = []
    for name in rep:
        if not {other, name} <= set(table):
            continue
        pairs = (table[other] - table[name]).dropna().to_numpy()
        lost = len(table) - len(pairs)
        notes = [name.removeprefix("rep-")] if len(rep) > 1 else []
        notes += [f"{counted(lost, 'split')} left out"] if lost else []
        found.append(_error_draft(cell, other, pairs, parts, "; ".join(notes)))
    return found or [_error_draft(cell, other, np.empty(0))]


def _error_draft(
    cell: Cell,
    other: str,
    differences: np.ndarray,
    parts: tuple[float, float] | None = None,
    note: str = "",
) -> Draft:
    quantity = f"{other} - REP, test error"
    return draft(_row(cell), quantity, "error", differences, ERROR_MARGIN, parts, note)


def draft(
    row: str,
    quantity: str,
    unit: str,
    differences: np.ndarray,
    margin: float,
    parts: tuple[float, float] | None = None,
    note: str = "",
) -> Draft:
    """A draft of differences that are said to be above 0.

    They are of splits of one data set, with ``parts`` its numbers of training and test points, or of made-up
    sets: drawn anew, so that both estimands are one.
    """
    general = differences if parts is None else parts
    return Draft(row, quantity, unit, differences, general, margin, higher, len(differences),
                 of="difference", note=note, fewest=FEWEST)  # fmt: skip


def _of_cell(fits: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    return fits[(fits["dataset"] == cell[0]) & (fits["flips"] == cell[1])]


def _troubles(fits: pd.DataFrame, cell: Cell, methods: tuple[str, ...]) -> str:
    """Runs that did not converge, by method; they are scored at their last proper posterior."""
    part, found = _of_cell(fits, cell), []
    for method in methods:
        of = part[part["method"] == method]
        missed = int((of["outcome"] != CONVERGED).sum())
        found += [f"{method} {missed} of {len(of)}"] if missed else []
    return f"{_row(cell)}: not converged {', '.join(found)}" if found else ""


def _lengthscales(fits: pd.DataFrame, cell: Cell, methods: tuple[str, ...]) -> str:
    """The lengthscales that were chosen, where they differ: then a difference of errors is theirs too."""
    part = _of_cell(fits, cell).drop_duplicates("method").set_index("method")["lengthscale"]
    of = part[[method for method in methods if method in part]]
    if of.nunique() < 2:
        return ""
    return f"{_row(cell)}: lengthscales {', '.join(f'{name} {value:.3g}' for name, value in of.items())}"


def converges(fits: pd.DataFrame | None, protocol: Protocol) -> list[Block]:
    """REP3: REP converges in every run, in fewer sweeps than EP and Power EP, some runs of which diverge."""
    cells = of_paper(fits, [BLOBS])
    if not cells:
        line = Line("convergence", "not run", "share")
        return [Block("made-up set", T_TEST, (line,), float, "not run")]
    lines, drafts = [], []
    for cell in cells:
        part = _of_cell(fits, cell)
        of = {name: part[part["method"] == name].set_index("split").sort_index() for name in METHODS}
        best = max(protocol.rep, key=lambda name: _convergence(of[name]))
        lines.append(_always(cell, of[best], best))
        lines += [_sometimes(cell, of[name], name) for name in (EP, PEP)]
        drafts += [_fewer(cell, of[name], of[best], name) for name in (EP, PEP)]
    test = "counts; sweeps: paired t over sets on which both converged, Holm"
    favour = ", the reading that converges most often" if len(protocol.rep) > 1 else ""
    sweeps = map(_undecided, tested(drafts))
    first = Block(f"made-up set{favour}", test, (*lines, *sweeps), float)
    beside = [_shown(cell, fits, name) for cell in cells for name in (*BESIDE, BY_ENGINE[1])]
    return [first, Block("damped EP, and the engine's EP and REP", "counts", tuple(beside), float)]


def _undecided(line: Line) -> Line:
    """A line of sweeps: where both converged on too few sets, runs were made that do not show the claim."""
    missing = line.sample.status == MISSING
    return replace(line, sample=Inference(UNDECIDED), general=Inference(UNDECIDED)) if missing else line


def _convergence(runs: pd.DataFrame) -> tuple[float, float]:
    """Share of runs that converged, and minus their mean sweeps: larger is better."""
    converged = runs[runs["outcome"] == CONVERGED]
    return (len(converged) / len(runs), -converged["sweeps"].mean()) if len(converged) else (0.0, 0.0)


def _share(row: str, quantity: str, hits: int, n: int, status: str, note: str = "") -> Line:
    inference = Inference(status)
    share = hits / n if n else float("nan")
    return Line(row, quantity, "share", share, sample=inference, general=Inference(), n=n, note=note)


def _always(cell: Cell, runs: pd.DataFrame, method: str) -> Line:
    hits = int((runs["outcome"] == CONVERGED).sum())
    status = YES if len(runs) and hits == len(runs) else NO
    return _share(f"{_row(cell)}: REP converges", "runs converged", hits, len(runs), status, method)


def _sometimes(cell: Cell, runs: pd.DataFrame, method: str) -> Line:
    diverged = int((runs["outcome"] == DIVERGED).sum())
    unsettled = int((runs["outcome"] != CONVERGED).sum()) - diverged
    status = YES if diverged else (UNDECIDED if unsettled else NO)
    note = f"{diverged} diverged, {unsettled} unsettled"
    row = f"{_row(cell)}: {method} sometimes diverges"
    return _share(row, "runs diverged", diverged, len(runs), status, note)


def _shown(cell: Cell, fits: pd.DataFrame, method: str) -> Line:
    part = _of_cell(fits, cell)
    part = part[part["method"] == method]
    hits = int((part["outcome"] == CONVERGED).sum())
    return _share(f"{_row(cell)}: {method}", "runs converged", hits, len(part), SHOWN)


def _fewer(cell: Cell, other: pd.DataFrame, rep: pd.DataFrame, method: str) -> Draft:
    both = (other["outcome"] == CONVERGED) & (rep["outcome"] == CONVERGED)
    difference = (other["sweeps"] - rep["sweeps"])[both].to_numpy(float)
    note = f"{int(both.sum())} of {len(both)} sets where both converged"
    row = f"{_row(cell)}: fewer sweeps than {method}"
    return draft(row, f"{method} - REP, sweeps", "sweeps", difference, SWEEPS_MARGIN, note=note)


Judge = Callable[["pd.DataFrame | None", Protocol], "list[Block]"]
OF_FITS: dict[str, Judge] = {
    "REP3": converges,
    "REP4": lambda fits, protocol: errors(fits, protocol, of_paper(fits, [BLOBS])),
    "REP5": lambda fits, protocol: errors(fits, protocol, of_paper(fits, UCI)),
    "REP6": lambda fits, protocol: errors(
        fits, protocol, [cell for cell in of_paper(fits, [SPAM]) if cell[1] > 0]
    ),
}
"""Claims that the fits decide."""

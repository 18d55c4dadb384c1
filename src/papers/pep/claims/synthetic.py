"""The claims about the synthetic sets, PEP1 to PEP3 [Bui et al. 2017, section 4.1].

Each function takes the compared regressions (`scores.compared`) and gives the deciding block. Sets are
independent draws, so both estimands are one; effects are signed so that the claim is worst off where they are
smallest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from papers.core import claims
from papers.core.comparisons import Draft, Group, higher, missing, not_lower, shown, tested
from papers.core.verdicts import MISSING, Block, Line
from papers.pep import compare, scores
from papers.pep.regression import FULL
from papers.pep.scores import NLML, PREDICTIVE, values

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.comparisons import Rule, Score

    BySet = Mapping[tuple[str, int], pd.Series]
    """(power, M) -> score of each synthetic set; the full GP at M = 0."""

INTERMEDIATE = (0.5, 0.8)
"""The range of powers that the paper finds best (PEP3)."""

SMALLEST = 5
"""The fewest pseudo-points of the paper's experiment; the most are N."""

CLOSE_TO_ONE = ("0.8", "1")
MARKEDLY = claims.load()["PEP2"].margin["part"]
"""In the second block of PEP2 an overestimate is markedly less if below this fraction of the largest."""

BETTER = "paired t over data sets, Holm"
STEPS = "95 % interval against minus the smallest effect that matters"


def covered(fits: pd.DataFrame) -> str:
    """Return text for remarks: the coverage of a frame."""
    return scores.coverage(fits) if len(fits) else "not run"


def worst_lines(drafts: Iterable[Draft]) -> tuple[Line, ...]:
    """Test a family and return, for each (row, quantity), the least favourable line."""
    return _worst_of(tested(list(drafts)))


def _worst_of(lines: Iterable[Line]) -> tuple[Line, ...]:
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.row, line.quantity), []).append(line)
    return tuple(Group(lines).line() for lines in groups.values())


def by_set(fits: pd.DataFrame, score: Score) -> BySet:
    """Return the scores of the synthetic sets, in the scale of their differences."""
    scored = scores.with_numbers(scores.made_up(fits))
    groups = scored.assign(value=values(scored, score)).groupby(["alpha", "m"])
    return {(alpha, int(m)): of_cell.set_index("split")["value"] for (alpha, m), of_cell in groups}


def _joint(*cells: pd.Series) -> list[np.ndarray]:
    """Return the numbers of the sets that all of them contain."""
    common = sorted(set.intersection(*(set(cell.index) for cell in cells)))
    return [cell.loc[common].to_numpy(float) for cell in cells]


def _paired(row: str, quantity: str, score: Score, judge: Rule, units: np.ndarray, note: str) -> Draft:
    n = len(units)
    return Draft(row, quantity, score.unit, units, units, score.margin, judge, n, of="set", note=note)


# PEP1


def approaches_full(fits: pd.DataFrame) -> list[Block]:
    """Judge PEP1: change of the distance to the full GP from the smallest M to the largest, and stepwise."""
    made_up = scores.made_up(fits)
    from_smallest: list[Draft] = []
    steps: list[Draft] = []
    for score in PREDICTIVE:
        cells = by_set(fits, score)
        for alpha in scores.alphas(made_up):
            from_smallest += _approach(cells, alpha, score, stepwise=False)
            steps += _approach(cells, alpha, score, stepwise=True)
    name, run = "distance to the full GP", {"sets at every M": sets_at_every_m(made_up)}
    return [
        Block(name, BETTER, tuple(tested(from_smallest)), covered(made_up), run),
        Block("it grows on no step of M", STEPS, worst_lines(steps)),
    ]


def sets_at_every_m(fits: pd.DataFrame) -> int:
    """Count the sets with the full GP and a power at `SMALLEST`, at every other M that was run, and at N.

    Return the smallest count over the powers that were run. A failed fit does not count.
    """
    scored = scores.with_numbers(fits)
    sizes = {SMALLEST, *scores.sparse(fits)["m"], *fits["n_train"]}
    has_full = set(scored.loc[scored["alpha"] == FULL, "split"])
    by_power = [scored[scored["alpha"] == alpha].groupby("split")["m"] for alpha in scores.alphas(fits)]
    counts = [sum(split in has_full and sizes <= set(m) for split, m in of_sets) for of_sets in by_power]
    return min(counts, default=0)


def _approach(cells: BySet, alpha: str, score: Score, stepwise: bool) -> Iterator[Draft]:
    """Yield drafts from the smallest M to the largest, or for each step from one M to the next."""
    row = f"{score.name}, α = {alpha}"
    quantity = f"distance to the full GP, {'a step of M' if stepwise else 'smallest - largest M'}"
    sizes = sorted(m for power, m in cells if power == alpha)
    if (FULL, 0) not in cells or len(sizes) < 2:
        yield missing(row, quantity, score.unit, "one M only" if (FULL, 0) in cells else "no full GP")
        return
    for small, large in pairwise(sizes if stepwise else (sizes[0], sizes[-1])):
        full, first, last = _joint(cells[FULL, 0], cells[alpha, small], cells[alpha, large])
        nearer = np.abs(first - full) - np.abs(last - full)
        judge = not_lower if stepwise else higher
        yield _paired(row, quantity, score, judge, nearer, f"M = {small} to {large}")


# PEP2

EXCESS = "full - sparse NLML, smallest < M < N"
LESS = "the largest excess - that at M = N"


def overestimates(fits: pd.DataFrame) -> list[Block]:
    """Judge PEP2: NLML of the full GP minus that of a power near one, at M < N and at M = N.

    The first block asks for less at M = N than at the M between where it is largest, the other for less than
    `MARKEDLY` of that.
    """
    name, remark = "full GP's NLML minus the sparse one's, a point", covered(scores.made_up(fits))
    return [
        Block(name, f"{BETTER}; at M = N against the largest excess", _excess_lines(fits), remark),
        Block(f"below {MARKEDLY:g} of it at M = N", BETTER, _excess_lines(fits, MARKEDLY)),
    ]


def _excess_lines(fits: pd.DataFrame, fraction: float = 1.0) -> tuple[Line, ...]:
    """Return for each power its largest excess, and a fraction of it against the excess at M = N.

    Without a fit at M = N the largest excess is for display only: M that were not run may have a larger one.
    """
    cells = by_set(fits, NLML)
    sizes = scores.made_up(fits)["n_train"].unique()
    n = int(sizes[0]) if len(sizes) == 1 else 0
    drafts = [(alpha, *pair) for alpha in CLOSE_TO_ONE for pair in _excesses(cells, alpha, n, fraction)]
    lines = tested([draft for _, draft, _ in drafts] + [draft for *_, draft in drafts])
    chosen: list[Line] = []
    for alpha in CLOSE_TO_ONE:
        places = [k for k, (of_power, *_) in enumerate(drafts) if of_power == alpha]
        peak = max(places, key=lambda k: _mean(drafts[k][1]))
        largest = Group([lines[k] for k in places], every=False).line()
        at_all = lines[len(drafts) + peak]
        for_display = shown([largest]) if at_all.sample.status == MISSING else ()
        chosen += [*(for_display or [largest]), at_all]
    return tuple(chosen)


def _mean(draft: Draft) -> float:
    return float(draft.sample.mean()) if len(draft.sample) else -np.inf


def _excesses(cells: BySet, alpha: str, n: int, fraction: float) -> Iterator[tuple[Draft, Draft]]:
    """Yield, for each M between, its excess, and a fraction of it minus the excess at M = N."""
    row, quantity = f"α = {alpha}", LESS if fraction == 1.0 else f"{fraction:g} of {LESS}"
    absent = missing(row, quantity, NLML.unit, f"M = N = {n} not run" if n else "sets of several sizes")
    inner = [m for m in sorted(m for power, m in cells if power == alpha)[1:] if m < n]
    if (FULL, 0) not in cells or not inner:
        why = "no M between the smallest and N" if (FULL, 0) in cells else "no full GP"
        yield missing(row, EXCESS, NLML.unit, why), absent
        return
    for m in inner:
        full, near = _joint(cells[FULL, 0], cells[alpha, m])
        excess = _paired(row, EXCESS, NLML, higher, full - near, f"M = {m}")
        if (alpha, n) not in cells:
            yield excess, absent
            continue
        full, near, last = _joint(cells[FULL, 0], cells[alpha, m], cells[alpha, n])
        less = fraction * (full - near) - (full - last)
        note = f"excess {np.mean(full - near):.4f} at M = {m}, {np.mean(full - last):.4f} at M = N = {n}"
        yield excess, _paired(row, quantity, NLML, higher, less, note)


# PEP3


def intermediate_best(fits: pd.DataFrame) -> list[Block]:
    """Judge PEP3: the best power in `INTERMEDIATE` against the others; a set's score is its mean over M.

    If sets were run to different M, further blocks repeat the comparison on the sets with every M, and
    compare the best power with EP at each M.
    """
    made_up = scores.made_up(fits)
    lines, remark = _best_inside(made_up)
    test = f"{BETTER} over all powers in the range; others: {STEPS}"
    run = {"powers": len(scores.alphas(made_up))}
    blocks = [Block("mean over M", test, lines, remark, run)]
    complete = with_every_m(made_up)
    if 0 < complete["split"].nunique() < made_up["split"].nunique():
        blocks.append(Block("on sets with every M", test, *_best_inside(complete)))
        blocks.append(Block("against EP at each M on these", BETTER, tuple(tested(list(_each_m(complete))))))
    return blocks


def with_every_m(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits of the splits on which every power has both scores at every M of any power."""
    tables = [compare.wide(fits, score).dropna() for score in PREDICTIVE]
    cells = tables[0].index.intersection(tables[1].index)
    of_splits = cells.to_frame(index=False).groupby(["dataset", "split"])["m"].agg(frozenset)
    every = frozenset(scores.sparse(fits)["m"])
    complete = of_splits[of_splits.map(every.__eq__)].index
    return fits[fits.set_index(["dataset", "split"]).index.isin(complete)]


def _each_m(made_up: pd.DataFrame) -> Iterator[Draft]:
    """Yield drafts of the best power in the range, by its mean, against EP at each M."""
    for score in PREDICTIVE:
        table = compare.wide(made_up, score).dropna()
        if (inside := _inside(table)) and "1" in table:
            yield from _at_each_m(table, table[inside].mean().idxmin(), "1", score)


def _at_each_m(table: pd.DataFrame, first: str, second: str, score: Score) -> Iterator[Draft]:
    """Yield drafts of the advantage of one power over another at each M of a table (`compare.wide`)."""
    for m, at in table.groupby(level="m"):
        gain = (at[second] - at[first]).to_numpy(float)
        row = f"{score.name}, M = {m}: α = {first} over α = {second}"
        yield _paired(row, f"against α = {second}", score, higher, gain, f"α = {first} against α = {second}")


def pairs_at_each_m(made_up: pd.DataFrame, pairs: Iterable[tuple[Score, str, str]]) -> Block:
    """Compare pairs of powers on the made-up sets, which reach larger M than the real sets."""
    drafts: list[Draft] = []
    for score, first, second in pairs:
        table = compare.wide(made_up, score)
        if {first, second} <= set(table):
            drafts += _at_each_m(table[[first, second]].dropna(), first, second, score)
    return Block("on the made-up sets at each M", BETTER, tuple(tested(drafts)))


def _inside(table: pd.DataFrame) -> list[str]:
    return [alpha for alpha in table if INTERMEDIATE[0] <= float(alpha) <= INTERMEDIATE[1]]


def _best_inside(made_up: pd.DataFrame) -> tuple[tuple[Line, ...], str]:
    """Compare the best power in the range for each score, and name the power with the lowest mean.

    Every power in the range is of the family: which of them is the best is read off the same numbers.
    """
    drafts: list[Draft] = []
    chosen: list[bool] = []
    remarks = []
    for score in PREDICTIVE:
        table = compare.wide(made_up, score).dropna().groupby(level="split").mean()
        inside = _inside(table)
        outside = [alpha for alpha in table if alpha not in inside]
        if not inside or not {"0", "1"} <= set(outside) or table.empty:
            drafts.append(missing(score.name, "against α = 0 and α = 1", score.unit, "powers not run"))
            chosen.append(True)
            continue
        best = table[inside].mean().idxmin()
        remarks.append(f"{score.name}: lowest mean of all at α = {table.mean().idxmin()}")
        for alpha in inside:
            gains = list(_gains(table, alpha, outside, score))
            drafts += gains
            chosen += [alpha == best] * len(gains)
    lines = [line for line, of_best in zip(tested(drafts), chosen, strict=True) if of_best]
    return _worst_of(lines), "; ".join([*remarks, covered(made_up)])


def _gains(table: pd.DataFrame, best: str, rivals: list[str], score: Score) -> Iterator[Draft]:
    for alpha in rivals:
        gain = (table[alpha] - table[best]).to_numpy(float)
        note = f"α = {best} against α = {alpha}"
        if alpha in ("0", "1"):
            yield _paired(score.name, "against α = 0 and α = 1", score, higher, gain, note)
        else:
            quantity = "against the others outside the range"
            yield _paired(score.name, quantity, score, not_lower, gain, note)

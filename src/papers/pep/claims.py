"""The claims about the regression experiments: PEP1 to PEP6 [Bui et al. 2017, sections 4.1 and 4.2].

Each function takes the compared fits (`scores.compared`) and returns blocks, the deciding one first. Effects
are signed so that the claim is worst off where they are smallest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from papers.evidence.comparisons import Draft, Group, higher, missing, not_lower, similar, tested
from papers.evidence.verdicts import Block, Line
from papers.pep import compare, published, scores
from papers.pep.scores import FAILED, FULL, NLML, PREDICTIVE, SMLL, SMSE, values

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.comparisons import Rule, Score

INTERMEDIATE = (0.5, 0.8)
"""The range of powers that the paper finds best (PEP3)."""

CLOSE_TO_ONE = ("0.8", "1")
MARKEDLY = 0.5
"""An overestimate is markedly less if it is below this part of the other (PEP2)."""

RANK_MARGIN, SHARE_MARGIN = 0.1, 0.05
BETTER = "paired t over data sets, Holm"


def _coverage(fits: pd.DataFrame) -> str:
    return scores.coverage(fits).text if len(fits) else "not run"


def by_set(fits: pd.DataFrame, score: Score) -> dict[tuple[str, int], pd.Series]:
    """(power, M) -> score of each synthetic set; the full GP at M = 0."""
    part = scores.made_up(fits)
    part = part[part["outcome"] != FAILED]
    part = part.assign(value=values(part, score))
    return {(str(a), int(m)): g.set_index("split")["value"].sort_index()
            for (a, m), g in part.groupby(["alpha", "m"])}  # fmt: skip


def _joint(*series: pd.Series) -> list[np.ndarray]:
    """The numbers of the sets that all have."""
    common = sorted(set.intersection(*(set(s.index) for s in series)))
    return [s.loc[common].to_numpy(float) for s in series]


def _paired(row: str, quantity: str, score: Score, judge: Rule, units: np.ndarray, note: str = "") -> Draft:
    """A draft whose units are synthetic sets: independent draws, so both estimands are one."""
    return Draft(
        row, quantity, score.unit, units, units, score.margin, judge, len(units), of="set", note=note
    )


def approaches_full(fits: pd.DataFrame) -> list[Block]:
    """PEP1: the distance to the full GP, from the smallest M to the largest and on every step."""
    drafts: list[Draft] = []
    for score in PREDICTIVE:
        found = by_set(fits, score)
        for alpha in scores.alphas(scores.made_up(fits)):
            drafts += _distances(found, alpha, score)
    test = f"{BETTER}; steps: 95 % interval against minus the smallest effect that matters"
    return [_grouped("distance to the full GP", test, drafts, _coverage(scores.made_up(fits)))]


def _distances(found: dict[tuple[str, int], pd.Series], alpha: str, score: Score) -> list[Draft]:
    row = f"{score.name}, α = {alpha}"
    overall, steps = "distance to the full GP, smallest - largest M", "distance to the full GP, a step of M"
    sizes = sorted(m for a, m in found if a == alpha)
    if (FULL, 0) not in found or len(sizes) < 2:
        return [missing(row, overall, score.unit, "no full GP" if (FULL, 0) not in found else "one M only")]

    def shrinks(quantity: str, small: int, large: int, judge: Rule) -> Draft:
        full, first, last = _joint(found[FULL, 0], found[alpha, small], found[alpha, large])
        change = np.abs(first - full) - np.abs(last - full)
        return _paired(row, quantity, score, judge, change, f"M = {small} to {large}")

    return [
        shrinks(overall, sizes[0], sizes[-1], higher),
        *(shrinks(steps, small, large, not_lower) for small, large in pairwise(sizes)),
    ]


def overestimates(fits: pd.DataFrame) -> list[Block]:
    """PEP2: NLML of the full GP minus that of a power near one, at M between and at M = N."""
    found = by_set(fits, NLML)
    sizes = scores.made_up(fits)["n_train"].unique()
    n = int(sizes[0]) if len(sizes) == 1 else 0
    between: list[Draft] = []
    for alpha in CLOSE_TO_ONE:
        between += _excesses(found, alpha, n)
    peaks = {d.row: d for d in sorted(between, key=lambda d: d.sample.mean() if len(d.sample) else -np.inf)}
    drafts = [*between, *(_at_all_data(found, alpha, n, peaks[_near(alpha)]) for alpha in CLOSE_TO_ONE)]
    lines = tested(drafts)
    kept: list[Line] = []
    for alpha in CLOSE_TO_ONE:
        of_row = [line for line in lines if line.row == _near(alpha)]
        kept += [Group([x for x in of_row if x.quantity == EXCESS], every=False).line(), of_row[-1]]
    test = f"{BETTER}; at M = N against {MARKEDLY:g} of the largest excess"
    remark = _coverage(scores.made_up(fits))
    return [Block("full GP's NLML minus the sparse one's, a point", test, tuple(kept), float, remark)]


EXCESS = "full - sparse NLML, smallest < M < N"
LESS = f"{MARKEDLY:g} of that - full - sparse NLML at M = N"


def _near(alpha: str) -> str:
    return f"α = {alpha}"


def _excesses(found: dict[tuple[str, int], pd.Series], alpha: str, n: int) -> list[Draft]:
    sizes = sorted(m for a, m in found if a == alpha)
    inner = [m for m in sizes[1:] if m < n]
    if (FULL, 0) not in found or not inner:
        why = "no full GP" if (FULL, 0) not in found else "no M between the smallest and N"
        return [missing(_near(alpha), EXCESS, NLML.unit, why)]
    drafts = []
    for m in inner:
        full, near = _joint(found[FULL, 0], found[alpha, m])
        drafts.append(_paired(_near(alpha), EXCESS, NLML, higher, full - near, f"M = {m}"))
    return drafts


def _at_all_data(found: dict[tuple[str, int], pd.Series], alpha: str, n: int, peak: Draft) -> Draft:
    if not len(peak.sample) or (alpha, n) not in found:
        return missing(
            _near(alpha), LESS, NLML.unit, f"M = N = {n} not run" if n else "sets of several sizes"
        )
    m = int(peak.note.removeprefix("M = "))
    full, near, last = _joint(found[FULL, 0], found[alpha, m], found[alpha, n])
    excess = MARKEDLY * (full - near) - (full - last)
    note = f"excess {np.mean(full - near):.4f} at {peak.note}, {np.mean(full - last):.4f} at M = N = {n}"
    return _paired(_near(alpha), LESS, NLML, higher, excess, note)


def intermediate_best(fits: pd.DataFrame) -> list[Block]:
    """PEP3: the best of the powers in `INTERMEDIATE` against the others; a set's score is its mean over M."""
    drafts: list[Draft] = []
    remarks = []
    for score in PREDICTIVE:
        table = compare.wide(scores.made_up(fits), score).dropna()
        over_sizes = table.groupby(level="split").mean()
        inside = [a for a in table.columns if INTERMEDIATE[0] <= float(a) <= INTERMEDIATE[1]]
        outside = [a for a in table.columns if a not in inside]
        if not inside or not {"0", "1"} <= set(outside) or over_sizes.empty:
            drafts.append(missing(score.name, "against α = 0 and α = 1", score.unit, "powers not run"))
            continue
        best = over_sizes[inside].mean().idxmin()
        remarks.append(f"{score.name}: lowest mean of all at α = {over_sizes.mean().idxmin()}")
        for alpha in outside:
            end = alpha in ("0", "1")
            gain = (over_sizes[alpha] - over_sizes[best]).to_numpy(float)
            quantity = "against α = 0 and α = 1" if end else "against the others outside the range"
            drafts.append(_paired(score.name, quantity, score, higher if end else not_lower, gain,
                                  f"α = {best} against α = {alpha}"))  # fmt: skip
    test = f"{BETTER}; others: 95 % interval against minus the smallest effect that matters"
    remark = "; ".join([*remarks, _coverage(scores.made_up(fits))])
    return [_grouped("mean over M", test, drafts, remark)]


def won(fits: pd.DataFrame, printed: Sequence[published.Printed], claim: str) -> list[Block]:
    """PEP4, PEP5: shares of experiments won, as direction and against the printed percentages."""
    part = scores.real(fits)
    mine = [line for line in printed if line.claim == claim]
    of = {score.name: score for score in PREDICTIVE}
    duels = [(line, compare.duel(part, line.first, line.second, of[line.score])) for line in mine]
    direction = [_share(line, found, of[line.score], 0.5, higher) for line, found in duels]
    nearness = [_share(line, found, of[line.score], line.percent / 100, similar) for line, found in duels]
    cover = _coverage(part)
    return [
        Block("direction", "t over splits of the share against 50 %, Holm", tuple(tested(direction)), float,
              cover),
        _near_printed(nearness),
    ]  # fmt: skip


def _share(
    line: published.Printed,
    found: compare.Duel | None,
    score: Score,
    at: float,
    judge: Rule,
    margin: float = SHARE_MARGIN,
) -> Draft:
    row = _pair(line)
    quantity = f"experiments won, {score.name}"
    if found is None:
        return missing(row, quantity, "share", "powers not run")
    beyond = found.beyond(score.margin)
    notes = [] if np.isnan(line.percent) else [f"printed {line.percent:g} %"]
    notes += [] if judge is similar and notes else [
        f"{found.wins} won, {found.losses} lost, {found.ties} tied",
        f"by more than {score.margin:g} {score.unit}: {beyond[0]} and {beyond[1]}",
    ]  # fmt: skip
    notes += [f"{found.n_left_out} left out"] if found.n_left_out else []
    splits, sets = (found.shares(unit) - at for unit in ("split", "dataset"))
    return Draft(row, quantity, "share", splits, sets, margin, judge, found.n, at, note="; ".join(notes))


def no_winner(fits: pd.DataFrame | None, printed: Sequence[published.Printed], claim: str) -> list[Block]:
    """PEP7: pairs that are said to be even, with the one that is not; and its printed share.

    Parameters
    ----------
    fits : pandas.DataFrame or None
        Compared classifications of one protocol, if there are any.
    printed : sequence of Printed
    claim : str
    """
    mine = [line for line in printed if line.claim == claim]
    if fits is None or scores.real(fits).empty:
        drafts = [
            missing(_scored(line), f"experiments won, {line.score}", "share", "not run") for line in mine
        ]
        return [Block("shares of experiments won", EVEN, tuple(tested(drafts)), float, "not run")]
    part = scores.real(fits)
    of = {score.name: score for score in scores.predictive(fits)}
    duels = [(line, compare.duel(part, line.first, line.second, of[line.score])) for line in mine]
    first, beside = [], []
    for line, found in duels:
        if np.isnan(line.percent):
            draft = _share(line, found, of[line.score], 0.5, similar, EVEN_MARGIN)
        else:
            draft = _share(line, found, of[line.score], 0.5, higher)
            beside.append(_share(line, found, of[line.score], line.percent / 100, similar))
        first.append(replace(draft, row=_scored(line)))
    return [
        Block("shares of experiments won", EVEN, tuple(tested(first)), float, _coverage(part)),
        _near_printed(beside),
    ]


EVEN_MARGIN = 0.15
"""The paper calls 65 to 35 a narrow margin (section 4.3)."""

EVEN = f"t over splits, Holm; even: two one-sided t tests against 50 ± {100 * EVEN_MARGIN:g} %"


def _pair(line: published.Printed) -> str:
    return f"α = {line.first} over α = {line.second}"


def _scored(line: published.Printed) -> str:
    """A row of its own for each score: a claim's rows are told apart by name."""
    return f"{line.score}: {_pair(line)}"


def _near_printed(drafts: list[Draft]) -> Block:
    return Block(
        f"the printed share ± {100 * SHARE_MARGIN:g} points",
        "two one-sided t tests over splits, Holm",
        tuple(tested(drafts)),
        lambda share: -abs(share - 0.5),
    )


def ranked(fits: pd.DataFrame) -> list[Block]:
    """PEP6: who has the best and the worst average rank."""
    part = scores.real(fits)
    ranks = {score: compare.ranks(part, score) for score in PREDICTIVE}
    drafts = [
        *_best(ranks[SMSE], SMSE, "0.5"),
        *_best(ranks[SMLL], SMLL, "0.8"),
        *_worst(ranks[SMSE], SMSE, ("0", "1")),
        *_worst(ranks[SMLL], SMLL, ("0",)),
    ]
    test = f"t over splits, Holm; best: 95 % interval against -{RANK_MARGIN:g}"
    first = {score.name: ranks[score].mean().idxmin() for score in PREDICTIVE if len(ranks[score])}
    leaders = [f"{name}: lowest average rank at α = {alpha}" for name, alpha in first.items()]
    return [_grouped("average ranks", test, drafts, "; ".join([*leaders, _coverage(part)]))]


def _best(ranks: pd.DataFrame, score: Score, alpha: str) -> list[Draft]:
    row, quantity = f"{score.name}: α = {alpha} best", "rank of another - its own"
    others = [a for a in ranks.columns if a != alpha]
    if ranks.empty or alpha not in ranks or not others:
        return [missing(row, quantity, "rank", "powers not run")]
    return [_rank(row, quantity, ranks[a] - ranks[alpha], not_lower, f"α = {a}") for a in others]


def _worst(ranks: pd.DataFrame, score: Score, powers: Sequence[str]) -> list[Draft]:
    row = f"{score.name}: {' and '.join(f'α = {a}' for a in powers)} worst"
    quantity = "its rank - that of another"
    others = [a for a in ranks.columns if a not in powers]
    if ranks.empty or not set(powers) <= set(ranks) or not others:
        return [missing(row, quantity, "rank", "powers not run")]
    return [_rank(row, quantity, ranks[p] - ranks[a], higher, f"α = {p} against α = {a}")
            for p in powers for a in others]  # fmt: skip


def _rank(row: str, quantity: str, differences: pd.Series, judge: Rule, note: str) -> Draft:
    splits, sets = (differences.groupby(level=unit).mean().to_numpy(float) for unit in ("split", "dataset"))
    return Draft(row, quantity, "rank", splits, sets, RANK_MARGIN, judge, len(differences), note=note)


def _grouped(name: str, test: str, drafts: Iterable[Draft], remark: str) -> Block:
    """A block with one line for each (row, quantity): the worst of those tested."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in tested(list(drafts)):
        groups.setdefault((line.row, line.quantity), []).append(line)
    lines = tuple(Group(part).line() for part in groups.values())
    return Block(name, test, lines, float, remark)

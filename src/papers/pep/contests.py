"""The claims about who beats whom on the UCI sets, PEP4 to PEP7 [Bui et al. 2017, sections 4.2 and 4.3].

Each function takes compared fits (`scores.compared`) and gives blocks, the deciding one first. Shares are of
the experiments that are not tied; the unit is the number of a split, and a data set for the generalising
estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers.evidence import claims
from papers.evidence.comparisons import Draft, higher, missing, not_lower, similar, tested
from papers.evidence.verdicts import Block
from papers.pep import compare, scores
from papers.pep.scores import PREDICTIVE, SMLL, SMSE
from papers.pep.synthetic import covered, worst_lines

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.comparisons import Rule, Score
    from papers.pep.published import Printed

CLAIMS = claims.load()
SHARE_MARGIN, RANK_MARGIN = CLAIMS["PEP4"].margin["share"], CLAIMS["PEP6"].margin["rank"]
EVEN_MARGIN = CLAIMS["PEP7"].margin["share"]
"""The paper calls 65 to 35 a narrow margin (section 4.3)."""

EVEN = f"t over splits, Holm; even: two one-sided t tests against 50 ± {100 * EVEN_MARGIN:g} %"


# PEP4, PEP5, PEP7


def won(fits: pd.DataFrame, printed: Sequence[Printed], claim: str) -> list[Block]:
    """PEP4, PEP5: shares of experiments won, as direction and against the printed percentages."""
    sets = scores.real(fits)
    lines = [line for line in printed if line.claim == claim]
    direction = [_share(sets, line, 0.5, higher) for line in lines]
    test = "t over splits of the share against 50 %, Holm"
    return [
        Block("direction", test, tuple(tested(direction)), float, covered(sets)),
        _near_printed(sets, lines),
    ]


def no_winner(fits: pd.DataFrame, printed: Sequence[Printed], claim: str) -> list[Block]:
    """PEP7: pairs that are said to be even, with the one that is not; and its printed share."""
    sets = scores.real(fits)
    lines = [line for line in printed if line.claim == claim]
    shares = [
        _share(sets, line, 0.5, similar, EVEN_MARGIN)
        if np.isnan(line.percent)
        else _share(sets, line, 0.5, higher)
        for line in lines
    ]
    # a claim's rows are told apart by name
    rows = [replace(x, row=f"{line.score}: {x.row}") for x, line in zip(shares, lines, strict=True)]
    return [
        Block("shares of experiments won", EVEN, tuple(tested(rows)), float, covered(sets)),
        _near_printed(sets, [line for line in lines if not np.isnan(line.percent)]),
    ]


def _near_printed(sets: pd.DataFrame, lines: Sequence[Printed]) -> Block:
    name = f"the printed share ± {100 * SHARE_MARGIN:g} points"
    drafts = [_share(sets, line, line.percent / 100, similar) for line in lines]
    test = "two one-sided t tests over splits, Holm"
    return Block(name, test, tuple(tested(drafts)), lambda share: -abs(share - 0.5))


def _share(sets: pd.DataFrame, line: Printed, at: float, judge: Rule, margin: float = SHARE_MARGIN) -> Draft:
    """The share of experiments won, compared with ``at``."""
    score = {score.name: score for score in scores.predictive(sets)}[line.score]
    row, quantity = f"α = {line.first} over α = {line.second}", f"experiments won, {score.name}"
    duel = compare.duel(sets, line.first, line.second, score)
    if duel is None:
        return missing(row, quantity, "share", "powers not run" if len(sets) else "not run")
    beyond = duel.beyond(score.margin)
    notes = [] if np.isnan(line.percent) else [f"printed {line.percent:g} %"]
    if judge is not similar or not notes:
        notes.append(f"{duel.wins} won, {duel.losses} lost, {duel.ties} tied")
        notes.append(f"by more than {score.margin:g} {score.unit}: {beyond[0]} and {beyond[1]}")
    notes += [f"{duel.n_left_out} left out"] if duel.n_left_out else []
    over_splits, over_sets = (duel.shares(unit) - at for unit in ("split", "dataset"))
    note = "; ".join(notes)
    return Draft(row, quantity, "share", over_splits, over_sets, margin, judge, duel.n, at, note=note)


# PEP6


def ranked(fits: pd.DataFrame) -> list[Block]:
    """PEP6: who has the best and the worst average rank."""
    sets = scores.real(fits)
    ranks = {score: compare.ranks(sets, score) for score in PREDICTIVE}
    drafts = [
        *_best(ranks[SMSE], SMSE, "0.5"),
        *_best(ranks[SMLL], SMLL, "0.8"),
        *_worst(ranks[SMSE], SMSE, ("0", "1")),
        *_worst(ranks[SMLL], SMLL, ("0",)),
    ]
    test = f"t over splits, Holm; best: 95 % interval against -{RANK_MARGIN:g}"
    remarks = [
        f"{score.name}: lowest average rank at α = {table.mean().idxmin()}"
        for score, table in ranks.items()
        if len(table)
    ]
    return [Block("average ranks", test, worst_lines(drafts), float, "; ".join([*remarks, covered(sets)]))]


def _best(ranks: pd.DataFrame, score: Score, alpha: str) -> list[Draft]:
    row, quantity = f"{score.name}: α = {alpha} best", "rank of another - its own"
    others = [other for other in ranks if other != alpha]
    if ranks.empty or alpha not in ranks or not others:
        return [missing(row, quantity, "rank", "powers not run")]
    return [_rank(row, quantity, ranks[a] - ranks[alpha], not_lower, f"α = {a}") for a in others]


def _worst(ranks: pd.DataFrame, score: Score, powers: Sequence[str]) -> list[Draft]:
    row = f"{score.name}: {' and '.join(f'α = {alpha}' for alpha in powers)} worst"
    quantity = "its rank - that of another"
    others = [other for other in ranks if other not in powers]
    if ranks.empty or not set(powers) <= set(ranks) or not others:
        return [missing(row, quantity, "rank", "powers not run")]
    return [
        _rank(row, quantity, ranks[alpha] - ranks[other], higher, f"α = {alpha} against α = {other}")
        for alpha in powers
        for other in others
    ]


def _rank(row: str, quantity: str, differences: pd.Series, judge: Rule, note: str) -> Draft:
    splits, sets = (differences.groupby(level=unit).mean().to_numpy(float) for unit in ("split", "dataset"))
    return Draft(row, quantity, "rank", splits, sets, RANK_MARGIN, judge, len(differences), note=note)

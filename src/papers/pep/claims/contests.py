"""The claims about who beats whom on the UCI sets, PEP4 to PEP7 [Bui et al. 2017, sections 4.2 and 4.3].

Each function takes compared fits (`scores.compared`) and gives blocks, the deciding one first. Shares are of
the experiments that are not tied; the unit is the number of a split, and a data set for the generalising
estimate. Beside a verdict stand the same rows among the experiments whose searches all converged, on how
many data sets the first power is better, and what single M say, on the made-up sets too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.evidence import claims
from papers.evidence.comparisons import Draft, Group, higher, missing, not_lower, similar, tested
from papers.evidence.verdicts import NO, UNDECIDED, YES, Block, Inference, Line
from papers.pep import compare, scores
from papers.pep.claims.synthetic import covered, pairs_at_each_m, with_every_m, worst_lines
from papers.pep.published import Counted, Printed
from papers.pep.regression import OK
from papers.pep.scores import NLL, PREDICTIVE, SMLL, SMSE, name_of

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.comparisons import Rule, Score

CLAIMS = claims.load()
SHARE_MARGIN, RANK_MARGIN = CLAIMS["PEP4"].margin["share"], CLAIMS["PEP6"].margin["rank"]
EVEN_MARGIN = CLAIMS["PEP7"].margin["share"]
"""The paper calls 65 to 35 a narrow margin (section 4.3)."""

DIRECTION = "t over splits of the share against 50 %, Holm"
EVEN = f"t over splits, Holm; even: two one-sided t tests against 50 ± {100 * EVEN_MARGIN:g} %"
RANKS = f"t over splits, Holm; best: 95 % interval against -{RANK_MARGIN:g}"
CONVERGED = "the same where every search converged"
EACH_M = "at each M, on sets and splits with every M"
EITHER = f"two one-sided t tests over splits against ± {100 * SHARE_MARGIN:g} points, Holm"
REQUIRED = dict.fromkeys(("PEP4", "PEP5", "PEP6"), (5, 10, 20, 50)) | {"PEP7": (10, 20, 50)}
"""Claim -> the M that a split needs to be counted: the paper's smallest, and our steps up to 50."""

LARGE = ("0.8", "1")
"""Powers that all others beat on NLL, in classification (section 4.3)."""


class Published(NamedTuple):
    """What is printed: shares of experiments, and numbers of data sets."""

    shares: Sequence[Printed]
    counts: Sequence[Counted]


def converged(sets: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Fits whose search converged, and how many these are."""
    kept = sets[sets["outcome"] == OK]
    return kept, f"{len(scores.sparse(kept))} of {len(scores.sparse(sets))} searches converged"


def coverage(tables: Iterable[pd.DataFrame | pd.Series], claim: str) -> dict[str, int]:
    """What some comparisons of experiments cover, each of them: the fewest.

    A set counts if as many splits as the claim asks for as ``units`` have every M of `REQUIRED`.
    """
    required = set(REQUIRED[claim])
    n_sets = []
    for table in tables:
        experiments = table.index.to_frame(index=False)
        complete = experiments.groupby(["dataset", "split"])["m"].agg(lambda m: required <= set(m))
        n_splits = complete.groupby(level="dataset").sum()
        n_sets.append(int((n_splits >= CLAIMS[claim].coverage["units"]).sum()))
    return {"sets at every M": min(n_sets, default=0)}


# PEP4, PEP5, PEP7


def won(fits: pd.DataFrame, published: Published, claim: str) -> list[Block]:
    """PEP4, PEP5: shares of experiments won, as direction and against the printed percentages."""
    sets = scores.real(fits)
    pairs = [line for line in published.shares if line.claim == claim]

    def direction(name: str, chosen: pd.DataFrame, remark: str) -> Block:
        lines = tested([_share(chosen, line, 0.5, higher) for line in pairs])
        return Block(name, DIRECTION, tuple(lines), remark, _run(chosen, pairs, claim))

    blocks = [
        direction("direction", sets, covered(sets)),
        direction(CONVERGED, *converged(sets)),
        _near_printed(sets, pairs),
        set_by_set(sets, published.counts, claim),
    ]
    if len(whole := with_every_m(sets)):
        blocks.append(_at_each_m(whole, pairs))
    made_up = scores.made_up(fits)
    if len(made_up):
        blocks.append(pairs_at_each_m(made_up, [(_score(fits, x), x.first, x.second) for x in pairs]))
    return blocks


def _at_each_m(whole: pd.DataFrame, pairs: Sequence[Printed]) -> Block:
    """Shares of experiments won at each M, on sets and splits that have every M."""
    at_m = [(m, at) for m, at in scores.sparse(whole).groupby("m")]
    unprinted = [line._replace(percent=np.nan) for line in pairs]
    drafts = [
        replace(_share(at, line, 0.5, higher), row=f"M = {m}: {_pair(line)}")
        for line in unprinted
        for m, at in at_m
    ]
    return Block(EACH_M, DIRECTION, tuple(tested(drafts)), covered(whole))


def by_either_search(fits: pd.DataFrame, others: pd.DataFrame, published: Published, claim: str) -> Block:
    """Beside PEP4, PEP5: shares by searches that converge minus those by others, on experiments of both."""
    lines = [line for line in published.shares if line.claim == claim]
    return Block("by either search", EITHER, tuple(tested([_change(fits, others, line) for line in lines])))


def _change(fits: pd.DataFrame, others: pd.DataFrame, line: Printed) -> Draft:
    """By how much the share of experiments won is another one than by other searches."""
    row, quantity = _pair(line), f"experiments won, {line.score}: converged - cut off"
    first, second = (_duel(scores.real(some), line) for some in (fits, others))
    if first is None or second is None or not (mine := first.among(second)).n:
        return missing(row, quantity, "points", "no experiment of both")
    theirs = second.among(first)
    turned = int((np.sign(mine.differences) != np.sign(theirs.differences)).sum())
    note = f"{100 * mine.share:.0f} and {100 * theirs.share:.0f} %; another winner in {turned} of {mine.n}"
    over_splits, over_sets = mine.less(theirs, "split"), mine.less(theirs, "dataset")
    return Draft(row, quantity, "points", over_splits, over_sets, SHARE_MARGIN, similar, mine.n, note=note)


def no_winner(fits: pd.DataFrame, published: Published, claim: str) -> list[Block]:
    """PEP7: pairs that are said to be even, with the one that is not; and its printed share."""
    sets = scores.real(fits)
    pairs = [line for line in published.shares if line.claim == claim]

    def shares(name: str, chosen: pd.DataFrame, remark: str) -> Block:
        lines = tested([_even_or_won(chosen, line) for line in pairs])
        return Block(name, EVEN, tuple(lines), remark, _run(chosen, pairs, claim))

    worst = _worst(compare.ranks(sets, NLL), NLL, LARGE)
    return [
        shares("shares of experiments won", sets, covered(sets)),
        shares(CONVERGED, *converged(sets)),
        _near_printed(sets, [line for line in pairs if not np.isnan(line.percent)]),
        set_by_set(sets, published.counts, claim),
        Block("large powers worst on NLL", RANKS, worst_lines(worst)),
    ]


def _run(sets: pd.DataFrame, pairs: Iterable[Printed], claim: str) -> dict[str, int]:
    """What the experiments of some pairs cover."""
    duels = [_duel(sets, line) for line in pairs]
    return coverage([duel.differences for duel in duels if duel], claim)


def _duel(sets: pd.DataFrame, line: Printed | Counted) -> compare.Duel | None:
    return compare.duel(sets, line.first, line.second, _score(sets, line))


def _score(sets: pd.DataFrame, line: Printed | Counted) -> Score:
    return {score.name: score for score in scores.predictive(sets)}[line.score]


def _near_printed(sets: pd.DataFrame, pairs: Sequence[Printed]) -> Block:
    name = f"the printed share ± {100 * SHARE_MARGIN:g} points"
    drafts = [_share(sets, line, line.percent / 100, similar) for line in pairs]
    test = "two one-sided t tests over splits, Holm"
    return Block(name, test, tuple(tested(drafts)), best=0.5)


def _even_or_won(sets: pd.DataFrame, line: Printed) -> Draft:
    """The share of a pair said to be even, or of a printed winner; rows of two scores are told apart."""
    even = np.isnan(line.percent)
    draft = _share(sets, line, 0.5, similar, EVEN_MARGIN) if even else _share(sets, line, 0.5, higher)
    return replace(draft, row=f"{line.score}: {draft.row}")


def _share(sets: pd.DataFrame, line: Printed, at: float, judge: Rule, margin: float = SHARE_MARGIN) -> Draft:
    """The share of experiments won, compared with ``at``."""
    duel, score = _duel(sets, line), _score(sets, line)
    row, quantity = _pair(line), f"experiments won, {score.name}"
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


def _pair(line: Printed | Counted) -> str:
    return f"α = {line.first} over α = {line.second}"


# Data sets


SET_BY_SET = "better or worse on a data set: t over its splits of the share against 50 %, Holm over all"


def set_by_set(sets: pd.DataFrame, counts: Iterable[Counted], claim: str) -> Block:
    """On how many data sets the first power is better, at least as many as printed or not.

    Sets that were not run, or that show neither, could be either: yes if without them the printed number is
    reached, no if with all of them it is not.
    """
    lines = [line for line in counts if line.claim == claim]
    groups = {name: sets[sets["dataset"] == name] for name in scores.datasets(sets)}
    drafts = {
        (line, name): _share(group, Printed(*line[:4], np.nan), 0.5, higher)
        for line in lines
        for name, group in groups.items()
    }
    judged = dict(zip(drafts, tested(list(drafts.values())), strict=True))
    rows = [_counted(line, {name: judged[line, name] for name in groups}) for line in lines]
    return Block("data set by data set", SET_BY_SET, tuple(rows))


def _counted(line: Counted, judged: dict[str, Line]) -> Line:
    """A line from those of the pair on each data set."""
    statuses = {name: of_set.sample.status for name, of_set in judged.items()}
    row, quantity = f"{line.score}: {_pair(line)}", "data sets on which it is better"
    better, worse = ([name_of(name) for name, x in statuses.items() if x == wanted] for wanted in (YES, NO))
    n_decided = len(better) + len(worse) + sum(x == UNDECIDED for x in statuses.values())
    printed = f"printed {line.sets} of {line.total}"
    if not n_decided:
        return Line(row, quantity, "sets", note=f"{printed}; not run")
    most = line.total - len(worse)
    status = YES if len(better) >= line.sets else NO if most < line.sets else UNDECIDED
    n_ahead = sum(of_set.effect > 0.5 for of_set in judged.values())
    notes = [printed, f"{n_decided} run", f"ahead on {n_ahead}"]
    notes += [f"better on {', '.join(better)}"] if better else []
    notes += [f"worse on {', '.join(worse)}"] if worse else []
    sample = Inference(status, len(better), most)
    return Line(row, quantity, "sets", len(better), sample=sample, n=n_decided, note="; ".join(notes))


# PEP6


def ranked(fits: pd.DataFrame) -> list[Block]:
    """PEP6: who has the best and the worst average rank; beside it who beats whom."""
    sets = scores.real(fits)
    return [
        _ranked("average ranks", sets, covered(sets)),
        _ranked(CONVERGED, *converged(sets)),
        _pair_by_pair(sets),
    ]


def _pair_by_pair(sets: pd.DataFrame) -> Block:
    """What section 4.2 reads off figure 5A, each by the pair that is worst off."""
    powers = scores.alphas(sets)
    said = [
        (SMSE, "α = 0.5 over every other but 0.6", [("0.5", x) for x in powers if x not in ("0.5", "0.6")]),
        (SMSE, "every other over α = 1", [(x, "1") for x in powers if x != "1"]),
        (SMSE, "every other but α = 1 over α = 0", [(x, "0") for x in powers if x not in ("0", "1")]),
        (SMLL, "α = 1 over every other", [("1", x) for x in powers if x != "1"]),
        (SMLL, "each over the next smaller", [(large, small) for small, large in pairwise(powers)]),
    ]
    pairs = {(score, *pair): None for score, _, of_row in said for pair in of_row}
    drafts = [_share(sets, Printed("PEP6", x[0].name, *x[1:], np.nan), 0.5, higher) for x in pairs]
    judged = dict(zip(pairs, tested(drafts), strict=True))  # a pair of two rows is tested once
    rows = []
    for score, row, of_row in said:
        lines = [judged[score, *pair] for pair in of_row]
        lines = [replace(line, note=f"{line.row}; {line.note}") for line in lines]
        lines = lines or tested([missing(row, f"experiments won, {score.name}", "share", "powers not run")])
        rows.append(replace(Group(lines).line(), row=f"{score.name}: {row}"))
    return Block("pair by pair (figure 5A)", DIRECTION, tuple(rows))


def _ranked(name: str, sets: pd.DataFrame, remark: str) -> Block:
    ranks = {score: compare.ranks(sets, score) for score in PREDICTIVE}
    drafts = [
        *_best(ranks[SMSE], SMSE, "0.5"),
        *_best(ranks[SMLL], SMLL, "0.8"),
        *_worst(ranks[SMSE], SMSE, ("0", "1")),
        *_worst(ranks[SMLL], SMLL, ("0",)),
    ]
    leaders = [
        f"{score.name}: lowest average rank at α = {table.mean().idxmin()}"
        for score, table in ranks.items()
        if len(table)
    ]
    run = coverage(ranks.values(), "PEP6") | {"powers": len(scores.alphas(sets))}
    return Block(name, RANKS, worst_lines(drafts), "; ".join([*leaders, remark]), run)


def _best(ranks: pd.DataFrame, score: Score, alpha: str) -> list[Draft]:
    row, quantity = f"{score.name}: α = {alpha} best", "rank of another - its own"
    others = [other for other in ranks if other != alpha]
    if ranks.empty or alpha not in ranks or not others:
        return [missing(row, quantity, "rank", _why(ranks))]
    return [_rank(row, quantity, ranks[a] - ranks[alpha], not_lower, f"α = {a}") for a in others]


def _worst(ranks: pd.DataFrame, score: Score, powers: Sequence[str]) -> list[Draft]:
    row = f"{score.name}: {' and '.join(f'α = {alpha}' for alpha in powers)} worst"
    quantity = "its rank - that of another"
    others = [other for other in ranks if other not in powers]
    if ranks.empty or not set(powers) <= set(ranks) or not others:
        return [missing(row, quantity, "rank", _why(ranks))]
    return [
        _rank(row, quantity, ranks[alpha] - ranks[other], higher, f"α = {alpha} against α = {other}")
        for alpha in powers
        for other in others
    ]


def _why(ranks: pd.DataFrame) -> str:
    return "no experiment has every power" if ranks.empty and len(ranks.columns) else "powers not run"


def _rank(row: str, quantity: str, differences: pd.Series, judge: Rule, note: str) -> Draft:
    splits, sets = (differences.groupby(level=unit).mean().to_numpy(float) for unit in ("split", "dataset"))
    return Draft(row, quantity, "rank", splits, sets, RANK_MARGIN, judge, len(differences), note=note)

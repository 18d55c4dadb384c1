"""Shares of experiments that one power wins against another, as rows of the audit.

Shares are of the experiments that are not tied; the unit is the number of a split, and a data set for the
generalising estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers.core import claims
from papers.core.comparisons import Draft, higher, missing, similar, tested
from papers.core.verdicts import NO, UNDECIDED, YES, Block, Inference, Line
from papers.pep import compare, scores
from papers.pep.claims.synthetic import with_every_m
from papers.pep.published import Counted, Printed
from papers.pep.scores import name_of

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.comparisons import Rule, Score

CLAIMS = claims.load()
MARGIN = CLAIMS["PEP4"].margin["share"]
DIRECTION = "t over splits of the share against 50 %, Holm"
EACH_M = "at each M, on sets and splits with every M"


def duel_of(sets: pd.DataFrame, line: Printed | Counted) -> compare.Duel | None:
    """Return the duel of the two powers of a printed share on the experiments of some sets."""
    return compare.duel(sets, line.first, line.second, score_of(sets, line))


def score_of(sets: pd.DataFrame, line: Printed | Counted) -> Score:
    """Return the score that a printed share names."""
    return {score.name: score for score in scores.predictive(sets)}[line.score]


def share(sets: pd.DataFrame, line: Printed, at: float, judge: Rule, margin: float = MARGIN) -> Draft:
    """Return a draft that compares the share of experiments won with ``at``."""
    duel, score = duel_of(sets, line), score_of(sets, line)
    row, quantity = name_of_pair(line), f"experiments won, {score.name}"
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


def name_of_pair(line: Printed | Counted) -> str:
    """Return the two powers of a printed share as text, the name of a row."""
    return f"α = {line.first} over α = {line.second}"


def at_each_m(sets: pd.DataFrame, pairs: Sequence[Printed]) -> Block:
    """Test shares of experiments won at each M, on the splits with every M that enough splits have."""
    drafts: list[Draft] = []
    for line in pairs:
        both = sets[sets["alpha"].isin((line.first, line.second))]
        n_splits = both.groupby(["m", "dataset"])["split"].nunique().groupby("m").max()
        enough = n_splits.index[n_splits >= CLAIMS[line.claim].coverage["units"]]
        complete = with_every_m(both[both["m"].isin(enough)])
        unprinted = line._replace(percent=np.nan)
        for m, at in complete.groupby("m"):
            drafts.append(replace(share(at, unprinted, 0.5, higher), row=f"M = {m}: {name_of_pair(line)}"))
        if complete.empty:
            why = "too few splits with both powers at every M"
            drafts.append(missing(name_of_pair(line), f"experiments won, {line.score}", "share", why))
    return Block(EACH_M, DIRECTION, tuple(tested(drafts)))


SET_BY_SET = "better or worse on a data set: t over its splits of the share against 50 %, Holm over all"


def set_by_set(sets: pd.DataFrame, counts: Iterable[Counted], claim: str) -> Block:
    """Judge whether the first power is better on at least as many data sets as printed.

    A set that was not run, or is undecided, could be either. The status is yes if the printed number is
    reached without such sets, and no if it is not reached with all of them.
    """
    lines = [line for line in counts if line.claim == claim]
    groups = {name: sets[sets["dataset"] == name] for name in scores.datasets(sets)}
    drafts = {
        (line, name): share(group, Printed(*line[:4], np.nan), 0.5, higher)
        for line in lines
        for name, group in groups.items()
    }
    judged = dict(zip(drafts, tested(list(drafts.values())), strict=True))
    rows = [_counted(line, {name: judged[line, name] for name in groups}) for line in lines]
    return Block("data set by data set", SET_BY_SET, tuple(rows))


def _counted(line: Counted, judged: dict[str, Line]) -> Line:
    """Return a line that counts data sets, from the lines of the pair on each of them."""
    statuses = {name: of_set.sample.status for name, of_set in judged.items()}
    row, quantity = f"{line.score}: {name_of_pair(line)}", "data sets on which it is better"
    better, worse = ([name_of(name) for name, x in statuses.items() if x == wanted] for wanted in (YES, NO))
    n_decided = len(better) + len(worse) + sum(x == UNDECIDED for x in statuses.values())
    printed = f"printed {line.sets} of {line.total}"
    if not n_decided:
        return Line(row, quantity, "sets", note=f"{printed}; {'no share on any' if judged else 'not run'}")
    idle = [name_of(name) for name, x in statuses.items() if x not in (YES, NO, UNDECIDED)]
    most = line.total - len(worse)
    status = YES if len(better) >= line.sets else NO if most < line.sets else UNDECIDED
    n_ahead = sum(of_set.effect > 0.5 for of_set in judged.values())
    shares = f"a share on {n_decided}" + (f", none on {', '.join(idle)}" if idle else "")
    notes = [printed, shares, f"ahead on {n_ahead}"]
    notes += [f"better on {', '.join(better)}"] if better else []
    notes += [f"worse on {', '.join(worse)}"] if worse else []
    sample = Inference(status, len(better), most)
    return Line(row, quantity, "sets", len(better), sample=sample, n=n_decided, note="; ".join(notes))

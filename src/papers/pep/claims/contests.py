"""The claims about comparisons of powers on the UCI sets, PEP4 to PEP7 [Bui et al. 2017, sections 4.2, 4.3].

Shares are of the experiments that are not tied; the unit is the number of a split, and a data set for the
generalising estimate. Each function takes compared fits (`scores.compared`) and returns blocks, the deciding
one first. Further blocks repeat its rows for experiments whose searches all converged, and for splits that
every set has. Others count the data sets on which the first power is better, and compare at single M, also on
the made-up sets.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers.core import claims
from papers.core.comparisons import Draft, Group, higher, missing, not_lower, similar, tested
from papers.core.verdicts import NO, UNDECIDED, YES, Block, Inference, Line
from papers.pep import compare, scores
from papers.pep.claims.synthetic import covered, pairs_at_each_m, with_every_m, worst_lines
from papers.pep.published import Counted, Printed, Published
from papers.pep.regression import FULL, OK, STOPPED
from papers.pep.scores import NLL, PREDICTIVE, SMLL, SMSE, name_of

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.comparisons import Rule, Score

CLAIMS = claims.load()
MARGIN = CLAIMS["PEP4"].margin["share"]
RANK_MARGIN = CLAIMS["PEP6"].margin["rank"]
EVEN_MARGIN = CLAIMS["PEP7"].margin["share"]
"""The paper calls 65 to 35 a narrow margin (section 4.3)."""

DIRECTION = "t over splits of the share against 50 %, Holm"
EACH_M = "at each M, on sets and splits with every M"
SET_BY_SET = "better or worse on a data set: t over its splits of the share against 50 %, Holm over all"
EVEN = f"t over splits, Holm; even: two one-sided t tests against 50 ± {100 * EVEN_MARGIN:g} %"
RANKS = f"t over splits, Holm; best: 95 % interval against -{RANK_MARGIN:g}"
CONVERGED = "the same where every search converged"
ALIKE = "every set alike: on the splits that all have"
EITHER = f"two one-sided t tests over splits against ± {100 * MARGIN:g} points, Holm"
REQUIRED = dict.fromkeys(("PEP4", "PEP5", "PEP6"), (5, 10, 20, 50)) | {"PEP7": (10, 20, 50)}
"""Claim -> the M that a split needs to be counted: the paper's smallest, and our steps up to 50."""

LARGE = ("0.8", "1")
"""Powers that all others beat on NLL, in classification (section 4.3)."""


def converged(sets: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the fits whose search converged, and text that counts them."""
    converging = sets[sets["outcome"] == OK]
    return converging, f"{len(scores.sparse(converging))} of {len(scores.sparse(sets))} searches converged"


def coverage(tables: Iterable[pd.DataFrame | pd.Series], claim: str) -> dict[str, int]:
    """Return the smallest number of data sets that any of some comparisons of experiments covers.

    A set counts if at least the claim's ``units`` of splits have every M of `REQUIRED`.
    """
    required = set(REQUIRED[claim])
    n_sets = []
    for table in tables:
        experiments = table.index.to_frame(index=False)
        complete = experiments.groupby(["dataset", "split"])["m"].agg(lambda m: required <= set(m))
        n_splits = complete.groupby(level="dataset").sum()
        n_sets.append(int((n_splits >= CLAIMS[claim].coverage["units"]).sum()))
    return {"sets at every M": min(n_sets, default=0)}


NAMED = dict.fromkeys(("PEP4", "PEP5"), ("0", "0.5", "1")) | {"PEP6": ("0", "0.5", "0.8", "1")}
"""Claim -> the powers that it names."""


def settled(sets: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Select the fits at each set's M that enough splits have with every power of `NAMED`; all if none.

    Enough is the ``units`` of the claim, so a set that arrives in blocks enters only once it has that many.
    """
    named = sets[sets["alpha"].isin(NAMED[claim])]
    every = named.groupby(["dataset", "m", "split"])["alpha"].nunique() == len(NAMED[claim])
    n_splits = every.groupby(level=["dataset", "m"]).sum()
    enough = n_splits.index[n_splits >= CLAIMS[claim].coverage["units"]]
    at = sets.set_index(["dataset", "m"]).index
    return sets[at.isin(enough) | (sets["alpha"] == FULL)] if len(enough) else sets


# Shares of experiments that one power wins against another


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


# PEP4, PEP5, PEP7


def won(
    fits: pd.DataFrame, published: Published, claim: str, described: pd.DataFrame | None = None
) -> list[Block]:
    """Judge PEP4 or PEP5: shares of experiments won, by direction and against the printed percentages.

    ``described`` are the fits of the searches cut off, if ``fits`` are of searches that converged: a block
    compares both.
    """
    sets = settled(scores.real(fits), claim)
    pairs = published.of(claim)

    def direction(name: str, chosen: pd.DataFrame, remark: str) -> Block:
        lines = tested([share(chosen, line, 0.5, higher) for line in pairs])
        return Block(name, DIRECTION, tuple(lines), remark, _run(chosen, pairs, claim))

    blocks = [
        direction("direction", sets, covered(sets)),
        direction(CONVERGED, *converged(sets)),
        _near_printed(sets, pairs),
        set_by_set(sets, published.counts, claim),
    ]
    if len(same_splits := _on_common_splits(sets, claim)):
        blocks.append(direction(ALIKE, same_splits, covered(same_splits)))
    blocks.append(at_each_m(sets, pairs))
    made_up = scores.made_up(fits)
    if len(made_up):
        blocks.append(pairs_at_each_m(made_up, [(score_of(fits, x), x.first, x.second) for x in pairs]))
    if described is not None:
        blocks.append(by_either_search(fits, described, published, claim))
    return blocks


def _on_common_splits(sets: pd.DataFrame, claim: str) -> pd.DataFrame:
    """Select the fits at every M of `REQUIRED` on the split numbers that all sets with enough of them share.

    Each split number then has the same experiments, and each set the same weight. The result is empty if no
    experiment is left out.
    """
    sets = scores.sparse(sets)
    complete = with_every_m(sets[sets["m"].isin(REQUIRED[claim])])
    of_sets = complete.groupby("dataset")["split"].agg(frozenset)
    of_sets = of_sets[of_sets.map(len) >= CLAIMS[claim].coverage["units"]]
    common = frozenset.intersection(*of_sets) if len(of_sets) else frozenset()
    same_splits = complete[complete["dataset"].isin(of_sets.index) & complete["split"].isin(common)]
    return same_splits if len(same_splits) < len(sets) else same_splits.head(0)


def by_either_search(fits: pd.DataFrame, described: pd.DataFrame, published: Published, claim: str) -> Block:
    """Compare shares won by converging searches with those by searches cut off, on common experiments."""
    drafts = [_change(fits, described, line) for line in published.of(claim)]
    return Block("by either search", EITHER, tuple(tested(drafts)))


def _change(fits: pd.DataFrame, described: pd.DataFrame, line: Printed) -> Draft:
    """Return the difference between the shares of experiments won by two kinds of search."""
    import pandas as pd

    row, quantity = name_of_pair(line), f"experiments won, {line.score}: converged - cut off"
    first, second = (duel_of(settled(scores.real(some), line.claim), line) for some in (fits, described))
    if first is None or second is None or not (mine := first.among(second)).n:
        return missing(row, quantity, "points", "no experiment of both")
    reference = second.among(first)
    turned = int((np.sign(mine.differences) != np.sign(reference.differences)).sum())
    note = f"{100 * mine.share:.0f} and {100 * reference.share:.0f} %; another winner in {turned} of {mine.n}"
    cut = described[(described["outcome"] == STOPPED) & described["alpha"].isin((line.first, line.second))]
    n_cut = mine.differences.index.isin(pd.MultiIndex.from_frame(cut[compare.EXPERIMENT])).sum()
    note += f", {n_cut} with a search cut off"
    over_splits, over_sets = mine.less(reference, "split"), mine.less(reference, "dataset")
    return Draft(row, quantity, "points", over_splits, over_sets, MARGIN, similar, mine.n, note=note)


def no_winner(fits: pd.DataFrame, published: Published, claim: str) -> list[Block]:
    """Judge PEP7: the pairs said to be even, the one said not to be, and its printed share."""
    sets, pairs = scores.real(fits), published.of(claim)

    def shares(name: str, chosen: pd.DataFrame, remark: str) -> Block:
        lines = tested([_even_or_won(chosen, line) for line in pairs])
        return Block(name, EVEN, tuple(lines), remark, _run(chosen, pairs, claim))

    compared = sets[sets["alpha"].isin({power for line in pairs for power in (line.first, line.second)})]
    ranks = compare.ranks(sets, NLL)
    worst = worst_lines(_against_rivals(ranks, NLL, LARGE, is_best=False))
    return [
        shares("shares of experiments won", compared, covered(compared)),
        shares(CONVERGED, *converged(compared)),
        _near_printed(sets, [line for line in pairs if not np.isnan(line.percent)]),
        set_by_set(sets, published.counts, claim),
        Block("large powers worst on NLL", RANKS, worst, "".join(_lacking(sets, NLL, ranks))),
    ]


def _run(sets: pd.DataFrame, pairs: Iterable[Printed], claim: str) -> dict[str, int]:
    """Return the coverage of the experiments of some pairs."""
    duels = [duel_of(sets, line) for line in pairs]
    return coverage([duel.differences for duel in duels if duel], claim)


def _near_printed(sets: pd.DataFrame, pairs: Sequence[Printed]) -> Block:
    name = f"the printed share ± {100 * MARGIN:g} points"
    drafts = [share(sets, line, line.percent / 100, similar) for line in pairs]
    test = "two one-sided t tests over splits, Holm"
    return Block(name, test, tuple(tested(drafts)), best=0.5)


def _even_or_won(sets: pd.DataFrame, line: Printed) -> Draft:
    """Return the share of a pair said to be even, or of a printed winner; the row names the score."""
    even = np.isnan(line.percent)
    draft = share(sets, line, 0.5, similar, EVEN_MARGIN) if even else share(sets, line, 0.5, higher)
    return replace(draft, row=f"{line.score}: {draft.row}")


# PEP6


def ranked(fits: pd.DataFrame) -> list[Block]:
    """Judge PEP6: the powers with the best and the worst average rank; further blocks compare pairs."""
    sets = settled(scores.real(fits), "PEP6")
    same_splits = _on_common_splits(sets, "PEP6")
    return [
        _ranked("average ranks", sets, covered(sets)),
        _ranked(CONVERGED, *converged(sets)),
        *([_ranked(ALIKE, same_splits, covered(same_splits))] if len(same_splits) else []),
        _pair_by_pair(sets),
    ]


def _pair_by_pair(sets: pd.DataFrame) -> Block:
    """Judge the statements that section 4.2 reads off figure 5A, each by its least favourable pair."""
    powers = scores.alphas(sets)
    statements = [
        (SMSE, "α = 0.5 over every other but 0.6", [("0.5", x) for x in powers if x not in ("0.5", "0.6")]),
        (SMSE, "every other over α = 1", [(x, "1") for x in powers if x != "1"]),
        (SMSE, "every other but α = 1 over α = 0", [(x, "0") for x in powers if x not in ("0", "1")]),
        (SMLL, "α = 1 over every other", [("1", x) for x in powers if x != "1"]),
        (SMLL, "each over the next smaller", [(large, small) for small, large in itertools.pairwise(powers)]),
    ]
    pairs = {(score, *pair): None for score, _, of_row in statements for pair in of_row}
    drafts = [share(sets, Printed("PEP6", x[0].name, *x[1:], np.nan), 0.5, higher) for x in pairs]
    judged = dict(zip(pairs, tested(drafts), strict=True))  # a pair of two rows is tested once
    rows = []
    for score, row, of_row in statements:
        lines = [judged[score, *pair] for pair in of_row]
        lines = [replace(line, note=f"{line.row}; {line.note}") for line in lines]
        lines = lines or tested([missing(row, f"experiments won, {score.name}", "share", "powers not run")])
        rows.append(replace(Group(lines).line(), row=f"{score.name}: {row}"))
    return Block("pair by pair (figure 5A)", DIRECTION, tuple(rows))


def _ranked(name: str, sets: pd.DataFrame, remark: str) -> Block:
    ranks = {score: compare.ranks(sets, score) for score in PREDICTIVE}
    drafts = [
        *_against_rivals(ranks[SMSE], SMSE, ("0.5",), is_best=True),
        *_against_rivals(ranks[SMLL], SMLL, ("0.8",), is_best=True),
        *_against_rivals(ranks[SMSE], SMSE, ("0", "1"), is_best=False),
        *_against_rivals(ranks[SMLL], SMLL, ("0",), is_best=False),
    ]
    leaders = [
        f"{score.name}: lowest average rank at α = {table.groupby(level='split').mean().mean().idxmin()}"
        for score, table in ranks.items()
        if len(table)
    ]
    leaders += _lacking(sets, SMSE, ranks[SMSE])
    run = coverage(ranks.values(), "PEP6") | {"powers": len(scores.alphas(sets))}
    return Block(name, RANKS, worst_lines(drafts), "; ".join([*leaders, remark]), run)


def _lacking(sets: pd.DataFrame, score: Score, ranks: pd.DataFrame) -> list[str]:
    """Return text that counts the experiments which a table of ranks leaves out."""
    n_lacking = len(compare.wide(sets, score)) - len(ranks)
    return [f"{n_lacking} experiments without every power left out"] if n_lacking else []


def _against_rivals(ranks: pd.DataFrame, score: Score, powers: Sequence[str], is_best: bool) -> list[Draft]:
    """Return drafts that compare the ranks of powers said to be best or worst with those of each other."""
    row = f"{score.name}: {' and '.join(f'α = {alpha}' for alpha in powers)} {'best' if is_best else 'worst'}"
    quantity = "rank of another - its own" if is_best else "its rank - that of another"
    rivals = [rival for rival in ranks if rival not in powers]
    if ranks.empty or not set(powers) <= set(ranks) or not rivals:
        why = "no experiment has every power" if ranks.empty and len(ranks.columns) else "powers not run"
        return [missing(row, quantity, "rank", why)]
    drafts = []
    for alpha, rival in itertools.product(powers, rivals):
        larger, smaller = (rival, alpha) if is_best else (alpha, rival)
        gain = ranks[larger] - ranks[smaller]
        splits, sets = (gain.groupby(level=unit).mean().to_numpy(float) for unit in ("split", "dataset"))
        judge, note = (not_lower, f"α = {rival}") if is_best else (higher, f"α = {alpha} against α = {rival}")
        drafts.append(Draft(row, quantity, "rank", splits, sets, RANK_MARGIN, judge, len(ranks), note=note))
    return drafts

"""The claims about the exact posterior: the QP paper's premise, QP10, and our own, OURS1 to OURS3.

OURS1 to OURS3 state of EP's correction (`tilted.corrections`) what the QP paper states of QP. The ground
truth was sampled under one protocol only; others have no data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from papers.core.claims import load
from papers.core.grid import counted
from papers.core.verdicts import NO, UNDECIDED, YES, Block, Inference, Line
from papers.qp.accuracy.tables import DECIDED, TEN
from papers.qp.published import ROWS, TRUTH_PROTOCOL
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

OVER = "EP: log(v / exact), mean"
NEARER = "rms of log(v / exact), EP - QP"
NO_WORSE = load()["OURS3"].margin["nats"]
INTERVAL = "interval of two Monte-Carlo standard errors"
GRADES = (NEARLY_EXACT, CHEAP)
ELSEWHERE = f"ground truth was sampled under {TRUTH_PROTOCOL} alone"


def premise(table: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP10: EP's variances are above the exact ones and QP's nearer, at test and at training latents.

    Parameters
    ----------
    table : pandas.DataFrame
        `papers.qp.accuracy.tables.summary`, perhaps empty.
    protocol : str
    """
    return [
        _against_exact(table[table["part"] == subset], protocol, name)
        for subset, name in (("test", "test latents"), ("train", "training latents"))
    ]


def _against_exact(table: pd.DataFrame, protocol: str, name: str) -> Block:
    test = (
        f"mean over the {name} of a fold, interval of {DECIDED:g} Monte-Carlo standard errors (upper bounds)"
    )
    by_row = _by_row(table, protocol)
    lines: list[Line] = []
    for row in ROWS.values():
        if row in by_row:
            lines += _of_row(by_row[row])
        else:
            lines += [Line(row, name, "relative", note="no exact posterior") for name in (OVER, NEARER)]
    complete = sum(by_method["ep"].splits >= TEN for by_method in by_row.values())
    remark = _sides(lines) if by_row else ELSEWHERE
    return Block(name, test, tuple(lines), remark, {"rows of ten splits": complete})


def _by_row(table: pd.DataFrame, protocol: str) -> dict[str, dict[str, Any]]:
    """Return row -> method -> line of a summary; empty under a protocol without ground truth."""
    if protocol != TRUTH_PROTOCOL:
        return {}
    return {
        row: {line.method: line for line in lines.itertuples(index=False)}
        for row, lines in table.groupby("row", sort=False)
    }


def _of_row(by_method: dict[str, Any]) -> list[Line]:
    ep, qp = by_method["ep"], by_method["qp"]
    both = ep.log_variance_rms + qp.log_variance_rms
    sides = f"shown above on {100 * ep.above_exact:.0f} %, below on {100 * ep.below_exact:.0f} % of latents"
    shares = f"{counted(int(ep.splits), 'split')}; {sides}"
    return [
        _judged(ep, OVER, "relative", ep.log_variance_bias, ep.log_variance_bias_se, shares),
        # a difference of squares over the sum
        _judged(qp, NEARER, "relative", -qp.excess_over_ep / both, qp.excess_se / both, ""),
    ]


def _judged(
    line: Any, quantity: str, unit: str, effect: float, error: float, note: str, margin: float = 0.0
) -> Line:
    """Decide yes if the effect is above minus the margin beyond the error, no if below."""
    low, high = effect - DECIDED * error, effect + DECIDED * error
    status = YES if low > -margin else NO if high < -margin else UNDECIDED
    sample = Inference(status, low, high)
    return Line(line.row, quantity, unit, effect, sample=sample, n=line.n, note=note)


def _sides(lines: Sequence[Line]) -> str:
    """Summarise on how many rows the variances are shown above or below the exact ones."""

    def count(quantity: str, status: str) -> int:
        return sum(line.quantity == quantity and line.sample.status == status for line in lines)

    above = counted(count(OVER, YES), "row")
    return (
        f"EP's variances shown above the exact ones on {above}, below on {count(OVER, NO)}; "
        f"QP's shown nearer than EP's on {count(NEARER, YES)}, further on {count(NEARER, NO)}"
    )


def nearer_variances(table: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge OURS1: corrected variances are nearer to the exact ones than EP's.

    Parameters
    ----------
    table : pandas.DataFrame
        `papers.qp.accuracy.tables.summarise_approximations`, perhaps empty.
    protocol : str
    """

    def line(corrected: Any, ep: Any) -> Line:
        both = corrected.variance_rms + ep.variance_rms
        effect, error = -corrected.variance_excess / both, corrected.variance_excess_se / both
        note = (
            f"{corrected.variance_rms:.4f} for {ep.variance_rms:.4f} of EP, "
            f"noise {corrected.variance_noise:.4f}{_untrusted(corrected)}"
        )
        return _judged(corrected, "rms of log(v / exact), EP - corrected", "relative", effect, error, note)

    return _blocks(table, protocol, INTERVAL, line)


def better_evidence(table: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge OURS2: the corrected evidence's error is at most a quarter of EP's (as `nearer_variances`)."""

    def line(corrected: Any, ep: Any) -> Line:
        note = (
            f"{corrected.evidence_error:.4f} for {ep.evidence_error:.4f} of EP, "
            f"noise {corrected.evidence_noise:.4f}"
        )
        if corrected.evidences_not_trusted:
            note += f"; not to be trusted on {corrected.evidences_not_trusted} of {corrected.splits}"
        effect, error = -corrected.evidence_gap, corrected.evidence_gap_se
        line = _judged(corrected, "EP's error / 4 - corrected one's", "nats", effect, error, note)
        return replace(line, n=corrected.splits)

    return _blocks(table, protocol, INTERVAL, line)[:1]


def no_worse_predictions(table: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge OURS3: predictions are no further from the exact ones than EP's (as `nearer_variances`)."""

    def line(corrected: Any, ep: Any) -> Line:
        note = (
            f"{corrected.density_error:.6f} for {ep.density_error:.6f} of EP, "
            f"noise {corrected.density_noise:.6f}{_untrusted(corrected)}"
        )
        effect, error = -corrected.density_gap, corrected.density_gap_se
        quantity = "error of log p(y), EP - corrected"
        return _judged(corrected, quantity, "nats", effect, error, note, NO_WORSE)

    return _blocks(table, protocol, f"{INTERVAL} beside -{NO_WORSE:g} nats", line)


def _untrusted(line: Any) -> str:
    """Count the latents whose correction is not trusted and whose answer is EP's."""
    return f"; {line.not_trusted} of {line.n} latents not to be trusted, and EP's" if line.not_trusted else ""


def _blocks(table: pd.DataFrame, protocol: str, test: str, line: Callable[[Any, Any], Line]) -> list[Block]:
    by_row = _by_row(table, protocol)
    blocks = []
    for grade in GRADES:
        lines = [line(by_method[grade], by_method["ep"]) for by_method in by_row.values()]
        lines += [
            Line(row, "not compared", "nats", note="no nearly exact answer was made")
            for row in ROWS.values()
            if row not in by_row
        ]
        covered = {"rows of ten splits": sum(x[grade].splits >= TEN for x in by_row.values())}
        blocks.append(Block(f"EP, {grade}", test, tuple(lines), "" if by_row else ELSEWHERE, covered))
    return blocks

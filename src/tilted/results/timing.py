"""Times of EP's and QP's inference, measured and written with their stamps: the study ``timing.csv``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tilted import data, protocols
from tilted.experiments import qp, timing
from tilted.provenance import closure_hash
from tilted.results import stamps
from tilted.results.store import write_text


def record(
    output: str | Path,
    datasets: Sequence[str] | None,
    protocols_timed: Sequence[str],
    seeds: int,
    repeats: int,
    mirror: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> str:
    """Time fold 0 of the first seeds and write the study.

    Parameters
    ----------
    output : path
    datasets : sequence of str, optional
        Default: every classification data set.
    protocols_timed : sequence of str
    seeds, repeats : int
        A time is the best of so many repeats (`timing.measure`).
    mirror : str, optional
        Folder or base URL tried first for raw data.
    tell : callable
        Given a line of progress a data set.

    Returns
    -------
    sentence : str
        What was written.

    Raises
    ------
    ValueError
        No seed, or an unknown data set or protocol.
    """
    import pandas as pd

    if seeds < 1:
        raise ValueError(f"need at least one seed, got {seeds}")
    names = datasets or [n for n in data.names() if qp.task_of(n) == timing.TASK]
    cells = [(seed, 0) for seed in range(seeds)]
    lines = []
    for protocol in protocols_timed:
        variant = protocols.block(protocol, timing.TASK)["variant"]
        for name in names:
            dataset = data.load(name, variant, mirror=mirror)
            stamp = stamps.columns(closure_hash(*timing.modules_of(protocol, name)))
            times = timing.measure(dataset, protocol, cells, repeats=repeats)
            lines += [{**line, **stamp} for line in times]
            tell(f"{protocol} {name}: {len(cells)} folds timed")
    columns = [*timing.COLUMNS, *stamps.COLUMNS]
    table = pd.DataFrame(lines, columns=columns).astype({"sweeps": "Int64"})
    write_text(output, table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))
    return f"{len(table)} times of {', '.join(timing.METHODS)}: {output}"

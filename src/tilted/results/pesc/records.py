"""Lines of the PESC jobs to the two studies, each line with the stamp of the job that made it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tilted.results import stamps, store, studies


def fold(paths: Iterable[str | Path], folder: str | Path) -> list[Path]:
    """Write `studies.ACCURACY` and `studies.REGRET` from files of lines (`store.write_records`).

    Raises
    ------
    RecordError
        A damaged file, or a line that is of neither study.
    """
    import pandas as pd

    lines = store.read_all(paths)
    written = []
    for name in (studies.ACCURACY, studies.REGRET):
        study = studies.STUDIES[name]
        ours = [line for line in lines if study.columns[-1] in line]
        table = pd.DataFrame(ours, columns=[*study.columns, *stamps.COLUMNS])
        text = table.to_csv(index=False, lineterminator="\n", float_format="%.6g")
        if ours:
            written.append(store.write_text(Path(folder, name), text))
        lines = [line for line in lines if study.columns[-1] not in line]
    if lines:
        raise store.RecordError(f"lines of no study, such as {lines[0]}")
    return written

"""Compact records: one line a fit, everything the tables and figures need, small enough to commit.

A file ``<protocol>.csv.gz`` holds the fits of one protocol, sorted by row of the table, method, seed
and fold. Its bytes depend on the fits alone: fixed digits, no time stamp, gzip at a fixed level. In
memory the same columns, after ``protocol``, make a pandas DataFrame (a *frame*).

``dataset, method, seed, fold, n_train, n_test``
    which fit; ``ep-tune`` is EP's first tuning where a protocol tunes twice;
``outcome, reason``
    ``ok``, ``not converged`` (numbers, but a convergence test was not met) or ``failed`` (no numbers);
``sweeps, evaluations, clipped, retries, negative_sites``
    of the fit's status (`tilted.inference.result.Status`);
``variance, lengthscale, log_evidence, test_error, ntll, seconds``
    hyperparameters (``lengthscale`` is text, one number or one a dimension joined by ``:``, see
    `lengthscales`), log evidence, scores in natural units, processor seconds;
``pair, n_above, ratio_min, ratio_median, ratio_max``
    on lines of method ``qp`` only: the EP record its predictive variances stand beside (`pairs`), at how
    many test points v_qp > v_ep (1 + 1e-9), and the smallest, median and largest v_qp / v_ep.

Numbers that do not exist are empty in the file and NaN (``n_above``: ``<NA>``) in the frame.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.results.published import is_counts, is_known, method_order, row_order
from tilted.results.store import RecordError, write_bytes

if TYPE_CHECKING:
    import pandas as pd

KEY = ("dataset", "method", "seed", "fold")
COUNTS = ("n_train", "n_test", "sweeps", "evaluations", "clipped", "retries", "negative_sites")
NUMBERS = ("variance", "log_evidence", "test_error", "ntll", "seconds")
PAIR = ("pair", "n_above", "ratio_min", "ratio_median", "ratio_max")
COLUMNS = (
    *KEY, "n_train", "n_test", "outcome", "reason", *COUNTS[2:],
    "variance", "lengthscale", "log_evidence", "test_error", "ntll", "seconds", *PAIR,
)  # fmt: skip
"""Columns of a file; those of a frame are ``("protocol", *COLUMNS)``."""

_TEXT = ("protocol", "dataset", "method", "outcome", "reason", "lengthscale", "pair", "reference")
DIGITS = {
    "variance": 12, "log_evidence": 12, "test_error": 10, "ntll": 10, "seconds": 3,
    "ratio_min": 8, "ratio_median": 8, "ratio_max": 8,
}  # fmt: skip
"""Significant digits in the file."""

OUTCOMES = OK, UNCONVERGED, FAILED = ("ok", "not converged", "failed")
PAIRS = ("", "ep-tune", "ep")
SUFFIX = ".csv.gz"

VARIANCES = "variances"
VARIANCE_COLUMNS = ("protocol", "dataset", "seed", "fold", "reference", "v_ep", "v_qp")
VARIANCE_DIGITS = {"v_ep": 7, "v_qp": 7}
REFERENCES = MAIN, MOVED = ("main", "moved")


def _types(columns: Sequence[str], floats: Iterable[str], text: Iterable[str] = _TEXT) -> dict[str, str]:
    types = dict.fromkeys(columns, "int64") | dict.fromkeys(floats, "float64")
    return types | {name: "str" for name in text if name in columns}


TYPES = _types(("protocol", *COLUMNS), DIGITS) | {"n_above": "Int64"}
VARIANCE_TYPES = _types(VARIANCE_COLUMNS, VARIANCE_DIGITS)
"""Column -> pandas type in memory."""

FOLDS = 10


def n_folds(dataset: str, folds: int = FOLDS) -> int:
    """Folds that make a seed of a data set complete."""
    return 1 if is_counts(dataset) else folds


def lengthscales(text: str) -> np.ndarray:
    """Numbers of one ``lengthscale`` entry: [1], or [D] for one a dimension; [0] for a failed fit."""
    return np.array([float(part) for part in text.split(":") if part])


def read(path: str | Path) -> pd.DataFrame:
    """Read the compact records of one protocol.

    Parameters
    ----------
    path : str or Path
        ``<protocol>.csv.gz`` as `write` wrote it.

    Returns
    -------
    frame : pandas.DataFrame
        Columns ``protocol`` and `COLUMNS`, in the file's order.

    Raises
    ------
    RecordError
        The file is truncated or corrupt, has other columns, a value of the wrong type, two lines of one
        fit, or a line that contradicts itself; the message names the file.
    FileNotFoundError
        There is no such file.
    """
    path = Path(path)
    frame = parsed(path, COLUMNS, (*DIGITS, "n_above"))
    try:
        frame = frame.astype({"n_above": "Int64"})
    except (TypeError, ValueError) as error:
        raise RecordError(f"{path}: {error}") from error
    check(frame, path)
    frame.insert(0, "protocol", path.name.removesuffix(SUFFIX))
    return frame


def read_all(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Frame of several protocols' files, one after the other (errors as `read`)."""
    import pandas as pd

    return pd.concat([read(path) for path in paths], ignore_index=True)


def protocol_files(folder: str | Path) -> list[Path]:
    """The files of a folder that hold the records of a known protocol, in the protocols' order."""
    from tilted import protocols

    paths = [Path(folder, f"{name}{SUFFIX}") for name in protocols.names()]
    return [path for path in paths if path.is_file()]


def write(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write the records of one protocol, sorted, atomically and byte for byte reproducibly.

    Raises
    ------
    RecordError
        As `encode`. The file stays as it was.
    """
    return write_bytes(path, encode(frame, path))


def encode(frame: pd.DataFrame, path: str | Path) -> bytes:
    """What `write` writes.

    Raises
    ------
    RecordError
        As `read`; also if the protocol is unknown or the frame's is not the file's.
    """
    from tilted import protocols

    path = Path(path)
    name = path.name.removesuffix(SUFFIX)
    if name not in protocols.names():
        raise RecordError(f"{path}: unknown protocol '{name}'")
    other = set(frame["protocol"]) - {name}
    if other:
        raise RecordError(f"{path}: records of {', '.join(sorted(other))} do not belong here")
    frame = frame.drop(columns="protocol")
    check(frame, path)
    return packed(ordered(frame), DIGITS)


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Lines in the order of the protocols, the table's rows, the methods, seeds and folds.

    For frames and for matched variances, whose test points keep their order within a fold.
    """
    from tilted import protocols

    methods = method_order(list(frame["method"])) if "method" in frame else []
    rows = row_order(frame["dataset"])
    names = {"protocol": protocols.names(), "dataset": rows, "method": methods}
    rank = {column: {name: k for k, name in enumerate(order)} for column, order in names.items()}
    key = [name for name in ("protocol", *KEY, "reference") if name in frame]
    return frame.sort_values(
        key, key=lambda column: column.map(rank[column.name]) if column.name in rank else column
    ).reset_index(drop=True)


def check(frame: pd.DataFrame, where: object) -> None:
    """Refuse a frame (without ``protocol``) whose lines contradict one another or themselves.

    Raises
    ------
    RecordError
        With ``where`` and the first offending line.
    """
    check_columns(frame, COLUMNS, where)
    unknown = [name for name in sorted(set(frame["dataset"])) if not is_known(name)]
    if unknown:
        raise RecordError(f"{where}: data set {unknown[0]!r} has no row in the published table and no entry")
    failed, paired = frame["outcome"] == FAILED, frame["pair"] != ""
    last = frame["dataset"].map(lambda name: n_folds(name) - 1)
    numbers = frame[["variance", "log_evidence", "test_error", "ntll"]]
    pair_numbers = frame[list(PAIR[1:])].astype(float)
    wrongs = (
        (~frame["outcome"].isin(OUTCOMES), "unknown outcome"),
        ((frame["fold"] < 0) | (frame["fold"] > last), "unexpected fold"),
        (np.isfinite(numbers).all(axis=1) == failed, "numbers do not agree with the outcome"),
        (numbers.notna().any(axis=1) & failed, "a failed fit with numbers"),
        ((frame["lengthscale"] == "") != failed, "lengthscale does not agree with the outcome"),
        (~frame["pair"].isin(PAIRS) | (paired & (frame["method"] != "qp")), "unexpected pair"),
        (np.isfinite(pair_numbers).all(axis=1) != paired, "numbers do not agree with the pair"),
        (pair_numbers.notna().any(axis=1) & ~paired, "numbers without a pair"),
        (frame.duplicated(list(KEY)), "two records of one fit"),
    )
    refuse(frame, wrongs, "{dataset} {method}, seed {seed}, fold {fold}", where)


def check_columns(frame: pd.DataFrame, columns: tuple[str, ...], where: object) -> None:
    """Refuse a frame with other columns (`RecordError`)."""
    if tuple(frame.columns) != columns:
        raise RecordError(f"{where}: columns {list(frame.columns)} are not {list(columns)}")


def refuse(frame: pd.DataFrame, wrongs: Iterable[tuple[pd.Series, str]], named: str, where: object) -> None:
    """Refuse a frame with a wrong line.

    Parameters
    ----------
    frame : pandas.DataFrame
    wrongs : iterable of (mask, str)
        Which lines are wrong, and how.
    named : str
        A line's name, with its columns in braces.
    where : object
        For the message.

    Raises
    ------
    RecordError
        With ``where`` and the name of the first offending line.
    """
    for wrong, what in wrongs:
        if wrong.any():
            raise RecordError(f"{where}: {named.format(**frame[wrong].iloc[0])}: {what}")


def write_variances(variances: pd.DataFrame, path: str | Path) -> Path:
    """Write matched variances (`VARIANCE_COLUMNS`), as `write` does (errors as `encode_variances`)."""
    return write_bytes(path, encode_variances(variances, path))


def encode_variances(variances: pd.DataFrame, path: str | Path) -> bytes:
    """What `write_variances` writes.

    Raises
    ------
    RecordError
        A variance that is not positive, or an unknown reference.
    """
    check_variances(variances, path)
    return packed(ordered(variances)[list(VARIANCE_COLUMNS)], VARIANCE_DIGITS)


def check_variances(variances: pd.DataFrame, where: object) -> None:
    """Refuse matched variances that cannot be (`RecordError`)."""
    values = variances[list(VARIANCE_DIGITS)]
    if not (np.isfinite(values) & (values > 0)).all(axis=None):
        raise RecordError(f"{where}: a variance is not positive")
    if not variances["reference"].isin(REFERENCES).all():
        raise RecordError(f"{where}: unknown reference")


def read_variances(path: str | Path) -> pd.DataFrame:
    """Read matched predictive variances, a line a test point.

    Returns
    -------
    variances : pandas.DataFrame
        `VARIANCE_COLUMNS`; ``reference`` tells whether ``v_ep`` is of the EP record at QP's
        hyperparameters (``main``) or of EP as reported where its second tuning moved (``moved``).

    Raises
    ------
    RecordError
        As `read`, or a variance that is not positive.
    """
    path = Path(path)
    variances = parsed(path, VARIANCE_COLUMNS, tuple(VARIANCE_DIGITS))
    check_variances(variances, path)
    return variances


def parsed(
    path: Path, columns: Sequence[str], floats: Sequence[str], text: Sequence[str] = _TEXT
) -> pd.DataFrame:
    """A gzipped CSV as text, float and (the others) integer columns; `RecordError` names a damaged file."""
    import pandas as pd

    try:
        content = gzip.decompress(path.read_bytes())
        header = content[: content.index(b"\n")].decode().split(",")
        if header != list(columns):
            raise ValueError(f"columns {header} are not {list(columns)}")
        types = _types(columns, (), text) | dict.fromkeys(floats, "str")
        frame = pd.read_csv(io.BytesIO(content), dtype=types, keep_default_na=False)
        for name in floats:  # Python's own conversion is exact
            frame[name] = np.array([float(text or "nan") for text in frame[name]])
        return frame
    except FileNotFoundError:
        raise
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise RecordError(f"{path}: {error}") from error


def packed(frame: pd.DataFrame, digits: dict[str, int]) -> bytes:
    """A frame as a gzipped CSV with so many significant digits; its bytes depend on the frame alone."""
    shown = frame.copy()
    for name, count in digits.items():
        shown[name] = [f"{value:.{count}g}" if value == value else "" for value in frame[name]]
    text = shown.to_csv(index=False, lineterminator="\n")
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(text.encode("utf-8"))
    return buffer.getvalue()

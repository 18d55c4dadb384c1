"""Fit and test one fold of one data set by one method, from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from papers import data
from papers.qp import fits, protocols
from tilted.kernels.squared_exponential import SquaredExponential

if TYPE_CHECKING:
    from typing import Any


PREFIX = "qp:"
"""Optional prefix of the names of this paper's data sets (`registry.PAPERS`)."""


def hyperparameters(text: str) -> SquaredExponential:
    """Return the kernel of ``variance=V,lengthscale=L`` (ARD: ``lengthscale=L1:L2:...``).

    Raises
    ------
    ValueError
        If a name is unknown or missing, or a value is not a positive number.
    """
    values = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        if name not in ("variance", "lengthscale") or name in values:
            raise ValueError(f"--hyperparameters takes variance=V,lengthscale=L, got '{text}'")
        try:
            if "_" in value:  # to float a separator of digits
                raise ValueError
            values[name] = tuple(float(v) for v in value.split(":"))
        except ValueError:
            raise ValueError(f"{name} must be a number, got '{value}'") from None
    if len(values) != 2 or len(values["variance"]) != 1:
        raise ValueError(f"--hyperparameters needs one variance and a lengthscale, got '{text}'")
    scales = values["lengthscale"]
    return SquaredExponential(values["variance"][0], scales if len(scales) > 1 else scales[0])


def fitted(
    name: str,
    protocol: str,
    seed: int,
    fold: int,
    method: str,
    fixed: SquaredExponential | None = None,
    mirror: str | None = None,
) -> dict[str, Any]:
    """Return the record of a fit.

    A method may start from the hyperparameters of another. That method is then fitted first.

    Parameters
    ----------
    name, protocol : str
        Data set and protocol.
    seed, fold : int
    method : str
        Method of a record, which may be a first tuning.
    fixed : SquaredExponential, optional
        Use these hyperparameters and infer only.
    mirror : str, optional
        Folder or base URL tried first for raw data.

    Raises
    ------
    ValueError
        An unknown name (the message lists the known ones), or a fold or seed out of range.
    """
    name = name.removeprefix(PREFIX)
    if name not in data.names():
        raise ValueError(f"unknown data set '{name}'; known: {', '.join(data.names())}")
    task = fits.task_of(name)
    block, spec = protocols.block(protocol, task), protocols.method(protocol, task, method)
    dataset = data.load(name, block["variant"], mirror=mirror)

    def recorded(wanted: str, start: dict[str, Any] | None = None) -> dict[str, Any]:
        job = protocols.job_of(block["methods"], wanted)
        assert job is not None, "methods start from others of their protocol"
        records = fits.run_fold(dataset, protocol, job, seed, fold, start, fixed)
        named = [record for record in records if record["method"] == wanted]
        return named[0] if named else {**records[-1], "method": wanted}

    return recorded(method, recorded(spec["start"]) if fixed is None and "start" in spec else None)


def summary(record: Mapping[str, Any], searched: bool = True) -> str:
    """Summarise a record as text; if it was ``searched``, name the fit that the search started from."""
    status, method = record["status"], record["method"]
    spec = protocols.method(record["protocol"], fits.task_of(record["dataset"]), method)
    twice = spec.get("tunings", 1) > 1 and not method.endswith(protocols.TUNE)
    began = spec.get("start", method + protocols.TUNE if twice else "") if searched else ""
    how = "searched from those" if spec.get("optimise", True) else "those"
    whose = f", {how} of {began}, counted apart (--method {began})" if began else ""
    error = "mean |error|" if fits.task_of(record["dataset"]) == "counts" else "test error"
    lines = [
        f"{record['dataset']} {record['protocol']} seed {record['seed']} fold {record['fold']} "
        f"{record['method']}: {record['n_train']} training, {record['n_test']} test points"
    ]
    if record["log_evidence"] is not None:
        lines += [
            f"  log evidence      {record['log_evidence']:.6f}",
            f"  hyperparameters   {record['hyperparameters']}{whose}",
            f"  {error:17} {record['test_error']:.4f}",
            f"  NTLL              {record['ntll']:.6f} nats a point",
        ]
    counts = f"{status['evaluations']} evaluations, {status['sweeps']} sweeps"
    lines += [
        f"  converged         {status['converged']} ({counts})",
        f"  message           {status['message']}",
        f"  seconds           {record['seconds']:.2f}",
    ]
    return "\n".join(lines)

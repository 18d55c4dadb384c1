"""The jobs of the relaxed-EP paper: their configuration and the work of each job.

Parameters are chosen by cross-validation on the training part of one split (``choices``); then all splits are
fitted with them, in blocks (``fits``). ``own``: single splits with parameters chosen on their own training
part, which says whether choosing once for a data set matters; that of split 0 is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from papers.core import store
from papers.core.jobs import Job, blocks
from papers.core.slices import Slice
from papers.data import standard
from papers.rep import boundary, cross_validation, exact, records
from papers.rep import fits as experiment
from papers.rep import points as five_points
from papers.rep.fits import BLOBS

if TYPE_CHECKING:
    from typing import Any

    from papers.data import Dataset

    Config = Mapping[str, Any]
    Rows = Iterator[dict[str, Any]]

PICTURES = {"exact": exact, "boundary": boundary}
"""Kind of picture -> its experiment."""

FOLDER = "data/fits/rep"


def jobs(config: Config) -> list[Job]:
    """Return every job that a configuration asks for.

    Raises
    ------
    ValueError
        For a set that does not exist, or more splits than it has, with the place.
    """
    section = config.get("rep", {})
    wanted = list(_points(section["points"])) if "points" in section else []
    for name, row in section.get("sets", {}).items():
        if name not in experiment.datasets():
            raise ValueError(f"rep.sets.{name}: no such set; known: {', '.join(experiment.datasets())}")
        if max(row["splits"], row.get("own", 0)) > experiment.splits_of(name):
            raise ValueError(f"rep.sets.{name}: there are {experiment.splits_of(name)} splits")
        for flips in map(float, row["flips"]):
            wanted += _of_set(name, flips, row)
            pictures = [kind for kind in PICTURES if kind in section and name == BLOBS]
            wanted += [_picture(kind, flips, section[kind]) for kind in pictures]
    return wanted


def _of_set(name: str, flips: float, row: Config) -> Iterator[Job]:
    """Yield the jobs of fits, own fits and choices of a set and a share of flipped labels."""
    choices = [_choices(name, flips, split) for split in range(max(1, row.get("own", 0)))]
    for first, last in blocks(row["splits"], row["block"]):
        yield _fits("fits", f"{first:03d}-{last:03d}", range(first, last + 1), choices[0])
    for split, own in enumerate(choices[1:], start=1):
        yield _fits("own", f"{split:03d}", range(split, split + 1), own)
    yield from choices


def _choices(name: str, flips: float, split: int) -> Job:
    where: dict[str, Any] = {"dataset": [name], "flips": [flips], "split": [split]}
    return Job(
        f"{FOLDER}/choices/{name}-{flips:g}/{split:03d}.jsonl.gz",
        "rep_choice",
        f"{__name__}:choices",
        {"dataset": name, "flips": flips, "split": split},
        (cross_validation.__name__,),
        {} if name == BLOBS else {"data": f"data/standard/relaxed/{name}.h5"},
        rows=(Slice(records.CHOICES, where),),
        part="REP choices",
    )


def choices(dataset: str, flips: float, split: int, log: str, data: str | None = None) -> Rows:
    """Return cross-validated scores of all methods on the training points of one split."""
    return cross_validation.lines(dataset, flips, split, _read(data, dataset))


def _read(path: str | None, dataset: str) -> Dataset | None:
    """Return the standard data set of a file; None for the made-up set, which has no file."""
    return standard.read_standard(path, dataset) if path else None


def _fits(folder: str, block: str, splits: range, choices: Job) -> Job:
    """Return the job of fits on a block of splits with the parameters that a job of choices has scored."""
    name, flips, chosen_on = (choices.parameters[key] for key in ("dataset", "flips", "split"))
    where: dict[str, Any] = {"dataset": [name], "flips": [flips], "split": splits, "chosen_on": [chosen_on]}
    studies = (records.FITS, records.CURVES) if name == BLOBS else (records.FITS,)
    return Job(
        f"{FOLDER}/{folder}/{name}-{flips:g}/{block}.jsonl.gz",
        "rep_own" if folder == "own" else "rep_fit",
        f"{__name__}:fits",
        {"dataset": name, "flips": flips, "first": splits[0], "last": splits[-1]},
        (experiment.__name__, cross_validation.__name__),
        {"choices": choices, **choices.inputs},
        rows=tuple(Slice(study, where) for study in studies),
        part="REP fits",
        fits=len(splits),
    )


def fits(
    dataset: str, flips: float, first: int, last: int, choices: str, log: str, data: str | None = None
) -> Rows:
    """Yield the records of all methods on a block of splits, with the parameters that cross-validation chose.

    Parameters
    ----------
    dataset : str
    flips : float
        Share of flipped labels.
    first, last : int
        Splits.
    choices, log, data : str
        Paths of the cross-validated scores, the log and the standard file.

    Raises
    ------
    RecordError
        The scores are of another data set.
    """
    chosen, chosen_on = _chosen(choices, dataset, flips)
    standard_set = _read(data, dataset)
    for split in range(first, last + 1):
        for record in experiment.run_split(dataset, flips, split, chosen, standard_set):
            yield {**record, "chosen_on": chosen_on}


def _chosen(path: str, dataset: str, flips: float) -> tuple[dict[str, tuple[float, float]], int]:
    """Return the parameters by method, and the split on which they were chosen."""
    tried = store.read_records(path)
    if any((row["dataset"], row["flips"]) != (dataset, flips) for row in tried):
        raise store.RecordError(f"{path}: not of {dataset} with flips {flips:g}; delete it and run again")
    return cross_validation.chosen(tried), tried[0]["split"]


def _points(section: Config) -> Iterator[Job]:
    """Yield jobs of sets of five points (the first block has the base set), and of other error rates."""
    for first, last in blocks(section["sets"], section["block"]):
        yield Job(
            f"{FOLDER}/points/{first:03d}-{last:03d}.jsonl.gz",
            "rep_points",
            f"{__name__}:points",
            {"first": first, "last": last},
            (five_points.__name__,),
            rows=(Slice(records.POINTS, {"set": range(first if first else -1, last + 1)}),),
            part="REP points",
            fits=last - first + 1,
        )
    for epsilon in map(float, section.get("epsilons", [])):
        yield Job(
            f"{FOLDER}/epsilons/{epsilon:g}.jsonl.gz",
            "rep_points",
            f"{__name__}:epsilons",
            {"epsilon": epsilon},
            (five_points.__name__,),
            rows=(Slice(records.EPSILONS, {"epsilon": [epsilon]}),),
            part="REP points",
        )


def points(first: int, last: int, log: str) -> Rows:
    """Return the rows of a block of sets; the base set, -1, comes with set 0."""
    return five_points.study(range(first if first else -1, last + 1))


def epsilons(epsilon: float, log: str) -> Rows:
    """Return the rows of the base set under a likelihood of another error rate."""
    return five_points.at_epsilon(epsilon)


def _picture(kind: str, flips: float, effort: Config) -> Job:
    where: dict[str, Any] = {"flips": [flips], "split": [effort["split"]]}
    if kind == "boundary":
        places = [boundary.written(x) for x in boundary.axis(effort["steps"])]
        rows = Slice(records.BOUNDARY, {**where, "x": places})
    else:
        rows = Slice(records.EXACT, {**where, **{key: [effort[key]] for key in ("chains", "iterations")}})
    return Job(
        f"{FOLDER}/{kind}/{flips:g}.jsonl.gz",
        "rep_picture",
        f"{__name__}:picture",
        {"kind": kind, "flips": flips, "effort": effort},
        (PICTURES[kind].__name__, cross_validation.__name__),
        {"choices": _choices(BLOBS, flips, 0)},
        rows=(rows,),
        part=f"REP {kind}",
    )


def picture(kind: str, flips: float, effort: Config, choices: str, log: str) -> Rows:
    """Return rows on a made-up set: the methods against the exact posterior, or their boundaries."""
    chosen, _ = _chosen(choices, BLOBS, flips)
    return PICTURES[kind].study(flips, effort["split"], chosen, effort)


def tables(config: Config) -> list[str]:
    """Return the names of the pages of tables."""
    return ["rep.md"] if "rep" in config else []


def figures(config: Config) -> list[str]:
    """Return the folder of figures, whose names depend on what was run."""
    return ["rep"] if "rep" in config else []

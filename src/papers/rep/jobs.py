"""The jobs of the relaxed-EP paper: their configuration and the work of each job.

Parameters are chosen by cross-validation on the training part of one split (``choices``); then all splits are
fitted with them, in blocks (``fits``). ``own``: single splits with parameters chosen on their own training
part, which says whether choosing once for a data set matters; that of split 0 is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from papers.core import store
from papers.core.jobs import Job, blocks
from papers.core.slices import Slice
from papers.rep import boundary, choice, exact
from papers.rep import fits as experiment
from papers.rep import points as five_points
from papers.rep import records as studies
from papers.rep.fits import BLOBS

if TYPE_CHECKING:
    from typing import Any

    Config = Mapping[str, Any]

PICTURES = {"exact": exact, "boundary": boundary}
"""Kind of picture -> its experiment."""

FOLDER = "data/fits/rep"


def jobs(config: Config) -> Iterable[Job]:
    """Return every job that a configuration asks for.

    Raises
    ------
    ValueError
        For a set that does not exist, or more splits than it has, with the place.
    """
    if "rep" not in config:
        return []
    section = config["rep"]
    wanted = list(_points(section))
    for name, row in section.get("sets", {}).items():
        if name not in experiment.datasets():
            raise ValueError(f"rep.sets.{name}: no such set; known: {', '.join(experiment.datasets())}")
        if max(row["splits"], row.get("own", 0)) > experiment.splits_of(name):
            raise ValueError(f"rep.sets.{name}: there are {experiment.splits_of(name)} splits")
        for flips in row["flips"]:
            wanted += _of_set(name, float(flips), row)
            pictures = [kind for kind in PICTURES if kind in section and name == BLOBS]
            wanted += [_picture(kind, float(flips), section[kind]) for kind in pictures]
    return wanted


def _of_set(name: str, flips: float, row: Config) -> Iterator[Job]:
    """Yield the jobs of fits, own fits and choices of a set and a share of flipped labels."""
    data = {} if name == BLOBS else {"data": f"data/standard/relaxed/{name}.h5"}
    for first, last in blocks(row["splits"], row["block"]):
        yield _fits("fits", f"{first:03d}-{last:03d}", name, flips, (first, last), 0, data)
    own = row.get("own", 0)
    for split in range(1, own):
        yield _fits("own", f"{split:03d}", name, flips, (split, split), split, data)
    for split in range(max(1, own)):
        yield _choices(name, flips, split, data)


def _fits(
    folder: str,
    block: str,
    name: str,
    flips: float,
    splits: tuple[int, int],
    chosen_on: int,
    data: dict[str, str],
) -> Job:
    first, last = splits
    where: dict[str, Any] = {
        "dataset": [name],
        "flips": [flips],
        "split": range(first, last + 1),
        "chosen_on": [chosen_on],
    }
    keys = [Slice(studies.FITS, where)] + [Slice(studies.CURVES, where)] * (not data)
    return Job(
        f"{FOLDER}/{folder}/{name}-{flips:g}/{block}.jsonl.gz",
        "rep_own" if folder == "own" else "rep_fit",
        f"{__name__}:fits",
        {"dataset": name, "flips": flips, "first": first, "last": last},
        (experiment.__name__, choice.__name__),
        {"choices": _choices(name, flips, chosen_on, data), **data},
        keys=tuple(keys),
        part="REP fits",
        fits=last - first + 1,
    )


def fits(
    dataset: str, flips: float, first: int, last: int, choices: str, log: str, data: str | None = None
) -> Iterator[dict[str, Any]]:
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
    from papers.data import standard

    standard_set = standard.read_standard(data, dataset) if data else None
    chosen, split = _chosen(choices, dataset, flips)
    for record in experiment.run_block(dataset, flips, range(first, last + 1), chosen, standard_set):
        yield {**record, "chosen_on": split}


def _chosen(path: str, dataset: str, flips: float) -> tuple[dict[str, tuple[float, float]], int]:
    """Return the parameters by method, and the split on which they were chosen."""
    tried = store.read_records(path)
    if any((line["dataset"], line["flips"]) != (dataset, flips) for line in tried):
        raise store.RecordError(f"{path}: not of {dataset} with flips {flips:g}; delete it and run again")
    return choice.chosen(tried), tried[0]["split"]


def _choices(name: str, flips: float, split: int, data: dict[str, str]) -> Job:
    return Job(
        f"{FOLDER}/choices/{name}-{flips:g}/{split:03d}.jsonl.gz",
        "rep_choice",
        f"{__name__}:choices",
        {"dataset": name, "flips": flips, "split": split},
        (choice.__name__,),
        data,
        keys=(Slice(studies.CHOICES, {"dataset": [name], "flips": [flips], "split": [split]}),),
        part="REP choices",
    )


def choices(
    dataset: str, flips: float, split: int, log: str, data: str | None = None
) -> Iterator[dict[str, Any]]:
    """Return cross-validated scores of all methods on the training points of one split."""
    from papers.data import standard

    standard_set = standard.read_standard(data, dataset) if data else None
    return choice.lines(dataset, flips, split, standard_set)


def _points(section: Config) -> Iterator[Job]:
    """Yield jobs of sets of five points (the first block has the base set), and of other error rates."""
    grid = section.get("points", {"sets": 0, "block": 1})
    for first, last in blocks(grid["sets"], grid["block"]):
        yield Job(
            f"{FOLDER}/points/{first:03d}-{last:03d}.jsonl.gz",
            "rep_points",
            f"{__name__}:points",
            {"first": first, "last": last},
            (five_points.__name__,),
            keys=(Slice(studies.POINTS, {"set": range(first if first else -1, last + 1)}),),
            part="REP points",
            fits=last - first + 1,
        )
    for epsilon in grid.get("epsilons", []):
        yield Job(
            f"{FOLDER}/epsilons/{epsilon:g}.jsonl.gz",
            "rep_points",
            f"{__name__}:epsilons",
            {"epsilon": float(epsilon)},
            (five_points.__name__,),
            keys=(Slice(studies.EPSILONS, {"epsilon": [float(epsilon)]}),),
            part="REP points",
        )


def points(first: int, last: int, log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a block of sets; the base set, -1, comes with set 0."""
    return five_points.study(range(first if first else -1, last + 1))


def epsilons(epsilon: float, log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of the base set under a likelihood of another error rate."""
    return five_points.at_epsilon(epsilon)


def _picture(kind: str, flips: float, effort: Config) -> Job:
    where: dict[str, Any] = {"flips": [flips], "split": [effort["split"]]}
    if kind == "boundary":
        places = [boundary.written(x) for x in boundary.axis(effort["steps"])]
        rows = Slice(studies.BOUNDARY, {**where, "x": places})
    else:
        rows = Slice(studies.EXACT, {**where, **{key: [effort[key]] for key in ("chains", "iterations")}})
    return Job(
        f"{FOLDER}/{kind}/{flips:g}.jsonl.gz",
        "rep_picture",
        f"{__name__}:picture",
        {"kind": kind, "flips": flips, "effort": effort},
        (PICTURES[kind].__name__, choice.__name__),
        {"choices": _choices(BLOBS, flips, 0, {})},
        keys=(rows,),
        part=f"REP {kind}",
    )


def picture(kind: str, flips: float, effort: Config, choices: str, log: str) -> Iterator[dict[str, Any]]:
    """Return rows on a made-up set: the methods against the exact posterior, or their boundaries."""
    chosen, _ = _chosen(choices, BLOBS, flips)
    return PICTURES[kind].study(flips, effort["split"], chosen, effort)


def tables(config: Config) -> list[str]:
    """Return the names of the pages of tables."""
    return ["rep.md"] if "rep" in config else []


def figures(config: Config) -> list[str]:
    """Return the folder of figures, whose names depend on what was run."""
    return ["rep"] if "rep" in config else []

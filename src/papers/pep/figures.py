"""Which figures a record makes: the paper's numbers, each where its fits exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.pep import compare, curves, duels, ranking, scores
from papers.pep.scores import ERROR, NLL, NLML, SMLL, SMSE

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.comparisons import Score

TRACES = {"figure11": SMLL, "figure12": SMSE, "figure13": NLML}


class Numbers(NamedTuple):
    """The paper's numbers of the figures of its UCI sets.

    Attributes
    ----------
    overview, ranks : str
    pairs : tuple of str
        Of `duels.PAIRS`.
    traces, means : dict
        Figure -> score.
    """

    overview: str
    ranks: str
    pairs: tuple[str, str, str]
    traces: dict[str, Score]
    means: dict[str, Score]


REGRESSION = Numbers(
    "figure4",
    "figure5",
    ("figure14", "figure15", "figure16"),
    {"figure17": NLML, "figure19": SMSE, "figure21": SMLL},
    {"figure18": NLML, "figure20": SMSE, "figure22": SMLL},
)
CLASSIFICATION = Numbers(
    "figure6",
    "figure7",
    ("figure24", "figure25", "figure26"),
    {"figure27": ERROR, "figure29": NLL},
    {"figure28": ERROR, "figure30": NLL},
)


def write(fits: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Draw every figure there are fits for.

    Returns
    -------
    paths : list of Path
        The PNG files; the PDF files stand beside them.
    """
    folder, drawn = Path(folder), []
    made_up, real = scores.made_up(fits), scores.real(fits)
    if len(scores.sparse(made_up)) and not scores.is_classification(fits):
        drawn.append(curves.synthetic_means(fits, folder / "figure3"))
        for name, score in TRACES.items():
            title = f"Synthetic sets: {score.name} of every set"
            drawn.append(curves.traces(made_up, score, folder / name, title))
    if len(scores.sparse(real)):
        drawn += _real(real, folder, CLASSIFICATION if scores.is_classification(fits) else REGRESSION)
    return sorted((png for _, png in drawn), key=number)


def number(path: Path) -> int:
    """The paper's number of a figure."""
    return int(path.stem.removeprefix("figure"))


def _real(real: pd.DataFrame, folder: Path, numbers: Numbers) -> list[tuple[Path, Path]]:
    pairs = {name: pair for name, pair in zip(numbers.pairs, duels.PAIRS, strict=True)
             if duels.drawable(real, *pair)}  # fmt: skip
    drawn = [duels.by_dataset(real, *pair, folder / name) for name, pair in pairs.items()]
    drawn += [duels.overview(real, folder / numbers.overview)] if pairs else []
    if len(compare.ranks(real, scores.predictive(real)[0])):
        drawn.append(ranking.figure_ranks(real, folder / numbers.ranks))
    for name, score in numbers.traces.items():
        drawn.append(curves.traces(real, score, folder / name, f"{score.name} on the UCI sets, every split"))
    return drawn + [curves.real_means(real, score, folder / name) for name, score in numbers.means.items()]

"""Which figures a record makes: the paper's numbers, each where its fits exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tilted.results.pep import compare, curves, duels, ranking, scores
from tilted.results.pep.scores import NLML, SMLL, SMSE

if TYPE_CHECKING:
    import pandas as pd

TRACES = {"figure11": SMLL, "figure12": SMSE, "figure13": NLML}
REAL_TRACES = {"figure17": NLML, "figure19": SMSE, "figure21": SMLL}
REAL_MEANS = {"figure18": NLML, "figure20": SMSE, "figure22": SMLL}


def write(fits: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Draw every figure there are fits for.

    Returns
    -------
    paths : list of Path
        The PNG files; the PDF files stand beside them.
    """
    folder, drawn = Path(folder), []
    made_up, real = scores.made_up(fits), scores.real(fits)
    if len(scores.sparse(made_up)):
        drawn.append(curves.synthetic_means(fits, folder / "figure3"))
    if len(scores.sparse(real)):
        pairs = [pair for pair in duels.PAIRS if duels.drawable(fits, *pair)]
        drawn += [duels.overview(fits, folder / "figure4")] if pairs else []
        if len(compare.ranks(real, SMSE)):
            drawn.append(ranking.figure_ranks(fits, folder / "figure5"))
    if len(scores.sparse(made_up)):
        for name, score in TRACES.items():
            title = f"Synthetic sets: {score.name} of every set"
            drawn.append(curves.traces(made_up, score, folder / name, title))
    if len(scores.sparse(real)):
        for k, pair in enumerate(duels.PAIRS):
            if pair in pairs:
                drawn.append(duels.by_dataset(fits, *pair, folder / f"figure{14 + k}"))
        for name, score in REAL_TRACES.items():
            title = f"{score.name} on the UCI sets, every split"
            drawn.append(curves.traces(real, score, folder / name, title))
        for name, score in REAL_MEANS.items():
            drawn.append(curves.real_means(fits, score, folder / name))
    return [png for _, png in drawn]

"""The four papers as the site shows them: names, figures and the claims a figure belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.pep import artifacts as pep
from papers.pep import reads as pep_reads
from papers.pesc import figures as pesc_figures
from papers.pesc import reads as pesc_reads
from papers.qp import figures as qp_figures
from papers.qp import protocols
from papers.qp import reads as qp_reads
from papers.qp.table1 import fidelity
from papers.rep import figures as rep_figures
from papers.rep import reads as rep_reads

if TYPE_CHECKING:
    from types import ModuleType

    from papers.evidence.claims import Claim


class Paper(NamedTuple):
    """A paper.

    Attributes
    ----------
    key : str
        With which the names of its claims begin.
    short, citation : str
    prints : str
        What of it can be put beside our numbers, in a sentence.
    captions : mapping
        Figure, by its file's name without ending -> what is printed under it.
    """

    key: str
    short: str
    citation: str
    prints: str
    captions: Mapping[str, str]

    @property
    def by_protocol(self) -> bool:
        """Whether each of its figures is one a protocol, as those of the first paper are."""
        return self.key == "QP"


PAPERS = (
    Paper(
        "QP",
        "Quantile propagation",
        'Zhang, Walder, Bonilla, Rizoiu and Xie, "Quantile Propagation for Wasserstein-Approximate Gaussian '
        'Processes", NeurIPS 2020',
        "The paper prints its Table 1; Figure 1 shows points without numbers, for which its claims QP5 and "
        "QP6 stand.",
        qp_figures.CAPTIONS,
    ),
    Paper(
        "PEP",
        "Power EP with pseudo-points",
        'Bui, Yan and Turner, "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using '
        'Power Expectation Propagation", JMLR 2017',
        "The paper prints a few shares of experiments won and its data sets, beside ours in its tables; "
        "everything else is a figure, for which the claims and the numbers in its text stand.",
        pep.CAPTIONS,
    ),
    Paper(
        "REP",
        "Relaxed EP",
        'Qi and Guo, "Message Passing with Relaxed Moment Matching", 2012',
        "The paper prints no numbers, only figures: its claims stand for them.",
        rep_figures.CAPTIONS,
    ),
    Paper(
        "PESC",
        "Entropy search with constraints",
        'Hernández-Lobato, Gelbart, Hoffman, Adams and Ghahramani, supplement of "Predictive Entropy Search '
        'for Bayesian Optimization with Unknown Constraints", ICML 2015',
        "The supplement derives its EP and prints neither tables nor figures of it: its claims stand for "
        "them.",
        pesc_figures.CAPTIONS,
    ),
)

READS: dict[str, ModuleType] = {"QP": qp_reads, "PEP": pep_reads, "REP": rep_reads, "PESC": pesc_reads}
"""Paper -> what its claims and figures are made of."""

PROTOCOLS = ("corrected", "converged")
"""Folders of the figures that further papers have under another protocol than their first."""

SHOWS = {
    "paired": ("QP2", "QP1", "QP3"),
    "vb_column": ("QP4",),
    "qp_truth": ("QP10",),
    "qp_nearer": ("OURS1", "OURS2", "OURS3"),
    "accuracy": ("PESC1", "PESC3"),
}
"""Figures of ours that are none of a paper's -> claims whose rows they show."""

OWN = "qp_"
"""With which the name of a figure of the QP paper begins if it is of no protocol."""

EXACT = (f"{OWN}truth", f"{OWN}nearer", f"{OWN}calibration")
"""The QP paper's figures of no protocol: against the exact posterior."""

Place = tuple[int, str]
"""Number and panel of a figure in a paper."""


class Figure(NamedTuple):
    """A figure's file, caption, the claims it belongs to, and whether it comes first."""

    path: Path
    caption: str
    claims: tuple[str, ...]
    first: bool


def figures(paper: Paper, folder: str | Path, claims: Mapping[str, Claim]) -> list[Figure]:
    """The PNG figures of a paper, those that come first before the others.

    Parameters
    ----------
    paper : Paper
    folder : path
        Of all figures.
    claims : mapping
        By name; where they stand in the paper tells what figures show.
    """
    shown = {name: places(claim.where) for name, claim in claims.items() if claim.paper == paper.key}
    drawn = [(path, caption) for path, caption in _files(paper, Path(folder)) if path.is_file()]
    return sorted(
        (_figure(paper, path, caption, shown) for path, caption in drawn), key=lambda f: not f.first
    )


def _files(paper: Paper, folder: Path) -> Iterable[tuple[Path, str]]:
    if not paper.by_protocol:
        for protocol in ("", *PROTOCOLS):
            said = f" Protocol {protocol}." if protocol else ""
            for name in sorted(paper.captions, key=_order):
                yield folder / paper.key.lower() / protocol / f"{name}.png", paper.captions[name] + said
        return
    for name in EXACT:
        yield folder / f"{name}.png", paper.captions[name]
    for protocol in protocols.names():
        for name, caption in paper.captions.items():
            yield folder / protocol / f"{name}.png", f"{caption} Protocol {protocol}."


def _figure(paper: Paper, path: Path, caption: str, shown: Mapping[str, set[Place]]) -> Figure:
    claims = claims_of(path, shown)
    claims += tuple(name for name in SHOWS.get(path.stem, ()) if name in shown)
    return Figure(path, caption, claims, _is_first(paper, path))


def claims_of(path: Path, shown: Mapping[str, set[Place]]) -> tuple[str, ...]:
    """Claims, of those with `places`, that a figure belongs to by its file's name."""
    number = _number(path)
    ours = (int(number[1]), number[2]) if number else (0, "")
    return tuple(name for name, places in shown.items() if any(_same(ours, place) for place in places))


def _number(path: Path) -> re.Match[str] | None:
    return re.fullmatch(r"figure(\d+)([a-z]?)(_\w+)?", path.stem)


def _is_first(paper: Paper, path: Path) -> bool:
    """Whether it is of no protocol, or of the one that repeats the paper's numbers."""
    if not paper.by_protocol:
        return path.parent.name not in PROTOCOLS
    return path.stem in EXACT or path.parent.name == fidelity.PROTOCOL


def _same(ours: Place, theirs: Place) -> bool:
    """Whether a claim's place is a figure of ours; a claim on one panel belongs to the whole figure."""
    return ours[0] == theirs[0] and (ours[1] == theirs[1] or not ours[1] or not theirs[1])


def reproduced(key: str, stem: str) -> str:
    """The name by which a figure of a paper is made again (`papers.reproduce.names`)."""
    return f"{key}-{stem.removeprefix(OWN)}"


def _order(name: str) -> tuple[int, str]:
    return int((re.findall(r"\d+", name) or ["99"])[0]), name


def places(where: str) -> set[Place]:
    """Figures that a place in a paper names: ``figures 2-4 and 7b`` are 2, 3, 4 and panel b of 7."""
    named = set()
    for text in re.findall(r"[Ff]igures? ((?:\d+[a-z]?(?:-|, | and )?)+)", where):
        for first, last, panel in re.findall(r"(\d+)(?:-(\d+))?([a-z]?)", text):
            named |= {(number, panel) for number in range(int(first), int(last or first) + 1)}
    return named

"""Captions of all tables and figures, the four papers, and the index of both (``tables/index.md``).

The index, Snakemake's report and the documents' site print these captions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core.grid import items
from papers.core.store import write_text
from papers.pep import artifacts as pep
from papers.pesc import artifacts as pesc
from papers.qp import artifacts as qp
from papers.qp import protocols
from papers.qp.table1 import fidelity
from papers.rep import artifacts as rep

if TYPE_CHECKING:
    from papers.core.claims import Claim


class Paper(NamedTuple):
    """A paper.

    Attributes
    ----------
    key : str
        Prefix of the names of its claims.
    short, citation : str
    prints : str
        Printed results that ours are compared with, in a sentence.
    captions : mapping
        Name of a figure's file without suffix -> caption.
    """

    key: str
    short: str
    citation: str
    prints: str
    captions: Mapping[str, str]


PAPERS = (
    Paper(
        "QP",
        "Quantile propagation",
        'Zhang, Walder, Bonilla, Rizoiu and Xie, "Quantile Propagation for Wasserstein-Approximate Gaussian '
        'Processes", NeurIPS 2020',
        "The paper prints its Table 1. Its Figure 1 shows points without numbers; QP5 and QP6 test it.",
        qp.CAPTIONS,
    ),
    Paper(
        "PEP",
        "Power EP with pseudo-points",
        'Bui, Yan and Turner, "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using '
        'Power Expectation Propagation", JMLR 2017',
        "The paper prints a few shares of experiments won and a table of data sets. Everything else is a "
        "figure; the claims test these and the numbers in the text.",
        pep.CAPTIONS,
    ),
    Paper(
        "REP",
        "Relaxed EP",
        'Qi and Guo, "Message Passing with Relaxed Moment Matching", 2012',
        "The paper prints figures and no numbers; the claims test the figures.",
        rep.CAPTIONS,
    ),
    Paper(
        "PESC",
        "Entropy search with constraints",
        'Hernández-Lobato, Gelbart, Hoffman, Adams and Ghahramani, supplement of "Predictive Entropy Search '
        'for Bayesian Optimization with Unknown Constraints", ICML 2015',
        "The supplement derives its EP and prints neither tables nor figures of it; the claims test the "
        "derivation.",
        pesc.CAPTIONS,
    ),
)

TABLES = {
    "QP": {
        "qp_table1": "Table 1 of the QP paper, ours beside the printed one",
        "qp_fidelity": "Each cell, gap and asterisk of the printed Table 1: passed or missed",
        "vb_column": "The VB column of the printed Table 1, step by step",
        "qp_truth": "EP, QP and VB beside the exact posterior and evidence of the folds of seed 0",
        "qp_nearer": "Seven approximations beside the exact posterior on every split of seed 0",
        "lookup": "Lookup tables of the Wasserstein projection: errors, size, speed, what they do to fits",
        "differences": "What each difference between the QP paper's text and its code does, one at a time",
    },
    "PEP": {
        "pep": "Power EP for sparse regression, as described",
        "pep_converged": "Power EP for sparse regression, by searches that converge",
        "pep_classification": "Power EP for sparse classification, data as released",
        "pep_classification_corrected": "Power EP for sparse classification, sets as they are, converged",
        "pep_mnist": "Power EP by minibatches on even against odd digits: error against time",
        "pep_datasets": "Data sets of the Power-EP paper (its tables 1 and 2) beside those read here",
    },
    "REP": {
        "rep": "Relaxed EP: which runs converge, test errors, five points",
        "rep_errors": "Relaxed EP: a line a data set, share of flipped labels, method and penalty",
    },
    "PESC": {
        "pesc": "EP of entropy search beside rejection sampling, and searches for a constrained minimum",
        "pesc_accuracy": "EP of entropy search: a line a family of random problems",
        "pesc_regret": "Searches for a constrained minimum: a line a problem, rule and number of evaluations",
    },
    "": {
        "audit": "Every claim of the four papers: rule, verdict under each protocol, the rows behind it",
        "audit_rows": "Every row behind a verdict: effect, interval, p-values, status",
    },
}
"""Paper, or "" for all papers -> name of a table's file without suffix -> caption."""

KINDS = {
    "means": "means and standard errors by data set, M and power",
    "ranks": "mean rank of each power",
    "wins": "how often one power beats another, by data set",
}
"""Last word of a table's name -> the selection that it makes from the table without this word."""

HEAD = """\
# Tables and figures

All of them are made from the committed records by `make tables`, without fitting; those of one paper, fits
included, by `snakemake --cores 2 --configfile config/paper.yaml -- qp` (or `pep`, `rep`, `pesc`). `tilted
reproduce` and a name makes some of the fits behind that figure or table again, draws or judges it anew and
compares ([reproduce](../docs/reproduce.md)).
"""

PROTOCOLS = ("corrected", "converged")
"""Folders of the further papers' figures under a second protocol."""

SHOWS = {
    "paired": ("QP2", "QP1", "QP3"),
    "vb_column": ("QP4",),
    "qp_truth": ("QP10",),
    "qp_nearer": ("OURS1", "OURS2", "OURS3"),
    "accuracy": ("PESC1", "PESC3"),
}
"""Figures of ours that no paper has -> claims whose rows they show."""

OWN = "qp_"
"""Prefix of the QP paper's figures that belong to no protocol."""

EXACT = (f"{OWN}truth", f"{OWN}nearer", f"{OWN}calibration")
"""The QP paper's figures that belong to no protocol: comparisons with the exact posterior."""

Place = tuple[int, str]
"""Number and panel of a figure in a paper."""


class Figure(NamedTuple):
    """A figure's file, its caption and the claims that it belongs to."""

    path: Path
    caption: str
    claims: tuple[str, ...]


def about_table(name: str) -> str:
    """Return the caption of a table's file."""
    captions = {stem: caption for of_paper in TABLES.values() for stem, caption in of_paper.items()}
    stem = name.partition(".")[0]
    base, _, kind = stem.rpartition("_")
    return captions[stem] if stem in captions else f"{captions[base]}: {KINDS[kind]}"


def caption(path: str, category: str) -> str:
    """Return the caption of a table or figure as reStructuredText; of a folder, one for each figure."""
    paper = next((paper for paper in PAPERS if category.endswith(f" {paper.key}")), None)
    name, suffix = Path(path).stem, Path(path).suffix
    if paper and suffix in (".png", ".pdf"):
        return _escaped(paper.captions[name])
    if suffix or not paper:
        return _escaped(about_table(Path(path).name))
    figure = "snakemake.wildcards.name.split('/')[-1]"
    texts = paper.captions.items()
    return "".join(f"{{% if {figure} == '{name}' %}}{_escaped(text)}{{% endif %}}" for name, text in texts)


def _escaped(text: str) -> str:
    """Return text with the characters escaped that mean something in reStructuredText."""
    return re.sub(r"([\\*_`|])", r"\\\1", text)


def figures(paper: Paper, folder: str | Path, claims: Mapping[str, Claim]) -> list[Figure]:
    """Return the PNG figures of a paper, those under its main protocol first.

    Parameters
    ----------
    paper : Paper
    folder : path
        Folder of all figures.
    claims : mapping
        Claims by name. Their places in the paper decide which figures they belong to.
    """
    numbered = {name: places(claim.where) for name, claim in claims.items() if claim.paper == paper.key}
    drawn = [(path, caption) for path, caption in _files(paper, Path(folder)) if path.is_file()]
    drawn.sort(key=lambda one: not _is_main(paper, one[0]))
    return [
        Figure(
            path,
            caption,
            (*claims_of(path, numbered), *(name for name in SHOWS.get(path.stem, ()) if name in numbered)),
        )
        for path, caption in drawn
    ]


def _files(paper: Paper, folder: Path) -> Iterable[tuple[Path, str]]:
    if paper.key != "QP":
        for protocol in ("", *PROTOCOLS):
            suffix = f" Protocol {protocol}." if protocol else ""
            for name in sorted(paper.captions, key=_order):
                yield folder / paper.key.lower() / protocol / f"{name}.png", paper.captions[name] + suffix
        return
    for name in EXACT:
        yield folder / f"{name}.png", paper.captions[name]
    for protocol in protocols.names():
        for name, caption in paper.captions.items():
            yield folder / protocol / f"{name}.png", f"{caption} Protocol {protocol}."


def _order(name: str) -> tuple[int, str]:
    return int((re.findall(r"\d+", name) or ["99"])[0]), name


def _is_main(paper: Paper, path: Path) -> bool:
    """Return True for a figure of no protocol, or of the one that repeats the paper's numbers."""
    if paper.key != "QP":
        return path.parent.name not in PROTOCOLS
    return path.stem in EXACT or path.parent.name == fidelity.PROTOCOL


def claims_of(path: Path, numbered: Mapping[str, set[Place]]) -> tuple[str, ...]:
    """Return the claims, of those with `places`, that a figure belongs to by its file's name."""
    number = re.fullmatch(r"figure(\d+)([a-z]?)(_\w+)?", path.stem)
    figure_number = (int(number[1]), number[2]) if number else (0, "")
    return tuple(
        name for name, of_claim in numbered.items() if any(_same(figure_number, place) for place in of_claim)
    )


def _same(figure: Place, claim: Place) -> bool:
    """Return True if a claim on a place belongs to a figure; one panel belongs to the whole figure."""
    return figure[0] == claim[0] and (figure[1] == claim[1] or not figure[1] or not claim[1])


def places(where: str) -> set[Place]:
    """Return the figures that a place in a paper names.

    ``figures 2-4 and 7b`` are figures 2, 3 and 4, and panel b of figure 7.
    """
    named = set()
    for text in re.findall(r"[Ff]igures? ((?:\d+[a-z]?(?:-|, | and )?)+)", where):
        for first, last, panel in re.findall(r"(\d+)(?:-(\d+))?([a-z]?)", text):
            named |= {(number, panel) for number in range(int(first), int(last or first) + 1)}
    return named


def reproduced(key: str, stem: str) -> str:
    """Return the name by which `tilted reproduce` knows a figure of a paper."""
    return f"{key}-{stem.removeprefix(OWN)}"


def write(tables: Path, drawn: Path) -> Path:
    """Write the index of the tables in a folder and the figures in another."""
    lines = [HEAD]
    for paper in PAPERS:
        name = "Table1" if paper.key == "QP" else paper.key.lower()
        lines += [f"## {paper.short}", "", f"Tables (`tilted reproduce {name}`):", ""]
        lines += [*items(_table_lines(paper.key, tables)), "", "Figures:", ""]
        lines += [*items(_figure_lines(paper, drawn)), ""]
    lines += ["## Of all papers", "", *items(_table_lines("", tables))]
    return write_text(tables / "index.md", "\n".join(lines) + "\n")


def _table_lines(key: str, folder: Path) -> list[str]:
    """Return a line for each name of tables in a folder."""
    lines = []
    for stem in TABLES[key]:
        names = sorted(path.name for path in folder.glob(f"{stem}.*"))
        links = [f"[{name}]({name})" for name in names]
        links += [
            f"[{kind}]({stem}_{kind}.csv)" for kind in KINDS if (folder / f"{stem}_{kind}.csv").is_file()
        ]
        lines += [f"{', '.join(links)}: {TABLES[key][stem]}"] if links else []
    return lines


def _figure_lines(paper: Paper, folder: Path) -> list[str]:
    """Return a line for each name of figures in a folder, with its files under all protocols."""
    links: dict[str, list[str]] = {}
    for figure in figures(paper, folder, {}):
        path = figure.path.relative_to(folder)
        links.setdefault(path.stem, []).append(f"[{path.with_suffix('')}](../figures/{path.as_posix()})")
    return [
        f"{', '.join(files)}: {paper.captions[stem]} `tilted reproduce {reproduced(paper.key, stem)}`"
        for stem, files in links.items()
    ]

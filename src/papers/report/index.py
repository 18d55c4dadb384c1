"""Every table and figure: what it is, and what makes it again (``tables/index.md``).

The same words are the captions of Snakemake's report.
"""

from __future__ import annotations

from pathlib import Path

from papers.evidence.grid import items
from papers.evidence.store import write_text
from papers.report.papers import PAPERS, Paper, figures, reproduced

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
        "audit": "Every claim of the four papers: rule, verdict under each protocol, the rows that decide",
        "audit_rows": "Every row behind a verdict: effect, interval, p-values, status",
    },
}
"""Paper, or "" for all of them -> table, without its ending -> what it is."""

KINDS = {
    "means": "means and standard errors by data set, M and power",
    "ranks": "mean rank of each power",
    "wins": "how often one power beats another, by data set",
}
"""Ending of a name -> what of the table without that ending it holds."""

HEAD = """\
# Tables and figures

All of them are made from the committed records by `make tables`, without fitting; those of one paper, fits
included, by `snakemake --cores 2 --configfile config/paper.yaml -- qp` (or `pep`, `rep`, `pesc`). `tilted
reproduce` and a name makes some of the fits behind that figure or table again, draws or judges it anew and
compares ([reproduce](../docs/reproduce.md)).
"""


def about_table(name: str) -> str:
    """What a table is, by its file's name."""
    known = {stem: said for of_paper in TABLES.values() for stem, said in of_paper.items()}
    stem = name.partition(".")[0]
    base, _, kind = stem.rpartition("_")
    return known[stem] if stem in known else f"{known[base]}: {KINDS[kind]}"


def write(tables: Path, drawn: Path) -> Path:
    """Write the index of what is in the folders of tables and of figures."""
    lines = [HEAD]
    for paper in PAPERS:
        again = "Table1" if paper.key == "QP" else paper.key.lower()
        lines += [f"## {paper.short}", "", f"Tables (`tilted reproduce {again}`):", ""]
        lines += [*items(_tables(paper.key, tables)), "", "Figures:", "", *items(_figures(paper, drawn)), ""]
    lines += ["## Of all papers", "", *items(_tables("", tables))]
    return write_text(tables / "index.md", "\n".join(lines) + "\n")


def _tables(key: str, folder: Path) -> list[str]:
    """The tables that are there, those of one name together."""
    listed = []
    for stem in TABLES[key]:
        names = sorted(path.name for path in folder.glob(f"{stem}.*"))
        links = [f"[{name}]({name})" for name in names]
        links += [
            f"[{kind}]({stem}_{kind}.csv)" for kind in KINDS if (folder / f"{stem}_{kind}.csv").is_file()
        ]
        listed += [f"{', '.join(links)}: {TABLES[key][stem]}"] if links else []
    return listed


def _figures(paper: Paper, folder: Path) -> list[str]:
    """The figures that are there, those of one name under several protocols together."""
    links: dict[str, list[str]] = {}
    for figure in figures(paper, folder, {}):
        path = figure.path.relative_to(folder)
        links.setdefault(path.stem, []).append(f"[{path.with_suffix('')}](../figures/{path.as_posix()})")
    return [
        f"{', '.join(of_one)}: {paper.captions[stem]} `tilted reproduce {reproduced(paper.key, stem)}`"
        for stem, of_one in links.items()
    ]

"""The whole reproduction as one HTML file: verdicts first, then paper by paper, from committed files only.

Nothing is computed: tables and figures are the ones of the tables' and figures' folders, so that
the page says what the repository says. It has the look of the report of a run (`papers.evidence.page`), from
the same templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import page as report
from papers.evidence import records
from papers.evidence.claims import load as all_claims
from papers.evidence.verdicts import VERDICTS
from papers.qp import tables
from papers.report import markup, papers, rule_times
from papers.report.markup import Section
from papers.report.papers import PAPERS, Paper

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.evidence.claims import Claim as Printed

TEMPLATE = "whole.html.j2"
TITLE = "Tilted: four papers on Gaussian-process inference, reproduced"
OPEN_ROWS = 12
"""Sections whose tables have more lines than this are folded."""
MOVED = "Provenance"
"""Sections of documents that are shown at the end of the page, together."""


class Folders(NamedTuple):
    """Where the committed files are."""

    tables: Path = Path("tables")
    figures: Path = Path("figures")
    records: Path = Path("results")
    docs: Path = Path("docs")


class Verdict(NamedTuple):
    """A claim under a protocol: verdict, our numbers in short, and the rows it rests on (HTML)."""

    protocol: str
    verdict: str
    short: str
    rows: str


class Claim(NamedTuple):
    """What a paper says and where, what it means that it holds (HTML), and the verdicts."""

    name: str
    title: str
    statement: str
    where: str
    meaning: str
    verdicts: list[Verdict]


class Document(NamedTuple):
    """A file of tables: title, what stands before the first section, sections as (heading, HTML, folded)."""

    name: str
    title: str
    before: str
    sections: list[tuple[str, str, bool]]


def write(path: str | Path, folders: Folders | None = None) -> Path:
    """Write the report of the whole reproduction.

    Parameters
    ----------
    path : path
        Of the HTML file.
    folders : Folders, optional
        Default: those of the repository, seen from its root.

    Raises
    ------
    FileNotFoundError
        A table is not there.
    ValueError
        The audit has no section for a claim.
    """
    import pandas as pd

    from tilted import __version__

    folders = folders or Folders()
    audit = Path(folders.tables, "audit.md").read_text(encoding="utf-8")
    verdicts = pd.read_csv(folders.tables / "audit.csv", dtype=str)
    listed = all_claims()
    texts = {paper.key: _texts(paper, folders) for paper in PAPERS}
    times = rule_times.read(folders.records)
    runs = records.read_runs(folders.records).values()
    return report.render(
        TEMPLATE,
        path,
        title=TITLE,
        version=__version__,
        n_claims=len(listed),
        tally=_tally(verdicts),
        verdict_names=VERDICTS,
        summaries=_summaries(audit),
        chapters=[_chapter(paper, texts[paper.key], audit, verdicts, listed, folders) for paper in PAPERS],
        sections=tables.sections(pd.read_csv(folders.tables / "qp_table1.csv")),
        times=[(paper, ours) for paper in PAPERS if (ours := [t for t in times if t.paper == paper.key])],
        untimed=rule_times.UNTIMED,
        loud=[
            (paper, said) for paper in PAPERS if (said := _loud(texts[paper.key], _claims_of(paper, audit)))
        ],
        environments=sorted({run.environment for run in runs} - {""}),
        dates=sorted({run.date for run in runs} - {""}),
        mark=markup.mark,
    )


def _tally(verdicts: pd.DataFrame) -> list[tuple[Paper, str, list[int]]]:
    """How many claims of a paper have which verdict under which protocol."""
    tally = []
    for paper in PAPERS:
        ours = verdicts[verdicts["paper"] == paper.key]
        for protocol, same in ours.groupby("protocol", sort=False):
            tally.append((paper, protocol, [int((same["verdict"] == name).sum()) for name in VERDICTS]))
    return tally


def _summaries(audit: str) -> list[tuple[str, str, str]]:
    """Heading, table and legend (HTML) of each paper's summary in the audit."""
    first = audit.split("\n## ")[0]
    summaries = []
    for heading, body in markup.sections(first, 1)[1]:
        table, *legend = markup.paragraphs(body)
        summaries.append((heading, markup.html(table), markup.html("\n\n".join(legend))))
    return summaries


def _texts(paper: Paper, folders: Folders) -> dict[str, str]:
    """Document -> its Markdown; of the QP paper also what its text and its code do differently."""
    paths = [folders.tables / f"{name}.md" for name in paper.documents]
    if paper.key == "QP":
        paths.append(folders.docs / "differences.md")
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def _chapter(
    paper: Paper,
    texts: Mapping[str, str],
    audit: str,
    verdicts: pd.DataFrame,
    listed: Mapping[str, Printed],
    folders: Folders,
) -> dict[str, Any]:
    """What the template needs of a paper."""
    ours = {name: claim for name, claim in listed.items() if claim.paper == paper.key}
    sections = markup.sections(audit, 2)[1]
    claims = [_claim(name, claim, sections, verdicts) for name, claim in ours.items()]
    figures = [
        (figure, report.embedded(figure.path), [claim for claim in claims if claim.name in figure.claims])
        for figure in papers.figures(paper, folders.figures, listed)
    ]
    documents = [_document(name, text) for name, text in texts.items()]
    if paper.key == "QP":
        documents.append(_truth(sections))
    return {
        "paper": paper,
        "beside": [_beside(texts[name], heading) for name, heading in paper.beside],
        "claims": claims,
        "first": [figure for figure in figures if figure[0].first],
        "more": [figure for figure in figures if not figure[0].first],
        "documents": documents,
        "provenance": [said for text in texts.values() if (said := _provenance(text))],
    }


def _claim(name: str, printed: Printed, sections: Sequence[Section], verdicts: pd.DataFrame) -> Claim:
    ours = [s for s in sections if s.heading.startswith(f"{name}: ")]
    if len(ours) != 1:
        raise ValueError(f"audit.md has no section '{name}'")
    before, parts = markup.sections(ours[0].body, 3)
    _, *meaning = markup.paragraphs(before)  # the first says where the paper says what
    by_protocol = {part.heading.split(", ", 1)[1].rsplit(": ", 1)[0]: part.body for part in parts}
    judged = verdicts[verdicts["id"] == name]
    return Claim(
        name,
        ours[0].heading.partition(": ")[2],
        printed.wording,
        printed.where,
        markup.html("\n\n".join(meaning), 3),
        [_verdict(*pair, by_protocol) for pair in zip(judged["protocol"], judged["verdict"], strict=True)],
    )


def _verdict(protocol: str, verdict: str, bodies: Mapping[str, str]) -> Verdict:
    short, *rows = markup.paragraphs(bodies[protocol])
    return Verdict(protocol, verdict, markup.html(short), markup.html("\n\n".join(rows), 3))


def _document(name: str, text: str) -> Document:
    """A Markdown file as a document; what is `MOVED` is left out."""
    head, sections = markup.sections(text, 2)
    title, _, before = head.partition("\n")
    return Document(
        name,
        title.lstrip("# "),
        markup.html(before, 3),
        [
            (markup.raised(part.heading), markup.html(part.body, 3), part.body.count("\n|") > OPEN_ROWS)
            for part in sections
            if part.heading != MOVED
        ],
    )


def _truth(sections: Sequence[Section]) -> Document:
    """The audit's section that belongs to no claim."""
    [part] = [part for part in sections if part.heading.startswith("Ground truth")]
    introduction, *rest = re.split(r"\n\n(?=\*\*)", part.body, maxsplit=1)
    return Document(
        "truth",
        part.heading,
        markup.html(introduction, 3),
        [("EP, QP and VB against the exact posterior", markup.html("\n\n".join(rest), 3), True)],
    )


def _beside(text: str, heading: str) -> tuple[str, str, str]:
    """Title of a document, a section of it with published numbers, and this as HTML."""
    head, sections = markup.sections(text, 2)
    body = next(part.body for part in sections if part.heading == heading)
    return head.partition("\n")[0].lstrip("# "), heading, markup.html(body, 3)


def _provenance(text: str) -> tuple[str, str] | None:
    """Title and `MOVED` section (HTML) of a document that has one."""
    head, sections = markup.sections(text, 2)
    body = next((part.body for part in sections if part.heading == MOVED), "")
    return (head.partition("\n")[0].lstrip("# "), markup.html(body, 2)) if body else None


def _loud(texts: Mapping[str, str], claims: Sequence[Section]) -> list[tuple[str, str]]:
    """(document or claim, what of it nobody should overlook); nothing twice."""
    titles: dict[str, str] = {}
    named = [(text.partition("\n")[0].lstrip("# "), text) for text in texts.values()]
    for title, text in [*named, *claims]:
        for line in markup.loud(text):
            titles.setdefault(line, title)
    return [(title, line) for line, title in titles.items()]


def _claims_of(paper: Paper, audit: str) -> list[Section]:
    """The audit's sections of a paper's claims."""
    return [s for s in markup.sections(audit, 2)[1] if re.match(rf"{paper.key}\d+: ", s.heading)]

"""What the site says, read from committed files: findings, claims, data sets, methods, documents.

Nothing is computed: verdicts, rows, tables and figures are those of the tables' and figures' folders.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import claims as printed
from papers.evidence import strict
from papers.evidence.audit import CONTENTS, UNITS, asked, interval, number
from papers.evidence.verdicts import NO, UNDECIDED, YES
from papers.report import markup
from papers.report.markup import Links

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

COUNTS = ("yes", "no", "undecided", "no_data")
AGAINST = (NO, UNDECIDED, YES)
MARKS = {
    r"± +-": "± -: of a single seed, which has no deviation",
    r"\*[fs]</td>": "*: QP's NTLL is below EP's in over 90 % of folds and of seeds (*f, *s: of these only)",
    r"vb-joint\b(?!-)": "vb-joint: VB by one search over sites and hyperparameters, as in the paper's code",
    r"vb-joint-released": "vb-joint-released: fits of vb-joint, scored as the paper's code scores them",
}
"""Mark in a table or its heading -> what it means."""
LACKS = "below what the rule asks for: "
CONTEST = re.compile(r"(?P<first>[\w-]+) - (?P<second>[\w-]+), (?P<score>.+)")
ASIDE = re.compile(r"\s*\((<a [^>]*>[^<]*</a>)\)")
MORE = re.compile(r"\s*\((<a [^>]*>[\w-]+\.md</a>)\)")
"""A link in brackets, to anything or to a document."""
SHARE = re.compile(r"(?P<first>α = [\d.]+) over (?P<second>α = [\d.]+)")


class Folders(NamedTuple):
    """Where the committed files are, seen from the root of the repository."""

    root: Path = Path()
    tables: Path = Path("tables")
    figures: Path = Path("figures")
    records: Path = Path("results")

    def path(self, name: str) -> Path:
        """A file of the repository; tables and figures may be elsewhere."""
        kind, _, below = name.partition("/")
        return {"tables": self.tables, "figures": self.figures}.get(kind, self.root / kind) / below

    def text(self, name: str) -> str:
        """What a file of the repository says."""
        return self.path(name).read_text(encoding="utf-8")


class Finding(NamedTuple):
    """A finding of the README: its first words, the rest (both HTML), and where it leads."""

    lead: str
    rest: str
    href: str


class Verdict(NamedTuple):
    """A claim under a protocol: verdict, counts of rows, what it lacks.

    ``rows`` are those with data that decide, those against the claim first.
    """

    protocol: str
    verdict: str
    counts: dict[str, int]
    lacks: str
    rows: list[Row]


class Claim(NamedTuple):
    """A claim, its rule (HTML), verdicts, and the rows behind them."""

    name: str
    printed: printed.Claim
    meaning: str
    verdicts: list[Verdict]
    rows: list[Row]


class Row(NamedTuple):
    """A line of ``audit_rows.csv`` as it is shown; ``decides`` if its block decides the verdict."""

    claim: str
    protocol: str
    block: str
    row: str
    quantity: str
    effect: str
    interval: str
    unit: str
    n: str
    status: str
    note: str
    decides: bool
    low: float
    high: float

    @property
    def printed(self) -> str:
        """What the paper prints in its place, if that is said."""
        said = re.match(r"printed ([^;]+)", self.note)
        return said[1] if said else ""


class Method(NamedTuple):
    """A method, what it is, the names it has in comparisons and records, and pages about it.

    ``names`` are those of its contests, ``fits`` a file of records -> column -> values.
    """

    title: str
    what: str
    names: list[str]
    fits: dict[str, dict[str, list[str]]]
    see: list[str] = []


@lru_cache(maxsize=1)
def methods() -> dict[str, Method]:
    """The methods that have a page."""
    content = strict.read(Path(__file__).with_name("methods.yaml"))
    return {name: Method(**fields) for name, fields in content.items()}


def findings(folders: Folders, links: Links, page: str) -> list[Finding]:
    """The numbered findings of the README.

    Raises
    ------
    ValueError
        One does not begin with bold words, or leads nowhere.
    """
    _, parts = markup.sections(folders.text("README.md"), 2)
    body = next(part.body for part in parts if part.heading == "What was found")
    items = re.split(r"^\d+\. ", body.split("\n<img")[0], flags=re.M)[1:]
    return [_finding(markup.html(" ".join(item.split()), links, page, "README.md")) for item in items]


def answer(folders: Folders, links: Links, page: str) -> str:
    """The README's table of what the papers say, what was found and what to take, as HTML.

    ValueError if it has none.
    """
    text = folders.text("README.md")
    table = re.search(r"^\| A paper says .*?(?=\n\n)", text, re.S | re.M)
    if not table:
        raise ValueError("README.md has no table of what the papers say")
    return markup.html(table[0], links, page, "README.md")


def _finding(shown: str) -> Finding:
    """The bold words and what else belongs to their clause; the rest; then the links that stood as asides."""
    begun = re.match(r"<p><strong>(.*?)</strong>(.*)</p>", shown, re.S)
    href = re.search(r'<a href="([^"]+)"', shown)
    if not begun or not href:
        raise ValueError(f"a finding of README.md has no bold beginning or no link: {shown[:60]}")
    lead, rest = begun.groups()
    clause = re.match(r"(.*?)(?:[,:;.](?=\s|$)|$)" if lead[-1] != "." else rf"((?:{ASIDE.pattern})*)", rest)
    assert clause is not None  # both match the empty text
    lead, rest = lead.rstrip(".") + clause[1], rest[clause.end() :].strip()
    asides = [*ASIDE.findall(lead), *MORE.findall(rest)]
    lead, rest = re.sub(r"</?a[^>]*>", "", ASIDE.sub("", lead)), MORE.sub("", rest)
    rest = re.sub(r"^(?:<[^>]+>)*\w", lambda begins: begins[0][:-1] + begins[0][-1].upper(), rest)
    shown = " ".join([rest, *asides])
    return Finding(lead, re.sub(r">[\w-]+\.md<", ">More<", shown), href[1])


def claims(folders: Folders, links: Links, names: Sequence[str]) -> list[Claim]:
    """Return some claims with their verdicts."""
    import pandas as pd

    verdicts = pd.read_csv(folders.tables / "audit.csv", dtype=str, keep_default_na=False)
    every = rows(folders)
    return [_claim(name, verdicts, every, links) for name in names]


def rows(folders: Folders) -> list[Row]:
    """Every line of ``audit_rows.csv``; the first block of a claim under a protocol decides."""
    import pandas as pd

    frame = pd.read_csv(folders.tables / "audit_rows.csv", dtype=str, keep_default_na=False)
    first: dict[tuple[str, str], str] = {}
    return [
        _row(line, first.setdefault((line.id, line.protocol), line.block) == line.block)
        for line in frame.itertuples(index=False)
    ]


def _row(line: Any, decides: bool) -> Row:
    effect, low, high = (float(value or "nan") for value in (line.effect, line.low, line.high))
    return Row(
        line.id,
        line.protocol,
        line.block,
        line.row,
        line.quantity,
        number(effect, line.unit),
        interval(low, high, line.unit, "{} to {}"),
        markup.raised(UNITS[line.unit][1]),
        line.n,
        line.status,
        markup.raised(line.note),
        decides,
        low,
        high,
    )


def _claim(name: str, verdicts: pd.DataFrame, every: Sequence[Row], links: Links) -> Claim:
    claim, page = printed.load()[name], f"claims/{name}.html"
    meaning = markup.html(f"{claim.rule} {asked(claim)}", links, page, "tables/audit.md")
    mine, rows = verdicts[verdicts["id"] == name], [row for row in every if row.claim == name]
    judged = [_verdict(line, rows) for line in mine.itertuples(index=False)]
    return Claim(name, claim, meaning, judged, rows)


def _verdict(line: Any, rows: Sequence[Row]) -> Verdict:
    lacks = [part.removeprefix(LACKS) for part in line.note.split("; ") if part.startswith(LACKS)]
    counts = {name.replace("_", " "): int(getattr(line, name)) for name in COUNTS}
    deciding = [r for r in rows if r.decides and r.protocol == line.protocol and r.status in AGAINST]
    deciding.sort(key=lambda row: AGAINST.index(row.status))
    return Verdict(line.protocol, line.verdict, counts, ", ".join(lacks), deciding)


OUTCOMES = ("won", "lost", "open")


class Contest(NamedTuple):
    """A method against another in a row of the audit: who is ahead, if the interval says so."""

    row: Row
    opponent: str
    outcome: str


def contests(method: Method, every: Sequence[Row]) -> list[Contest]:
    """Where a method is compared with another: won, lost, or open.

    Differences are of losses, errors or sweeps, so that the lower is ahead, if the interval does not reach
    zero; of a share of experiments won, if it does not reach one half.
    """
    found = []
    for row in every:
        difference, share = CONTEST.fullmatch(row.quantity), SHARE.search(row.row)
        if difference and row.low == row.low:
            found += _contest(method, row, difference, row.high < 0, row.low > 0)
        elif share and row.quantity.startswith("experiments won") and "printed share" not in row.block:
            found += _contest(method, row, share, row.low > 0.5, row.high < 0.5)
    return found


def _contest(method: Method, row: Row, sides: re.Match[str], ahead: bool, behind: bool) -> list[Contest]:
    first, second = sides["first"], sides["second"]
    if (first.lower() in method.names) is (second.lower() in method.names):
        return []
    if second.lower() in method.names:
        ahead, behind, second = behind, ahead, first
    return [Contest(row, second, "won" if ahead else "lost" if behind else "open")]


def tally(found: Sequence[Contest]) -> dict[str, dict[str, int]]:
    """Opponent -> rows won, lost and open, of the blocks that decide a claim."""
    counted: dict[str, dict[str, int]] = {}
    for contest in found:
        if contest.row.decides:
            of = counted.setdefault(contest.opponent, dict.fromkeys(OUTCOMES, 0))
            of[contest.outcome] += 1
    return counted


def explained(shown: str) -> str:
    """A document's HTML with what the marks of its tables mean below the last table of each section."""
    parts = re.split(r"(?=<h[23] )", shown)
    for k, part in enumerate(parts):
        before, table, after = part.rpartition("</table></div>")
        found = [said for mark, said in MARKS.items() if table and re.search(mark, before)]
        if found:
            parts[k] = f'{before}{table}\n<p class="soft">{". ".join(found)}.</p>{after}'
    return "".join(parts)


def legends(folders: Folders) -> list[str]:
    """What stands below each paper's summary of the audit (Markdown)."""
    _, parts = markup.sections(folders.text("tables/audit.md").split("\n## ")[0], 1)
    blocks = [markup.paragraphs(part.body) for part in parts]
    left_out = ("|", f"- {CONTENTS}")  # the site has its own
    return ["\n\n".join(text for text in texts if not text.startswith(left_out)) for texts in blocks]

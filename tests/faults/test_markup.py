"""Markup in names and reasons, in Markdown and on the page of a comparison."""

import gzip
import io

import pandas as pd
import pytest

from papers.compare import page as comparison
from papers.evidence.grid import grid, items
from papers.evidence.store import RecordError
from papers.pep.records import STUDIES as PEP
from papers.pesc.records import STUDIES as PESC
from papers.qp.records import STUDIES as QP
from papers.rep.records import STUDIES as REP

TABLES = [study for study in (*QP, *PEP, *REP, *PESC) if study.reader is None]
NAMED = [(s, name) for s in TABLES for name in s.text if name in (*s.key, *s.unit) and name not in s.fixed]
ODD = ["<script>x</script>", "a|b", "`a`", "**a**", "[a](b)", "a\x1b[31m", "a\n", "=1+1&x", "../a", "ä"]


@pytest.mark.parametrize("study, column", NAMED, ids=lambda given: getattr(given, "file", given))
def test_a_name_with_markup_in_it_is_refused(study, column, repository):
    content = (repository / "results" / study.file).read_bytes()
    text = gzip.decompress(content) if study.file.endswith(".gz") else content
    table = pd.read_csv(io.BytesIO(text), dtype=str, keep_default_na=False, nrows=1)
    for name in ODD:
        odd = table.assign(**{column: name}).to_csv(index=False, lineterminator="\n").encode()
        with pytest.raises(RecordError, match=f"^there: {column} '.* is no name$") as refused:
            study.parse(gzip.compress(odd) if study.file.endswith(".gz") else odd, "there")
        assert str(refused.value).isprintable() or name == "ä"


REASON = "TypeError: <class 'list'> | <script>x</script> <!-- `a` < b <= c"


def test_markup_in_a_reason_is_shown_and_not_obeyed():
    lines = grid(("Fit", "Reason"), "ll", [("ep", REASON), ("qp", "")])
    assert {len(line) for line in lines} == {len(lines[0])}
    for text in ("\n".join(lines), "\n".join(items([REASON]))):
        assert "<script" not in text and "<class" not in text and "<!--" not in text and "< b <= c" in text
        page = comparison._html("a", text)
        assert "<script" not in page
        assert "&lt;class 'list'&gt; | &lt;script&gt;x&lt;/script&gt; &lt;!--" in page

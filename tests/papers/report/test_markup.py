"""Markdown of the repository as pieces of the site."""

import pytest

from papers.evidence.verdicts import FAILS, VERDICTS
from papers.evidence.verification import standing
from papers.evidence.verification.standing import Group
from papers.report import markup
from papers.report.markup import Links

TEXT = """\
# Title

Not all of these records were verified: see Provenance below.

## First

| Data | Ours |
| ---- | ---: |
| A    |    1 |

## Second

12 lines made 2026-11-21; 3 made again 2026-11-22, of which 2 gave the record (1 from scratch too).
**NOT REPRODUCED: a.csv: one of
two (1 of 3 differ).**
**SAMPLED TOO LITTLE: a.csv: another (3 of 12).**
"""

LINKS = Links({"docs/a.md": "docs/a.html", "tables/b.csv": "tables/b.csv"}, ["QP1", "PEP5"])


def html(text, page="claims/QP1.html", source="docs/c.md", deeper=0):
    return markup.html(text, LINKS, page, source, deeper)


def test_sections():
    before, found = markup.sections(TEXT, 2)
    assert before.startswith("# Title") and [part.heading for part in found] == ["First", "Second"]
    assert found[0].body.startswith("| Data")


def test_tables_scroll_in_their_own_box():
    page = html(TEXT)
    assert page.count('<div class="scroll" tabindex="0"><table>') == page.count("</table></div>") == 1
    assert '<td style="text-align:right">1</td>' in page


def test_headings_are_lowered():
    page = html("# A\n\n## B\n\n##### C", deeper=3)
    assert page.split() == ["<h4", 'id="a">A</h4>', "<h5", 'id="b">B</h5>', "<h6", 'id="c">C</h6>']


def test_verdicts_are_marked_and_claims_linked():
    counts = "(3 yes, 0 no, 1 undecided of 4)"
    rows = [f"| PEP{k} | {verdict} {counts} |" for k, verdict in enumerate(VERDICTS)]
    page = html("\n".join(["| | x |", "| --- | --- |", *rows]))
    assert '<td><a href="PEP5.html">PEP5</a></td>' in page and "<td>PEP1</td>" in page
    for verdict in VERDICTS:
        marked = f'<b class="mark {markup.CLASSES[verdict]}">{verdict}</b>'
        assert f'{marked} <span class="soft">{counts}</span></td>' in page
    assert "mark" not in html("| a |\n| --- |\n| what holds here |\n| undecided |")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_red_is_for_what_is_contradicted_alone(verdict):
    assert (markup.CLASSES[verdict] == "no") is (verdict == FAILS)


def test_html_is_shown_and_not_obeyed():
    page = html("a <script>x</script> < b\n\n<!-- made -->\nshown")
    assert "<script" not in page and "&lt;script&gt;" in page and "made" not in page and "shown" in page


def test_links_between_files_lead_to_their_pages_and_others_become_text():
    page = html("[a](a.md#x), [b](../tables/b.csv), [none](no.md), [here](#x), [out](https://example.org/)")
    assert '<a href="../docs/a.html#x">a</a>' in page and '<a href="../tables/b.csv">b</a>' in page
    assert "<span>none</span>" in page and '<a href="#x">here</a>' in page
    assert '<a href="https://example.org/">out</a>' in page


def test_claims_are_linked_but_in_code_headings_and_links():
    assert html("PEP5 holds, PEP99 not") == '<p><a href="PEP5.html">PEP5</a> holds, PEP99 not</p>\n'
    for text in ("`PEP5`", "## PEP5", "[see PEP5](a.md)"):
        assert "PEP5.html" not in html(text)


def test_comments_leave_no_gap_and_take_no_space():
    text = "of <!-- n: x -->3<!-- -->\nrows\n<!-- a line\nalone -->\nend"
    assert html(text) == "<p>of 3\nrows\nend</p>\n"


def test_a_name_for_several_lines_of_a_table_is_in_each():
    page = html("| Data | |\n| - | - |\n| [x](a.md) | ours |\n| | published |\n\n| | a |\n| - | - |\n| | b |")
    assert page.count('<td><a href="../docs/a.html">x</a></td>') == 2 and page.count("<td></td>") == 1


def test_anchors_are_those_of_forges():
    used = {}
    made = [markup.anchor(text, used) for text in ("What `x` *is*: a (b)", "A", "A")]
    assert made == ["what-x-is-a-b", "a", "a-1"]


def test_powers_of_ten():
    assert markup.raised("TE x 10^-2, 10^3 and x 2") == "TE × 10⁻², 10³ and x 2"


def test_what_is_loud():
    assert markup.loud(TEXT) == [
        "NOT REPRODUCED: a.csv: one of two (1 of 3 differ).",
        "SAMPLED TOO LITTLE: a.csv: another (3 of 12).",
    ]
    assert markup.loud("3 made again. **Bold: and no reason.** NOT REPRODUCED: not bold") == []


def test_every_reason_of_the_standing_is_loud():
    group = Group("a.csv", "one", 9, 1, 0, 1, 0, 2, ("2026-11-21",), ())
    notes = "\n".join(standing.note([group, group._replace(good=0, differing=0, stale=0)]))
    assert [line.split(":")[0] for line in markup.loud(notes)] == [
        "NOT REPRODUCED",
        "SAMPLED TOO LITTLE",
        "ANOTHER PROTOCOL THAN TODAY'S",
        "NEVER SAMPLED",
    ]

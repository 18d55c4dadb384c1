"""Markdown of the tables as pieces of the report."""

import pytest

from papers.evidence import standing
from papers.evidence.standing import Group
from papers.evidence.verdicts import FAILS, VERDICTS
from papers.report import markup

TEXT = """\
# Title

Not all of these records were verified: see Provenance below.

## First

| Data | Ours |
| ---- | ---: |
| A    |    1 |

## Second

12 lines made 2026-11-21; 3 made again 2026-11-22 (1 from scratch).
**NOT REPRODUCED: a.csv: one of
two (1 of 3 differ).**
**SAMPLED TOO LITTLE: a.csv: another (3 of 12).**
"""


def test_sections():
    before, found = markup.sections(TEXT, 2)
    assert before.startswith("# Title") and [part.heading for part in found] == ["First", "Second"]
    assert found[0].body.startswith("| Data")


def test_tables_scroll_in_their_own_box():
    page = markup.html(TEXT)
    assert page.count('<div class="scroll" tabindex="0"><table>') == page.count("</table></div>") == 1
    assert '<td style="text-align:right">1</td>' in page


def test_headings_are_lowered():
    page = markup.html("# A\n\n## B\n\n##### C", 3)
    assert "<h4>A</h4>" in page and "<h5>B</h5>" in page and "<h6>C</h6>" in page


def test_verdicts_are_marked_and_claims_linked():
    counts = "(3 yes, 0 no, 1 undecided of 4)"
    rows = [f"| PEP{k} | {verdict} {counts} |" for k, verdict in enumerate(VERDICTS)]
    page = markup.html("\n".join(["| | x |", "| --- | --- |", *rows]))
    assert '<td><a href="#PEP1">PEP1</a></td>' in page and 'href="#PEP5"' in page
    for verdict in VERDICTS:
        marked = f'<b class="mark {markup.CLASSES[verdict]}">{verdict}</b>'
        assert f'{marked} <span class="soft">{counts}</span></td>' in page
    assert "mark" not in markup.html("| a |\n| --- |\n| what holds here |\n| undecided |")


@pytest.mark.parametrize("verdict", VERDICTS)
def test_red_is_for_what_is_contradicted_alone(verdict):
    assert (markup.CLASSES[verdict] == "no") is (verdict == FAILS)


def test_html_is_shown_and_not_obeyed():
    page = markup.html("a <script>x</script> < b\n\n<!-- made -->\nshown")
    assert "<script" not in page and "&lt;script&gt;" in page and "made" not in page and "shown" in page


def test_links_to_files_become_text_and_addresses_stay():
    page = markup.html("[a file](docs/a.md), [a page](https://example.org/)")
    assert "<span>a file</span>" in page and '<a href="https://example.org/">a page</a>' in page


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

"""CSV, Markdown and LaTeX: columns, values, coverage, lists of trouble, same bytes twice."""

import csv
import re

import pytest

from papers.core import grid, provenance
from papers.qp import fit_rows as reasons
from papers.qp.records import FITS
from papers.qp.table1 import rows as table1
from papers.qp.table1 import tables


@pytest.fixture
def text(whole):
    return tables.markdown(whole)


@pytest.fixture
def summary_of(frame, results_of, published_csv, of_folds):
    """Summary of lines, as many folds as there are."""

    def of(lines, folds=1):
        of_folds(folds)
        return results_of(frame(lines), published_csv)

    return of


def cells_of(section, row, column, value):
    """Cells of a line of a Markdown table; a blank first cell continues the row above."""
    current = None
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        current = cells[0] or current
        if current == row and cells[column] == value:
            return cells
    raise AssertionError(f"{row} {value} is not in the table")


def long_line(text, metric, row, method):
    return cells_of(text.split(f"({metric}, ")[1].split("##")[0], row, 1, method)


def paper_line(text, row, whose):
    return cells_of(text.split("## Protocol as-released")[1].split("## ")[0], row, 1, whose)


def test_csv_has_exactly_the_agreed_columns(table, tmp_path):
    path = tables.write_rounded(table, tmp_path / "t.csv", 6)
    header = path.read_text().splitlines()[0]
    assert header == (
        "row,metric,method,protocol,mean,sd,n_seeds,n_converged,n_attempted,"
        "published_mean,published_sd,deviation_sd"
    )
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["mean"]) for line in lines] == pytest.approx(list(table["mean"]), abs=1e-6)
    assert [line["n_seeds"] for line in lines] == [str(n) for n in table["n_seeds"]]
    vb = next(line for line in lines if line["method"] == "vb")
    assert vb["published_mean"] == vb["published_sd"] == vb["deviation_sd"] == ""


def test_csv_has_no_rounding_noise(table, tmp_path):
    noisy = table.assign(mean=2.0 + 1e-9, deviation_sd=-1e-9)
    line = tables.write_rounded(noisy, tmp_path / "t.csv", 6).read_text().splitlines()[1]
    assert ",2.0," in line and line.endswith(",0.0")


def test_markdown_leads_with_the_papers_arrangement(text):
    assert paper_line(text, "Wine1", "ours") == [
        "Wine1",
        "ours",
        "15.0 ±  5.0",
        "12.0 ±    -",
        "27.5 ± 12.5",
        "150.0 ± 50.0",
        "120.0 ±    -",
        "300.0 ± 100.0",
        "2/1/2",
    ]
    assert paper_line(text, "Wine1", "published") == [
        "",
        "published",
        "10.0 ±  2.0",
        "12.0 ±  2.0",
        "14.0 ±  4.0",
        "200.0 ± 50.0",
        "190.0 ± 50.0 *",
        "300.0 ± 20.0",
        "100",
    ]
    assert text.index("## Protocol as-released") < text.index("## QP's NTLL") < text.index("## Every method")


def test_asterisks_say_what_they_count(seed_of, summary_of):
    """20 folds, QP below in 18 (not more than 90 %), and in the mean of both seeds."""
    lines = []
    for seed in range(2):
        lines += seed_of([0.3] * 10, method="ep", seed=seed)
        lines += seed_of([0.1] * 9 + [0.4], method="qp", seed=seed)
    whole = summary_of(lines, folds=10)
    assert tables.marks(whole.gaps, "as-released") == {"Wine1": "*s"}
    assert "130.0 ± 0.0 *s" in re.sub(r" +", " ", tables.markdown(whole))
    text = tables.markdown(whole).split("## QP's NTLL")[1].split("## Every")[0]
    shown = [cell.strip() for cell in text.split("Wine1")[1].split("|")[1:4]]
    assert shown == ["+170.000", "18/20  90.0 %", "2/2 100.0 %"]


def test_protocols_without_vb_joint_show_vb(line, summary_of):
    lines = [line(dataset="coal", method=m, protocol="corrected", test_error=1.0) for m in ("ep", "qp", "vb")]
    text = tables.markdown(summary_of(lines))
    assert "our VB is vb, the published one vb-joint)" in text
    section = text.split("## Protocol corrected")[1]
    assert cells_of(section, "Mining", 1, "ours")[4] == "100.0 ±    -"
    assert cells_of(section, "Mining", 1, "published")[4] == "170.3 ± 15.9"


def test_published_values_do_not_wait_for_our_runs(line, summary_of, tmp_path):
    """Only EP was run: QP's and VB's published values stand there all the same."""
    whole = summary_of([line(dataset="coal", method="ep")])
    text = tables.markdown(whole)
    assert paper_line(text, "Mining", "ours")[2:5] == ["10.0 ±    -", "-", "-"]
    assert paper_line(text, "Mining", "published")[2:] == [
        "118.6 ± 27.0",
        "118.6 ± 27.0",
        "170.3 ± 15.9",
        "1606.8 ± 116.3",
        "1606.5 ± 116.3",
        "2007.3 ± 119.8",
        "200",
    ]
    assert r"$170.3_{\pm 15.9}$" in tables.latex(whole)


def test_markdown_sets_ours_beside_published(text):
    assert long_line(text, "TE", "Wine1", "ep") == [
        "Wine1",
        "ep",
        "15.0 ±  5.0",
        "10.0 ±  2.0",
        "+2.50",
        "2/100",
        "4/4",
        "",
    ]
    assert long_line(text, "TE", "Wine1", "vb")[3:5] == ["-", ""]
    assert long_line(text, "NTLL", "Mining", "ep")[2] == "1600.0 ±    -"  # one seed: no spread


def test_markdown_says_what_is_missing(text):
    assert long_line(text, "TE", "Wine2", "ep")[4:] == ["", "2/100", "4/4", "sd 0, no dev."]
    assert long_line(text, "TE", "Wine1", "qp")[5:] == ["1/100", "3/4", "1 unconv."]
    flat = " ".join(text.split())
    assert "- Wine1 qp (as-released), seed 1: 1 of 2 folds failed (1)" in flat
    assert "1 failed: cavity variance is negative (seeds/folds: 1/1)" in flat
    assert "1 not converged: 1000 evaluations & more (seeds/folds: 0/0)" in flat


def test_markdown_without_a_mean_says_so(failed, summary_of):
    text = tables.markdown(summary_of([failed(dataset="coal")]))
    assert long_line(text, "TE", "Mining", "ep") == [
        "Mining",
        "ep",
        "-",
        "118.6 ± 27.0",
        "",
        "0/200",
        "0/1",
        "no complete seed; 1 unconv.",
    ]
    assert paper_line(text, "Mining", "ours")[2:] == ["-"] * 6 + ["0"]
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)


def test_markdown_is_legible_as_plain_text(text):
    lines = text.splitlines()
    assert max(map(len, lines)) <= 145
    for first, second in zip(lines, lines[1:], strict=False):  # columns stand under one another
        if first.startswith("|") and second.startswith("|"):
            assert len(first) == len(second)
    assert text.endswith("\n") and not text.endswith("\n\n")


def test_clean_runs_say_none_and_what_was_never_made_again_is_said(line, summary_of):
    whole = summary_of([line(dataset="coal", seconds=360.0)])
    text = tables.markdown(whole)
    assert text.count("\nNone.\n") == 2 and "verified" not in text
    assert "| as-released | ep     |    1 |         1 |      0.100 | 2026-01-02 |" in text
    assert "- python 3, fast & small" in text
    group = provenance.Group("qp/fits.csv", "coal ep", 1, 0, 0, 0, 0, 0, ("2026-01-02",), ())
    whole.groups[FITS["as-released"]] = [group]
    text = tables.markdown(whole)
    assert "**Not all of these records were verified: see Provenance below.**" in text.split("## Protocol")[0]
    assert "**NEVER REPEATED: qp/fits.csv: coal ep.**" in text.split("## Provenance")[1]


def test_troubles_with_one_cause_are_one_entry(line, unconverged, frame):
    lines = [unconverged("1000 evaluations; ridge 1e-4", seed=s, fold=k) for s in (0, 1, 3) for k in (0, 1)]
    lines += [unconverged("1000 evaluations; ridge 2e-4", seed=4, fold=1)]
    entries = table1.trouble_entries(frame(lines))
    assert entries == [
        "Wine1 ep (as-released), 7 not converged: 1000 evaluations (seeds/folds: 0-1,3/0-1 4/1)"
    ]


def test_numbers_that_differ_do_not_make_another_cause(line, unconverged, frame):
    reasons = [f"search abandoned: variance={v}, lengthscale=({a}, np.float64(inf))" for v, a in VECTORS]
    lines = [unconverged(reason, seed=s) for s, reason in enumerate(reasons)]
    lines += [unconverged(f"step of {k}e-3; ridge", seed=9, fold=k) for k in (1, 2)]
    assert [text.split(": ", 1)[1].split(" (seeds")[0] for text in table1.trouble_entries(frame(lines))] == [
        "search abandoned: variance=#, lengthscale=(#)",
        "step of #",
    ]


def test_one_odd_fit_keeps_its_number_but_not_its_vector(unconverged, frame):
    (entry,) = table1.trouble_entries(frame([unconverged("variance=2.5, lengthscale=(1.0, inf); ridge")]))
    assert "1 not converged: variance=2.5, lengthscale=(#) (seeds" in entry


VECTORS = (("inf", "np.float64(0.06)"), ("2.5e+07", "np.float64(-1e-15)"), ("nan", "3"))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("pivot 3 of 112 is -1e-3; raise it", "pivot 5 of 99 is -2.5e-17", True),
        ("variance=inf, lengthscale=(inf, 1)", "variance=1e3, lengthscale=(np.float64(2.5),)", False),
        ("variance=inf, lengthscale=(inf, 1)", "variance=1e3, lengthscale=(np.float64(2.5), nan)", True),
        ("no start, 'ep' failed", "no start, 'ep-ard' failed", False),
        ("one class only", "a predictive variance is lost to rounding", False),
    ],
)
def test_reasons_are_compared_without_their_numbers(first, second, same):
    assert (reasons.reason_class(first) == reasons.reason_class(second)) == same


def test_tex_keeps_the_papers_arrangement(whole, tmp_path):
    text = tables.latex(whole)
    lines = text.splitlines()
    assert r"Data & $m$ & $n$ & EP & QP & VB & EP & QP & VB \\" in lines
    where = next(k for k, line in enumerate(lines) if line.startswith("Wine1"))
    assert lines[where].startswith(r"Wine1 & 130 & 13 & $15.0_{\pm 5.0}$ & $12.0_{\pm -}$")
    assert lines[where + 1].startswith(r"&  &  & \textcolor{gray}{$10.0_{\pm 2.0}$}")
    assert r"\textcolor{gray}{$190.0_{\pm 50.0}$\rlap{$^{*}$}}" in lines[where + 1]
    for line in lines[where : where + 2]:
        assert line.count("&") == 8
    assert "Not shown: vb." in text and "Column VB: VB is vb-joint." in text
    assert "25 of 27 fits converged" in text  # vb is not shown, nor counted
    assert "fewer than the paper's: Wine1 2/1/2, Wine2 2, Mining 1." in text


def test_tex_has_a_table_a_protocol(line, summary_of, tmp_path):
    lines = [
        line(dataset="coal", protocol=p, method=m) for p in ("as-released", "corrected") for m in ("ep", "qp")
    ]
    text = tables.latex(summary_of(lines))
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 2
    assert text.count("{") == text.count("}")


def test_tex_marks_what_is_counted():
    assert tables._star("") == ""
    assert tables._star("*") == r"\rlap{$^{*}$}"
    assert tables._star("*f") == r"\rlap{$^{*\mathrm{f}}$}"


@pytest.mark.parametrize(
    ("value", "text"), [(2.504, "+2.50"), (-0.25, "-0.25"), (-1e-9, "+0.00"), (float("nan"), "")]
)
def test_deviation_is_signed_and_has_no_negative_zero(value, text):
    assert grid.deviation(value) == text


@pytest.mark.parametrize(("counts", "text"), [([5, 5, 5], "5"), ([100, 100, 20], "100/100/20"), ([0], "0")])
def test_numbers_of_seeds(counts, text):
    assert grid.seeds_text(counts) == text

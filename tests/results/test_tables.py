"""CSV, Markdown and LaTeX: columns, values, lists of trouble, same bytes twice."""

import csv
import re

import pytest

from tilted.results import aggregate, published, tables
from tilted.results.troubles import spans


@pytest.fixture
def text(table, run):
    troubles, missing = aggregate.troubled(run, folds=2), aggregate.left_out(run, folds=2)
    return tables.markdown(table, troubles, missing)


def md_line(text, metric, row, method):
    """Cells of one line of the Markdown table; a blank first cell continues the row above."""
    section = text.split(f"({metric},")[1].split("##")[0]
    current = None
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        current = cells[0] or current
        if current == row and cells[1] == method:
            return cells
    raise AssertionError(f"{row} {method} is not in the table")


def test_csv_has_exactly_the_agreed_columns_and_exact_floats(table, tmp_path):
    path = tables.write_csv(table, tmp_path / "t.csv")
    header = path.read_text().splitlines()[0]
    assert header == (
        "row,metric,method,protocol,mean,sd,n_seeds,n_converged,n_attempted,"
        "published_mean,published_sd,deviation_sd"
    )
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["mean"]) for line in lines] == list(table["mean"])
    assert [line["n_seeds"] for line in lines] == [str(n) for n in table["n_seeds"]]
    vb = next(line for line in lines if line["method"] == "vb")
    assert vb["published_mean"] == vb["published_sd"] == vb["deviation_sd"] == ""


def test_csv_refuses_other_columns(table, tmp_path):
    with pytest.raises(ValueError, match="columns"):
        tables.write_csv(table.drop(columns="sd"), tmp_path / "t.csv")
    assert list(tmp_path.glob("t.csv")) == []


def test_markdown_sets_ours_beside_published(text):
    assert md_line(text, "TE", "Wine1", "ep") == [
        "Wine1", "ep", "15.0 ±  5.0", "10.0 ±  2.0", "+2.50", "2", "4/4", "",
    ]  # fmt: skip
    assert md_line(text, "TE", "Wine1", "vb")[3:5] == ["-", ""]
    assert md_line(text, "NTLL", "Mining", "ep")[2] == "1600.0 ±    -"  # one seed: no spread


def test_markdown_says_what_is_missing(text):
    assert md_line(text, "TE", "Wine2", "ep")[4:] == ["", "2", "4/4", "sd 0, no dev."]
    assert md_line(text, "TE", "Wine1", "qp")[5:] == ["1", "3/4", "1 unconv."]
    flat = " ".join(text.split())
    assert "- Wine1 qp (as-released), TE and NTLL, seed 1: 1 of 2 folds failed (1)" in flat
    assert "- Wine1 qp (as-released), 1 failed: cavity variance is negative" in flat
    assert "1 not converged: 1000 evaluations & more (seed/fold: 0/0)" in flat


def test_markdown_without_a_mean_says_so(failed, published_csv):
    summary = aggregate.summarise([failed(dataset="coal")])
    text = tables.markdown(published.compare(summary, published_csv))
    assert md_line(text, "TE", "Mining", "ep") == [
        "Mining", "ep", "-", "118.6 ± 27.0", "", "0", "0/1", "no complete seed; 1 unconv.",
    ]  # fmt: skip
    assert "nan" not in text.lower()


def test_markdown_is_legible_as_plain_text(text):
    grid = [line for line in text.splitlines() if line.startswith("|")]
    assert max(map(len, text.splitlines())) <= 115
    for line in grid:  # aligned: separators stand under one another within a table
        assert len(line) in {len(other) for other in grid if other.startswith("| Data")}
    assert text.endswith("\n") and not text.endswith("\n\n")


def test_clean_runs_say_none(table):
    assert tables.markdown(table).count("\nNone.\n") == 2


def test_tex_keeps_the_papers_arrangement(table, tmp_path, published_csv):
    path = tables.write_tex(table, tmp_path / "t.tex", published.sizes(published_csv))
    lines = path.read_text().splitlines()
    assert r"Data & $m$ & $n$ & EP & QP & VB & EP & QP & VB \\" in lines
    where = next(k for k, line in enumerate(lines) if line.startswith("Wine1"))
    assert lines[where].startswith(r"Wine1 & 130 & 13 & $15.0_{\pm 5.0}$ & $12.0_{\pm -}$")
    assert lines[where + 1].startswith(r"&  &  & \textcolor{gray}{$10.0_{\pm 2.0}$}")
    for line in lines[where : where + 2]:
        assert line.count("&") == 8
    assert "Not shown: vb." in path.read_text()
    assert "28 of 30 fits converged" not in path.read_text()  # vb is not shown, nor counted
    assert "25 of 27 fits converged" in path.read_text()


def test_tex_takes_other_methods_and_protocols(record, published_csv, tmp_path):
    records = [
        record(dataset="coal", protocol=p, method=m)
        for p in ("as-released", "corrected")
        for m in ("ep", "vb")
    ]
    both = published.compare(aggregate.summarise(records), published_csv)
    text = tables.write_tex(both, tmp_path / "t.tex", methods=["ep", "vb"]).read_text()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 2
    assert r"Data & EP & VB & EP & VB \\" in text
    assert text.count("{") == text.count("}")


def test_writing_twice_gives_the_same_bytes(table, run, tmp_path):
    troubles = aggregate.troubled(run, folds=2)
    for name, write in (
        ("csv", lambda path: tables.write_csv(table, path)),
        ("md", lambda path: tables.write_markdown(table, path, troubles)),
        ("tex", lambda path: tables.write_tex(table, path)),
    ):
        first, second = (write(tmp_path / f"{k}.{name}").read_bytes() for k in (1, 2))
        assert first == second
        assert b"\r" not in first


@pytest.mark.parametrize(
    ("value", "text"), [(2.504, "+2.50"), (-0.25, "-0.25"), (-1e-9, "+0.00"), (float("nan"), "")]
)
def test_deviation_is_signed_and_has_no_negative_zero(value, text):
    assert tables.deviation(value) == text


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([2, 0, 1, 5], "0-2,5"), ([0, 1], "0-1")]
)
def test_spans_name_every_number(numbers, text):
    assert spans(numbers) == text
    listed = [
        k
        for run in re.findall(r"\d+(?:-\d+)?", text)
        for k in range(int(run.split("-")[0]), int(run.split("-")[-1]) + 1)
    ]
    assert listed == sorted(numbers)

"""From the record to files: tables, figures, a chapter of the audit."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.core import audit, claims, style
from papers.pep import artifacts, compare, digits, figures, jobs, looks, published, scores, tables, toy
from papers.pep.records import REGRESSION, TOY
from papers.pep.scores import SMLL, SMSE

DATA = Path(__file__).resolve().parents[3] / "data" / "published"
OF_REGRESSIONS = [f"figure{k}" for k in (3, 4, 5, *range(8, 23))]
FAILED = {("boston", 1, "1", 5): "failed", ("yacht", 0, "0", 20): "stopped"}


def score(dataset, split, alpha, m):
    """EP wins on SMLL, 0.5 on SMSE; the split moves all alike."""
    by = 1.0 / m + 0.01 * split
    return 0.01 + 0.1 * (by + (float(alpha) - 0.5) ** 2), by - float(alpha) - 1.0, 100.0 * by


@pytest.fixture(scope="module")
def frame(fits):
    full = fits(score, datasets=("synthetic",), full=lambda d, s: (0.01, -2.0, -10.0))
    return pd.concat([fits(score, outcome=FAILED), full], ignore_index=True)


def _entries(legend):
    return zip(legend.get_texts(), legend.get_lines(), strict=True)


def toy_lines():
    """Two made-up sets, two numbers of training points, at true and at learned hyperparameters."""
    same = dict.fromkeys(toy.SCORES, 0.5) | {"outcome": "ok", "message": "", "seconds": 0.1}
    same |= {"variance": 1.0, "lengthscales": "1:2", "noise": 0.01, "n_test": 500, "evaluations": 7}
    return [
        same | {"dataset": "synthetic", "split": k, "n_train": n, "hyperparameters": name}
        for k in (0, 1)
        for n in (500, 1000)
        for name in ("true", "learned")
    ]


@pytest.fixture(scope="module")
def written(frame, fits, put, without_pictures, tmp_path_factory):
    """Of regressions as described; beside them are some of the other protocol, with other scores."""
    tmp_path = tmp_path_factory.mktemp("pep")
    others = fits(lambda *cell: (0.9, 0.9, 900.0), protocol="converged")
    put(tmp_path / "results", REGRESSION, pd.concat([frame, others], ignore_index=True))
    put(tmp_path / "results", TOY, toy_lines())
    with without_pictures(but=["figure4"]):
        made = artifacts.write(tmp_path / "results", tmp_path / "tables", tmp_path / "figures", DATA)
    return made, tmp_path


def test_every_file_is_written_and_every_figure_has_a_caption(written, frame):
    found, folder = written
    names = {path.name for path in (folder / "tables").iterdir()}
    assert names == {
        tables.DATA_SETS,
        *(name for p in ("as-described", "converged") for name in tables.names(tables.REGRESSION.under(p))),
    }
    drawn = {path.stem for path in (folder / "figures" / "pep").glob("*.*")}
    assert drawn == set(OF_REGRESSIONS)
    assert set(OF_REGRESSIONS) < set(artifacts.CAPTIONS)
    assert [line.split(": ")[:2] for line in found.warnings] == [
        ["NEVER REPEATED", study.file] for study in (REGRESSION, TOY)
    ]
    page = (folder / "tables" / "pep.md").read_text(encoding="utf-8")
    assert f"{len(frame)} rows made" in page
    assert page.index("## Fits that failed") < page.index(f"## {toy.HEADING}") and "\n\n\n" not in page


def test_the_chapter_goes_into_the_audit(written):
    found, folder = written
    judged = list(artifacts.CLAIMS)
    audit.write(found.audit, folder)
    table = pd.read_csv(folder / "audit.csv", keep_default_na=False)
    assert set(table["paper"]) == {"PEP"}
    assert list(table.loc[table["protocol"] == "converged", "id"]) == [f"PEP{k}" for k in range(1, 7)]
    table = table[table["protocol"] != "converged"]
    assert list(table["id"]) == judged
    by_claim = table.set_index("id")["verdict"]
    assert by_claim["PEP5"] == by_claim["PEP8"] == "too few runs" == by_claim["PEP11"]
    page = (folder / "audit.md").read_text(encoding="utf-8")
    assert page.startswith("# Which claims hold\n\n")
    assert "\n# Which claims of the Power-EP paper hold\n" in page
    assert not re.search(r"\bnan\b", page)
    assert list(claims.of_paper("PEP")) == judged
    for name, claim in claims.of_paper("PEP").items():
        assert f"## {name}: {claim.title}" in page and claim.rule[:30] in page
    assert "splits 0-3; α 0, 0.5, 0.8, 1; M 5, 20, 100; 96 fits, 1 not converged, 1 failed" in " ".join(
        page.split()
    )


@pytest.mark.usefixtures("undrawn")
def test_every_protocol_of_regressions_is_judged_and_drawn(fits, put, tmp_path):
    frame = fits(score, datasets=("boston",), alphas=("0", "1"))
    converged = frame.assign(protocol="converged", smll=-frame["smll"])
    put(tmp_path, REGRESSION, pd.concat([frame, converged], ignore_index=True))
    found = artifacts.write(tmp_path, tmp_path / "tables", tmp_path / "figures", DATA)
    protocols = {f.protocol: f.blocks[0] for f in found.audit[0].findings if f.id == "PEP5"}
    wins = {name: block.lines[0].effect for name, block in protocols.items()}
    assert wins == {"as-described": 1.0, "converged": 0.0}
    page = (tmp_path / "tables" / "pep_converged.md").read_text(encoding="utf-8")
    assert page.startswith("# Power EP for sparse Gaussian-process regression, converged\n")
    assert "UCI: converged; 1 set" in page
    assert (tmp_path / "figures" / "pep" / "converged" / "figure4.png").is_file()


def test_the_workflow_asks_for_the_tables_of_every_protocol():
    grids = {"pep": {"a": {"protocols": ["converged"]}, "b": {"starts": ["data", "short"]}}}
    grids["pep_classification"] = {"c": {"protocols": ["as-released"]}}
    stems = ("pep_converged", "pep", "pep_classification")
    pages = [f"{stem}{name}" for stem in stems for name in (".md", "_wins.csv", "_ranks.csv", "_means.csv")]
    assert jobs.tables(grids) == [*pages, tables.DATA_SETS] and jobs.figures(grids) == ["pep"]
    assert jobs.tables({"mnist": {"a": {}}}) == list(digits.TABLES)
    assert jobs.tables({"toy": {}}) == jobs.figures({"toy": {}}) == []


def test_nothing_is_made_without_a_record(tmp_path):
    assert artifacts.write(tmp_path, tmp_path / "t", tmp_path / "f", DATA) == ([], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("undrawn")
def test_a_record_of_synthetic_sets_alone(fits, put, tmp_path):
    put(tmp_path, REGRESSION, fits(score, datasets=("synthetic",), alphas=("0", "1")))
    artifacts.write(tmp_path, tmp_path / "tables", tmp_path / "figures", DATA)
    drawn = {path.stem for path in (tmp_path / "figures" / "pep").iterdir()}
    assert drawn == {"figure3", "figure11", "figure12", "figure13"}
    assert "## Experiments won" not in (tmp_path / "tables" / "pep.md").read_text(encoding="utf-8")


def test_the_tables_say_what_was_won_and_what_failed(frame, tmp_path):
    fits = scores.compared(frame)
    printed = published.read(DATA).shares
    header, _, cells = tables.published_wins(compare.wins(fits), printed)
    line = dict(zip(header, next(c for c in cells if c[0] == "SMLL" and "(EP)" in c[1]), strict=True))
    assert (line["Published"], line["Ours"], line["Won"], line["Left out"]) == ("93 %", "100 %", "23", "1")
    numbers = compare.wins(fits), compare.ranks_of_powers(fits), compare.means(fits)
    page = tables.markdown(fits, *numbers, printed, tables.REGRESSION)
    assert "- Boston, α = 1 (EP): 1 failed (failed: why); M (fits): 5 (1)" in page
    assert "full GP on 4 splits, 0 failed" in " ".join(page.split()) and not re.search(r"\bnan\b", page)
    boston = page.split("### Boston, SMLL")[1].split("###")[0]
    assert [row.count("*") for row in boston.splitlines() if row.startswith("|   5 |")] == [1]


def test_how_many_searches_stopped_also_on_sets_that_no_paper_used(frame):
    own = frame[frame["dataset"] == "boston"].assign(dataset="mine")
    fits = scores.compared(pd.concat([frame, own], ignore_index=True))
    header, _, cells = tables.endings(fits)
    assert header == ("Sets", "Power", "Searches", "Converged", "Stopped before", "Failed")
    assert {
        ("UCI", "α = 0 (VFE)", "24", "23", "1", "0"),
        ("UCI", "all", "96", "94", "1", "1"),
        ("Synthetic", "all", "48", "48", "0", "0"),
        ("Others", "all", "48", "47", "0", "1"),
    } <= set(cells)
    assert "mine" in set(compare.means(fits)["dataset"])
    assert set(compare.wins(fits)["dataset"]) == {"all", "boston", "yacht"}
    assert [line.split(":")[0] for line in tables.covered(fits)] == ["Synthetic", "UCI", "Others"]


def test_what_is_printed():
    shares, counts = published.read(DATA)
    assert published.Printed("PEP4", "SMSE", "0.5", "1", 78.0) in shares
    assert published.Counted("PEP4", "SMSE", "0.5", "0", 6, 8) in counts
    assert {line.total for line in counts if line.claim == "PEP7"} == {6}
    assert all(line.sets <= line.total for line in counts)


class TestWhatIsDrawn:
    """The axes hold the numbers of the one aggregation."""

    def test_means(self, frame):
        from matplotlib.figure import Figure

        part = figures.numbers(scores.made_up(frame), SMLL)
        axes = Figure().subplots()
        figures._means(axes, part, SMLL, ["0", "0.5", "0.8", "1"], 2.0)
        drawn = np.asarray(axes.containers[-1].lines[0].get_ydata(), dtype=float)
        expected = [np.mean([score("", s, "1", m)[1] for s in range(4)]) for m in (5, 20, 100)]
        np.testing.assert_allclose(drawn, expected)

    def test_means_over_fewer_splits_are_apart_with_their_own_full_gp(self, fits):
        from matplotlib.figure import Figure

        def rising(dataset, split, alpha, m):
            return 0.1, split - 1.0 / m, 0.0

        frame = fits(
            rising, datasets=("synthetic",), alphas=("0", "1"), full=lambda d, s: (0.1, float(s), 0.0)
        )
        frame = frame[(frame["m"] != 100) | (frame["split"] >= 2)]
        part = figures.numbers(frame, SMLL)
        assert figures.stretches(part) == [([5, 20], {0, 1, 2, 3}), ([100], {2, 3})]
        axes = Figure().subplots()
        figures._means(axes, part, SMLL, ["0", "1"], 2.0)
        drawn = [np.asarray(c.lines[0].get_ydata(), dtype=float) for c in axes.containers]
        assert [len(y) for y in drawn] == [2, 1, 2, 1]
        np.testing.assert_allclose(np.concatenate(drawn[:2]), [1.3, 1.45, 2.49])
        assert [c.lines[0].get_markerfacecolor() == "white" for c in axes.containers] == [False, True] * 2
        full = [line.get_ydata()[0] for line in axes.lines if line.get_color() == "black"]
        assert full == [1.5, 2.5]
        whole = figures.stretches(figures.numbers(fits(rising, datasets=("synthetic",)), SMLL))
        assert whole == [([5, 20, 100], {0, 1, 2, 3})]

    def test_failed_fits_are_not(self, frame):
        table = figures.points(figures.Row("", scores.real(frame), "1", "0"), SMSE)
        assert len(table) == 23 and table["first"].notna().all()
        assert table.loc[("yacht", 2, 20), "first"] == pytest.approx(score("", 2, "1", 20)[0])

    def test_colours_are_the_legends_where_a_set_lacks_the_largest_m(self, frame, monkeypatch, tmp_path):
        """Dots of M = 50 had had the colour of M = 100 in the rows of sets without it."""
        sets, drawn = scores.real(frame), []
        monkeypatch.setattr(style, "save", lambda figure, stem: [drawn.append(figure)] * 2)
        most, name = sets["m"].max(), "yacht"
        lacking = sets[(sets["dataset"] != name) | (sets["m"] < most)]
        assert lacking["dataset"].nunique() > 1 and name in set(lacking["dataset"])
        figures.by_dataset(lacking, tmp_path / "figure14", "1", "0")
        (figure,) = drawn
        legend = {text.get_text(): line.get_color() for text, line in _entries(figure.legends[0])}
        (row,) = [axes for axes in figure.axes if axes.get_ylabel().startswith("Yacht")]
        dots = [line.get_color() for line in row.lines if line.get_marker() not in ("None", None, "")]
        sizes = sorted(set(lacking.loc[lacking["dataset"] == name, "m"]) - {0})
        assert len(sizes) > 1 and dots == [legend[f"M = {m}"] for m in sizes]

    def test_shares(self, frame):
        table = figures.shares(scores.real(frame), SMLL)
        np.testing.assert_array_equal(table[3, :3], 1.0)
        np.testing.assert_array_equal(table[:3, 3], 0.0)
        assert np.isnan(np.diagonal(table)).all()

    @pytest.mark.parametrize(
        ("ends", "expected"),
        [((0.04, 0.5), ["0.05", "0.1", "0.2", "0.5"]), ((0.563, 0.628), ["0.58", "0.6", "0.62"])],
    )
    def test_short_logarithmic_axes_have_ticks_too(self, ends, expected):
        from matplotlib.figure import Figure

        axes = Figure().subplots()
        axes.set_yscale("log")
        axes.set_ylim(*ends)
        looks.plain_ticks(axes.yaxis, ends)
        assert [label.get_text() for label in axes.yaxis.get_ticklabels()] == expected

    def test_panels_say_what_lies_outside(self):
        from matplotlib.figure import Figure

        values = np.append(np.linspace(0.0, 1.0, 200), 50.0)
        low, high = looks.bounds(values)
        assert -0.2 < low < 0.0 and 1.0 < high < 2.0
        axes = Figure().subplots()
        looks.outside(axes, 1)
        looks.outside(axes, 0)
        assert [t.get_text() for t in axes.texts] == ["1 outside"]
        assert looks.bounds(np.linspace(1, 2, 9), log=True)[0] < 1.0

"""Fits to artifacts: everything is written, twice the same bytes, and partial results are shown as such."""

import csv
import os
import re
import subprocess
import sys

import pandas as pd
import pytest

from tilted.__main__ import main
from tilted.results import artifacts, merge
from tilted.results.store import RecordError

NAMES = {
    "tables": {"qp_table1.csv", "qp_table1.md", "qp_table1.tex", "qp_fidelity.csv", "qp_fidelity.md"}
    | {"report.html", "audit.csv", "audit_rows.csv", "audit.md"},
    "figures": {
        f"as-released/{name}.{kind}"
        for name in ("figure1a", "figure1b", "published", "paired")
        for kind in ("pdf", "png", "csv")
    },
}


@pytest.fixture
def results(record, fits, tmp_path):
    """Compact records of two data sets: a complete seed, and one whose last fold is absent."""
    paths = []
    for dataset, n_folds in (("wine12", 10), ("coal", 1)):
        records = [
            record(dataset=dataset, method=method, seed=seed, fold=fold, ntll=ntll + 0.01 * fold)
            | {"latent_variance": [ntll, 2.0 + fold]}
            for method, ntll in (("ep-tune", 0.5), ("ep", 0.5), ("qp", 0.4), ("vb-joint", 0.7))
            for seed in range(2)
            for fold in range(n_folds if seed == 0 or dataset == "coal" else 9)
        ]
        paths.append(fits("all-000-001", records))
    merge.fold_in(paths, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def published_table(pytestconfig):
    return pytestconfig.rootpath / "data" / "published" / "qp_table1.csv"


def written(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_artifact_is_written_and_twice_the_same_bytes(results, published_table, tmp_path):
    """The second time by the command line, in another process with another hash seed."""
    outdated = artifacts.write_all(results, tmp_path / "a/tables", tmp_path / "a/figures", published_table)
    assert len(outdated) == 4 and "unknown source" in outdated[0]
    command = [sys.executable, "-m", "tilted", "tables", "--records", str(results)]
    command += ["--tables", "b/tables", "--figures", "b/figures", "--published", str(published_table)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr.count("NOT BY TODAY'S SOURCE") == 4
    for kind, names in NAMES.items():
        first, second = (written(tmp_path / which / kind) for which in "ab")
        assert set(first) == names
        assert first == second


def test_each_variance_figure_has_its_own_points(record, fits, published_table, tmp_path, monkeypatch):
    """Of its protocol and its data sets; twice as many test points under the second protocol."""
    drawn, paths = [], []
    for protocol, n_test in (("as-released", 2), ("corrected", 4)):
        for dataset in ("wine12", "coal"):
            where = {"dataset": dataset, "protocol": protocol}
            records = [record(method=m, latent_variance=[1.0] * n_test, **where) for m in ("ep", "qp")]
            paths.append(fits("all-000-000", records))
    merge.fold_in(paths, tmp_path / "results")

    def draw(fits, points, datasets, stem, title):
        shown = points[points["dataset"].isin(datasets)]
        drawn.append((stem.parent.name, stem.name, datasets, len(shown), title))
        return stem, stem

    monkeypatch.setattr(artifacts.figures, "predictive_variances", draw)
    monkeypatch.setattr(artifacts.report, "write_html", lambda *arguments, **named: None)
    artifacts.write_all(tmp_path / "results", tmp_path / "tables", tmp_path / "figures", published_table)
    assert drawn == [
        ("as-released", "figure1a", ["wine12"], 2, "Classification, as-released"),
        ("as-released", "figure1b", ["coal"], 2, "Poisson regression, as-released"),
        ("corrected", "figure1a", ["wine12"], 4, "Classification, corrected"),
        ("corrected", "figure1b", ["coal"], 4, "Poisson regression, corrected"),
    ]


def test_partial_seeds_are_shown_as_such(results, published_table, tmp_path):
    artifacts.write_all(results, tmp_path / "tables", tmp_path / "figures", published_table)
    with (tmp_path / "tables" / "qp_table1.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert {(line["row"], line["n_seeds"], line["n_attempted"]) for line in lines} == {
        ("Wine1", "1", "19"), ("Mining", "2", "2"),
    }  # fmt: skip
    text = (tmp_path / "tables" / "qp_table1.md").read_text()
    assert "- Wine1 qp (as-released), seed 1: 1 of 10 folds absent (9)" in text
    assert (tmp_path / "tables" / "qp_fidelity.md").read_text().count("not run") > 50
    page = (tmp_path / "tables" / "report.html").read_text()
    assert not re.search(r"\bnan\b", re.sub(r"base64,[^\"]*", "", page), re.IGNORECASE)


def test_a_method_alone_has_its_table_and_no_variance_figure(record, fits, published_table, tmp_path):
    merge.fold_in([fits("ep", [record(dataset="coal")])], tmp_path / "results")
    artifacts.write_all(tmp_path / "results", tmp_path / "tables", tmp_path / "figures", published_table)
    assert set(written(tmp_path / "tables")) == NAMES["tables"]
    assert set(written(tmp_path / "figures")) == {
        f"as-released/published.{kind}" for kind in ("pdf", "png", "csv")
    }


def test_protocols_can_be_chosen(record, fits, results, published_table, tmp_path):
    merge.fold_in([fits("ep", [record(dataset="coal", protocol="corrected")])], results)
    where = (results, tmp_path / "tables", tmp_path / "figures", published_table)
    artifacts.write_all(*where, protocols=["corrected"])
    text = (tmp_path / "tables" / "qp_table1.csv").read_text()
    assert "corrected" in text and "as-released" not in text
    artifacts.write_all(*where)
    text = (tmp_path / "tables" / "qp_table1.csv").read_text()
    assert text.index("as-released") < text.index("corrected")


def test_no_records_and_damaged_ones_are_errors(results, published_table, tmp_path, capsys):
    where = (tmp_path / "tables", tmp_path / "figures", published_table)
    with pytest.raises(FileNotFoundError, match="no compact records"):
        artifacts.write_all(tmp_path / "nowhere", *where)
    path = results / "as-released.csv.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError, match=r"as-released\.csv\.gz"):
        artifacts.write_all(results, *where)
    assert main(["tables", "--records", str(results), "--published", str(published_table)]) == 2
    assert "as-released.csv.gz" in capsys.readouterr().err
    assert not (tmp_path / "tables").exists()


def test_new_fits_are_folded_in_from_the_command_line(record, fits, results, tmp_path, capsys):
    new = fits("vb-000-000", [record(method="vb", dataset="coal")], "new").parents[2]
    assert main(["records", "--fits", str(new), "--records", str(results)]) == 0
    assert "1 seeds added, 0 replaced, 16 kept" in capsys.readouterr().out
    assert main(["records", "--fits", str(tmp_path / "nowhere"), "--records", str(results)]) == 2
    assert "no fit records" in capsys.readouterr().err


def test_the_power_ep_record_joins_the_audit_and_the_report(results, published_table, tmp_path, monkeypatch):
    """Where there is one; without it the audit has the claims of the QP paper only."""
    from tilted.results.pep import figures, records

    line = dict.fromkeys(records.REGRESSION.columns, 1) | {"start": "data", "message": "", "outcome": "ok"}
    scores = {"smse": 0.5, "smll": -0.5, "nlml": 3.0, "n_train": 90, "n_test": 10}
    fits = [
        line | scores | {"dataset": "yacht", "split": split, "alpha": alpha, "m": 5}
        for split in range(2)
        for alpha in ("0", "1")
    ]
    records.write_records(tmp_path / "pep" / records.REGRESSION.file, pd.DataFrame(fits))
    monkeypatch.setattr(figures, "write", lambda fits, folder: [])
    where = (results, tmp_path / "tables", tmp_path / "figures", published_table)
    artifacts.write_all(*where, pep=tmp_path / "nowhere")
    assert set(pd.read_csv(tmp_path / "tables" / "audit.csv")["paper"]) == {"QP"}
    assert not (tmp_path / "tables" / "pep.md").exists()
    artifacts.write_all(*where, pep=tmp_path / "pep")
    audit = pd.read_csv(tmp_path / "tables" / "audit.csv", keep_default_na=False)
    assert audit["paper"].tolist() == ["QP"] * 27 + ["PEP"] * 11
    text = (tmp_path / "tables" / "audit.md").read_text(encoding="utf-8")
    marks = ("of the QP paper hold", "of the Power-EP paper hold", "## QP1", "## PEP1")
    assert sorted(marks, key=text.index) == list(marks)
    assert "Power EP for sparse" in (tmp_path / "tables" / "report.html").read_text(encoding="utf-8")


def test_what_could_not_be_drawn_says_so(tmp_path):
    """Only what is missing is made: a figure that was drawn stays."""
    drawn = tmp_path / "paired.png"
    drawn.write_bytes(b"drawn")
    asked = [drawn, *(tmp_path / f"figure1b.{kind}" for kind in ("pdf", "png"))]
    assert artifacts.fill(asked) == [f"nothing to draw: {tmp_path / 'figure1b'}"]
    assert drawn.read_bytes() == b"drawn" and all(path.stat().st_size > 0 for path in asked)
    assert artifacts.fill(asked) == []

"""Records to artifacts: everything is written, and partial results are shown as such."""

import csv
import shutil
from pathlib import Path

import pytest

from papers.core import records
from papers.core.store import RecordError
from papers.qp import artifacts
from papers.qp.pairs import with_pairs
from papers.qp.records import LOOKUP_EFFECT, LOOKUP_ERRORS, TRUTH, TRUTH_LATENTS

RESULTS = Path(__file__).resolve().parents[3] / "results"
NAMES = {
    "tables": {"qp_table1.csv", "qp_table1.md", "qp_table1.tex", "qp_fidelity.csv", "qp_fidelity.md"},
    "figures": {
        f"as-released/{name}.{kind}"
        for name in ("figure1a", "figure1b", "published", "paired")
        for kind in ("pdf", "png", "csv")
    },
}


@pytest.fixture(scope="module")
def recorded(record, fit_writer, tmp_path_factory):
    """Compact records of two data sets: a complete seed, and one whose last fold is absent."""
    folder, paths = tmp_path_factory.mktemp("recorded"), []
    ep = [record(latent_variance=[0.5, 2.0])]
    for dataset, n_folds in (("wine12", 10), ("coal", 1)):
        fits = [
            record(dataset=dataset, method=method, seed=seed, fold=fold, ntll=ntll + 0.01 * fold)
            | {"latent_variance": [ntll, 2.0]}
            for method, ntll in (("ep-tune", 0.5), ("ep", 0.5), ("qp", 0.4), ("vb-joint", 0.7))
            for seed in range(2)
            for fold in range(n_folds if seed == 0 or dataset == "coal" else 9)
        ]
        fits = [with_pairs(fit, ep) if fit["method"] == "qp" else fit for fit in fits]
        paths.append(fit_writer(folder, "all-000-001", fits))
    records.collect(paths, folder / "results")
    return folder / "results"


@pytest.fixture
def results(recorded, tmp_path):
    """A copy of the records, to add to or damage."""
    return shutil.copytree(recorded, tmp_path / "results")


@pytest.fixture(scope="session")
def published_folder(pytestconfig):
    return pytestconfig.rootpath / "data" / "published"


@pytest.fixture(scope="module")
def made(recorded, published_folder, tmp_path_factory):
    """All that is made of the records, pictures too: what `artifacts.write` returns, and the folder."""
    folder = tmp_path_factory.mktemp("made")
    return write(recorded, folder, published_folder), folder


def written(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(results, folder, published_folder):
    """Tables and figures in a folder; what is loud."""
    return artifacts.write(results, folder / "tables", folder / "figures", published_folder)


def test_every_artifact_is_written(made):
    found, folder = made
    assert [finding.id for finding in found.audit[0].findings][::3] == list(artifacts.JUDGED)
    for kind, names in NAMES.items():
        assert {name for name, content in written(folder / kind).items() if content} == names


def test_what_was_never_repeated_is_said(made):
    assert [text.split(": ")[:2] for text in made[0].warnings] == [
        ["NEVER REPEATED", "qp/as-released.csv.gz"],
        ["ANOTHER PROTOCOL THAN TODAY'S", "qp/as-released.csv.gz"],
    ]


@pytest.mark.usefixtures("undrawn")
def test_each_variance_figure_has_its_own_points(record, fit_file, published_folder, tmp_path, monkeypatch):
    """Of its protocol and its data sets; twice as many test points under the second protocol."""
    drawn, paths = [], []
    for protocol, n_test in (("as-released", 2), ("corrected", 4)):
        for dataset in ("wine12", "coal"):
            where = {"dataset": dataset, "protocol": protocol}
            ep, qp = (record(method=m, latent_variance=[1.0] * n_test, **where) for m in ("ep", "qp"))
            paths.append(fit_file("all-000-000", [ep, with_pairs(qp, [ep])]))
    records.collect(paths, tmp_path / "results")

    def draw(fits, points, datasets, stem, title):
        shown = points[points["dataset"].isin(datasets)]
        drawn.append((stem.parent.name, stem.name, datasets, len(shown), title))
        return stem, stem.with_suffix(".png")

    monkeypatch.setattr(artifacts.figures, "predictive_variances", draw)
    write(tmp_path / "results", tmp_path, published_folder)
    assert sorted(drawn) == [
        ("as-released", "figure1a", ["wine12"], 2, "Classification, as-released"),
        ("as-released", "figure1b", ["coal"], 2, "Poisson regression, as-released"),
        ("corrected", "figure1a", ["wine12"], 4, "Classification, corrected"),
        ("corrected", "figure1b", ["coal"], 4, "Poisson regression, corrected"),
    ]


def test_partial_seeds_are_shown_as_such(made):
    tables = made[1] / "tables"
    with (tables / "qp_table1.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert {(line["row"], line["n_seeds"], line["n_attempted"]) for line in lines} == {
        ("Wine1", "1", "19"),
        ("Mining", "2", "2"),
    }
    text = (tables / "qp_table1.md").read_text()
    assert "- Wine1 qp (as-released), seed 1: 1 of 10 folds absent (9)" in text
    assert (tables / "qp_fidelity.md").read_text().count("not run") > 50


@pytest.mark.usefixtures("undrawn")
def test_a_method_alone_has_its_table_and_no_variance_figure(record, fit_file, published_folder, tmp_path):
    records.collect([fit_file("ep", [record(dataset="coal")])], tmp_path / "results")
    write(tmp_path / "results", tmp_path, published_folder)
    assert set(written(tmp_path / "tables")) == NAMES["tables"]
    assert set(written(tmp_path / "figures")) == {
        f"as-released/published.{kind}" for kind in ("pdf", "png", "csv")
    }


def test_no_records_and_damaged_ones_are_errors(results, published_folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="no records of the QP paper's fits"):
        write(tmp_path / "nowhere", tmp_path, published_folder)
    path = results / "qp" / "as-released.csv.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError, match=r"as-released\.csv\.gz"):
        write(results, tmp_path, published_folder)
    assert not (tmp_path / "tables").exists()


@pytest.mark.usefixtures("undrawn")
def test_ground_truth_and_lookup_tables_have_theirs_where_there_are_records(
    results, published_folder, tmp_path
):
    made = {"dataset": "wine12", "protocol": "as-released", "seed": 0, "fold": 0, "converged": True}
    effect = {**made, "projection": "quadrature", "ntll": 0.5, "outside_box": 0.25}
    errors = dict.fromkeys(LOOKUP_ERRORS.columns, 0) | {"projection": "quadrature", "likelihood": "probit"}
    records.put(results, {LOOKUP_EFFECT: [effect], LOOKUP_ERRORS: [errors | {"y": 1, "region": "box"}]})
    truth = {study: records.load(study, RESULTS) for study in (TRUTH, TRUTH_LATENTS)}
    records.save(results, truth, records.read_runs(RESULTS).values())
    audit = write(results, tmp_path, published_folder).audit[0]
    tables = written(tmp_path / "tables")
    assert {"qp_truth.csv", "qp_truth.md", "lookup.csv", "lookup.md"} <= set(tables)
    assert b"1 row made 20" in tables["lookup.md"]
    assert f"{len(truth[TRUTH])} rows made".encode() in tables["qp_truth.md"]
    assert "qp_truth.png" in written(tmp_path / "figures")
    assert "NEVER REPEATED: qp/lookup_effect.csv" in " ".join(audit.notes["QP9"])

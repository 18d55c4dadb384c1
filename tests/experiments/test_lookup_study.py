"""The study of lookup tables: its numbers, and files that the audit reads."""

import numpy as np
import pandas as pd
import pytest

from tilted import data, lookup, protocols
from tilted.experiments import lookup_study, qp
from tilted.results import lookup_tables, stamps, studies
from tilted.results.audit import lookup as audit


@pytest.fixture(scope="module")
def compared():
    return pd.DataFrame(lookup_study.compare([3], points=300, rows=1))


@pytest.fixture(scope="module")
def effects():
    """Two folds of Wine2 and one seed of the coal series."""
    lines = []
    for name, protocol, folds in (("wine13", "as-released", (0, 1)), ("coal", "as-described", (0,))):
        block = protocols.block(protocol, qp.task_of(name))
        dataset = data.load(name, block["variant"])
        records = [r for fold in folds for r in qp.run_cell(dataset, protocol, "ep", 0, fold)]
        failed = {**records[0], "fold": 7, "hyperparameters": None}
        lines += lookup_study.effects(dataset, protocol, [*records, failed], lookup.build())
    return lines


def test_errors_and_sizes(compared):
    assert tuple(compared.columns) == lookup_study.COLUMNS
    at = compared.set_index(["projection", "likelihood", "region"]).sort_index()
    assert set(at.loc["certified"].index) == {("probit", "box"), ("probit", "plane")}
    assert np.all(at.loc["certified", "error_max"] < 1e-10) and np.all(at.loc["certified", "bytes"] <= 65536)
    assert np.all(at.loc["quadrature", ["error_max", "above_gap"]] == 0)
    paper = at.loc["as-described"]
    assert 1e-6 < paper.loc[("probit", "box"), "error_max"] < 2.1e-6
    assert 0.3 < paper.loc[("probit", "box"), "above_gap"] < 0.6
    assert paper.loc[("probit", "plane"), "error_max"] > 0.05  # EP's variance
    assert np.all(paper["bytes"] == 8 * 20001 * 2001) and np.all(paper["build_seconds"] > 100)


def test_effects(effects):
    by = {(line["dataset"], line["fold"], line["projection"]): line for line in effects}
    names = ("quadrature", "certified", "as-described")
    assert set(by) == {("wine13", f, n) for f in (0, 1) for n in names} | {
        ("coal", 0, n) for n in names if n != "certified"
    }
    assert all(line["converged"] and 0 <= line["outside_box"] <= 1 for line in by.values())
    for fold in (0, 1):
        exact, certified, paper = (by["wine13", fold, name]["ntll"] for name in names)
        assert abs(certified - exact) < 1e-9 < abs(paper - exact) < 1e-3


def test_the_box_has_four_sides():
    """|mu| <= 10 and 0.1 <= sigma <= 10; each cavity but the first two violates one of them."""
    m = np.array([0.0, -9.9, 10.1, -10.1, 0.0, 0.0])
    v = np.array([1.0, 99.0, 1.0, 1.0, 101.0, 0.0099])
    assert lookup_study.outside_box(m, v).tolist() == [False, False, True, True, True, True]


def test_effects_are_those_of_the_protocols_qp(effects):
    dataset = data.load("wine13", "as-released")
    ep = qp.run_cell(dataset, "as-released", "ep", 0, 1)[0]
    released = qp.run_cell(dataset, "as-released", "qp", 0, 1, ep)[0]
    assert effects[3]["ntll"] == pytest.approx(released["ntll"], abs=1e-9)


def test_files(compared, effects, tmp_path):
    stamp = stamps.columns("0123")
    lost = {**effects[-1], "seed": 5, "converged": False, "ntll": 99.0, "outside_box": None}
    none = {**lost, "seed": 6, "ntll": None}
    exact = [{**effects[-2], "seed": seed} for seed in (5, 6)]
    lines = [{**line, **stamp} for line in [*effects, *exact, lost, none]]
    lookup_tables.record(compared.to_dict("records"), lines, tmp_path)
    errors, effect = (studies.read(tmp_path, name) for name in (studies.ERRORS, studies.EFFECT))
    assert len(effect) == len(lines) and (~effect["converged"]).sum() == 2
    assert list(dict.fromkeys(effect["dataset"])) == ["coal", "wine13"]  # as-described comes first
    csv, markdown = lookup_tables.write(errors, effect, tmp_path / "tables")
    shown = pd.read_csv(csv)
    assert tuple(shown.columns) == lookup_study.COLUMNS and len(shown) == len(compared)
    text = markdown.read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines()]
    (mining,) = (row for row in cells if row[:3] == ["as-described", "Mining", "as-described"])
    assert mining[3:5] == ["1 of 3", "1 of 3"] and float(mining[5]) < 1e-3  # the unconverged 99 is left out
    (wine,) = (row for row in cells if row[:3] == ["as-released", "Wine2", "certified"])
    assert wine[3:5] == ["2 of 2", "2 of 2"] and (wine[5] == "< 1e-11" or float(wine[5]) < 1e-9)
    assert "320 MB" in text and "41 kB" in text
    assert text.count("Made by today's source") == 1 and "source 0123" in text
    assert audit.unstable(effect, "as-released")[0].lines[0].note == "no fits"

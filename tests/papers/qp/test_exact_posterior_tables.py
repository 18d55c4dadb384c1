"""Ground truth summarised: every number worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from papers.core import style
from papers.core.store import write_csv
from papers.qp.accuracy import figures, tables
from papers.qp.accuracy.records import TRUTH, TRUTH_LATENTS, rows_of_truth


def make_truth(dataset="wine12", se=0.01, fold=0):
    """Exact means 1, 2 and variances 1, 4 at training and test inputs, all with relative error ``se``."""
    both = {
        "mean": [1.0, 2.0],
        "variance": [1.0, 4.0],
        "se_mean": [0.01, 0.02],
        "se_variance": [se, 4 * se],
        "effective_size": [9e3, 8e3],
    }
    test = {"log_density": [-0.2, -0.4], "se_log_density": [0.001, 0.003]}
    methods = {
        "ep": (0.9, 0.1, [-0.2, -0.3]),
        "qp": (0.8, 0.05, [-0.25, -0.35]),
        "vb": (0.3, 0.6, [-0.1, -0.2]),
    }
    for method, (factor, shift, density) in methods.items():
        both[f"mean_{method}"], both[f"variance_{method}"] = [1.0 + shift, 2.0], [factor, 4.0 * factor]
        test[f"log_density_{method}"] = density
    return {
        **{"dataset": dataset, "seed": 0, "fold": fold, "log_evidence": -5.0, "se_log_evidence": 0.01},
        **{"log_evidence_ep": -5.2, "log_evidence_qp": -5.3, "log_evidence_vb": -9.0},
        "latents": {"train": dict(both), "test": both | test},
        "details": {
            "sampler": {"chains": 8, "iterations": 100, "sweeps": 0},
            "annealing": {"steps": 10, "runs": 100, "effective": 90.0, "share_of_heaviest": 0.02},
            "seconds": {"sampling": 1.0, "annealing": 2.0},
            "train": {"r_hat_max": 1.002},
            "test": {"r_hat_max": 1.002},
        },
    }


def frames(*records):
    """The rows of records of ground truth as frames."""
    rows = [list(rows_of_truth({**record, "run": "r"})) for record in records]
    return [
        pd.DataFrame([row for of_record in rows for study, row in of_record if study is wanted])
        for wanted in (TRUTH, TRUTH_LATENTS)
    ]


def summary(*records):
    return tables.summarise_truth(*frames(*records))


@pytest.fixture
def records():
    mirror = {"log_odds": -28.7, "se_log_odds": 0.02, "r_hat_both_signs": 2.2, "ended_at_other_sign": 16}
    coal = make_truth("coal")
    coal["details"]["mirror"] = mirror
    return [make_truth("wine12"), coal]


def test_splits_are_taken_together_and_their_errors_are_independent():
    first, second = make_truth(), make_truth(se=0.03, fold=1)
    second["log_evidence"] = -5.4
    table = summary(first, second)
    assert len(table) == 6
    ep = table[(table.method == "ep") & (table.part == "train")].iloc[0]
    assert (ep.splits, ep.n) == (2, 4)
    assert ep.log_variance_bias == pytest.approx(np.log(0.9))
    assert ep.log_variance_bias_se == pytest.approx(np.hypot(0.02, 0.06) / 4)
    assert ep.log_variance_noise == pytest.approx(np.sqrt((0.01**2 + 0.03**2) / 2))
    assert ep.evidence_error == pytest.approx((-0.2 + 0.2) / 2)
    assert ep.evidence_se == pytest.approx(0.01 / np.sqrt(2))


def test_the_numbers_of_a_line(records):
    table = summary(*records)
    assert tuple(table.columns) == tables.TRUTH_COLUMNS and len(table) == 2 * 3 * 2
    qp = table[(table.row == "Wine1") & (table.method == "qp") & (table.part == "test")].iloc[0]
    assert qp.n == 2
    assert qp.mean_rms == pytest.approx(0.05 / np.sqrt(2))
    assert qp.mean_noise == pytest.approx(0.01)
    assert qp.log_variance_bias == qp["log_variance_bias"] == pytest.approx(np.log(0.8))
    assert qp.log_variance_rms == pytest.approx(-np.log(0.8))
    assert qp.log_variance_bias_se == qp.log_variance_noise == pytest.approx(0.01)
    assert (qp.closer_than_ep, qp.closer_low, qp.closer_high) == (0, 0, 0)
    assert (qp.above_exact, qp.below_exact) == (0, 1)
    assert qp.excess_over_ep == pytest.approx(np.log(0.8) ** 2 - np.log(0.9) ** 2)
    assert qp.excess_se == pytest.approx(2 * np.log(0.9 / 0.8) * 0.01)
    assert qp.ntll_difference == pytest.approx(0.0) and qp.ntll_exact == pytest.approx(0.3)
    assert qp.ntll_se == pytest.approx(0.002)
    assert qp.effective_size_min == 8e3
    assert np.isnan(qp.evidence_error)
    ep = table[(table.row == "Wine1") & (table.method == "ep") & (table.part == "train")].iloc[0]
    assert ep.evidence_error == pytest.approx(-0.2) and ep.evidence_se == 0.01 and ep.evidence_exact == -5.0
    assert np.isnan(ep.closer_than_ep) and np.isnan(ep.ntll_difference)


@pytest.mark.parametrize(
    "exact, shares, expected",
    [
        (0.80, (1.0, 1.0, 1.0), "QP closer"),
        (0.90, (0.0, 0.0, 0.0), "EP closer"),
        (0.8486, (0.0, 0.0, 1.0), "undecided"),  # the midpoint of the logs is 0.84853
        (0.8484, (1.0, 0.0, 1.0), "undecided"),
        # the midpoint times exp(-+ k se), k = 1.5 and 2.5 standard errors
        (0.72**0.5 * np.exp(-0.015), (1.0, 0.0, 1.0), "undecided"),
        (0.72**0.5 * np.exp(-0.025), (1.0, 1.0, 1.0), "QP closer"),
        (0.72**0.5 * np.exp(0.015), (0.0, 0.0, 1.0), "undecided"),
        (0.72**0.5 * np.exp(0.025), (0.0, 0.0, 0.0), "EP closer"),
    ],
)
def test_who_is_closer_is_decided_by_the_midpoint(exact, shares, expected):
    record = make_truth()
    variance = np.array([1.0, 4.0]) * exact
    record["latents"]["test"] |= {"variance": list(variance), "se_variance": list(0.01 * variance)}
    table = summary(record)
    qp = table[(table.method == "qp") & (table.part == "test")].iloc[0]
    assert (qp.closer_than_ep, qp.closer_low, qp.closer_high) == shares
    assert tables.verdict(qp) == expected


def test_latents_beyond_two_standard_errors_are_shown_to_be_on_a_side():
    record = make_truth()
    shifts = np.exp([0.021, 0.019])
    record["latents"]["test"]["variance_ep"] = list([1.0, 4.0] * shifts)
    record["latents"]["test"]["variance_qp"] = list([1.0, 4.0] / shifts)
    table = summary(record)
    sides = table[table.part == "test"].set_index("method")[["above_exact", "below_exact"]]
    assert sides.loc["ep"].tolist() == [0.5, 0.0] and sides.loc["qp"].tolist() == [0.0, 0.5]


def test_a_method_above_ep_is_treated_alike():
    """Nothing presumes that QP's variance is the smaller one."""
    record = make_truth()
    test = record["latents"]["test"]
    test["variance_ep"], test["variance_qp"] = test["variance_qp"], test["variance_ep"]
    table = summary(record)
    qp = table[(table.method == "qp") & (table.part == "test")].iloc[0]
    assert qp.closer_low == 1.0 and tables.verdict(qp) == "QP closer"


def write(records, folder):
    """All files made of records; their bytes."""
    splits, latents = frames(*records)
    table = tables.summarise_truth(splits, latents)
    csv = write_csv(folder / "qp_truth.csv", table)
    text = tables.write_truth_page(splits, latents, table, folder / "qp_truth.md", ["A note."])
    figures.truth(latents, table, folder / "f" / "qp_truth")
    drawn = [folder / "f" / f"qp_truth.{kind}" for kind in ("pdf", "png")]
    return [path.read_bytes() for path in (csv, text, *drawn)]


def page(records, folder):
    """Text of the page about records."""
    splits, latents = frames(*records)
    table = tables.summarise_truth(splits, latents)
    return tables.write_truth_page(splits, latents, table, folder / "qp_truth.md").read_text(encoding="utf-8")


def test_files_are_complete_and_reproducible(records, tmp_path):
    assert write(records, tmp_path / "a") == write(records, tmp_path / "b")
    table = pd.read_csv(tmp_path / "a" / "qp_truth.csv")
    assert list(table.columns) == list(tables.TRUTH_COLUMNS) and list(table.row.unique()) == [
        "Wine1",
        "Mining",
    ]
    text = (tmp_path / "a" / "qp_truth.md").read_text(encoding="utf-8")
    assert "\n\nA note.\n\n" in text and "EP closer" in text and "0.9000 | 0.8000 | 0.3000" in text
    assert "-28.70 ± 0.02" in text and "in equal parts, 16" in text
    assert (tmp_path / "a" / "f" / "qp_truth.png").stat().st_size > 5000


def test_the_page_has_means_densities_and_evidence(records, tmp_path):
    text = page(records, tmp_path)
    assert "| Wine1  | 0.0707 | 0.0354 | 0.4243 | 0.0100 |" in text  # means
    assert "| Wine1  | 300.000 | 2.000 |    -50.000 |     +0.000 |   -150.000 |" in text  # densities
    assert "| Wine1  | -5.000 | 0.010 |     -0.200 |     -0.300 |     -4.000 |" in text  # evidence


def test_the_sampler_is_as_good_as_its_worst_latent(records, tmp_path):
    """Of both parts: the least effective size, the largest R-hat."""
    for record, size, r_hat in zip(records, (7654.0, 8000.0), (1.002, 1.034), strict=True):
        record["latents"]["test"]["effective_size"] = [9e3, size]
        record["details"]["test"]["r_hat_max"] = r_hat
    lines = page(records, tmp_path).splitlines()
    heading = next(i for i, line in enumerate(lines) if "Min. size" in line)
    cells = [[cell.strip() for cell in lines[i].split("|")] for i in (heading, heading + 2, heading + 3)]
    shown = [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
    assert [(row["Min. size"], row["R-hat"]) for row in shown] == [("7,654", "1.002"), ("8,000", "1.034")]


def test_the_figure_shows_test_log_densities(records, monkeypatch):
    kept = []
    monkeypatch.setattr(style, "save", lambda figure, stem: kept.append(figure) or (stem, stem))
    splits, latents = frames(*records)
    figures.truth(latents, tables.summarise_truth(splits, latents), "x")
    panel = kept[0].axes[figures.TITLES.index("Test log density")]
    dots = [line.get_xdata()[0] for line in panel.lines if line.get_marker() in "os^"]
    assert dots == pytest.approx(2 * [-50.0, 0.0, -150.0])
    band = panel.patches[0]
    assert (band.get_x(), band.get_width()) == pytest.approx((-4.0, 8.0))  # two standard errors


def test_a_row_by_draws_has_no_chains(records, tmp_path):
    by_draws = make_truth("pima")
    sampler = {"draws": 5000, "effective": 1234.0, "share_of_heaviest": 0.01}
    by_draws["details"] |= {"sampler": sampler, "annealing": None, "seconds": {"drawing": 4.0}}
    by_draws["details"] |= dict.fromkeys(("train", "test"), {"r_hat_max": None})
    both = [records[0], by_draws]
    table = summary(*both)
    assert table.loc[table["dataset"] == "pima", "r_hat_max"].isna().all()
    assert table.loc[table["dataset"] == "wine12", "r_hat_max"].eq(1.002).all()
    text = page(both, tmp_path)
    (line,) = (each for each in text.split("## How it was sampled")[1].splitlines() if "Pima" in each)
    assert [cell.strip() for cell in line.strip("|").split("|")] == (
        ["Pima", "1", "5,000", "1,234", "-", "-", "no", "-", "8,000", "-", "-", "-", "-", "4"]
    )

"""Calibration curves by hand-worked numbers, and what the figure draws of them."""

import numpy as np
import pandas as pd
import pytest

from papers.qp.accuracy import figures as calibration
from papers.qp.accuracy.approximations import METHODS
from papers.qp.accuracy.tables import confidence, overconfidence

OWN = {"exact": [0.55, 0.9, 0.3, 0.97], "ep": [0.47, 0.85, 0.4, 0.99]}
ERROR = 0.01


def record(dataset, seed=0, fold=0, own=OWN["exact"]):
    where = {"dataset": dataset, "seed": seed, "fold": fold, "part": "test"}
    return [
        {**where, "point": k, "log_density": np.log(p), "se_log_density": ERROR} for k, p in enumerate(own)
    ]


def points(approximations, *records):
    return calibration.label_probabilities(approximations, pd.DataFrame(sum(records, [])))


def latents(*wheres, own=OWN["ep"], methods=METHODS):
    return pd.DataFrame(
        {
            "dataset": dataset,
            "seed": seed,
            "fold": fold,
            "method": method,
            "point": k,
            "log_density": np.log(p),
        }
        for dataset, seed, fold in wheres
        for method in methods
        for k, p in enumerate(own)
    )


def test_points_are_labels_with_approximations_and_an_exact_posterior():
    wheres = [("wine13", 0, 0), ("wine13", 0, 1), ("coal", 3, 0)]
    records = [record("wine13"), record("wine13", fold=1), record("coal", 3), record("glass")]
    table = points(latents(*wheres), *records)
    assert set(table["dataset"]) == {"wine13"} and len(table) == 8
    assert "sampled" not in table and set(calibration.COMPARED) <= set(table)
    assert table["exact"].tolist() == pytest.approx(OWN["exact"] * 2)
    assert table["se"].tolist() == pytest.approx([ERROR * p for p in OWN["exact"]] * 2)
    assert table["ep"].tolist() == pytest.approx(OWN["ep"] * 2)
    assert points(latents(*wheres), record("glass")).empty


def test_bins_of_confidence():
    own = np.array([0.55, 0.9, 0.3, 0.97, 0.44, 1.0, 0.5])
    assert confidence(own).tolist() == pytest.approx([0.55, 0.9, 0.7, 0.97, 0.56, 1.0, 0.5])
    found = calibration.binned(own)
    means = [np.mean([0.55, 0.56, 0.5]), 0.7, 0.9, 0.97, 1.0]
    assert [sure for sure, *_ in found] == pytest.approx(means)
    assert [(right, n) for _, right, n in found] == [(1, 3), (0, 1), (1, 1), (1, 1), (1, 1)]
    assert overconfidence(np.array([0.9, 0.3])) == pytest.approx(0.8 - 0.5)


def test_differences_are_of_the_label_that_is_likelier_by_the_exact_posterior():
    records = [record("wine13"), record("wine13", fold=1)]
    table = points(latents(("wine13", 0, 0), ("wine13", 0, 1)), *records)
    found = calibration.differences(table, "ep")
    assert found["confidence"].tolist() == pytest.approx([0.55, 0.7, 0.9, 0.97])
    assert found["bias"].tolist() == pytest.approx([-0.08, -0.1, -0.05, 0.02])  # by label
    # two splits with an independent error each
    assert found["noise"].tolist() == pytest.approx([ERROR * p / np.sqrt(2) for p in (0.55, 0.3, 0.9, 0.97)])
    alike = points(latents(("wine13", 0, 0), own=[0.61, 0.62]), record("wine13", own=[0.65, 0.66]))
    (line,) = calibration.differences(alike, "ep").itertuples()
    assert line.bias == pytest.approx(-0.04) and line.noise == pytest.approx(ERROR * 0.655)  # of one split


def points_in(drawn, panel):
    """Vertices in the panel whose title starts so."""
    shown = drawn[drawn["panel"].str.contains(panel)]
    return set(zip(shown["x"].round(6), shown["y"].round(6), strict=True))


def test_the_figure_draws_the_curves(tmp_path):
    table = points(latents(("wine13", 0, 0)), record("wine13"))
    calibration.calibration(table, tmp_path / "calibration")
    pdf, png = (tmp_path / f"calibration.{kind}" for kind in ("pdf", "png"))
    assert pdf.stat().st_size > 5000 and png.stat().st_size > 5000
    drawn = pd.read_csv(tmp_path / "calibration.csv")
    curves = points_in(drawn, "Calibration")
    assert {(0.53, 0.0), (0.6, 0.0), (0.85, 1.0), (0.99, 1.0), (0.55, 1.0), (0.97, 1.0)} <= curves
    assert set(drawn["series"]) >= {"calibrated", calibration.EXACT_LABEL, "EP", "VB"}
    assert {(0.55, -8.0), (0.7, -10.0)} <= points_in(drawn, "Against")

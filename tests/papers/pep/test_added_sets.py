"""Records of sets that no paper used: they have rows, with dashes for what is not printed, and no claims."""

from itertools import product

import pytest

from papers.pep import compare, scores
from papers.pep import tables as pep_tables
from papers.pep.records import REGRESSION

pytestmark = pytest.mark.usefixtures("added_sets")


def test_regressions_have_means_and_no_wins(fits_of_regressions):
    frame = scores.compared(fits_of_regressions)
    assert scores.datasets(frame) == ["boston", "springs"]
    assert set(scores.real(frame)["dataset"]) == {"boston"} and len(scores.made_up(frame)) == 0
    assert set(compare.means(frame)["dataset"]) == {"boston", "springs"}
    assert set(compare.wins(frame)["dataset"]) == {"all", "boston"}
    assert [line.split(":")[0] for line in pep_tables.covered(frame)] == ["UCI", "Others"]


def line(dataset, alpha, split):
    scores = {"nlml": 123.5, "smse": 0.125, "smll": -1.25}
    where = {"dataset": dataset, "split": split, "alpha": alpha, "m": 5, "start": "data"}
    where["protocol"] = "as-described"
    return {
        **where,
        "n_train": 455,
        "n_test": 51,
        **scores,
        "evaluations": 77,
        "outcome": "ok",
        "message": "",
    }


@pytest.fixture
def fits_of_regressions():
    wanted = product(("springs", "boston"), ("0", "1"), (0, 1))
    return REGRESSION.frame(line(*each) for each in wanted)

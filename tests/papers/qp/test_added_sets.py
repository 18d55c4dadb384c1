"""Records of sets that no paper used: they have rows, with dashes for what is not printed, and no claims."""

import pytest

from papers.qp import artifacts, published
from papers.qp.fit_rows import n_folds
from papers.qp.pairs import main_pair
from papers.qp.records import FITS
from papers.qp.results import Results
from papers.qp.table1 import rows as table1
from papers.qp.table1 import tables

RELEASED = FITS["as-released"]


pytestmark = pytest.mark.usefixtures("added_sets")


@pytest.fixture
def mixed(seed_of, line, frame):
    """Two folds a seed of a printed row and of an added one, one fold of added counts."""
    lines = []
    for method, error in (("ep", 0.1), ("qp", 0.12)):
        for dataset in ("pumps_2", "wine12"):
            lines += seed_of([error, 3 * error], dataset=dataset, method=method)
        lines.append(line(dataset="calls", method=method, test_error=1.2, ntll=1.6))
    return frame(lines)


def test_rows_orders_and_tasks():
    assert published.row_of("coal") == "Mining" and published.row_of("calls") == "calls"
    assert published.row_order(["pumps_2", "coal", "calls", "glass"]) == ["glass", "coal", "calls", "pumps_2"]
    assert [published.is_counts(name) for name in ("coal", "calls", "glass", "pumps_2")] == [1, 1, 0, 0]
    assert n_folds("calls") == 1 and n_folds("pumps_2") == 10
    qp = {"hyperparameters": {"variance": 1.0, "lengthscale": 1.0}}
    ep = dict.fromkeys(("ep", "ep-tune"), qp)
    assert main_pair({**qp, "dataset": "calls"}, ep) == "ep"
    assert main_pair({**qp, "dataset": "pumps_2"}, ep) == "ep-tune"


def test_the_table_has_their_rows_behind_the_printed_ones(mixed, results_of, published_csv, of_folds):
    of_folds(2)
    whole = results_of(mixed, published_csv)
    assert list(dict.fromkeys(whole.table["row"])) == ["Wine1", "calls", "pumps_2"]
    text = tables.markdown(whole)
    ours, theirs = text.split("| pumps_2 | ours ")[1].splitlines()[:2]
    assert ours.startswith("     |  20.0 ±") and set(theirs.replace("published", "").split()) == {"|", "-"}
    assert "1/-" in text and "1/100" in text
    assert set(table1.ntll_gaps(mixed)["row"]) == {"Wine1", "calls", "pumps_2"}


def test_latex_escapes_their_names(mixed, results_of, published_csv, of_folds):
    of_folds(2)
    whole = results_of(mixed, published_csv)
    text = tables.latex(whole)
    assert r"pumps\_2 & -- & --" in text and "fewer than the paper's: Wine1 1/1/0." in text


def test_claims_are_judged_without_them(mixed):
    results = Results("", "")
    results.rows = lambda study: mixed if study == RELEASED else study.frame()
    assert set(artifacts._of_fits(lambda fits, protocol: fits["dataset"])(results, "as-released")) == {
        "wine12"
    }

"""Records of sets that no paper used: they have rows, with dashes for what is not printed, and no claims."""

import pytest

from papers.core.store import RecordError
from papers.qp import artifacts, pairs, published
from papers.qp.lines import n_folds
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
    fits = {name: pairs.Fit({"variance": 1.0}, None) for name in ("ep", "ep-tune", "qp")}
    assert pairs.reference("calls", fits) == "ep" and pairs.reference("pumps_2", fits) == "ep-tune"


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


def test_records_of_unregistered_sets_are_refused(mixed):
    content = RELEASED.encode(mixed[mixed["dataset"] != "wine12"], "there")
    assert set(RELEASED.parse(content, "there")["dataset"]) == {"pumps_2", "calls"}
    with pytest.raises(RecordError, match="dataset iris, .*: no row in the published table and no entry"):
        RELEASED.encode(mixed.assign(dataset="iris"), "there")


def test_claims_are_judged_without_them(mixed):
    results = Results("", "")
    results.rows = lambda study: mixed if study == RELEASED else study.frame()
    assert set(artifacts._of_fits(lambda fits, protocol: fits["dataset"])(results, "as-released")) == {
        "wine12"
    }

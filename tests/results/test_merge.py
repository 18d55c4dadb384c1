"""New fits into old records: what is replaced, what is kept, and never a mixture."""

import dataclasses

import pandas as pd
import pytest

from tilted.results import compact, merge, runs
from tilted.results.store import RecordError


def stamp(date, source="ab"):
    return {"source": source, "choices": "cd", "environment": {"cpu": "fast"}, "date": date}


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results" / "qp"


@pytest.fixture
def fold(record, fits, results):
    """Fold fits of wine12 into the results; what changed.

    ``ntll`` and the variances tell the runs apart.
    """

    def fold_in(methods, seeds, ntll, date="2026-01-02", keep=True, **where):
        records = [
            record(
                method=m,
                seed=s,
                fold=k,
                ntll=ntll,
                latent_variance=[ntll + (m == "ep")],
                run=stamp(date),
                **where,
            )
            for m in methods
            for s in seeds
            for k in range(2)
        ]
        return merge.fold_in([fits("all", records, f"{ntll}")], results, keep)

    return fold_in


def ntlls(results, protocol="as-released"):
    """(method, seed) -> NTLLs of its folds."""
    frame = compact.read(results / f"{protocol}.csv.gz")
    return frame.groupby(["method", "seed"])["ntll"].apply(list).to_dict()


def content(results):
    return {path.name: path.read_bytes() for path in sorted(results.iterdir())}


def test_what_was_run_again_is_replaced_and_the_rest_kept(fold, results):
    fold(["ep"], [0, 1], 0.1)
    change = fold(["ep"], [1, 2], 0.2)
    assert ntlls(results) == {("ep", 0): [0.1] * 2, ("ep", 1): [0.2] * 2, ("ep", 2): [0.2] * 2}
    assert (change.added, change.replaced, change.kept, change.outdated) == (1, 1, 1, 0)
    assert str(change) == "1 seeds added, 1 replaced, 1 kept"
    entries = list(runs.entries(runs.read(results), compact.read(results / "as-released.csv.gz")))
    assert [(e["seeds"], e["n_attempted"]) for e in entries] == [("0-2", 6)]


def test_a_seed_is_never_a_mixture_of_two_runs(fold, results, record, fits):
    """The new run has one fold only: the old one's other fold goes."""
    fold(["ep"], [0], 0.1)
    merge.fold_in([fits("all", [record(ntll=0.2, run=stamp("2026-01-02"))], "one")], results)
    assert ntlls(results) == {("ep", 0): [0.2]}


def test_methods_datasets_and_protocols_are_replaced_apart(fold, results):
    fold(["ep", "vb"], [0], 0.1)
    fold(["vb"], [0], 0.2)
    fold(["ep"], [0], 0.3, dataset="wine13")
    fold(["ep"], [0], 0.4, protocol="corrected")
    assert ntlls(results)["vb", 0] == [0.2] * 2
    assert ntlls(results)["ep", 0] == [0.1, 0.1, 0.3, 0.3]
    assert ntlls(results, "corrected") == {("ep", 0): [0.4] * 2}


def test_a_run_of_an_earlier_day_is_passed_over(fold, results):
    fold(["ep"], [0], 0.1, date="2026-01-05")
    change = fold(["ep"], [0, 1], 0.2, date="2026-01-04")
    assert ntlls(results) == {("ep", 0): [0.1] * 2, ("ep", 1): [0.2] * 2}
    assert (change.added, change.replaced, change.kept, change.outdated) == (1, 0, 1, 1)
    assert "1 seeds passed over" in str(change)
    fold(["ep"], [0], 0.3, date="2026-01-05")  # the same day: the fit at hand
    assert ntlls(results)["ep", 0] == [0.3] * 2


def test_folding_again_changes_no_byte(fold, results):
    fold(["ep", "qp"], [0, 1], 0.1)
    before = content(results)
    fold(["ep", "qp"], [0, 1], 0.1)
    assert content(results) == before
    assert set(before) == {"as-released.csv.gz", "variances.csv.gz", "provenance.json"}


def test_the_order_of_machines_does_not_matter(fold, results):
    fold(["ep", "qp"], [0], 0.1)
    fold(["vb"], [0, 1], 0.2)
    fold(["ep", "qp"], [1], 0.3)
    one = content(results)
    for path in results.iterdir():
        path.unlink()
    fold(["ep", "qp"], [1], 0.3)
    fold(["ep", "qp"], [0], 0.1)
    fold(["vb"], [0, 1], 0.2)
    assert content(results) == one


def test_without_keeping_only_the_fits_at_hand_remain(fold, results):
    fold(["ep"], [0, 1], 0.1)
    change = fold(["ep"], [2], 0.2, keep=False)
    assert ntlls(results) == {("ep", 2): [0.2] * 2}
    assert (change.added, change.kept) == (1, 0)


def test_a_pair_stands_only_beside_its_own_ep_record(fold, results):
    """EP is run again, QP is not: QP's comparison was with another record and goes, as do its points."""
    fold(["ep", "qp"], [0, 1], 0.1)
    assert len(compact.read_variances(results / "variances.csv.gz")) == 4
    change = fold(["ep"], [0], 0.2)
    frame = compact.read(results / "as-released.csv.gz")
    qp = frame[frame["method"] == "qp"].set_index("seed")
    assert qp.loc[0, "pair"].tolist() == ["", ""] and qp.loc[0, "ratio_max"].isna().all()
    assert qp.loc[1, "pair"].tolist() == ["ep", "ep"] and qp.loc[1, "ratio_max"].notna().all()
    variances = compact.read_variances(results / "variances.csv.gz")
    assert set(variances["seed"]) == {1} and "2 QP fits lost" in str(change)
    assert "2 QP fits lost the EP record" in str(change)
    fold(["ep", "qp"], [0], 0.3)  # both again: the pair is back, with the new values
    variances = compact.read_variances(results / "variances.csv.gz")
    assert variances.loc[variances["seed"] == 0, "v_qp"].tolist() == [0.3, 0.3]


def test_qp_run_again_alone_has_no_pair(fold, results):
    fold(["ep", "qp"], [0], 0.1)
    fold(["qp"], [0], 0.2)
    frame = compact.read(results / "as-released.csv.gz")
    assert (frame["pair"] == "").all()
    assert compact.read_variances(results / "variances.csv.gz").empty


def test_moved_points_follow_their_fits(record, fits, results):
    """A moved pair (no main one) is kept while both of its fits are, and goes with either."""
    moved = {"variance": 3.0, "lengthscale": 2.0}
    trio = [record(method="qp"), record(method="ep", hyperparameters=moved)]
    merge.fold_in([fits("all", trio)], results)
    merge.fold_in([fits("all", [record(method="vb")], "vb")], results)
    assert set(compact.read_variances(results / "variances.csv.gz")["reference"]) == {"moved"}
    merge.fold_in([fits("all", [record(method="ep", hyperparameters=moved)], "ep")], results)
    assert compact.read_variances(results / "variances.csv.gz").empty


def test_old_records_without_provenance_are_kept_as_unknown(fold, results):
    fold(["ep"], [0], 0.1)
    (results / "provenance.json").unlink()
    fold(["ep"], [1], 0.2)
    entries = list(runs.entries(runs.read(results), compact.read(results / "as-released.csv.gz")))
    assert [(e["seeds"], e["source"]) for e in entries] == [("0", ""), ("1", "ab")]


@pytest.mark.parametrize("name", ["as-released.csv.gz", "variances.csv.gz", "provenance.json"])
def test_damaged_records_are_named_and_nothing_is_written(fold, results, name):
    fold(["ep", "qp"], [0], 0.1)
    path = results / name
    path.write_bytes(path.read_bytes()[:-9])
    before = content(results)
    with pytest.raises(RecordError, match=name):
        fold(["ep"], [1], 0.2)
    assert content(results) == before


@pytest.mark.parametrize("spoil", ["protocol", "variance"])
def test_everything_is_checked_before_the_first_write(fold, results, spoil):
    """The first protocol of the records is sound, what would be written after it is not."""
    fold(["ep", "qp"], [0], 0.1)
    before, records = content(results), merge.load(results)
    records.frame["ntll"] = 0.7
    if spoil == "protocol":
        second = records.frame.assign(protocol="corrected", outcome="unheard of")
        records = dataclasses.replace(records, frame=pd.concat([records.frame, second], ignore_index=True))
    else:
        records.variances["v_qp"] = -1.0
    with pytest.raises(RecordError, match="unknown outcome" if spoil == "protocol" else "not positive"):
        merge.save(records, results)
    assert content(results) == before

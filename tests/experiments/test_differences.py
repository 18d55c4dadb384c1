"""Derived protocols: how names resolve, what a change touches, and that each one runs."""

import copy

import pytest

from tilted import data, protocols
from tilted.experiments import qp
from tilted.results import differences

WINE, COAL = "wine13", "coal"


def test_a_derived_protocol_is_its_base_with_the_change():
    base = protocols.block("as-released", "classification")
    before = copy.deepcopy(base)
    ard = protocols.block("as-released+ard", "classification")
    assert ard == base | {"kernel": "ard"}
    own = protocols.block("as-released+qp-own-evidence", "classification")
    assert own["methods"]["qp"] == base["methods"]["qp"] | {"optimise": True, "gradient": "exact"}
    assert own["methods"]["ep"] == base["methods"]["ep"]
    assert base == before and protocols.block("as-released", "classification") is base


def test_merging_is_deep_and_leaves_both_alone():
    base, change = {"a": {"b": 1, "c": {"d": 2}}, "e": 3}, {"a": {"c": {"d": 4, "f": 5}}, "e": {"g": 6}}
    kept = copy.deepcopy(base), copy.deepcopy(change)
    assert protocols.merged(base, change) == {"a": {"b": 1, "c": {"d": 4, "f": 5}}, "e": {"g": 6}}
    assert (base, change) == kept


@pytest.mark.parametrize(
    "protocol, task, message",
    [
        ("as-released+arrd", "classification", "'as-released' has the differences: ard, loose-stop"),
        ("corrected+ard", "classification", "'corrected' has the differences: plain-folds$"),
        ("as-released+tuned-once", "classification", "unknown protocol"),  # two records of the base
        ("as-dreamt+ard", "classification", "known: as-released, as-described, corrected"),
        ("as-released+", "classification", "unknown protocol"),
        ("as-released+ard", "counts", "'ard' changes nothing for counts, only for classification"),
        ("as-released+ard", "ranking", "unknown task"),
    ],
)
def test_names_that_do_not_resolve(protocol, task, message):
    with pytest.raises(ValueError, match=message):
        protocols.block(protocol, task)


def test_derived_protocols_stay_out_of_the_list_of_protocols():
    assert not any(protocols.PLUS in name for name in protocols.names())
    assert len(set(protocols.derived())) == len(protocols.derived())


@pytest.mark.parametrize("name, entry", protocols.differences().items())
def test_entries_are_complete(name, entry):
    """One change or comparison, rows that it concerns and methods that there are."""
    assert set(entry) == {"base", "rows", "why"} | (
        {"change", "methods"} if "change" in entry else {"compare"}
    )
    tasks = {qp.task_of(row) for row in entry["rows"]}
    assert set(entry["rows"]) <= set(data.names()) and all(n >= 1 for n in entry["rows"].values())
    assert tasks == set(entry.get("change", tasks))
    for task in tasks:
        base = protocols.block(entry["base"], task)
        changed = base
        if "change" in entry:
            changed = protocols.block(entry["base"] + protocols.PLUS + name, task)
            assert changed != base
        names = entry.get("methods", entry.get("compare", {}))
        for record in [*names, *(entry.get("compare", {}).values())]:
            assert protocols.job_of(changed["methods"], record), record


METHOD_KEYS = set(
    "rule lookup start optimise tunings gradient min_precision mean kernel released".split()
    + ["released_link", "alpha"]
)
BLOCK_KEYS = set(
    "variant split standardise likelihood predictive mean start_kernel start_sites kernel sites".split()
    + ["search", "methods"]
)


def test_changes_name_keys_that_the_code_reads():
    """A misspelt key of a method would be ignored (`sites` and `search` refuse unknown ones themselves)."""
    for entry in protocols.differences().values():
        for change in entry.get("change", {}).values():
            assert set(change) <= BLOCK_KEYS
            for spec in change.get("methods", {}).values():
                assert set(spec) <= METHOD_KEYS


SMALL = [
    (protocol, WINE if task == "classification" else COAL)
    for protocol in protocols.derived()
    for task in protocols.differences()[protocol.partition(protocols.PLUS)[2]]["change"]
]


@pytest.mark.parametrize("protocol, dataset", SMALL)
def test_every_derived_protocol_runs_and_takes_its_change(protocol, dataset):
    """One fold; a change that the code does not read would leave every record as the base has it."""
    if protocol == "as-released+vb-right-gradient":
        pytest.skip("a thousand evaluations; tests/numerics/test_vb_joint.py has the gradient")
    entry = protocols.differences()[protocol.partition(protocols.PLUS)[2]]
    changed = {m: run(protocol, dataset, m) for m in entry["methods"]}
    base = {m: run(entry["base"], dataset, m) for m in entry["methods"]}
    assert all(record["log_evidence"] is not None for record in changed.values())
    if protocol.partition(protocols.PLUS)[2] in MAY_CHANGE_NOTHING.split():
        return
    keys = ("log_evidence", "ntll", "n_train")
    assert any(changed[m][key] != base[m][key] for m in changed for key in keys)


# variants of other data sets, and choices that may or may not matter to one fold
MAY_CHANGE_NOTHING = (
    "pima-once glass-without-id crabs-without-index ionosphere-34-columns sites-not-clipped search-of-text "
    "qp-second-tuning qp-inconsistent-gradient vb-right-kernel-gradient"
)
FITS: dict[tuple, dict] = {}


def run(protocol, dataset, method):
    """Record of seed 1, fold 0; each fit once."""
    task = qp.task_of(dataset)
    block = protocols.block(protocol, task)
    if (protocol, dataset, method) not in FITS:
        spec = protocols.method(protocol, task, method)
        start = run(protocol, dataset, spec["start"]) if "start" in spec else None
        job = protocols.job_of(block["methods"], method)
        for record in qp.run_cell(data.load(dataset, block["variant"]), protocol, job, 1, 0, start):
            FITS[protocol, dataset, record["method"]] = record
    return FITS[protocol, dataset, method]


def test_ard_as_a_method_of_the_corrected_protocol():
    ep, ard, qp_ard = (run("corrected", WINE, m) for m in ("ep", "ep-ard", "qp-ard"))
    assert isinstance(ep["hyperparameters"]["lengthscale"], float)
    assert len(ard["hyperparameters"]["lengthscale"]) == 13
    assert qp_ard["hyperparameters"] == ard["hyperparameters"]
    assert ard["log_evidence"] > ep["log_evidence"] + 0.1
    with pytest.raises(ValueError, match="no method 'ep-ard'"):
        protocols.method("corrected", "counts", "ep-ard")


def test_jobs_are_blocks_of_seeds():
    found = differences.jobs(["every-row-tested"], seeds=7, block=5)
    assert found[:4] == [
        ("as-released+every-row-tested", "wine13", "ep", 0, 4),
        ("as-released+every-row-tested", "wine13", "ep", 5, 6),
        ("as-released+every-row-tested", "wine13", "qp", 0, 4),
        ("as-released+every-row-tested", "wine13", "qp", 5, 6),
    ]
    assert found[-1] == ("as-released+every-row-tested", "sonar", "qp", 0, 1)
    every = differences.jobs()
    assert len(set(every)) == len(every) and {job[0] for job in every} == set(protocols.derived())
    for name in ("tuned-once", "nonesuch"):
        with pytest.raises(ValueError, match=f"no difference '{name}' to run; known: ard"):
            differences.jobs([name])

"""Derived protocols: how names resolve, that every choice of a change is seen, and that each one runs."""

import copy
import shutil
from dataclasses import dataclass, field

import pytest

from papers import data
from papers.core import records
from papers.qp import differences, protocols
from papers.qp import fits as qp
from papers.qp.records import DIFFERENCES, FITS
from tilted.kernels import SquaredExponential
from tilted.learning import search as hyperparameters
from tilted.numerics.optimise import lbfgs

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


def leaves(change, path=()):
    """Path of every choice that a change makes."""
    for key, value in change.items():
        yield from leaves(value, (*path, key)) if isinstance(value, dict) else [(*path, key)]


def without(change, path):
    """A change that leaves one of its choices as the base has it."""
    first, *rest = path
    kept = {key: value for key, value in change.items() if key != first}
    return kept | {first: without(change[first], rest)} if rest else kept


@dataclass(frozen=True)
class Cell:
    """Where a choice is seen: in the method that it is about, else in EP.

    Attributes
    ----------
    dataset : str
    seeds : tuple of int
        Fold 0 of at least one of them shows it.
    fixed : SquaredExponential, optional
        Only infer, at these hyperparameters.
    start : dict
        Record -> hyperparameters, for searches that start from a record.
    also : dict
        Changed on both sides.
    told : bool
        Look at what L-BFGS-B is told too: tolerances so close seldom end a search elsewhere.
    """

    dataset: str
    seeds: tuple[int, ...] = (1,)
    fixed: SquaredExponential | None = None
    start: dict[str, tuple[float, float]] = field(default_factory=dict)
    also: dict = field(default_factory=dict)
    told: bool = False


SHORT = {"search": {"max_iterations": 3}}
STARTS = {"ep-tune": (30.0, 4.0), "ep": (60.0, 4.0)}
COAL_START = {"ep": (0.5, 20.0)}
UNIT = SquaredExponential(1.0, 1.0)
CELLS = {
    ("ard", "classification"): Cell(WINE, also=SHORT),
    ("loose-stop", "classification"): Cell(
        WINE, also={**SHORT, "start_kernel": {"variance": 100.0, "lengthscale": 5.0}}
    ),
    ("loose-stop", "counts"): Cell(COAL, also=SHORT),
    ("search-of-code", "classification"): Cell(WINE, also=SHORT),
    ("stop-of-text", "classification"): Cell(WINE, fixed=SquaredExponential(100.0, 5.0)),
    ("stop-of-text", "counts"): Cell(COAL, fixed=SquaredExponential(0.3, 12.0)),
    # the probit's precisions are negative in trial steps only, which changes the number of sweeps
    ("sites-not-clipped", "classification"): Cell(WINE, fixed=SquaredExponential(1e4, 10.0)),
    ("sites-not-clipped", "counts"): Cell(COAL, fixed=SquaredExponential(0.3, 10.0), seeds=(1, 28, 33)),
    ("search-of-text", "classification"): Cell(WINE, told=True),
    ("search-of-text", "counts"): Cell(COAL, seeds=(0, 2, 10)),
    ("search-tight", "counts"): Cell(COAL, seeds=(4, 9, 11)),
    ("qp-second-tuning", "classification"): Cell(WINE, start=STARTS),
    ("qp-inconsistent-gradient", "classification"): Cell(WINE, start=STARTS, also=SHORT),
    ("qp-own-evidence", "classification"): Cell(WINE, start=STARTS, also=SHORT),
    ("qp-own-evidence", "counts"): Cell(COAL, start=COAL_START),
    ("coal-qp-not-searched", "counts"): Cell(COAL, start=COAL_START, also=SHORT),
    ("lookup-table", "classification"): Cell(WINE, start=STARTS),
    ("lookup-table", "counts"): Cell(COAL, start=COAL_START, also=SHORT),
    ("vb-right-gradient", "classification"): Cell(WINE, also={"search": {"max_iterations": 50}}),
    # away from alpha = 0, from which the wrong link lets no search go
    ("vb-right-kernel-gradient", "counts"): Cell(
        COAL, seeds=(0,), also={"methods": {"vb-joint": {"alpha": 0.1}}}
    ),
    ("pima-once", "classification"): Cell("pima", fixed=UNIT),
    ("glass-without-id", "classification"): Cell("glass", fixed=UNIT),
    ("crabs-without-index", "classification"): Cell("crabs", fixed=UNIT),
}
# What changes nothing: a column that is constant (tested below), the default said aloud.
UNSEEN = {
    ("ionosphere-34-columns", "classification", ("variant",)),
    ("qp-own-evidence", "classification", ("methods", "qp", "gradient")),
}
CHOICES = [
    choice
    for name, entry in protocols.differences().items()
    for task, change in entry.get("change", {}).items()
    for path in leaves(change)
    if (choice := (name, task, path)) not in UNSEEN
]


@pytest.fixture
def loaded(request, tmp_path):
    """Function: a data set; those that are not part of the package need the mirror."""

    def load(dataset, variant):
        if dataset in (WINE, COAL):
            return data.load(dataset, variant)
        home = tmp_path / "data"
        home.mkdir(exist_ok=True)
        shutil.copy(request.config.rootpath / "data" / "sources.yaml", home)
        return data.load(dataset, variant, home, str(request.getfixturevalue("mirror")))

    return load


@pytest.fixture
def seen(monkeypatch, loaded):
    """Function: what is seen of a cell when a difference makes a change."""
    told = []

    def listen(objective, x0, *tolerances):
        told.append(tolerances[:3])
        return lbfgs(objective, x0, *tolerances)

    monkeypatch.setattr(hyperparameters, "lbfgs", listen)

    def look(name, task, change, cell, method, seed):
        told.clear()
        entry = protocols.differences()[name]
        changed = {name: entry | {"change": {task: protocols.merged(change, cell.also)}}}
        with monkeypatch.context() as patch:
            patch.setattr(protocols, "differences", lambda: changed)
            protocol = entry["base"] + protocols.PLUS + name
            block, spec = protocols.block(protocol, task), protocols.method(protocol, task, method)
            given = cell.start.get(spec.get("start"))
            start = given and {"hyperparameters": dict(zip(("variance", "lengthscale"), given, strict=True))}
            dataset = loaded(cell.dataset, block["variant"])
            record = qp.run_fold(dataset, protocol, method, seed, 0, start, cell.fixed)[0]
        assert record["log_evidence"] is not None or change != entry["change"][task], record["status"]
        numbers = [record[key] for key in ("hyperparameters", "log_evidence", "ntll", "n_train")]
        work = [record["status"][key] for key in ("sweeps", "evaluations")]
        return [*numbers, *work, *(told if cell.told else [])]

    return look


WHOLE: dict = {}
"""What is seen of a whole change, by difference, task, method and seed: its choices share it."""


@pytest.mark.parametrize(
    "name, task, path", CHOICES, ids=[".".join((name, task, *path)) for name, task, path in CHOICES]
)
def test_every_choice_of_a_change_is_seen(name, task, path, seen):
    """A choice that the code does not read, or that is lost on the way, leaves every number as it was."""
    change = protocols.differences()[name]["change"][task]
    cell = CELLS.get((name, task), Cell(WINE if task == "classification" else COAL))
    method = path[1] if path[0] == "methods" else "ep"
    left_out = without(change, path)

    def whole(seed):
        at = name, task, method, seed
        if at not in WHOLE:
            WHOLE[at] = seen(name, task, change, cell, method, seed)
        return WHOLE[at]

    assert any(whole(seed) != seen(name, task, left_out, cell, method, seed) for seed in cell.seeds)


def test_a_constant_column_is_there_and_changes_nothing(loaded):
    base, changed = "as-released", "as-released+ionosphere-34-columns"
    variants = [protocols.block(name, "classification")["variant"] for name in (base, changed)]
    sets = [loaded("ionosphere", variant) for variant in variants]
    assert [dataset.X.shape[1] for dataset in sets] == [33, 34]
    (without_it,), (with_it,) = (
        qp.run_fold(dataset, name, "ep", 1, 0, fixed=UNIT)
        for dataset, name in zip(sets, (base, changed), strict=True)
    )
    for key in ("log_evidence", "ntll"):
        assert with_it[key] == pytest.approx(without_it[key], rel=1e-9)


RUNS = [
    (protocol, task)
    for protocol in protocols.derived()
    for task in protocols.differences()[protocol.partition(protocols.PLUS)[2]]["change"]
]


@pytest.mark.parametrize("protocol, task", RUNS)
def test_every_method_of_a_derived_protocol_runs(protocol, task, monkeypatch):
    block = protocols.block
    monkeypatch.setattr(protocols, "block", lambda *name: protocols.merged(block(*name), SHORT))
    for method in protocols.differences()[protocol.partition(protocols.PLUS)[2]]["methods"]:
        record = run(protocol, WINE if task == "classification" else COAL, method, {})
        assert record["log_evidence"] is not None, record["status"]["message"]


def run(protocol, dataset, method, fits):
    """Record of seed 1, fold 0, kept in ``fits`` with those it starts from."""
    task = qp.task_of(dataset)
    block = protocols.block(protocol, task)
    if method not in fits:
        spec = protocols.method(protocol, task, method)
        start = run(protocol, dataset, spec["start"], fits) if "start" in spec else None
        job = protocols.job_of(block["methods"], method)
        found = qp.run_fold(data.load(dataset, block["variant"]), protocol, job, 1, 0, start)
        fits |= {record["method"]: record for record in found}
    return fits[method]


def test_ard_as_a_method_of_the_corrected_protocol():
    fits: dict = {}
    ep, ard, qp_ard = (run("corrected", WINE, m, fits) for m in ("ep", "ep-ard", "qp-ard"))
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


# The document


DERIVED = "as-released+loose-stop"


@pytest.fixture
def recorded(line, frame, tmp_path):
    """Function: a folder of records with these lines."""

    def write(*lines):
        folder, made = tmp_path / "results", {}
        for name, study in FITS.items():
            ours = [x for x in lines if x["protocol"] == name]
            made |= {study: ours} if ours else {}
        derived = [x for x in lines if protocols.PLUS in x["protocol"]]
        records.put(folder, made | ({DIFFERENCES: derived} if derived else {}))
        return folder

    return write


@pytest.fixture
def document(tmp_path):
    """Function of a folder of records: the page made of them."""

    def write(folder):
        path = tmp_path / "differences.md"
        differences.write_all(folder, tmp_path / "differences.csv", path)
        return path.read_text(encoding="utf-8")

    return write


def section(text, name):
    return text.split(f"\n## {name}\n")[1].split("\n## ")[0].split("`.\n")[1].strip()


def test_the_page_says_which_fits_were_refitted(recorded, document, line):
    text = document(recorded(line(dataset="coal"), line(dataset="coal", protocol=DERIVED)))
    note = " ".join(text.split("\n## ")[0].split())
    assert "1 row made 20" in note and "none repeated." in note
    assert f"**NEVER REPEATED: qp/differences.csv.gz: {DERIVED} coal ep.**" in note
    assert section(text, "loose-stop").startswith("| Row")


def test_what_was_not_run_is_called_not_measured(recorded, document, line):
    """A base's records alone: EP tuned once and twice, no second QP."""
    lines = [
        line(protocol=protocol, dataset="coal", method=method, seed=seed)
        for protocol, methods in (("as-released", ("ep", "ep-tune", "qp")), ("corrected", ("ep",)))
        for method in methods
        for seed in (0, 1)
    ]
    text = document(recorded(*lines))
    assert "No fits of changed protocols yet" in text.split("\n## ")[0]
    assert section(text, "coal-tuned-once").startswith("| Row")
    # its EP is the base's on both sides, which is no measurement
    assert section(text, "qp-own-corrected") == section(text, "loose-stop") == "Not measured yet."


def test_effects_are_over_the_seeds_that_both_have(line, frame, of_folds):
    """Two folds a seed; the third seed of the change lacks one."""
    of_folds(2)
    lines = []
    for protocol, shift in (("as-released", 0.0), (DERIVED, 0.25)):
        for method, ntll in (("ep", 0.5), ("qp", 0.4)):
            shifts = [shift, 2 * shift if method == "ep" else shift, 9.0]
            lines += [
                line(
                    protocol=protocol,
                    dataset="wine12",
                    method=method,
                    seed=seed,
                    fold=fold,
                    ntll=ntll + shifts[seed],
                )
                for seed in range(3)
                for fold in range(1 if (seed, shift > 0) == (2, True) else 2)
            ]
    table = differences.effects(frame(lines))
    ntll = table[table["metric"] == "NTLL"].set_index("method")
    assert ntll.loc["ep", ["n_seeds", "n_fits"]].tolist() == [2, 4]
    assert ntll.loc["ep", "effect"] == pytest.approx(375.0) and ntll.loc["ep", "se"] == pytest.approx(125.0)
    assert ntll.loc["qp", ["effect", "se"]].tolist() == pytest.approx([250.0, 0.0])
    assert ntll.loc["qp - ep", "effect"] == pytest.approx(-125.0)


def test_the_share_of_experiments_that_qp_wins_is_by_fold(line, frame, of_folds):
    """Base: QP ahead on one fold of two, and on both; change: on none, and on one. A tie is no win."""
    of_folds(2)
    ahead = {"as-released": [(True, False), (True, True)], DERIVED: [(False, False), (False, True)]}
    lines = [
        line(protocol=name, dataset="wine12", method=method, seed=seed, fold=fold, ntll=0.5 - (0.1 * won))
        for name, seeds in ahead.items()
        for seed, folds in enumerate(seeds)
        for fold, wins in enumerate(folds)
        for method, won in (("ep", False), ("qp", wins))
    ]
    table = differences.effects(frame(lines))
    (found,) = table[(table["metric"] == "ahead") & (table["row"] == "Wine1")].to_dict("records")
    assert found["method"] == "qp - ep" and found["n_seeds"] == 2
    assert [found[k] for k in ("base_mean", "change_mean", "effect", "se")] == [0.75, 0.25, -0.5, 0.0]

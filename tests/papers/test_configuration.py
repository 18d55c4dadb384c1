"""What a configuration asks for, which edits touch what, and what is refused: without Snakemake."""

import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml

from papers import configuration
from papers.core import files
from papers.core.slices import Slice
from papers.pep import regression
from papers.pep.jobs import lacking
from papers.pep.records import power

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = "name: small\nresults: results/preview\ntables: tables/preview\nfigures: figures/preview\n"
QP = """\
qp:
  as-released:
    methods: [ep, qp]
    rows:
      wine13: {seeds: 1, block: 1}
      coal: {seeds: 3, block: 2}
"""
PEP = """\
pep:
  one:
    alphas: [0.5, full]
    m: [4]
    rows:
      synthetic: {splits: 3, block: 2}
  two:
    alphas: [1]
    m: [4]
    starts: [data, k-means]
    rows:
      wine_red: {splits: 1, block: 1}
toy: {splits: 3, block: 2, n_train: [500]}
pep_classification:
  three:
    protocols: [as-released, corrected]
    alphas: [1]
    m: [4]
    rows:
      banana: {splits: 2, block: 1}
      crabs: {splits: 1, block: 1}
"""
MNIST = """\
mnist:
  one: {alphas: [0.5, 1], m: [4], seeds: 2, steps: 2}
  two: {alphas: [0.5], m: [4], seeds: 1, steps: 2}
"""
REP = """\
rep:
  points: {sets: 2, block: 1}
  sets:
    blobs: {splits: 4, block: 2, flips: [0.1, 0.2]}
    heart: {splits: 3, block: 2, flips: [0], own: 3}
    pima: {splits: 2, block: 2, flips: [0]}
  boundary: {split: 0, steps: 5}
"""
PESC = """\
pesc:
  accuracy: {problems: 1}
  searches: {repeats: 1, evaluations: 5}
"""
TRUTH = """\
truth:
  wine13: {chains: 8, iterations: 40, runs: 16, share: 0.9}
"""
LOOKUP = (ROOT / "config/lookup.yaml").read_text(encoding="utf-8").partition("\nlookup:")[2]
ALL = FOLDERS + QP + PEP + MNIST + REP + PESC + TRUTH + f"lookup:{LOOKUP}"


def asked(text):
    return configuration.asked(yaml.safe_load(text))


def of_file(name):
    return configuration.asked(files.read_yaml(ROOT / f"config/{name}.yaml"))


def counts(found):
    return Counter(job.kind for job in found.jobs.values())


@pytest.fixture(scope="module")
def everything():
    return asked(ALL)


# --- what is asked for


def test_every_file_of_printed_numbers_is_some_papers():
    here = Path(__file__).parents[2] / "data/published"
    listed = sorted(name for files in configuration.PRINTED.values() for name in files)
    assert listed == sorted(path.name for path in here.glob("*.csv"))


def test_table_1_asks_for_a_job_a_method_and_block_of_seeds():
    found = asked(FOLDERS + QP)
    fits = [path.removeprefix("data/fits/qp/as-released/") for path in found.paths()]
    assert fits == [
        "wine13/ep-000-000.jsonl.gz",
        "wine13/qp-000-000.jsonl.gz",
        *(f"coal/{method}-{block}.jsonl.gz" for method in ("ep", "qp") for block in ("000-001", "002-002")),
    ]
    ep, qp = (found.jobs[f"data/fits/qp/as-released/{name}"] for name in fits[:2])
    assert ep.files == {"data": "data/standard/as-released/wine13.h5"}
    assert qp.files == {**ep.files, "start": ep.path, "table": "data/lookup/probit.table"}
    assert (ep.fits, found.jobs["data/fits/qp/as-released/coal/ep-000-001.jsonl.gz"].fits) == (10, 2)
    assert ep.choices["method"]["rule"] == "ep" and qp.choices["method"]["start"] == "ep-tune"
    assert found.files() == ["qp/as-released.csv.gz", "qp/variances.csv.gz"]
    assert "figure1a" in str(found.figures) and "paired" in str(found.figures)


def test_a_method_brings_the_one_it_starts_from_which_is_not_recorded():
    found = asked(FOLDERS + QP.replace("[ep, qp]", "[qp]"))
    starts = [path for path, job in found.jobs.items() if "/ep-" in path and not job.keep]
    assert len(starts) == 3 and len(found.paths()) == 3


def test_recorded_jobs_are_reused_when_asked_and_only_whole_ones():
    kept = {
        "name": "small",
        "results": "data/rows/small",
        "tables": "tables",
        "figures": "figures",
        "keep_records": True,
    }
    rows = {"coal": {"seeds": 201, "block": 100}}
    config = {**kept, "qp": {"as-released": {"methods": ["ep"], "rows": rows}}, "reuse": True}
    asked = configuration.asked(config)
    assert asked.paths() == ["data/fits/qp/as-released/coal/ep-200-200.jsonl.gz"]
    assert "data/fits/qp/as-released/coal/ep-000-099.jsonl.gz" in asked.jobs
    assert len(configuration.asked({**config, "reuse": False}).paths()) == 3
    with pytest.raises(ValueError, match="reuse: .*keep_records"):
        configuration.asked({**config, "tables": "t", "figures": "f", "keep_records": False})


def job_of_grid(**grid):
    """The job of two splits of a data set, as described."""
    rows = {"rows": {"boston": {"splits": 2, "block": 2}}}
    folders = {"name": "small", "results": "elsewhere", "tables": "of/tables", "figures": "of/figures"}
    found = configuration.asked({**folders, "pep": {"some": {**grid, **rows}}})
    return found.jobs["data/fits/pep/some/boston/00-01.jsonl.gz"]


def lines_of(job, without=()):
    """All lines of a job of regressions, but for some (split, power, M)."""
    cells = [
        (split, alpha, m) for split in (0, 1) for alpha, m, _ in regression.cells(job.parameters["grid"])
    ]
    told = {"dataset": "boston", "protocol": "as-described", "start": "data"}
    return pd.DataFrame(
        [
            {**told, "split": split, "alpha": power(alpha), "m": m}
            for split, alpha, m in cells
            if (split, alpha, m) not in without
        ]
    )


def test_a_job_recorded_in_part_makes_the_powers_and_sizes_that_lack_a_split():
    job = job_of_grid(alphas=[0, 0.5, 1, "full"], m=[5, 10, 20])
    assert job.fits == 2 * 10

    def left(*without):
        found = lacking(job, lines_of(job, without))
        return found.parameters["grid"]["alphas"], found.parameters["grid"]["m"], found.fits

    assert left((1, 0.5, 10)) == ([0.5], [10], 2)
    assert left((0, 0, 20), (1, 1, 5)) == ([0, 1], [5, 20], 8)
    assert left((1, "full", 0)) == (["full"], [5], 2)
    assert left() == ([0, 0.5, 1, "full"], [5, 10, 20], 20)  # `reused` leaves it out as a whole
    assert lacking(job, lines_of(job)[:0]).fits == 20
    others = lines_of(job).assign(protocol="converged")
    assert lacking(job, others).parameters == job.parameters


def test_recorded_powers_are_not_made_again_when_reuse_is_asked_for():
    """Of committed records: ten splits of Boston have 0 and 0.5, none has 0.55."""
    kept = {"name": "small", "results": "data/rows/small", "tables": "tables", "figures": "figures"}
    grid = {"alphas": [0, 0.5, 0.55], "m": [5, 10], "rows": {"boston": {"splits": 2, "block": 2}}}
    config = {**kept, "keep_records": True, "pep": {"some": grid}}
    path = "data/fits/pep/some/boston/00-01.jsonl.gz"
    assert configuration.asked({**config, "reuse": True}).remaining(path).parameters["grid"]["alphas"] == [
        0.55
    ]
    assert configuration.asked(config).remaining(path).parameters["grid"]["alphas"] == [0, 0.5, 0.55]


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ({"pesc": {"searches": {"repeats": 1, "evaluations": 40}}}, "evaluations"),
        ({"rep": {"exact": {"split": 0, "chains": 128, "iterations": 8000}}}, "iterations"),
        ({"rep": {"exact": {"split": 0, "chains": 128, "iterations": 8000}}}, "split"),
        ({"rep": {"boundary": {"split": 0, "steps": 61}}}, "steps"),
        ({"lookup": {"study": {"seeds": 4}}}, "seeds"),
    ],
)
def test_what_a_job_makes_says_how_much_of_it(asked, more):
    """Jobs of longer searches, finer grids, other splits are not those that the records have."""
    paper = files.read_yaml(ROOT / "config" / "paper.yaml")
    lookup = files.read_yaml(ROOT / "config" / "lookup.yaml")
    ((section, part),) = asked.items()
    base = {**paper, "lookup": lookup["lookup"]}[section]
    ((name, changed),) = part.items()
    kept = {"name": "x", "results": "data/rows/x", "tables": "t", "figures": "f", "keep_records": True}

    def reused(values):
        config = {**kept, "reuse": True, section: {**base, name: {**base.get(name, {}), **values}}}
        made = configuration.asked(config)
        kinds = {"searches": "pesc_searches", "study": "qp_lookup_effect"}
        of = [j.path for j in made.jobs.values() if j.kind == kinds.get(name, "rep_picture")]
        of = [path for path in of if name not in ("exact", "boundary") or f"/{name}/" in path]
        assert of
        return [path in made.reused for path in of]

    recorded, other = reused(changed), reused({**changed, more: 5 * changed[more] + 5})
    assert any(recorded) and not any(other)


def test_a_block_is_whole_if_it_has_all_units_and_enough_lines():
    study = object()
    frame = pd.DataFrame({"method": ["ep"] * 5, "seed": [0, 0, 1, 1, 3]})
    for seeds, least, whole in [(range(2), 4, True), (range(2), 5, False), (range(3), 4, False)]:
        assert Slice(study, {"method": ["ep"], "seed": seeds}).covers(frame, least) is whole


def test_a_block_is_whole_if_all_that_its_job_writes_is_there_of_every_unit():
    """Lines of one method do not stand for those of another, however many they are."""
    frame = pd.DataFrame({"method": ["vb"] * 4 + ["vb-released"], "seed": [0, 0, 1, 1, 0]})
    for seeds, whole in [(range(1), True), (range(2), False)]:
        assert Slice(object(), {"method": ["vb", "vb-released"], "seed": seeds}).covers(frame, 2) is whole
    assert not Slice(object(), {"split": ["1"]}).covers(pd.DataFrame({"split": ["0"]}), 0)
    jobs = configuration.asked(files.read_yaml(ROOT / "config" / "paper.yaml")).jobs.values()
    lines = {job.path: job.rows[0] for job in jobs if job.rows}
    path = "data/fits/qp/{}/wine12/{}.jsonl.gz"
    assert lines[path.format("as-released", "vb-joint-000-049")].where["method"] == [
        "vb-joint",
        "vb-joint-released",
    ]
    assert lines[path.format("as-released", "ep-000-099")].where["method"] == ["ep", "ep-tune"]
    assert lines[path.format("as-described", "ep-000-009")].where["method"] == ["ep"]


def test_regressions_under_both_protocols():
    found = asked(FOLDERS + PEP.replace("  two:\n", "  two:\n    protocols: [as-described, converged]\n"))
    paths = [path for path in found.paths("pep") if "/two/" in path]
    assert paths == [
        "data/fits/pep/two/wine_red/00-00.jsonl.gz",
        "data/fits/pep/two/converged/wine_red/00-00.jsonl.gz",
    ]
    grids = [found.jobs[path].parameters["grid"] for path in paths]
    assert [grid["protocol"] for grid in grids] == ["as-described", "converged"]
    assert found.jobs[paths[1]].part == "PEP two converged" != found.jobs[paths[0]].part
    with pytest.raises(ValueError, match="pep.two.protocols.0: unknown 'patient'"):
        asked(FOLDERS + PEP.replace("  two:\n", "  two:\n    protocols: [patient]\n"))


def test_grids_of_power_ep():
    found = asked(FOLDERS + PEP)
    assert [path.removeprefix("data/fits/") for path in found.jobs] == [
        "pep/one/synthetic/00-01.jsonl.gz",
        "pep/one/synthetic/02-02.jsonl.gz",
        "pep/two/wine_red/00-00.jsonl.gz",
        *(
            f"pep-classification/three/{protocol}/{block}.jsonl.gz"
            for protocol in ("as-released", "corrected")
            for block in ("banana/00-00", "banana/01-01", "crabs/00-00")
        ),
        "pep-toy/00-01.jsonl.gz",
        "pep-toy/02-02.jsonl.gz",
    ]
    one, _, two, *classes = found.jobs.values()
    asked_for = {"protocol": "as-described", "alphas": [0.5, "full"], "m": [4]}
    assert one.files == {} and one.parameters["grid"] == asked_for and one.fits == 4
    assert two.files == {"data": "data/standard/regression/wine_red.h5"} and two.fits == 2
    assert two.parameters["grid"]["starts"] == ["data", "k-means"]
    assert two.parameters["grid"]["protocol"] == "as-described"
    assert classes[5].files == {"data": "data/standard/classification/corrected/crabs.h5"}
    assert classes[5].parameters["grid"]["protocol"] == "corrected"
    assert classes[0].choices == {} and set(classes[5].choices) == {"search"} and two.choices == {}
    files = ["pep/regression.csv.gz", "pep/classification.csv.gz", "pep/toy.csv"]
    assert found.files("pep") == files and found.files("qp") == []
    assert found.tables == [f"pep{name}" for name in (".md", "_wins.csv", "_ranks.csv", "_means.csv")] + [
        f"pep_classification{protocol}{name}"
        for protocol in ("", "_corrected")
        for name in (".md", "_wins.csv", "_ranks.csv", "_means.csv")
    ] + ["pep_datasets.md"]
    assert found.figures == ["pep"]


def test_a_training_that_two_grids_ask_for_is_one():
    found = asked(FOLDERS + MNIST)
    assert [path.rpartition("/")[2] for path in found.jobs] == [
        f"alpha{alpha}-m4-seed{seed}.jsonl.gz" for alpha in ("0.5", "1") for seed in (0, 1)
    ]
    (raw,) = {job.files["raw"] for job in found.jobs.values()}
    assert len(raw) == 4 and all(path.startswith("data/raw/mnist/") for path in raw)


def test_the_committed_tables_of_power_ep_are_asked_for():
    asked_for = {name for file in ("paper", "pep-converged") for name in of_file(file).tables}
    committed = {path.name for path in (ROOT / "tables").glob("pep*")}
    assert committed and committed <= asked_for


def test_relaxed_ep_chooses_before_it_fits():
    found = asked(FOLDERS + REP)
    assert counts(found) == {
        "rep_choice": 2 + 3 + 1,  # once a set and share of flips, and on two more splits of heart
        "rep_fit": 4 + 2 + 1,
        "rep_own": 2,
        "rep_points": 2,
        "rep_picture": 2,
    }
    chosen_on = {path: job.files["choices"] for path, job in found.jobs.items() if "choices" in job.inputs}
    folder = "data/fits/rep"
    assert chosen_on[f"{folder}/fits/heart-0/002-002.jsonl.gz"] == f"{folder}/choices/heart-0/000.jsonl.gz"
    assert chosen_on[f"{folder}/own/heart-0/002.jsonl.gz"] == f"{folder}/choices/heart-0/002.jsonl.gz"
    assert chosen_on[f"{folder}/boundary/0.2.jsonl.gz"] == f"{folder}/choices/blobs-0.2/000.jsonl.gz"
    data = [job for job in found.jobs.values() if "data" in job.inputs]
    assert {job.files["data"] for job in data} == {f"data/standard/relaxed/{n}.h5" for n in ("heart", "pima")}
    assert found.files() == [
        f"rep/{name}.csv.gz" for name in ("points", "fits", "curves", "choices", "boundary")
    ]


def test_the_study_of_tables_needs_fits_which_it_does_not_record():
    found = asked(f"{FOLDERS}lookup:{LOOKUP}")
    errors, *effects = found.paths()
    assert (
        "errors" in errors
        and len(effects) == 12
        and found.files() == ["qp/lookup.csv", "qp/lookup_effect.csv"]
    )
    for path in effects:
        needed = found.jobs[path].files
        start = found.jobs[needed["records"]]
        assert not start.keep and start.path.endswith("/ep-000-003.jsonl.gz")
        assert needed["data"] == start.files["data"] and needed["table"] == "data/lookup/probit.table"
    assert found.tables == found.figures == []


def test_differences_are_compared_with_the_records_of_their_protocols():
    found = of_file("differences")
    assert all("+" in job.parameters["protocol"] for job in found.jobs_of())
    assert found.files() == ["qp/differences.csv.gz"]


def test_every_job_has_a_place_in_the_lists(everything):
    """It has rows, or is needed by others; no two make one file."""
    for path, job in everything.jobs.items():
        assert path == job.path and job.part
        assert not (job.keep and job.rows) or path in everything.paths()
    papers = ("qp", "pep", "rep", "pesc")
    assert [path for paper in papers for path in everything.paths(paper)] == everything.paths()


COUNTS = {
    "preview": "qp_fit 12, qp_lookup_table 1, pep_regression 1, pep_classification 1, rep_points 1, "
    "pesc_accuracy 4, pesc_searches 2",
    "paper": "qp_fit 536, qp_lookup_table 1, qp_truth 100, qp_nearer 100, pep_regression 635, "
    "pep_classification 188, pep_exact 3, pep_digits 30, rep_choice 17, rep_fit 71, rep_own 8, "
    "rep_points 42, rep_picture 4, pesc_accuracy 4, pesc_searches 20",
    "pep-middle": "pep_regression 48, pep_classification 52, pep_exact 3, pep_digits 12",
    "pep-converged": "pep_regression 220, pep_classification 120",
    "lookup": "qp_fit 12, qp_lookup_table 1, qp_lookup_errors 1, qp_lookup_effect 12",
    "differences": "qp_fit 530, qp_lookup_table 1",
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_configurations_ask_for_so_many_jobs(name):
    found = of_file(name)
    expected = dict(part.split() for part in COUNTS[name].split(", "))
    assert counts(found) == {kind: int(number) for kind, number in expected.items()}
    for job in found.jobs.values():
        assert job.source, "its modules exist"


def test_the_preview_needs_no_raw_file():
    found = of_file("preview")
    sets = {Path(job.files["data"]).stem for job in found.jobs.values() if "data" in job.inputs}
    assert sets == {"wine12", "wine13", "wine23", "coal"}


# --- what an edit touches


def test_an_edit_of_a_grid_touches_its_jobs_alone():
    before, after = asked(FOLDERS + PEP), asked(FOLDERS + PEP.replace("[data, k-means]", "[data]"))
    changed = [p for p, job in before.jobs.items() if job.parameters != after.jobs[p].parameters]
    assert changed == ["data/fits/pep/two/wine_red/00-00.jsonl.gz"]


# --- what is refused

ONE = "differences:\n  block: 1\n  names: "
WRONG = {
    QP: [
        ("wine13:", "iris:", "qp.as-released: unknown data set 'iris'; known: ionosphere, cancer"),
        ("seeds: 1", "seeds: 0", "qp.as-released.rows.wine13.seeds: 0 is less than the minimum of 1"),
        ("block: 1", "block: 0", "qp.as-released.rows.wine13.block: 0 is less than the minimum of 1"),
        ("seeds: 1", "seeds: many", "qp.as-released.rows.wine13.seeds: 'many' is not of type 'integer'"),
        ("[ep, qp]", "[ep, laplace]", "qp.as-released.methods.1: unknown 'laplace'; known: ep, qp, qp-own"),
        ("[ep, qp]", "[qp-own]", "protocol 'as-released' has no method 'qp-own' for classification; known:"),
        (
            "as-released:",
            "as-dreamt:",
            "as-dreamt'; known: as-released, as-described, corrected; did you mean 'as-released'?",
        ),
        ("tables: tables/preview\n", "", "top level: the key 'tables' is missing"),
        (
            "name: small",
            "name: small\nkeep_records: perhaps",
            "keep_records: 'perhaps' is not of type 'boolean'",
        ),
        ("name: small", "name: small\ncolour: blue", "top level: unknown key 'colour'; known: name, results"),
        (
            "qp:\n",
            f"{ONE}[vb, vib]\nqp:\n",
            "differences.names: no difference 'vb' to run; known: ard, loose",
        ),
        ("qp:\n", f"{ONE}[]\nqp:\n", "differences.names: [] should be non-empty"),
        ("qp:\n", f"{ONE}[plain-folds]\nqp:\n", "no results/preview/qp/corrected.csv.gz to compare with"),
        (QP, "", "top level: no experiment is asked for; known: qp, pep"),
    ],
    PEP: [
        ("[0.5, full]", "[1.5]", "pep.one.alphas.0: 1.5 is greater than the maximum of 1"),
        ("[0.5, full]", "[half]", "pep.one.alphas.0: 'half' must be a number from 0 to 1, or full"),
        ("m: [4]", "m: [501]", "pep.one: 501 pseudo-points for the 500 training points of synthetic"),
        ("synthetic: {splits: 3", "iris: {splits: 3", "unknown regression set 'iris'; known: boston"),
        (
            "synthetic: {splits: 3",
            "yatch: {splits: 3",
            "neither 'synthetic', the made-up sets, nor a real one: ",
        ),
        ("synthetic: {splits: 3", "yatch: {splits: 3", "yacht; did you mean 'yacht'?"),
        ("synthetic: {splits: 3", "pima: {splits: 3", "yacht; it is among the classification sets"),
        ("synthetic: {splits: 3", "cancer: {splits: 3", "yacht; it is among the first paper's sets"),
        ("synthetic: {splits: 3", "yacht: {splits: 21", "pep.one: yacht has 20 splits, not 21"),
        ("k-means]", "there]", "pep.two.starts.1: unknown 'there'; known: data, data-2"),
        ("  one:", "  One:", "pep: 'One' must be a-z, 0-9 and - only"),
        ("[500]", "[700]", "toy.n_train.0: unknown 700; known: 500, 1000"),
        ("toy: {splits: 3", "toy: {splits: 31", "toy.splits: 31 is greater than the maximum of 30"),
        ("banana: {splits: 2", "banana: {splits: 21", "pep_classification.three: banana has 20 splits"),
        ("[as-released,", "[as-described,", "three.protocols.0: unknown 'as-described'; known"),
    ],
    MNIST: [
        ("[0.5, 1]", "[1.5]", "mnist.one.alphas.0: 1.5 is greater than the maximum of 1"),
        ("m: [4]", "m: [0]", "mnist.one.m.0: 0 is less than the minimum of 1"),
        (
            "steps: 2",
            "stops: 2",
            "mnist.one: unknown key 'stops'; known: alphas, m, seeds, steps; did you mean 'steps'?",
        ),
    ],
    REP: [
        ("heart:", "sonar:", "rep.sets.sonar: no such set; known: blobs, heart, pima"),
        ("splits: 3", "splits: 21", "rep.sets.heart: there are 20 splits"),
        ("own: 3", "own: 30", "rep.sets.heart: there are 20 splits"),
        ("0.2]", "0.5]", "rep.sets.blobs.flips.1: 0.5 is greater than or equal to the maximum"),
        ("boundary:", "border:", "rep: unknown key 'border'; known: sets, points, exact, boundary"),
    ],
    PESC: [
        ("problems: 1", "problems: 0", "pesc.accuracy.problems: 0 is less than the minimum of 1"),
        ("evaluations: 5", "evaluations: 4", "pesc.searches.evaluations: 4 is less than the minimum of 5"),
    ],
    TRUTH + QP: [
        ("wine13: {chains", "iris: {chains", "truth: unknown 'iris'; known: ionosphere"),
        ("chains: 8, iterations: 40, runs: 16, share", "draws: 1000, share", "unknown key 'share'"),
        ("chains: 8, ", "", "truth.wine13: the key 'chains' is missing"),
        ("chains: 8", "chains: 1", "truth.wine13.chains: 1 is less than the minimum of 2"),
        ("0.9", "1.0", "truth.wine13.share: 1.0 is greater than or equal to the maximum of 1"),
    ],
}


@pytest.mark.parametrize(
    "text, old, new, message", [(t, *case) for t, cases in WRONG.items() for case in cases]
)
def test_a_wrong_configuration_is_refused_with_the_place_and_what_is_known(text, old, new, message):
    sound = FOLDERS + text
    assert asked(sound) and sound.count(old) >= 1
    with pytest.raises(ValueError) as caught:
        asked(sound.replace(old, new, 1))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def keys_of(schema, known, path=(), above=()):
    """Yield the dotted path of every key of a schema; NAME stands for names that a user chooses."""
    if "$ref" in schema:
        if schema["$ref"] in above:
            return
        above = (*above, schema["$ref"])
        schema = {**known[schema["$ref"].rpartition("/")[2]], **schema}
        del schema["$ref"]
    for key, value in schema.get("properties", {}).items():
        yield ".".join((*path, key))
        yield from keys_of(value, known, (*path, key), above)
    if isinstance(inner := schema.get("additionalProperties"), dict):
        for choice in (inner, inner.get("then", {}), inner.get("else", {})):
            yield from keys_of(choice, known, (*path, "NAME"), above)


def test_the_page_of_keys_lists_those_of_the_schema():
    schema = files.read_yaml(configuration.SCHEMA)
    page = (ROOT / "config/README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w.]+)` \|.*\|.*\|.*\|$", page, re.M)
    assert listed == list(dict.fromkeys(keys_of(schema, schema["$defs"])))


def test_a_file_that_is_no_yaml_is_named(tmp_path):
    (tmp_path / "wrong.yaml").write_text("qp: [\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r'(?s)wrong.yaml is no YAML.*in ".*wrong.yaml", line 2'):
        files.read_yaml(tmp_path / "wrong.yaml")


def test_numbers_in_an_override_are_numbers_and_other_text_stays():
    said = {
        "qp": {"p": {"rows": {"coal": {"seeds": "4"}}}},
        "pep": {"a": {"m": ["5"], "alphas": ["0.5", "full"]}},
    }
    config = {
        "name": "x",
        "qp": {"p": {"rows": {"coal": {"seeds": "4"}, "glass": {"seeds": "7"}}}},
        "pep": said["pep"],
    }
    configuration.retype(config, said)
    assert config["qp"]["p"]["rows"] == {"coal": {"seeds": 4}, "glass": {"seeds": "7"}}
    assert config["pep"]["a"] == {"m": [5], "alphas": [0.5, "full"]} and config["name"] == "x"

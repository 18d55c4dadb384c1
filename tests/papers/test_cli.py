"""The command line: one cell as JSON, readable otherwise, plain errors."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from papers import cli
from papers.cli import STUDIES, VERBS, main, parser
from papers.core import records, runs, store
from papers.core.verify import Result, Selection
from papers.pep.records import SMALL
from papers.pesc.records import ACCURACY, REGRET
from papers.qp import refit
from tilted.kernels import SquaredExponential


def test_fit_prints_one_json_object(capsys):
    arguments = "fit --dataset wine12 --protocol as-released --seed 0 --fold 3 --method ep --json"
    assert main(arguments.split()) == 0
    record = json.loads(capsys.readouterr().out)
    for key in (
        "dataset",
        "protocol",
        "seed",
        "fold",
        "method",
        "hyperparameters",
        "log_evidence",
        "seconds",
    ):
        assert key in record
    status = {"converged", "sweeps", "evaluations", "residual", "damping", "jitter", "message"}
    assert status <= set(record["status"])
    assert record["method"] == "ep" and (record["seed"], record["fold"]) == (0, 3)
    assert set(record["hyperparameters"]) == {"variance", "lengthscale"}
    for key in ("test_log_density", "latent_mean", "latent_variance"):
        assert len(record[key]) == record["n_test"] == 13


def test_qp_tunes_its_start_first(capsys):
    main("fit --dataset wine13 --method qp --json".split())
    qp = json.loads(capsys.readouterr().out)
    main("fit --dataset wine13 --method ep-tune --json".split())
    tune = json.loads(capsys.readouterr().out)
    assert tune["method"] == "ep-tune"
    assert qp["hyperparameters"] == tune["hyperparameters"]


def test_hyperparameters_can_be_fixed(capsys):
    assert (
        main("fit --dataset coal --method qp --hyperparameters variance=0.5,lengthscale=9 --json".split())
        == 0
    )
    record = json.loads(capsys.readouterr().out)
    assert record["hyperparameters"] == {"variance": 0.5, "lengthscale": 9.0}
    assert record["status"]["evaluations"] == 1


def test_plain_output_is_readable(capsys):
    assert main("fit --dataset coal --method ep".split()) == 0
    out = capsys.readouterr().out
    assert "log evidence" in out and "NTLL" in out and "converged" in out
    assert "}, searched from those of ep-tune, counted apart (--method ep-tune)" in out
    main("fit --dataset wine12 --method qp".split())
    assert "}, those of ep-tune, counted apart" in capsys.readouterr().out
    main("fit --dataset coal --method ep --hyperparameters variance=0.5,lengthscale=9".split())
    assert "counted apart" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("fit --dataset iris", "unknown data set 'iris'; known: ionosphere"),
        ("fit --dataset qp:iris", "unknown data set 'iris'"),
        ("fit --dataset coal --protocol as-dreamt", "known: as-released"),
        ("fit --dataset coal --method rep", "no method 'rep'"),
        ("fit --dataset coal --fold 1", "fold must be 0 to 0"),
        ("fit --dataset coal --seed -1", "Seed must be"),
        ("fit --dataset coal --hyperparameters variance=1", "takes variance=V"),
        ("fit --dataset coal --hyperparameters=", "takes variance=V,lengthscale=L"),
        ("fit --dataset coal --hyperparameters variance=-1,lengthscale=2", "positive"),
        ("fit --dataset coal --hyperparameters variance=1,lengthscale=long", "takes variance=V"),
        ("records --fits nowhere", "no fit records (*.jsonl.gz) in nowhere; `make paper` makes them"),
        ("plan --config nowhere.yaml", "no file nowhere.yaml here: go to a checkout of the"),
        ("check --records nowhere", "no SHA256SUMS in nowhere"),
        ("verify --records nowhere", "no row to repeat in nowhere: is it the folder of records"),
        ("verify --records nowhere --datasets yacht", "no row to repeat in nowhere"),
        ("tables --records nowhere", "nowhere"),
        ("fit --dataset coal --hyperparameters noise=1,lengthscale=2", "takes variance=V"),
    ],
)
def test_bad_input_is_a_message_not_a_traceback(arguments, message, capsys):
    assert main(arguments.split()) == 2
    assert message in capsys.readouterr().err


def test_what_is_wrong_in_a_configuration_is_said_with_its_file(tmp_path, capsys):
    (tmp_path / "mine.yaml").write_text("name: mine\nresults: results/mine\n", encoding="utf-8")
    assert main(["plan", "--config", str(tmp_path / "mine.yaml")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tilted: {tmp_path / 'mine.yaml'}: ") and said.count("mine.yaml") == 1


def test_the_command_has_one_blas_thread():
    """`make verify` alone had; with two a search of PESC ends 1e-5 elsewhere, which a record then says."""
    asked = "import papers.cli, numpy, threadpoolctl as t\n"
    asked += "print({p['num_threads'] for p in t.threadpool_info()})"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    told = {**environment, "OMP_NUM_THREADS": "2"}
    for env in (environment, told):
        done = subprocess.run(
            [sys.executable, "-c", asked], capture_output=True, text=True, env=env, check=True
        )
        assert done.stdout == "{1}\n"


def test_the_backend_of_a_notebook_is_not_inherited():
    """Jupyter sets one that is not installed here: all fits were lost when the first figure was drawn."""
    asked = "import papers.cli, matplotlib.pyplot as p; p.figure(); print(p.get_backend())"
    notebook = {**os.environ, "MPLBACKEND": "module://matplotlib_inline.no_such_backend"}
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, env=notebook)
    assert done.stdout.lower() == "agg\n", done.stderr


def test_a_list_option_given_twice_extends():
    read = parser().parse_args
    assert read("verify --papers pep --papers pesc qp".split()).papers == ["pep", "pesc", "qp"]
    assert read("verify --datasets a --datasets b".split()).datasets == ["a", "b"]
    assert read("study timing --protocols a --protocols b".split()).protocols == ["a", "b"]


@pytest.mark.parametrize("options", ["--fresh", "--dry-run"])
def test_options_of_a_reproduction_without_a_name_are_an_error(options, capsys):
    assert main(["reproduce", *options.split()]) == 2
    assert f"{options.split()[0]} needs a name before it" in capsys.readouterr().err


def test_an_error_without_words_or_a_place_has_one(monkeypatch, capsys):
    """Python's `MemoryError` has none: "tilted: " was all."""
    known = (MemoryError(), "not enough memory"), (OSError(), "OSError"), (ValueError("x"), "x")
    for error, said in known:
        failing = cli.VERBS["datasets"]._replace(run=lambda options, error=error: _raised(error))
        monkeypatch.setitem(cli.VERBS, "datasets", failing)
        assert main(["datasets"]) == 2
        assert capsys.readouterr().err == f"tilted: {said}\n"


def _raised(error):
    raise error


def test_ard_hyperparameters():
    assert refit.hyperparameters("variance=2,lengthscale=1:2.5") == SquaredExponential(2.0, (1.0, 2.5))


def test_a_name_may_have_its_paper(capsys):
    assert main("fit --dataset qp:coal --method ep --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["dataset"] == "coal"


def test_help_names_every_verb_by_what_it_is_for(capsys):
    for arguments in ([], *([verb] for verb in VERBS)):
        with pytest.raises(SystemExit) as left:
            main([*arguments, "--help"])
        out = capsys.readouterr().out
        assert left.value.code == 0 and max(map(len, out.splitlines())) <= 80
        assert (
            all(verb in out for verb in VERBS) if not arguments else f"example: tilted {arguments[0]}" in out
        )


def test_every_small_study_is_one_that_can_be_made():
    assert {name for name in STUDIES if name != "timing"} == {*SMALL}


def test_data_sets_have_names_of_their_own_in_lines_that_fit(capsys):
    main(["datasets"])
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines]
    assert len(set(names)) == len(names) == 31 and max(map(len, lines)) <= 80


def test_datasets(capsys):
    assert main(["datasets"]) == 0
    assert "Leptograpsus" not in (out := capsys.readouterr().out) and "wine13" in out and "bundled" in out
    assert main(["datasets", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 30


def test_a_terminal_without_a_letter_shows_another(monkeypatch):
    """An ASCII terminal has no \u00b1; to print one is no error."""
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert main(["datasets"]) == 0
    print("1 \u00b1 2", flush=True)
    assert shown.getvalue().endswith(b"1 ? 2\n")


@pytest.mark.parametrize("command", ["datasets", "completion bash"])
def test_who_reads_the_first_line_alone_is_no_error(command):
    """As `head` does: nothing is said, and the exit status is that of a program that the pipe ended."""
    shell = f"({sys.executable} -m papers {command}; echo $? >&2) | true"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert done.stderr == f"{128 + signal.SIGPIPE}\n"


@pytest.fixture
def searches(tmp_path):
    """Function of problems: files of searches of each in a folder of fits, and that folder."""

    def write(*problems):
        for name in problems:
            line = {"problem": name, "repeat": 0, "rule": "pesc", "evaluations": 5, "confident": True}
            record = {**line, "observed_gap": 0.5, "recommended_gap": None, "run": runs.stamp()}
            store.write_records(tmp_path / f"data/fits/pesc/searches/5/{name}-0.jsonl.gz", [record])
        return str(tmp_path / "data/fits")

    return write


def test_new_fits_are_folded_in_and_checked(searches, tmp_path, capsys):
    folder = str(tmp_path / "results")
    assert main(["records", "--fits", searches("gp"), "--records", folder]) == 0
    assert main(["records", "--fits", searches("gp", "gramacy"), "--records", folder]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1] == "pesc/regret.csv: 1 added, 0 replaced, 1 the same"
    assert sorted(records.load(REGRET, folder)["problem"]) == ["gp", "gramacy"]
    assert main(["check", "--records", folder]) == 0
    assert capsys.readouterr().out == "2 files, 2 rows: intact\n"


@pytest.mark.parametrize(
    "result, code",
    [(Result([], [], []), 0), (Result([], ["x"], []), 1), (Result([], [], ["no raw data"]), 1)],
)
def test_verify_hands_on_what_was_asked_and_fails_if_anything_differs(result, code, monkeypatch, capsys):
    asked = []
    monkeypatch.setattr("papers.core.verify.verify", lambda *given: asked.append(given) or result)
    words = "--papers pesc --datasets gp --fits 3 --lacking --jobs 2 --seed 4 --mirror there"
    assert main(["verify", "--records", "some", *words.split()]) == code
    wanted = Selection({"dataset": ["gp"]}, fits=3, seed=4, lacking=True)
    assert asked == [([ACCURACY, REGRET], "some", wanted, "there", 2)]
    out = capsys.readouterr().out
    assert ("DIFFERS: x" in out, "NOT REPEATED: no raw data" in out) == (
        bool(result.differences),
        bool(result.missing),
    )
    main(["verify", "--all"])
    studies, _, selection, *_ = asked[1]
    assert selection == Selection({}, fits=None) and studies == records.studies()


def test_the_plan_is_that_of_a_configuration(capsys):
    assert main(["plan", "--config", "config/preview.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| Part") and lines[2].startswith("| QP as-released")
    assert [cell.strip() for cell in lines[2].split("|")][2] == "12"


def test_the_plan_says_what_the_records_lack(tmp_path, capsys):
    config = yaml.safe_load(Path("config/pep-converged.yaml").read_text(encoding="utf-8"))
    grid = {**config["pep"]["small"], "rows": {"yacht": {"splits": 2, "block": 1}}, "m": [5]}
    config = {key: value for key, value in config.items() if not key.startswith("pep")} | {
        "pep": {"small": grid}
    }
    for more, line in (([], "0 fits, 0.00 core-hours"), ([0.3], "2 fits")):
        grid["alphas"] += more
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        assert main(["plan", "--config", str(tmp_path / "mine.yaml")]) == 0
        assert f"With `reuse: true` to do: {line}" in capsys.readouterr().out
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({**config, "reuse": True}), encoding="utf-8")
    assert main(["plan", "--config", str(tmp_path / "mine.yaml")]) == 0
    assert "With `reuse" not in capsys.readouterr().out


ASK = """\
. {script}
COMP_WORDS=({words}); COMP_CWORD=$(({number} - 1)); _shtab_tilted; echo "${{COMPREPLY[*]}}"
"""


@pytest.mark.parametrize(
    "words, completed",
    [
        ("tilted rep", {"reproduce"}),
        ("tilted reproduce REP-figure4", {"REP-figure4"}),
        ("tilted reproduce PEP5 --fr", {"--fresh"}),
        ("tilted compare --task c", {"classification", "counts"}),
    ],
)
def test_a_shell_completes_verbs_options_and_names(words, completed, capsys, tmp_path):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "tilted.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    asked = ASK.format(script=script, words=words, number=len(words.split()))
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == completed

"""The command line: one cell as JSON, readable otherwise, plain errors."""

import io
import json
import sys

import pytest

from tilted.__main__ import main, parse_hyperparameters
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


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("fit --dataset iris", "unknown data set 'iris'; known: ionosphere"),
        ("fit --dataset coal --protocol as-dreamt", "known: as-released"),
        ("fit --dataset coal --method rep", "no method 'rep'"),
        ("fit --dataset coal --fold 1", "fold must be 0 to 0"),
        ("fit --dataset coal --seed -1", "seed must be"),
        ("fit --dataset coal --hyperparameters variance=1", "needs one variance and a lengthscale"),
        ("fit --dataset coal --hyperparameters variance=-1,lengthscale=2", "positive"),
        ("fit --dataset coal --hyperparameters variance=1,lengthscale=long", "must be a number"),
        ("timing --seeds 0", "need at least one seed, got 0"),
        ("records --fits nowhere", "no fit records (*.jsonl.gz) in nowhere; `make paper` makes them"),
        ("fit --dataset coal --hyperparameters noise=1,lengthscale=2", "takes variance=V"),
    ],
)
def test_bad_input_is_a_message_not_a_traceback(arguments, message, capsys):
    assert main(arguments.split()) == 2
    assert message in capsys.readouterr().err


def test_ard_hyperparameters():
    assert parse_hyperparameters("variance=2,lengthscale=1:2.5") == SquaredExponential(2.0, (1.0, 2.5))


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

"""What people do to a command line and a checkout: slips of the pen, two at once, things left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import papers
from papers.__main__ import main
from papers.evidence import files

HERE = Path(papers.__file__).parents[2]


@pytest.mark.parametrize(
    "arguments",
    ["verify --fits -1", "verify --from-scratch -2", "verify --jobs 0", "reproduce PEP5 --sample -1",
     "reproduce PEP5 --cores 0", "compare --data x --rows 0", "compare --data x --seed -1"],
)  # fmt: skip
def test_a_number_below_what_counts_is_refused(arguments, capsys):
    """Python would count from the end, or take every core."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())
    assert f"{arguments.split()[-1]} is below" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [("reproduce PEP5 --dry-run --protocol convergd", "--protocol convergd: these are judged under as-described"),
     ("reproduce REP-figure4 --dry-run --protocol converged", "these are judged under none"),
     ("verify --papers rep --datasets heart wine99", "no line with dataset wine99 to make again"),
     ("verify --papers pesc --methods no-such", "no line with method no-such to make again")],
)  # fmt: skip
def test_a_name_that_nothing_has_is_refused_also_beside_others(arguments, said, capsys, monkeypatch):
    monkeypatch.chdir(HERE)
    assert main(arguments.split()) == 2
    assert said in capsys.readouterr().err


def test_somebody_elses_results_are_not_replaced_by_a_reproduction(tmp_path, capsys):
    kept = tmp_path / "pesc1/results/mine.csv"
    kept.parent.mkdir(parents=True)
    kept.write_text("x\n", encoding="utf-8")
    assert main(["reproduce", "PESC1", "--output", str(tmp_path)]) == 2
    assert "is not of a run of this command" in capsys.readouterr().err and kept.exists()


def test_two_reproductions_of_one_name_do_not_share_a_folder(tmp_path, capsys):
    with files.alone(tmp_path / "pesc1"):
        assert main(["reproduce", "PESC1", "--output", str(tmp_path)]) == 2
    assert f"another process is at work in {tmp_path / 'pesc1'}" in capsys.readouterr().err


HOLDS = "import sys, time\nfrom papers.evidence import files\nwith files.alone(sys.argv[1]):\n    print(flush=True)\n"


def test_who_waits_for_a_stopped_writer_says_so(tmp_path):
    """Stopped by ctrl-Z it holds the lock."""
    start = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    first = subprocess.Popen([sys.executable, "-c", f"{HOLDS}    time.sleep(600)", str(tmp_path)], **start)
    first.stdout.readline()
    first.send_signal(signal.SIGSTOP)
    second = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], **start)
    try:
        assert second.stderr.readline() == f"waiting for another process that writes in {tmp_path}\n"
        assert second.poll() is None
    finally:
        first.kill()
        first.communicate()
    second.communicate(timeout=60)
    assert second.returncode == 0


@pytest.fixture
def make(tmp_path):
    """Function of arguments: make by this Makefile, in a folder whose environment notes what it is asked."""
    program = tmp_path / "env/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(
        '#!/bin/sh\necho "begin $3" >> said\nsleep 0.2\necho "end $3" >> said\n', encoding="utf-8"
    )
    program.chmod(0o755)
    (tmp_path / "src/papers").mkdir(parents=True)
    for name in ("requirements.lock", "pyproject.toml", "src/papers/pyproject.toml", "env/.stamp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time(),) * 2 if name == "env/.stamp" else (1, 1))

    def run(*arguments, **environment):
        command = ["make", "-f", HERE / "Makefile", "VENV=env", *arguments]
        how = {"env": {**os.environ, **environment}, "capture_output": True, "text": True}
        done = subprocess.run(command, cwd=tmp_path, **how)
        said = tmp_path / "said"
        return done, said.read_text(encoding="utf-8").split("\n")[:-1] if said.exists() else []

    return run


def test_make_does_one_target_after_another(make):
    """`make -j clean preview` would remove what the other makes."""
    done, said = make("check", "plan", MAKEFLAGS="-j4")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in said] == ["begin", "end"] * 3 and said[1] == "end check"


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_row_numbers_that_pandas_wrote_are_no_feature(name, tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(30, 2))
    lines = [f"{name},a,y", *(f"{k},{a},{b}" for k, (a, b) in enumerate(X))]
    (tmp_path / "mine.csv").write_text("\n".join(lines), encoding="utf-8")
    assert main(["compare", "--data", str(tmp_path / "mine.csv"), "--target", "y"]) == 2
    assert "a column has no name" in capsys.readouterr().err
    (tmp_path / "mine.yaml").write_text(f"file: mine.csv\ntarget: y\ndrop: ['{name}']\n", encoding="utf-8")
    from papers.compare import table

    assert table.read(tmp_path / "mine.yaml").features == ("a",)


def test_another_target_has_a_page_of_its_own(tmp_path):
    a = np.linspace(-2, 2, 30)
    X = zip(a, a + 0.1 * np.cos(20 * a), 0.1 * np.sin(30 * a) - a, strict=True)
    (tmp_path / "mine.csv").write_text(
        "a,y,p/q\n" + "\n".join(f"{a},{b},{c}" for a, b, c in X), encoding="utf-8"
    )
    for target in ("y", "p/q"):
        asked = f"compare --data {tmp_path}/mine.csv --target {target} --methods gp --iterations 0 --cores 1"
        assert main([*asked.split(), "--output", str(tmp_path / "pages")]) == 0
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == ["mine-p%2Fq", "mine-y"]

"""One's own table: what is read and refused, folds, what is said of differences, one page."""

import json
import math
import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace

import joblib
import numpy as np
import pytest
from scipy import stats

from papers.__main__ import main
from papers.compare import answer, command, folds, methods, page, table
from papers.compare.answer import ALIKE, BETTER, OPEN, WORSE
from papers.compare.folds import Outcome
from tilted import likelihoods

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)).round(3)
LATENT = 2.0 * X[:, 0] + X[:, 1]


def csv_of(path, y, header="a,b,y"):
    lines = [f"{a},{b},{value}\n" for (a, b), value in zip(X, y, strict=True)]
    path.write_text("".join([f"{header}\n", *lines]), encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path):
    return csv_of(tmp_path / "mine.csv", np.where(LATENT + RNG.normal(size=40) > 0, "up", "down"))


def test_a_page_and_its_numbers(mine, tmp_path, capsys):
    asked = f"compare --data {mine} --target y --methods vb --iterations 40 --cores 1 --json"
    assert main([*asked.split(), "--output", str(tmp_path)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["table"]["task"] == "classification" and said["table"]["rows"] == 40
    assert said["table"]["remarks"] == ["y = up is the class +1, down is -1"]
    assert [row["method"] for row in said["methods"]] == ["ep", "vb", folds.BASELINE]
    assert [d["score"] for d in said["differences"]] == ["loss", "error"]
    assert sum(x["n_test"] for x in said["outcomes"] if x["method"] == "ep") == 40
    assert said["answer"]["take"] in ("ep", "vb")
    near = {x["method"]: x for x in said["exact"]["nearness"]}
    assert set(near) == {"ep", "vb"} and 0 < near["vb"]["variance"] < near["ep"]["variance"] < 1.3
    page = (tmp_path / "mine-y" / "comparison.md").read_text(encoding="utf-8")
    assert said["answer"]["sentence"] in page and "## Against the exact posterior" in page
    html = (tmp_path / "mine-y" / "comparison.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in html and "http" not in html.split("</style>")[1]
    assert json.loads((tmp_path / "mine-y" / "comparison.json").read_text(encoding="utf-8")) == said


@pytest.mark.parametrize(
    "task, y", [("counts", RNG.poisson(np.exp(0.4 * LATENT))), ("regression", LATENT + RNG.normal(size=40))]
)
def test_every_method_fits_its_task(task, y, tmp_path):
    read = table.read(csv_of(tmp_path / "mine.csv", y), "y", task)
    fold = next(folds.folds(read, seed=0))
    assert "rep" not in [method.name for method in methods.of(task)]  # slow: has to be named
    every = ["qp", "vb", "pep", "rep"] + (["gp"] if task == "regression" else [])
    outcomes, exact = folds.compared(fold, 0, 0, every)
    assert exact is None and all(math.isfinite(x.loss) and x.converged for x in outcomes)
    assert {x.method for x in outcomes} == {"ep", *every, folds.BASELINE}
    law = stats.poisson if task == "counts" else stats.laplace
    at = law.fit(fold.part.y) if law is stats.laplace else (fold.part.y.mean(),)
    densities = (
        law(*at).logpmf(fold.y) if task == "counts" else law(*at).logpdf(fold.y) - math.log(fold.scale)
    )
    assert outcomes[-1].loss == pytest.approx(-densities.mean())
    if task == "regression":  # a score in the target's own unit
        twice = next(folds.folds(table.Table(**{**vars(read), "y": 2.0 * read.y}), seed=0))
        (scaled, _), _ = folds.compared(twice, 0, 0, ["ep"])
        assert scaled.loss == pytest.approx(outcomes[0].loss + math.log(2.0), abs=1e-6)
        assert scaled.error == pytest.approx(2.0 * outcomes[0].error, rel=1e-6)


@pytest.mark.parametrize("learnt", [True, False])
def test_a_method_that_learns_nothing_is_not_recommended_without_a_word(learnt, tmp_path):
    """EP was to be taken where its log loss was above that of the shares of the classes."""
    noise = np.random.default_rng(5).normal(size=40)
    y = LATENT + 0.3 * noise if learnt else noise
    read = table.read(csv_of(tmp_path / "mine.csv", np.where(y > np.median(y), "up", "down")), "y")
    found = command.compared(read, command.How(methods=["ep"], iterations=0))
    assert [row.method for row in found.rows] == ["ep", folds.BASELINE]
    said = re.search(r"without the features\*\* \(log loss .*, p (0\.\d+|1)\)", found.answer.sentence)
    assert (said is None) == learnt
    assert "Not compared: qp, vb, pep, rep (--methods; rep takes the longest)." in found.markdown()
    assert found.answer.sentence.endswith("Only **ep** was compared.")
    assert "| no-features |" in found.markdown()


ZIGZAG = np.array([1, -1, 2, -2, 1, -1, 2, -2, 1, -1]) * 1e-4


@pytest.mark.parametrize(
    "losses, guesses, said",
    [
        (0.050 + ZIGZAG, 0.056 + 3 * ZIGZAG, ""),  # a rare class: a lead that is shown, below what matters
        (0.70 + ZIGZAG, 0.65 - ZIGZAG, "ep is worse than a guess"),
        (0.69 + ZIGZAG, 0.69 - ZIGZAG, "ep is not shown to beat a guess"),
        (0.60 + 1000 * ZIGZAG, 0.65 - ZIGZAG, "ep is not shown to beat a guess"),
        (np.r_[np.nan, 0.70 + ZIGZAG[1:]], 0.65 - ZIGZAG, "(log loss 0.7, of the guess 0.65, p "),
        ([0.2, 0.2], [0.69, 0.69], ""),  # interrupted
        ([0.7, 0.7], [0.69, 0.69], ""),
    ],
)
def test_what_is_said_beside_a_guess(losses, guesses, said):
    both = [*outcomes("ep", losses), *outcomes(folds.BASELINE, guesses)]
    sentence = answer.beside_nothing(answer.Answer("ep", "Take it."), both, 0.01).sentence
    assert said in sentence and (said == "") == (sentence == "Take it.")


def test_a_guess_of_counts_is_of_half_a_one_at_least_and_fails_no_comparison(tmp_path):
    """Of one count in sixty its rate was 0 on the fold without it, its loss infinite, and the rest better."""
    y = np.zeros(40, dtype=int)
    y[7] = 1
    read = table.read(csv_of(tmp_path / "mine.csv", y), "y", "counts")
    rare = next(fold for fold in folds.folds(read, seed=0) if not fold.part.y.any())
    guess = folds._featureless(rare, 0)
    expected = -stats.poisson(0.5 / 36).logpmf(rare.y).mean()
    assert guess.loss == pytest.approx(expected) and math.isfinite(guess.loss)


def test_what_a_fit_warns_of_is_on_the_page_with_its_fold(tmp_path, monkeypatch, recwarn):
    tuned = methods.ep

    def warns(part):
        warnings.warn("nothing was learnt", stacklevel=1)
        return tuned(part)

    monkeypatch.setattr(methods, "ep", warns)
    read = table.read(csv_of(tmp_path / "mine.csv", LATENT + RNG.normal(size=40)), "y")
    found = command.compared(read, command.How(methods=["ep", "gp"], iterations=0))
    assert "- ep, fold 0, 1, 2, 3, 4, 5, 6, 7, 8, 9: nothing was learnt" in found.markdown() and not recwarn


def test_three_labels_are_two_classes_where_the_block_says_so(tmp_path):
    csv_of(tmp_path / "mine.csv", ["high", "low", "middle", "low"] * 10)
    path = tmp_path / "mine.yaml"
    path.write_text(
        "file: mine.csv\ntarget: y\npositive: [high]\nnegative: [low, middle]\n", encoding="utf-8"
    )
    read = table.read(path)
    assert read.task == "classification" and read.y.sum() == 10 - 30


def test_a_line_says_what_a_block_may_say(tmp_path, capsys):
    """A table with words and gaps needed a file of YAML, which no message showed."""
    cells = [f"k{k},{'abc'[k % 3]},{'' if k == 5 else k / 7},{'yes' if k % 2 else 'no'}\n" for k in range(40)]
    (tmp_path / "churn.csv").write_text("id,plan,use,left\n" + "".join(cells), encoding="utf-8")
    asked = f"compare --data {tmp_path}/churn.csv --target left --methods ep --iterations 0 --cores 1 --json"
    assert main([*asked.split(), "--output", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert all(option in said for option in ("--missing MARKER", "--drop NAME", "--one-hot NAME"))
    more = ["--drop", "id", "--one-hot", "plan", "--missing", "", "--output", str(tmp_path)]
    assert main([*asked.split(), *more]) == 0
    about = json.loads(capsys.readouterr().out)["table"]
    assert about["features"] == ["plan=a", "plan=b", "plan=c", "use"] and about["rows"] == 39
    assert "1 of 40 rows have a missing value and are left out" in about["remarks"]


def test_a_quote_that_takes_rows_with_it_is_remarked(tmp_path):
    lines = [f"{k},{'note'},{'bad' if k % 3 else 'good'}\n" for k in range(90)]
    lines[20], lines[31] = '20,"a note that nobody closes,good\n', '31,closed here",bad\n'
    (tmp_path / "pumps.csv").write_text("n,note,state\n" + "".join(lines), encoding="utf-8")
    path = tmp_path / "pumps.yaml"
    path.write_text("file: pumps.csv\ntarget: state\ndrop: [note]\n", encoding="utf-8")
    read = table.read(path)
    assert len(read.y) == 79  # eleven of ninety are in the note
    (remark,) = [remark for remark in read.remarks if "several lines" in remark]
    assert remark.startswith("1 of 79 rows") and "line 33, column 'note', after 11 breaks" in remark


@pytest.mark.parametrize(
    "values, marker, task",
    [(RNG.integers(5, size=40), -999, None), (["fine", "failed"] * 20, "?", "classification")],
)
def test_markers_of_missing_targets_decide_nothing(values, marker, task, tmp_path):
    """-999 among counts made a regression of them, and `?` was a third class."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        f"file: mine.csv\ntarget: y\nmissing: ['{marker}']\n".replace("'-999'", "-999"), encoding="utf-8"
    )
    csv_of(tmp_path / "mine.csv", [marker, *values[1:]])
    if task is None:
        with pytest.raises(ValueError, match="every y is a whole number: --task counts, or"):
            table.read(path)
    read = table.read(path, task=None if task else "counts")
    assert read.task == (task or "counts") and len(read.y) == 39
    path.write_text(path.read_text(encoding="utf-8") + "drop: [-9]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="drop: column '-9' is not"):
        table.read(path, task=None if task else "counts")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"table": 1}', "<<<<<<< HEAD"])
def test_a_damaged_page_is_named(content, mine, tmp_path, capsys):
    """ "Expecting value: line 1 column 1" read as if the table were wrong."""
    (tmp_path / "mine-y").mkdir()
    (tmp_path / "mine-y/comparison.json").write_text(content, encoding="utf-8")
    assert main(["compare", "--data", str(mine), "--target", "y", "--output", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "mine-y/comparison.json" in said and "delete it, or name another --output" in said


def test_names_of_rows_are_no_categories(tmp_path):
    """A feature of each of ten thousand patients took 6 GB, and the refusal had no words."""
    rows = [f"{k / 7:.3f},patient{k},{k % 5}.5\n" for k in range(1500)]
    path = tmp_path / "ids.yaml"
    path.write_text("file: ids.csv\ntarget: y\none_hot: [id]\n", encoding="utf-8")
    (tmp_path / "ids.csv").write_text("x,id,y\n" + "".join(rows), encoding="utf-8")
    with pytest.raises(ValueError, match=r"'id' has 1500 values in 1500 rows.*leave it out \(drop\)"):
        table.read(path)
    (tmp_path / "ids.csv").write_text("x,id,y\n" + "".join(rows[:40]) + "9,patient7,1.5\n", encoding="utf-8")
    read = table.read(path)
    assert read.X.shape == (41, 41) and (read.X[:, 1:].sum(axis=1) == 1).all()
    assert "one_hot of 'id': 39 of its 40 values are those of one row each" in read.remarks


def test_a_word_that_python_takes_for_a_number_is_a_word(tmp_path):
    csv_of(tmp_path / "mine.csv", [f"{k % 7}_12" for k in range(40)])
    with pytest.raises(ValueError, match="has words"):
        table.read(tmp_path / "mine.csv", "y")


def test_a_yaml_block_says_more(tmp_path):
    text = "n;site;state\n" + "".join(f"{k};{'ab'[k % 2]};{'bad' if k % 3 else 'good'}\n" for k in range(45))
    (tmp_path / "pumps.csv").write_text(text + "?;a;bad\n", encoding="utf-8")
    block = "file: pumps.csv\ndelimiter: ';'\ntarget: state\npositive: [bad]\nnegative: [good]\n"
    path = tmp_path / "pumps.yaml"
    path.write_text(block + "one_hot: [site]\nmissing: ['?']\n", encoding="utf-8")
    read = table.read(path)
    assert read.features == ("n", "site=a", "site=b") and len(read.y) == 45 and read.y.sum() == 15
    path.write_text(block + "onehot: [site]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="onehot"):
        table.read(path)


@pytest.mark.parametrize(
    "y, arguments, message",
    [
        (np.ones(40), "", "every y is '1.0'"),
        (np.r_[np.ones(35), np.zeros(5)].astype(int), "", "10 rows of each class of y; -1 has 5 (y = 1 is"),
        (["red", "blue", "green", "red"] * 10, "", "y has words ('red', 'blue', 'green', ...)"),
        (np.arange(40), "", "--task counts, or --task regression?"),
        (np.arange(40) - 0.5, "--task counts", "column 'y': '-0.5' is not a count"),
        (np.arange(40) * 100, "--task counts", "counts up to 1000"),
        (["", *LATENT[1:]], "", "line 2: no y"),
        (LATENT, "--target z", "mine.csv: target: column 'z' is not in the file, which has: a, b, y"),
        (LATENT, "--task classification", "of two classes, y has 40 values"),
        (
            LATENT,
            "--target a --delimiter ;",
            "column 'a' is not in the file, which has: a,b,y (is the delimiter ','?)",
        ),
        (LATENT, "--methods gp laplace", "no method laplace for regression; there are ep, qp"),
        (LATENT, "--iterations 5", "--iterations is 0 or at least 10"),
        ((LATENT > 0).astype(int), "--rows 15", "rows of each class of y; -1 has 7, of those drawn"),
        (LATENT, "--rows 3", "ten folds need 10 rows"),
    ],
)
def test_what_cannot_be_compared_is_said(y, arguments, message, tmp_path, capsys):
    path = csv_of(tmp_path / "mine.csv", y)
    assert main(["compare", "--data", str(path), "--target", "y", *arguments.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("cell", ["", "north", "nan"])
def test_a_cell_that_is_no_number_has_a_place(cell, mine, capsys):
    lines = mine.read_text(encoding="utf-8").splitlines()
    lines[3] = f"{cell},1,up"
    mine.write_text("\n".join(lines), encoding="utf-8")
    assert main(["compare", "--data", str(mine), "--target", "y"]) == 2
    err = capsys.readouterr().err
    assert f"line 4: column 'a': '{cell}' is not a finite number" in err and "--one-hot" in err


def test_a_file_whose_name_is_no_text(mine, tmp_path):
    """As of an older system's disk; pages have a letter for its bytes."""
    odd = os.path.join(os.fsencode(tmp_path), b"m\xe9.csv")
    os.rename(mine, odd)
    asked = ["compare", "--data", os.fsdecode(odd), "--target", "y", "--methods", "vb"]
    how = ["--iterations", "0", "--cores", "1", "--output", str(tmp_path)]
    assert main([*asked, *how]) == 0
    assert (tmp_path / "m\N{REPLACEMENT CHARACTER}-y" / "comparison.md").exists()


def test_a_pipe_is_refused_at_once(mine, capsys):
    """Of a shell's `<(zcat mine.csv.gz)`, or with a name: the second reading is empty, or waits."""
    os.mkfifo(mine.with_name("pipe.csv"))
    reading, writing = os.pipe()
    for path in (mine.with_name("pipe.csv"), f"/dev/fd/{reading}"):
        assert main(["compare", "--data", str(path), "--target", "y"]) == 2
        assert "is no file; what a pipe gives has to be saved first" in capsys.readouterr().err
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("name", ["mine.csv", "mine.yaml"])
def test_a_folder_is_no_table(name, tmp_path, capsys):
    (tmp_path / name).mkdir()
    assert main(["compare", "--data", str(tmp_path / name), "--target", "y"]) == 2
    assert f"{name} is a folder\n" in capsys.readouterr().err


def test_a_column_that_is_there_twice_is_remarked(tmp_path, capsys):
    rows = "".join(f"{a},{b},{a},1,1,{y}\n" for (a, b), y in zip(X, LATENT, strict=True))
    (tmp_path / "mine.csv").write_text(f"a,b,again,one,uno,y\n{rows}", encoding="utf-8")
    read = table.read(tmp_path / "mine.csv", "y")
    idle = "the same in every row, says nothing: one, uno"
    assert read.remarks == (idle, "one column more than once, so it weighs more: a = again")
    read = replace(read, remarks=(idle, "\x1b[2J of a name"))
    command.compared(read, command.How(methods=["ep"], iterations=0))
    err = capsys.readouterr().err
    assert f"\n  {idle}\n" in err and "\x1b" not in err and "[2J of a name" in err


def test_equal_rows_are_in_one_fold_and_every_row_is_tested_once():
    twice = np.repeat(X, 2, axis=0)
    y = np.repeat(np.where(LATENT > 0, 1.0, -1.0), 2)
    for task, target in (("classification", y), ("regression", twice[:, 0])):
        read = table.Table("mine", task, twice, target, ("a", "b"), "", ())
        tested = [fold.rows for fold in folds.folds(read, seed=3)]
        assert sorted(np.concatenate(tested)) == list(range(80))
        assert all(np.all(np.isin(rows ^ 1, rows)) for rows in tested)


def outcomes(method, losses):
    rest = (0.1, 1.0, True, "", 90, 10, (0.5,), (1.0,))
    return [Outcome(method, k, loss, *rest) for k, loss in enumerate(losses)]


def test_differences_are_named_by_what_they_show():
    noise = np.array([1, -1, 2, -2, 1, -1, 2, -2, 1, -1]) * 1e-3
    first = outcomes("ep", np.zeros(10))
    shifts = {"b": noise - 0.1, "w": noise + 0.1, "s": noise, "o": 200 * noise, "e": np.zeros(10)}
    every = [*first, *(x for name, losses in shifts.items() for x in outcomes(name, losses))]
    found = answer.differences(every, 0.01, 0.01)
    assert {d.method: d.says for d in found if d.score == "loss"} == {
        "b": BETTER,
        "w": WORSE,
        "s": ALIKE,
        "o": OPEN,
        "e": ALIKE,
    }
    (b,) = [d for d in found if d.method == "b" and d.score == "loss"]
    half = stats.t.ppf(0.975, 9) * math.sqrt(1 / 10 + 10 / 90) * np.std(shifts["b"], ddof=1)
    assert (b.low, b.high) == pytest.approx((b.mean - half, b.mean + half))
    said = answer.answer(answer.rows(every, "regression"), found, 0.01)
    assert said.take == "b" and "worse: w" in said.sentence
    without = [x for x in every if x.method != "b"]
    assert (
        answer.answer(answer.rows(without, "regression"), answer.differences(without, 0.01, 0.01), 0.01).take
        == "ep"
    )


def test_an_interrupted_comparison_is_of_the_finished_folds(mine, tmp_path, capsys, monkeypatch):
    fitted = folds.compared

    def until_the_third(fold, k, *how):
        if k == 2:
            raise KeyboardInterrupt
        return fitted(fold, k, *how)

    monkeypatch.setattr(folds, "compared", until_the_third)
    asked = f"compare --data {mine} --target y --methods vb --iterations 0 --cores 1 --output {tmp_path}"
    assert main(asked.split()) == 130
    said = capsys.readouterr().err
    assert "20 fits to make: ep, vb, each on 10 folds" in said and "2 of 10 folds" in said
    text = (tmp_path / "mine-y" / "comparison.md").read_text(encoding="utf-8")
    assert "**Interrupted: all numbers are of 2 of 10 folds.**" in text and " 2 of 2 |" in text
    numbers = tmp_path / "mine-y" / "comparison.json"
    said = json.loads(numbers.read_text(encoding="utf-8"))
    assert said["folds"] == 2
    whole = json.dumps({**said, "folds": 10})
    numbers.write_text(whole, encoding="utf-8")
    assert main(asked.split()) == 130  # a part does not replace the page of more
    assert "has a page with more folds, which stays" in capsys.readouterr().err
    assert numbers.read_text(encoding="utf-8") == whole
    part = json.loads((tmp_path / "mine-y/interrupted/comparison.json").read_text(encoding="utf-8"))
    assert part["folds"] == 2


def test_a_comparison_of_fewer_methods_replaces_no_page_of_more(tmp_path, capsys):
    row = answer.Row("ep", 0.4, 0.2, 0.1, 0.5, 5.0, 10, 0, 10)
    read = table.Table("mine", "classification", X, LATENT, ("a", "b"), "", ())
    taken = answer.Answer("ep", "Take **ep**.")
    less = page.Comparison(read, 0, (0.01, 0.01), [], [row], [], None, "", taken)
    more = less._replace(rows=[row, row._replace(method="pep")])
    assert command._place(tmp_path, less) == tmp_path  # there is none yet
    numbers = tmp_path / page.NAMES[0]
    numbers.write_text(json.dumps(more.as_dict()), encoding="utf-8")
    assert command._place(tmp_path, less) == tmp_path / "part"
    assert "has a page with pep, which stays" in capsys.readouterr().err
    assert command._place(tmp_path, more) == tmp_path
    edited = less._replace(table=replace(read, sha256="of other rows"))
    assert command._place(tmp_path, edited) == tmp_path
    numbers.write_text(json.dumps({**less.as_dict(), "exact": {"sound": True}}), encoding="utf-8")
    assert command._place(tmp_path, more) == tmp_path / "part"
    assert "with the exact posterior, which stays" in capsys.readouterr().err
    (tmp_path / "part" / page.NAMES[0]).write_text(json.dumps(more.as_dict()), encoding="utf-8")
    assert command._place(tmp_path, less._replace(exact=None)) == tmp_path / "part/part"
    (tmp_path / "part" / page.NAMES[0]).unlink()
    counts = replace(read, task="counts")
    assert command._place(tmp_path, more._replace(table=counts)) == tmp_path / "part"


def test_a_comparison_by_other_options_has_a_page_of_its_own_which_says_them(mine, tmp_path, monkeypatch):
    """On some rows, by another seed or a lengthscale a feature: it replaced the page silently."""
    fast = answer.Answer("ep", "Take **ep**.")
    row = answer.Row("ep", 0.4, 0.2, 0.1, 0.5, 5.0, 10, 0, 10)

    def compared(read, how):
        return page.Comparison(read, how.seed, (0.01, 0.01), [], [row], [], None, "", fast, how.ard)

    monkeypatch.setattr(command, "compared", compared)
    asked = f"compare --data {mine} --target y --cores 1 --output {tmp_path}".split()
    for options, name in (
        ([], "mine-y"),
        (["--rows", "40"], "mine-y"),  # all of them
        (["--ard"], "mine-y+ard"),
        (["--rows", "30", "--seed", "5", "--ard"], "mine-y+rows30+seed5+ard"),
    ):
        assert main([*asked, *options]) == 0
        said = json.loads((tmp_path / name / "comparison.json").read_text(encoding="utf-8"))
        assert said["ard"] == ("--ard" in options)
        text = (tmp_path / name / "comparison.md").read_text(encoding="utf-8")
        assert ("A lengthscale a feature (ARD)." in text) is said["ard"]
    assert sorted(x.name for x in tmp_path.iterdir() if x.is_dir()) == [
        "mine-y",
        "mine-y+ard",
        "mine-y+rows30+seed5+ard",
    ]


def test_a_damaged_page_below_another_is_named_before_any_fit(mine, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "compared", lambda *_: pytest.fail("a fit was made"))
    (tmp_path / "mine-y/part").mkdir(parents=True)
    (tmp_path / "mine-y/part/comparison.json").write_text("{", encoding="utf-8")
    assert main(f"compare --data {mine} --target y --output {tmp_path}".split()) == 2
    assert "part/comparison.json is damaged" in capsys.readouterr().err


def test_small_numbers_keep_their_digits_and_shares_are_percents():
    row = answer.Row("ep", 0.41941, 0.18, 0.0551, 0.5, 5.0, 10, 0, 10)
    small = answer.Difference("qp", "loss", 7.4e-6, -2.4e-5, 3.9e-5, 1.0, 10, ALIKE)
    read = table.Table("mine", "classification", X, LATENT, ("a", "b"), "", ())
    found = page.Comparison(
        read, 0, (0.01, 0.01), [], [row], [small], None, "", answer.Answer("ep", "Take **ep**.")
    )
    text = found.markdown()
    assert "[-2.4e-05, 3.9e-05]" in text and "18 %" in text and "5.51 %" in text and "0.4194" in text


@pytest.mark.parametrize("error, said", [(1.07e13, True), (3.0, False)])
def test_expectations_beyond_any_target_are_remarked_on(error, said):
    row = answer.Row("qp", 0.4, error, 0.9, 0.5, 5.0, 10, 0, 10)
    read = table.Table("mine", "counts", X, RNG.poisson(2.0, 40) * 1.0, ("a", "b"), "", ())
    found = page.Comparison(
        read, 0, (0.01, 0.01), [], [row], [], None, "", answer.Answer("ep", "Take **ep**.")
    )
    assert ("Errors of qp are beyond any target" in found.markdown()) is said


def test_a_failed_fold_is_counted_and_left_out_of_the_pairs():
    lost = outcomes("vb", [math.nan] + [0.5] * 9)
    every = [*outcomes("ep", np.zeros(10)), *lost]
    assert answer.rows(every, "regression")[1].failed == 1
    (loss, _) = answer.differences(every, 0.01, 0.01)
    assert loss.folds == 9 and loss.mean == 0.5


def test_intervals_cover_by_the_predictive_distribution():
    m, v, y = np.array([0.0, 1.0]), np.array([0.5, 2.0]), np.array([0.7, -1.0])
    gaussian = likelihoods.get("gaussian", noise=0.3)
    np.testing.assert_allclose(
        methods.below(gaussian, y, m, v), stats.norm.cdf(y, m, np.sqrt(v + 0.3)), atol=1e-4
    )
    laplace = likelihoods.get("laplace", scale=0.4)
    far = methods.below(laplace, np.array([50.0]), m[:1], v[:1])
    np.testing.assert_allclose(far, 1.0, atol=2e-2)
    poisson = likelihoods.get("poisson-exp")
    narrow = np.array([1e-12])
    np.testing.assert_allclose(
        methods.below(poisson, np.array([2.0]), m[:1], narrow), stats.poisson.cdf(2, 1.0), 1e-6
    )
    assert list(methods.covered(poisson, np.array([0.0, 9.0]), np.zeros(2), np.full(2, 1e-12))) == [
        True,
        False,
    ]
    assert list(methods.covered(gaussian, np.array([1.6, 1.4]), np.zeros(2), np.full(2, 0.5))) == [
        False,
        True,
    ]


def test_a_table_of_which_every_row_is_missing_says_so(tmp_path):
    (tmp_path / "mine.csv").write_text("a,y\n-9,0.5\n-9,1.5\n")
    block = tmp_path / "mine.yaml"
    block.write_text("file: mine.csv\ntarget: y\nmissing: [-9]\n")
    with pytest.raises(ValueError, match="each of its 2 rows has a marker of what is missing"):
        table.read(block)


@pytest.mark.parametrize(
    "text, line",
    [
        ("a,y\n\n1,0.5\n2,\n", 4),
        ("a,b,y\n1,x,0.5\n,,\n2,x,\n", 4),
        ('a,b,y\n1,"two\nlines",0.5\n2,x,\n', 4),
    ],
)
def test_a_row_without_a_target_has_its_line(text, line, tmp_path):
    """Empty lines, empty rows and lines within a cell were not counted, or were the row."""
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"mine.csv, line {line}: no y"):
        table.read(tmp_path / "mine.csv", "y", drop=["b"] if "b" in text else [])


def test_an_empty_row_is_none_that_is_left_out(tmp_path):
    """Of the commas that a spreadsheet leaves at the end, as of empty lines."""
    path = csv_of(tmp_path / "mine.csv", ["", *LATENT[1:]])
    path.write_text(path.read_text(encoding="utf-8") + ",,\n,,\n\n", encoding="utf-8")
    read = table.read(path, "y", missing=[""])
    assert len(read.y) == 39 and "1 of 40 rows have a missing value and are left out" in read.remarks


@pytest.mark.parametrize(
    "text, said",
    [
        ("a,a,y\n", "two columns are called 'a'"),
        ("a,b,y\n1,2,0,\n3,4,1,\n", r"mine.csv, line 2: 4 columns, expected 3 \(a delimiter at its end\?"),
        ("a,b,y\n1,2,0\n3,4,1,1\n", "mine.csv, line 3: 4 columns, expected 3$"),
        ("a;b;y\n", r"mine.csv, line 2: 3 columns, expected 1 \(is the delimiter ';'\?\)"),
        ("a;b;y\n1;2;3\n", r"'y' is not in the file, which has: a;b;y \(is the delimiter ';'\?\)"),
        ("a,b,y\n", "has no rows"),
        ("a,b,y\n1,2,1\n2,3,1.0\n", "every y is '1'"),
        ("a,b,y\n1,2,0\n2,3,-0\n", "every y is '0'"),
        (
            "a,b,y\n1,2,0.5\n2,3,0.7\n3,4,NA\n",
            r"line 4: column 'y': 'NA' is not a finite number \(.*--missing",
        ),
        ("a,b,y\n1,2,0.5\n2,3,0.7\n3,1e300,4.5\n", "column 'b' has values up to 1.0e.300"),
        ("PK\x03\x04,\x1b[31m" + "x" * 5000 + "\n1,2\n", "column 'y' is not in.{,400}$"),
    ],
)
def test_a_table_that_cannot_be_compared_on_is_refused_by_what_is_wrong(text, said, tmp_path, capsys):
    path = tmp_path / "mine.csv"
    rows = "1,2,0.5\n2,3,1.5\n" if "a,a" in text or text == "a;b;y\n" else ""
    path.write_text(text + rows, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        table.read(path, "y")
    assert main(["compare", "--data", str(path), "--target", "y"]) == 2
    assert "\x1b" not in capsys.readouterr().err  # a terminal would obey it


@pytest.mark.parametrize(
    "line, said",
    [
        ("drop: ab", "drop: 'ab' is not of type 'array'"),  # its letters were the columns
        ("missing: NA", "missing: 'NA' is not of type 'array'"),
        ("one_hot: ab", "one_hot: 'ab' is not of type 'array'"),
        ("header: 'no'", "header: 'no' is not of type 'boolean'"),
        ("delimiter: 5", "delimiter: 5 is not of type 'string'"),
        ("delimiter: ';;'", "one character"),
        ("positive: [1]", "'negative' is a dependency of 'positive'"),
        ("positive: 1\nnegative: 0", "1 is not of type 'array'"),
        ("target: [y]", r"target: \['y'\] is not of type"),
        ("target: {y: 1}", "target: {'y': 1} is not of type"),
        ("task: [regression]", "is not one of"),
    ],
)
def test_a_block_of_other_types_is_refused_by_its_field(line, said, tmp_path):
    csv_of(tmp_path / "mine.csv", LATENT)
    target = "" if line.startswith("target") else "target: y\n"
    (tmp_path / "mine.yaml").write_text(f"file: mine.csv\n{target}{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"mine.yaml: .*{said}"):
        table.read(tmp_path / "mine.yaml")


def test_a_comparison_of_one_method_warns_of_nothing(mine, tmp_path, recwarn):
    """Its picture of differences has no row, and both ends of that axis were the same."""
    asked = f"compare --data {mine} --target y --methods ep --iterations 0 --cores 1".split()
    assert main([*asked, "--output", str(tmp_path)]) == 0
    assert not [str(one.message) for one in recwarn if "limits" in str(one.message)]


def test_no_more_workers_than_folds_or_processors(mine, tmp_path, monkeypatch):
    """A hundred thousand were started, one by one, and nothing came of it."""
    asked, parallel = [], joblib.Parallel
    monkeypatch.setattr(
        joblib, "Parallel", lambda **how: asked.append(how.pop("n_jobs")) or parallel(1, **how)
    )
    how = "--target y --methods vb --iterations 0 --cores 100000 --output".split()
    assert main(["compare", "--data", str(mine), *how, str(tmp_path)]) == 0
    assert asked == [min(folds.FOLDS, os.cpu_count())]


def test_letters_in_a_name_where_the_locale_has_none(mine, tmp_path):
    """LC_ALL=C and PYTHONUTF8=0: the page had no place that could be written."""
    odd = mine.rename(tmp_path / "m\N{LATIN SMALL LETTER E WITH ACUTE}.csv")
    how = "--target y --methods vb --iterations 0 --cores 1 --output".split()
    called = [sys.executable, "-m", "papers", "compare", "--data", str(odd), *how, str(tmp_path)]
    bare = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = subprocess.run(called, env=bare, cwd=tmp_path, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "m\N{LATIN SMALL LETTER E WITH ACUTE}-y" / "comparison.md").exists()


@pytest.mark.parametrize(
    "said, found", [("\\t", True), ("\t", True), ("\\\\t", False), ("", False), ("ab", False)]
)
def test_a_tab_may_be_said_as_the_hint_says_it(said, found, tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("a\tb\n1\t0.5\n2\t1.5\n", encoding="utf-8")
    where = ["compare", "--data", str(tmp_path / "mine.csv"), "--target", "b", "--delimiter"]
    try:
        ended = main([*where, said])
    except SystemExit as refused:
        ended = refused.code
    told = capsys.readouterr().err
    assert ended == 2 and ("ten folds need" in told) == found
    assert found or "is not one character or" in told

"""Tables that people have: what is read and refused, the folds, the answer, the page."""

import gzip
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from papers.cli import main, parser
from papers.compare import methods, report, run, table
from papers.compare.methods import BASELINE
from papers.data.table import Description
from tilted import likelihoods

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2)).round(3)
LATENT = 2.0 * X[:, 0] + X[:, 1]
REALS = (LATENT + RNG.normal(size=40)).round(3)
CLASSES = np.where(LATENT + RNG.normal(size=40) > 0, "up", "down")
ZIGZAG = np.array([1, -1, 2, -2, 1, -1, 2, -2, 1, -1]) * 1e-4


def csv_of(path, y, header="a,b,y"):
    lines = [f"{a},{b},{value}\n" for (a, b), value in zip(X, y, strict=True)]
    path.write_text("".join([f"{header}\n", *lines]), encoding="utf-8")
    return path


def compared(path, options="", target="y"):
    """Exit status and numbers of a fast comparison."""
    words = ["compare", "--data", str(path), "--target", target, *"--iterations 0 --cores 1".split()]
    status = main([*words, "--output", str(path.parent / "pages"), *options.split()])
    (numbers,) = (path.parent / "pages").glob("*/comparison.json")
    return status, json.loads(numbers.read_text(encoding="utf-8"))


@pytest.fixture
def mine(tmp_path):
    return csv_of(tmp_path / "mine.csv", CLASSES)


def test_a_page_and_its_numbers(mine, tmp_path, capsys):
    asked = f"compare --data {mine} --target y --methods vb --iterations 40 --cores 1 --json"
    assert main([*asked.split(), "--output", str(tmp_path)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["table"]["task"] == "classification" and result["table"]["rows"] == 40
    assert result["table"]["remarks"] == ["y = up is the class +1, down is -1"]
    assert [row["method"] for row in result["methods"]] == ["ep", "vb", BASELINE]
    assert [x["score"] for x in result["differences"]] == ["loss", "error"]
    assert sum(x["n_test"] for x in result["outcomes"] if x["method"] == "ep") == 40
    assert result["answer"]["take"] in ("ep", "vb") and result["failures"] == []
    near = {x["method"]: x for x in result["exact"]["nearness"]}
    assert set(near) == {"ep", "vb"} and 0 < near["vb"]["variance"] < near["ep"]["variance"] < 1.3
    page = (tmp_path / "mine-y" / "comparison.md").read_text(encoding="utf-8")
    assert result["answer"]["sentence"] in page and "Error of means" in page and "Not compared: qp" in page
    html = (tmp_path / "mine-y" / "comparison.html").read_text(encoding="utf-8")
    assert "<table>" in html and "http" not in html
    assert json.loads((tmp_path / "mine-y" / "comparison.json").read_text(encoding="utf-8")) == result


@pytest.mark.parametrize("task, y", [("counts", RNG.poisson(np.exp(0.4 * LATENT))), ("regression", REALS)])
def test_every_method_fits_its_task(task, y, tmp_path):
    data = table.read(csv_of(tmp_path / "mine.csv", y), target="y", task=task)
    fold = next(run.split(data, 0, False))
    assert "rep" not in methods.names(task)
    every = methods.names(task, ["qp", "vb", "pep", "rep"] + (["gp"] if task == "regression" else []))
    outcomes, failures, exact = run.evaluate(fold, every, 0)
    assert exact is None and failures == [] and [x["method"] for x in outcomes] == [*every, BASELINE]
    assert all(math.isfinite(x["loss"]) and x["converged"] for x in outcomes)
    law = stats.poisson(fold.y.mean()) if task == "counts" else stats.laplace(*stats.laplace.fit(fold.y))
    densities = (
        law.logpmf(fold.y_test) if task == "counts" else law.logpdf(fold.y_test) - math.log(fold.scale)
    )
    assert outcomes[-1]["loss"] == pytest.approx(-densities.mean())


def test_scores_are_in_the_unit_of_the_target(tmp_path):
    losses = []
    for factor in (1.0, 2.0):
        data = table.read(csv_of(tmp_path / "mine.csv", factor * REALS), target="y")
        losses.append(methods.evaluate("ep", next(run.split(data, 0, False)), None)[1])
    assert losses[1]["loss"] == pytest.approx(losses[0]["loss"] + math.log(2.0), abs=1e-6)
    assert losses[1]["error"] == pytest.approx(2.0 * losses[0]["error"], rel=1e-6)


def outcomes(method, losses):
    """Records of folds with these losses; a NaN is a fold on which the method failed."""
    rest = {"error": 0.1, "seconds": 1.0, "converged": True, "message": "", "n_train": 90, "n_test": 10}
    arrays = {"predicted": np.array([0.5]), "y": np.array([1.0])}
    return [
        {"method": method, "fold": k, "loss": x, **rest, **arrays}
        for k, x in enumerate(losses)
        if not math.isnan(x)
    ]


def summary(*records, failures=()):
    data = table.Table("mine", "classification", "y", pd.DataFrame(X), np.ones(40))
    return report.summarise(data, [x for some in records for x in some], list(failures), 0.01)


def test_differences_are_named_by_what_they_show():
    noise = 10 * ZIGZAG
    shifts = {"qp": noise - 0.1, "vb": noise + 0.1, "pep": noise, "rep": 200 * noise, "gp": np.zeros(10)}
    every = [outcomes("ep", np.zeros(10)), *(outcomes(name, losses) for name, losses in shifts.items())]
    result = summary(*every, outcomes(BASELINE, np.ones(10)))
    verdicts = {x["method"]: x["verdict"] for x in result["differences"] if x["score"] == "loss"}
    assert verdicts == {"qp": "better", "vb": "worse", "pep": "alike", "rep": "undecided", "gp": "alike"}
    (qp,) = [x for x in result["differences"] if x["method"] == "qp" and x["score"] == "loss"]
    half = stats.t.ppf(0.975, 9) * math.sqrt(1 / 10 + 10 / 90) * np.std(shifts["qp"], ddof=1)
    assert (qp["low"], qp["high"]) == pytest.approx((qp["mean"] - half, qp["mean"] + half))
    assert result["answer"]["take"] == "qp" and "Worse: vb." in result["answer"]["sentence"]
    without = summary(every[0], every[2], outcomes(BASELINE, np.ones(10)))
    assert without["answer"]["take"] == "ep"


@pytest.mark.parametrize(
    "losses, guesses, warns",
    [
        (0.050 + ZIGZAG, 0.056 + 3 * ZIGZAG, False),  # a rare class: a significant lead below the margin
        (0.70 + ZIGZAG, 0.65 - ZIGZAG, True),
        (0.69 + ZIGZAG, 0.69 - ZIGZAG, True),
        (0.60 + 1000 * ZIGZAG, 0.65 - ZIGZAG, True),
        ([0.7, 0.7], [0.69, 0.69], False),  # interrupted: too few folds for a test
    ],
)
def test_a_method_that_learns_nothing_is_not_recommended_without_a_warning(losses, guesses, warns):
    sentence = summary(outcomes("ep", losses), outcomes(BASELINE, guesses))["answer"]["sentence"]
    assert ("is not shown to predict better than a guess without the features" in sentence) is warns


def test_a_failure_is_a_record_and_not_in_any_mean():
    reason = {"method": "qp", "fold": 0, "reason": "no posterior"}
    lost = outcomes("qp", [math.nan] + [0.5] * 9)
    result = summary(
        outcomes("ep", np.ones(10)), lost, outcomes(BASELINE, 2 * np.ones(10)), failures=[reason]
    )
    qp = result["methods"][1]
    assert (qp["loss"], qp["failed"], qp["folds"]) == (0.5, 1, 10)
    assert next(x for x in result["differences"] if x["method"] == "qp")["folds"] == 9
    assert result["answer"]["take"] == "ep" and "Failed on some fold: qp." in result["answer"]["sentence"]
    with pytest.raises(ValueError, match="every method failed on every fold: no posterior"):
        summary(outcomes(BASELINE, np.ones(10)), failures=[reason])


@pytest.mark.parametrize("method, others", [("vb", {"ep"}), ("ep", {"vb"})])
def test_a_method_that_fails_stops_no_other(method, others, mine, monkeypatch):
    fit = methods.fit

    def fails(name, fold, ep, at_ep=False):
        if name == method and fold.number == 2:
            raise ArithmeticError("the posterior is improper")
        return fit(name, fold, ep, at_ep)

    monkeypatch.setattr(methods, "fit", fails)
    status, result = compared(mine, "--methods vb rep" if method == "ep" else "--methods vb")
    assert (
        status == 1
        and {"method": method, "fold": 2, "reason": "the posterior is improper"} in result["failures"]
    )
    assert others <= {x["method"] for x in result["outcomes"] if x["fold"] == 2}
    page = (mine.parent / "pages" / "mine-y" / "comparison.md").read_text(encoding="utf-8")
    assert f"- {method}: the posterior is improper (fold 2)" in page and "nan" not in page


def test_a_sampler_that_fails_loses_no_fit(mine, monkeypatch):
    def fails(*_):
        raise ArithmeticError("lost to rounding")

    monkeypatch.setattr(run, "sample", fails)
    fold = next(run.split(table.read(mine, target="y"), 0, False))
    outcomes, failures, exact = run.evaluate(fold, ["ep"], 40)
    assert [x["method"] for x in outcomes] == ["ep", BASELINE] and exact is None
    assert failures == [{"method": "exact posterior", "fold": 0, "reason": "lost to rounding"}]


def test_an_interrupted_comparison_is_of_the_complete_folds(mine, capsys, monkeypatch):
    evaluate = run.evaluate

    def until_the_third(fold, *rest):
        if fold.number == 2:
            raise KeyboardInterrupt
        return evaluate(fold, *rest)

    monkeypatch.setattr(run, "evaluate", until_the_third)
    status, result = compared(mine, "--methods vb")
    assert status == 130 and result["folds"] == 2 and len(result["outcomes"]) == 6
    assert "2 of 10 folds" in capsys.readouterr().err


def test_equal_rows_and_groups_are_in_one_fold_and_every_row_is_tested_once():
    twice = pd.DataFrame(np.repeat(X, 2, axis=0))
    labels = np.repeat(np.where(LATENT > 0, 1.0, -1.0), 2)
    subjects = np.arange(80) // 8
    for groups in (None, subjects):
        for task, y in (("classification", labels), ("regression", twice[0].to_numpy())):
            data = table.Table("mine", task, "y", twice, y, groups)
            of = {tuple(row): k for k, row in enumerate(X)} if groups is None else None
            tested = []
            for fold in run.split(data, 3, False):
                scaled = [tuple(np.round(row, 9)) for row in fold.X_test]
                trained = {tuple(np.round(row, 9)) for row in fold.X}
                assert of is None or not trained & set(scaled)
                tested.append(len(scaled))
            assert sum(tested) == 80 and (groups is None or all(n % 8 == 0 for n in tested))


def test_trials_of_a_subject_do_not_leak(tmp_path):
    """Features that name a subject predict its label in other rows of it, and nothing in new subjects."""
    rng = np.random.default_rng(1)
    subject = np.repeat(np.arange(24), 4)
    label, where = rng.permutation(np.arange(24) % 2)[subject], rng.normal(size=(24, 2))[subject]
    noise = 0.01 * rng.normal(size=(96, 2))
    rows = [f"s{s},{a},{b},{c}\n" for s, (a, b), c in zip(subject, where + noise, label, strict=True)]
    (tmp_path / "mine.csv").write_text("subject,a,b,y\n" + "".join(rows), encoding="utf-8")
    _, leaky = compared(tmp_path / "mine.csv", "--methods ep --drop subject")
    _, honest = compared(tmp_path / "mine.csv", "--methods ep --group subject")
    assert leaky["methods"][0]["loss"] < 0.2 and honest["methods"][0]["loss"] > 0.5
    assert honest["table"]["features"] == ["a", "b"]


def test_intervals_cover_by_the_predictive_distribution():
    one = np.ones(2)
    gaussian = likelihoods.get("gaussian", noise=0.5)  # variance 1 in all, and 1.645 is the end of 90 %
    assert [*methods.covered(gaussian, np.array([1.6, 1.7]), 0 * one, 0.5 * one)] == [True, False]
    poisson = likelihoods.get("poisson-exp")  # rate 1: P(y > 3) = 0.019, P(y > 2) = 0.080
    assert [*methods.covered(poisson, np.array([3.0, 4.0]), 0 * one, 1e-12 * one)] == [True, False]
    laplace = likelihoods.get("laplace", scale=1.0)  # P(y > log 10) = 0.05
    assert [*methods.covered(laplace, np.array([2.2, 2.4]), 0 * one, 1e-12 * one)] == [True, False]


# Reading


@pytest.mark.parametrize(
    "text, options, message",
    [
        ("a,y\n1,0.5\nnorth,1.5\n", {}, "line 3: column 'a': 'north' is not a number .*--one-hot"),
        ("a,y\n1,0.5\n\n,1.5\n", {}, "line 4: column 'a': '' is not a number .*--missing"),
        ("a,y\n1,0.5\nnan,1.5\n", {}, "line 3: column 'a': 'nan' is not a number"),
        ("a,y\n\n1,0.5\n2,\n", {}, "line 4: column 'y': '' is a missing target"),
        ('a,b,y\n1,"two\nlines",0.5\n2,x,\n', {"drop": ["b"]}, "line 4: column 'y': '' is a missing"),
        ("a,y\n1,2020-01-31\n2,2020-02-28\n3,2020-03-31\n", {}, "is this a date"),
        ('a,y\n1,"59,701"\n2,"60,812"\n3,"9,5"\n', {}, "'59,701' is not .*decimal comma"),
        ("a,y\n1,2\n2,3\n", {"drop": ["y"]}, "column 'y' is dropped and used"),
        ("a,y\n1,2\n2,3\n", {"drop": ["a"]}, "no column is left to predict 'y' from"),
        ("a,y\n1,$3.24\n2,$3.25\n3,$3.26\n", {}, r"'\$3.24' is not .*Units must go"),
        ("a,y\n" + "1,1\n2,1.0\n" * 9, {}, "every y is '1'"),
        (
            "a,y\n" + "".join(f"{k},{k < 35:d}\n" for k in range(40)),
            {},
            r"each class; -1 has 5 \(y = 1 is the",
        ),
        (
            "a,y\n" + "1,red\n2,blue\n3,green\n" * 9,
            {},
            "two classes, y has 3 .blue, green, red, .*positive and negative",
        ),
        (
            "a,y\n" + "1,0_1\n2,1_1\n3,2_1\n" * 9,
            {},
            "two classes, y has 3",
        ),  # Python reads 11, a person does not
        ("a,y\n" + "1,4\n2,5\n3,6\n" * 9, {}, "--task counts, or --task regression"),
        ("a,y\n1,-0.5\n2,5\n3,6\n", {"task": "counts"}, "line 2: column 'y': '-0.5' is not a count"),
        ("a,y\n1,4\n2,5\n3,6\n", {"task": "classification"}, "two classes, y has 3 .4"),
        ("a,y\n1,0.5\n2,0.6\n3,0.7\n", {}, "10 rows that differ in their features"),
        ("g,a,y\ns,1,0.5\nt,2,0.6\nt,3,.7\n", {"group": "g"}, "at least three groups"),
        ("price,size,y\n1,2,3\n", {"target": "prise"}, "no column 'prise', but price"),
        ("1,2,3\n4,5,6\n", {}, "is there no header"),
        ('"a";"y"\n"1";"2"\n', {}, "is the delimiter ';'"),
        ("a;b;y\n1,5;2;3\n", {}, "is the delimiter ';'"),
        ("sep=;\na;y\n1;2\n", {}, "line 1, 'sep=;', is a mark for Excel: delete it .*--delimiter ';'"),
        ('a,y\n"r1",1,2\n"r2",3,4\n', {}, "line 2, saw 3 .*row.names = FALSE"),
        ("a,y\n1,2\n1,2,3\n", {}, "line 3, saw 3$"),
        ("a,a,y\n1,2,3\n", {}, "two columns are called 'a'"),
        (",a,y\n0,1,2\n1,3,4\n", {}, "a column has no name, as row numbers: --drop ''"),
        ("Unnamed: 0,a,y\n0,1,2\n", {}, "no name, as row numbers: --drop 'Unnamed: 0'"),
        ("a,y\n", {}, "has no rows"),
        ("a,y\n-9,0.5\n-9,1.5\n", {"missing": ["-9"]}, "has no rows: 2 of 2 rows have a missing value"),
        (
            "n,y\n" + "".join(f"p{k},{k}.5\n" for k in range(1500)),
            {"one_hot": ["n"]},
            "1500 values, too many",
        ),
        ("a,y\n" + "1,0.5\n" * 2001, {}, "2001 rows are too many .*--rows 2000"),
    ],
)
def test_a_table_that_cannot_be_compared_on_is_refused_by_what_is_wrong(text, options, message, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        table.read(path, **{"target": "y", **options})


def test_what_is_wrong_is_an_exit_status_and_a_sentence(mine, capsys):
    for options, message in (
        ("--methods gp laplace", "no method gp, laplace for classification; there are ep, qp"),
        ("--iterations 5", "--iterations is 0 or at least 10"),
        ("--rows 3", "ten folds need"),
        ("--delimiter ;", "is the delimiter ','?"),
    ):
        assert main(["compare", "--data", str(mine), "--target", "y", *options.split()]) == 2
        assert message in capsys.readouterr().err


def test_words_gaps_and_codes(tmp_path):
    """List options extend, and -999 in the command is -999.0 in the file."""
    rows = [
        f"k{k},{'abc'[k % 3]},{'-999.0' if k == 5 else k / 7},{'yes' if k % 2 else 'no'}\n" for k in range(40)
    ]
    (tmp_path / "churn.csv").write_text("id,plan,use,y\n" + "".join(rows) + ",,,\n\n", encoding="utf-8")
    _, result = compared(
        tmp_path / "churn.csv", "--methods ep --drop id --one-hot plan --missing -999 --missing ?"
    )
    about = result["table"]
    assert about["features"] == ["plan=a", "plan=b", "plan=c", "use"] and about["rows"] == 39
    assert "1 of 40 rows have a missing value and are left out" in about["remarks"]
    assert "the marker '?' of missing values does not occur" in about["remarks"]
    words = parser().parse_args("compare --data x --drop subject --drop trial date".split())
    assert words.drop == ["subject", "trial", "date"]


@pytest.mark.parametrize(
    "cell, options, value",
    [
        ("5433,60", {"decimal": ","}, 5433.6),
        ("5.433,60", {"decimal": ",", "thousands": "."}, 5433.6),
        ("5,433.60", {"thousands": ","}, 5433.6),
        ("1.476", {"thousands": "."}, 1476.0),
        ("1.476", {}, 1.476),
    ],
)
def test_numbers_in_another_spelling(cell, options, value):
    assert Description(**options).numbers(pd.Series([cell]))[0] == value
    assert Description(decimal=",").numbers(pd.Series(["1.476"])).isna()[0]


def test_a_yaml_block_says_which_values_are_which_class(tmp_path):
    rows = "".join(f"{k};{'ab'[k % 2]};{('yes', 'no', '-1')[k % 3]}\n" for k in range(45))
    (tmp_path / "pumps.csv").write_text("n;site;state\n" + rows + "?;a;yes\n", encoding="utf-8")
    block = "file: pumps.csv\ndelimiter: ';'\ntarget: state\npositive: [yes]\n"
    path = tmp_path / "pumps.yaml"
    path.write_text(block + "negative: [no, -1.0]\none_hot: [site]\nmissing: ['?']\n", encoding="utf-8")
    data = table.read(path)
    assert [*data.X] == ["n", "site=a", "site=b"] and len(data.y) == 45 and data.y.sum() == 15 - 30
    path.write_text(block + "negative: [no]\ndrop: [site]\nmissing: ['?']\n", encoding="utf-8")
    with pytest.raises(ValueError, match="pumps.csv, line 4: column 'state': '-1' is not one of the classes"):
        table.read(path)
    for line, message in (("onehot: [site]", "nothing else"), ("drop: site", "drop: 'site' is not a list")):
        path.write_text(block + "negative: [no]\n" + line + "\n", encoding="utf-8")
        with pytest.raises(ValueError, match=f"pumps.yaml.*{message}"):
            table.read(path)


def test_suspicious_columns_are_remarked_on(tmp_path):
    rows = [f"{k},{a},7,{'up' if k < 20 else 'down'},{k}.5\n" for k, a in enumerate(X[:, 0])]
    (tmp_path / "mine.csv").write_text("id,a,one,y,z\n" + "".join(rows), encoding="utf-8")
    remarks = table.read(tmp_path / "mine.csv", target="y", drop=["z"]).remarks
    assert "the same in every row: one" in remarks and any("'id' alone determines y" in x for x in remarks)
    remarks = table.read(tmp_path / "mine.csv", target="z", drop=["y"]).remarks
    assert any("'id' alone determines z" in x for x in remarks)
    assert not any("'a'" in x for x in remarks)


def test_a_quote_that_takes_rows_with_it_is_remarked_on(tmp_path):
    lines = [f"{k},note,{'bad' if k % 3 else 'good'}\n" for k in range(90)]
    lines[20], lines[31] = '20,"a note that nobody closes,good\n', '31,closed here",bad\n'
    (tmp_path / "pumps.csv").write_text("n,note,state\n" + "".join(lines), encoding="utf-8")
    data = table.read(tmp_path / "pumps.csv", target="state", drop=["note"])
    assert len(data.y) == 79 and "a cell that ends in line 33 has 12 lines: a quote too many?" in data.remarks


def test_files_of_other_kinds(tmp_path, capsys):
    text = csv_of(tmp_path / "mine.csv", REALS).read_bytes()
    (tmp_path / "mine.csv.gz").write_bytes(gzip.compress(text))
    assert len(table.read(tmp_path / "mine.csv.gz", target="y").y) == 40
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(text)[:-20])
    (tmp_path / "latin.csv").write_bytes("a,y\n1,\N{LATIN SMALL LETTER E WITH ACUTE}\n".encode("latin-1"))
    for name, message in (
        ("cut.csv.gz", "is not UTF-8 text"),
        ("latin.csv", "is not UTF-8 text"),
        ("none.csv", "there is no"),
        (".", "Is a directory"),
    ):
        assert main(["compare", "--data", str(tmp_path / name), "--target", "y"]) == 2
        assert message in capsys.readouterr().err


def test_a_sample_of_the_rows_is_drawn_by_the_seed(mine):
    samples = [table.read(mine, rows=30, seed=seed, target="y") for seed in (1, 1, 2)]
    assert samples[0].X.equals(samples[1].X) and not samples[0].X.equals(samples[2].X)
    assert "30 of 40 rows, drawn by seed 1" in samples[0].remarks


def test_a_place_for_the_page(mine, tmp_path, capsys, monkeypatch):
    """A name that no folder may have, a home folder, and a file in the way, which is seen before any fit."""
    monkeypatch.setenv("HOME", str(tmp_path))
    odd = csv_of(tmp_path / "odd.csv", REALS, f"a,b,p/q {'really? ' * 40}".strip())
    target = odd.read_text(encoding="utf-8").splitlines()[0].split(",")[2]
    asked = ["compare", "--data", str(odd), "--target", target, *"--methods ep --iterations 0".split()]
    assert main([*asked, "--cores", "1", "--output=~/pages"]) == 0
    assert len(list((tmp_path / "pages").glob("odd-p_q_really*/comparison.html"))) == 1
    (tmp_path / "file").touch()
    monkeypatch.setattr(run, "compare", lambda *_: pytest.fail("a fit was made"))
    assert main(["compare", "--data", str(mine), "--target", "y", "--output", str(tmp_path / "file")]) == 2


@pytest.mark.parametrize(
    "text, valid", [("\\t", True), ("\t", True), ("\\\\t", False), ("", False), ("ab", False)]
)
def test_a_tab_may_be_written_as_the_hint_writes_it(text, valid, tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("a\tb\n1\t0.5\n2\t1.5\n3\t2.5\n", encoding="utf-8")
    words = ["compare", "--data", str(tmp_path / "mine.csv"), "--target", "b", "--delimiter"]
    try:
        status = main([*words, text])
    except SystemExit as refused:
        status = refused.code
    err = capsys.readouterr().err
    assert status == 2 and ("ten folds need" in err) == valid and (valid or "is not one character or" in err)

"""Classifications and the studies beside them, from records to files and verdicts."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.core.verdicts import finding
from papers.pep import artifacts, banana, compare, dense, figures, looks, published, scores, tables
from papers.pep.claims import contests
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, MAP
from papers.pep.scores import ERROR, NLL

DATA = Path(__file__).resolve().parents[3] / "data" / "published"
SETS, ALPHAS, SIZES = ("crabs", "sonar"), ("0", "0.5", "1"), (10, 20, 50)


def frame_of(score, splits=5, protocol="as-released", failed=(), datasets=SETS, alphas=ALPHAS):
    """Records with ``score``: (data set, split, power, M) -> error, NLL."""
    lines = []
    for dataset, split, alpha, m in product(datasets, range(splits), alphas, SIZES):
        line = {"dataset": dataset, "split": split, "alpha": alpha, "m": m, "protocol": protocol}
        if (dataset, split, alpha, m) in failed:
            numbers, ended = (np.nan, np.nan, np.nan), ("failed", "why")
        else:
            numbers, ended = (50.0, *score(dataset, split, alpha, m)), ("ok", "")
        line |= dict(zip(("nlml", "error", "nll"), numbers, strict=True))
        line |= dict(zip(("outcome", "message"), ended, strict=True))
        lines.append(line | {"n_train": 186, "n_test": 21, "evaluations": 7, "seconds": 1.0, "run": "r"})
    return CLASSIFICATION.frame(lines)


def even(dataset, split, alpha, m):
    """0.5 over EP on NLL; every other pair alternates, by splits whose shares are near a half."""
    turn = 1 if (SIZES.index(m) + SETS.index(dataset)) % 2 else -1
    nll = {"0": 0.5, "0.5": 0.5 + 0.01 * turn, "1": 0.5 + 0.02 * turn}[alpha]
    nll = 0.52 if alpha == "1" and m == 20 else nll
    return 0.1 + 0.05 * turn * float(alpha), nll


def printed():
    return published.read(DATA).shares


def no_winner(frame):
    """Blocks of PEP7 by name."""
    blocks = contests.no_winner(frame, published.read(DATA), "PEP7")
    return {block.name.split(" ±")[0]: block for block in blocks}


class TestShares:
    def test_ties_of_the_error_are_counted_apart(self):
        def score(dataset, split, alpha, m):
            return {"0": 0.1, "0.5": 0.1 if m > 10 else 0.05, "1": 0.1}[alpha], 0.5

        found = compare.duel(frame_of(score), "0.5", "0", ERROR)
        assert (found.wins, found.losses, found.ties, found.share) == (10, 0, 20, 1.0)
        assert compare.duel(frame_of(score), "1", "0", ERROR).ties == 30

    def test_an_error_of_zero_is_a_score_as_any(self):
        found = compare.duel(frame_of(lambda d, s, a, m: (float(a) / 20, 0.1)), "0", "1", ERROR)
        np.testing.assert_allclose(found.differences, 0.05)

    def test_even_pairs_and_one_winner_hold(self):
        def score(dataset, split, alpha, m):  # 0.5 wins 5 of 6 against EP, VFE 3 of 6 against either
            place = SETS.index(dataset) * len(SIZES) + SIZES.index(m)
            other = 0.02 if place % 2 else -0.02
            return even(dataset, split, alpha, m)[0], 0.5 + {
                "0": 0.0,
                "0.5": other,
                "1": other + (0.01 if place else -0.01),
            }[alpha]

        blocks = no_winner(frame_of(score, splits=10))
        first, beside = blocks["shares of experiments won"], blocks["the printed share"]
        assert first.verdict == "holds" and len(first.rows()) == 6
        assert first.lines[0].effect == pytest.approx(5 / 6) and first.remark.startswith("as-released; ")
        assert beside.verdict == "does not hold" and beside.lines[0].sample.status == "no"

    def test_one_pair_that_is_not_even_contradicts_its_row_alone(self):
        blocks = no_winner(frame_of(even, splits=10))
        first, beside = blocks["shares of experiments won"], blocks["the printed share"]
        assert first.verdict == "holds in part"
        assert [row for row, status in first.rows().items() if status == "no"] == ["NLL: α = 1 over α = 0"]
        rows = {x.row: x for x in first.lines}
        assert len(rows) == len(first.rows()) == 6
        assert beside.lines[0].effect == rows["NLL: α = 0.5 over α = 1"].effect
        assert rows["NLL: α = 0.5 over α = 0"].sample.status == "yes"
        assert "printed 65 %" in rows["NLL: α = 0.5 over α = 1"].note
        assert "printed" not in rows["NLL: α = 1 over α = 0"].note

    def test_a_clear_winner_contradicts(self):
        frame = frame_of(lambda d, s, a, m: (0.1, -float(a)), splits=10)
        first = no_winner(frame)["shares of experiments won"]
        statuses = {x.row: x.sample.status for x in first.lines if "NLL" in x.quantity}
        assert set(statuses.values()) == {"no"} and first.verdict == "does not hold"

    def test_nothing_is_testable_without_records(self):
        block = no_winner(CLASSIFICATION.frame())["shares of experiments won"]
        assert block.verdict == "too few runs" and len(block.rows()) == 6

    def test_half_of_the_splits_are_needed(self):
        for splits, lacking in ((5, {"units", "sets at every M"}), (10, {"sets at every M"})):
            judged = finding("PEP7", "corrected", list(no_winner(frame_of(even, splits=splits)).values()))
            assert judged.verdict == "too few runs" and set(judged.blocks[0].lacking) == lacking

    @pytest.mark.parametrize(
        ("order", "expected"), [((0, 1, 2, 3), "holds"), ((0, 2, 1, 3), "does not hold")]
    )
    def test_large_powers_are_the_worst(self, order, expected):
        place = dict(zip(("0", "0.5", "0.8", "1"), order, strict=True))
        frame = frame_of(lambda d, s, a, m: (0.1, 0.1 * place[a] + 0.001 * s), alphas=tuple(place))
        frame.loc[(frame["split"] == 0) & (frame["alpha"] == "0"), "nll"] = 0.05 + 0.1 * (order[0] + 1)
        assert no_winner(frame)["large powers worst on NLL"].verdict == expected
        assert "α 0, 0.5, 1; " in no_winner(frame)["shares of experiments won"].remark  # those that decide
        fewer = frame[(frame["split"] > 0) | (frame["alpha"] != "0.8")]
        n = len(frame[(frame["split"] == 0) & (frame["alpha"] == "0.8")])
        remark = no_winner(fewer)["large powers worst on NLL"].remark
        assert n > 0 and remark == f"{n} experiments without every power left out"
        assert no_winner(frame_of(even))["large powers worst on NLL"].rows() == {
            "NLL: α = 0.8 and α = 1 worst": "no data"
        }


@pytest.fixture(scope="module")
def written(put, without_pictures, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    failed = {("crabs", 1, "1", 10)}
    both = [frame_of(even, failed=failed), frame_of(even, protocol="corrected")]
    frame = pd.concat(both, ignore_index=True)
    stopped = (frame["dataset"] == "sonar") & (frame["alpha"] == "1") & (frame["split"] < 2)
    frame.loc[stopped & (frame["m"] == 50), ["outcome", "message"]] = ["stopped", "limit"]
    put(folder / "r", CLASSIFICATION, frame)
    put(folder / "r", BANANA, ratios(0.2, 0.9))
    put(folder / "r", MAP, points())
    put(folder / "r", DENSE, grid(1e-9))
    with without_pictures(but=["figure24"]):
        return artifacts.write(folder / "r", folder / "t", folder / "f", DATA), folder


class TestFiles:
    def test_every_protocol_has_its_tables_and_figures(self, written):
        _, folder = written
        names = {path.name for path in (folder / "t").iterdir()}
        assert names == {
            tables.DATA_SETS,
            *(
                name
                for p in ("as-released", "corrected")
                for name in tables.names(tables.CLASSIFICATION.under(p))
            ),
        }
        released = {path.stem for path in (folder / "f" / "pep").glob("*.png")}
        assert released == {f"figure{k}" for k in (6, 7, 23, *range(24, 31), 33)}
        corrected = {path.stem for path in (folder / "f" / "pep" / "corrected").glob("*.png")}
        assert corrected == released - {"figure23", "figure33"}

    def test_the_page_says_what_was_won_and_what_failed(self, written):
        page = (written[1] / "t" / "pep_classification.md").read_text(encoding="utf-8")
        assert "no clear winner" in page and "65 %" in page and not re.search(r"\bnan\b", page)
        assert "UCI: as-released; 2 sets, splits 0-4" in page and "1 failed." in " ".join(page.split())
        assert "- Crabs, α = 1 (EP): 1 failed (why); M (fits): 10 (1)" in page
        assert "full GP" not in page and max(len(line) for line in page.splitlines()) < 200

    def test_the_page_says_how_many_searches_stopped_beside_the_means(self, written):
        page = (written[1] / "t" / "pep_classification.md").read_text(encoding="utf-8")
        below = page.split("### Sonar, searches that did not converge")[1].split("##")[0]
        assert [line.split("|")[3:6] for line in below.splitlines() if line.startswith("|  50")] == [
            [" 0 of 5 ".rjust(13), "0 of 5 ".rjust(9), "2 of 5 ".rjust(12)]
        ]
        assert "Crabs, searches that did not converge" not in page

    def test_shares_with_ties_say_of_how_many(self):
        def score(dataset, split, alpha, m):
            return 0.05 if (alpha, m, split) == ("1", 10, 0) else 0.1, float(alpha)

        won = compare.wins(frame_of(score, datasets=("crabs",)))
        _, _, cells = tables.by_dataset(won, [line for line in printed() if line.claim == "PEP7"])
        found = {cell[:2]: cell[2] for cell in cells}
        assert found["Error", "α = 0 (VFE) over α = 1 (EP)"] == "0 % (0 : 1)"
        assert found["Error", "α = 0.5 over α = 0 (VFE)"] == "(0 : 0)"
        assert found["NLL", "α = 0.5 over α = 1 (EP)"] == "100 %"

    def test_claims_are_judged_under_every_protocol(self, written):
        (chapter,) = written[0].audit
        judged = [(f.id, f.protocol) for f in chapter.findings]
        assert [p for i, p in judged if i == "PEP7"] == ["as-released", "corrected"]
        verdicts = {f.id: f.verdict for f in chapter.findings}
        assert verdicts["PEP9"] == verdicts["PEP1"] == "too few runs"
        assert set(chapter.notes) == {"PEP8", "PEP9", "PEP10", "PEP11"}

    def test_a_record_of_the_made_up_set_alone_has_means_and_no_figures(self, put, tmp_path):
        frame = frame_of(lambda d, s, a, m: (0.1, 0.5), splits=1, datasets=("banana",))
        put(tmp_path, CLASSIFICATION, frame)
        artifacts.write(tmp_path, tmp_path / "t", tmp_path / "f", DATA)
        page = (tmp_path / "t" / "pep_classification.md").read_text(encoding="utf-8")
        assert "### Banana (made up), NLL" in page and "Experiments won" not in page
        assert not (tmp_path / "f").exists()


def test_histograms_leave_ties_out_and_say_how_many():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    half = frame_of(lambda d, s, a, m: (0.1 + (0.05 if a == "1" and m == 10 else 0.0), 0.5))
    figures._histogram(axes, figures.Row("", half, "0", "1"), ERROR)
    assert sum(bar.get_height() for bar in axes.patches) == 10
    assert [text.get_text() for text in axes.texts][-1] == "20 tied"
    figures._histogram(Figure().subplots(), figures.Row("", half, "0", "1"), NLL)  # all tied


def test_few_sizes_have_their_last_one_labelled():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    looks.size_axis(axes, [10, 20, 50], 6.0)
    assert list(axes.get_xticks()) == [10, 50]


def test_scores_of_a_frame(fits):
    assert scores.predictive(fits()) == scores.PREDICTIVE
    assert scores.predictive(frame_of(even)) == (ERROR, NLL)
    means = compare.means(frame_of(even))
    assert {"error", "nll_se", "nlml"} <= set(means) and "smse" not in means
    assert set(compare.ranks_of_powers(frame_of(even))["score"]) == {"Error", "NLL"}


def grid(difference, converged=True):
    """Lines of the study of M = N."""
    for lengthscale in (1.0, 10.0):
        for quantity in dense.QUANTITIES:
            values = ("iono", 314, 35, 1e-9, lengthscale, 1.0, quantity, 100.0, 100.0, difference, converged)
            yield dict(zip(DENSE.columns, values, strict=True))


@pytest.mark.parametrize(
    ("difference", "converged", "expected"),
    [(1e-7, True, "holds"), (1e-5, True, "does not hold"), (1e-9, False, "does not hold")],
)
def test_equal_to_dense_ep(difference, converged, expected):
    (block,) = dense.equal(pd.DataFrame(grid(difference, converged)))
    assert block.verdict == expected and block.lines[0].note.startswith("2 pairs")


def ratios(low, high):
    """Lines of the study of pseudo-points: ratios with a little noise, half way at 0.5; one has stopped."""
    for seed in range(6):
        for alpha in banana.ALPHAS:
            ratio = low + (high - low) * alpha + 0.01 * (1 + alpha) * (-1) ** seed
            ended = (alpha, seed) != (1.0, 2)
            values = (seed, alpha, 20, 400, ratio, 1.0, ratio, 1, 80.0, 0.07, 99, ended)
            yield dict(zip(BANANA.columns, values, strict=True))


def points():
    """Lines of its map."""
    for alpha in banana.ALPHAS:
        for kind in ("data", "start", "pseudo", "boundary"):
            for k in range(6):
                values = (alpha, kind, 0, 0.1 * k, 0.2 * k + alpha, (-1) ** k if kind == "data" else 0)
                yield dict(zip(MAP.columns, values, strict=True))


@pytest.mark.parametrize(
    ("low", "high", "expected", "covers"),
    [
        (0.3, 1.0, "holds", "yes"),
        (0.3, 1.2, "holds", "yes"),
        (0.3, 1.25, "holds in part", "undecided"),
        (0.3, 2.0, "holds in part", "no"),
        (1.0, 0.3, "does not hold", "no"),
        (0.3, 0.6, "holds in part", "no"),
    ],
)
def test_pseudo_points_go_from_the_boundary_to_the_data(low, high, expected, covers):
    (block,) = banana.moved(pd.DataFrame(ratios(low, high)))
    assert block.verdict == expected and f"{low:.2f} at α = 0" in block.remark
    assert block.rows()["α = 1 covers the data"] == covers
    assert "not converged: 0 of 6 at α = 0, 0 of 6 at α = 0.5, 1 of 6 at α = 1" in block.remark

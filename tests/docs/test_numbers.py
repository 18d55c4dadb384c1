"""The numbers that matter in README and documents are those of the records and tables.

A row names a page, a fragment of its text with placeholders for numbers, and how the numbers are computed.
"""

import functools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
README = "README.md"


@functools.cache
def table(name):
    """A table, or a record of results/."""
    folder = "results" if "/" in name else "tables"
    return pd.read_csv(ROOT / folder / name, keep_default_na=False, na_values=[""], low_memory=False)


def lines(name, query):
    """The lines of a table for which a query is true."""
    return table(name).query(query, engine="python")


def audit(claim, protocol, block="", row="", quantity="", status=""):
    """Lines of the audit; empty arguments select everything."""
    frame = lines("audit_rows.csv", f"id == '{claim}' and protocol == '{protocol}'")
    for column, value in (("block", block), ("row", row), ("quantity", quantity), ("status", status)):
        frame = frame[frame[column] == value] if value else frame
    return frame


def effect(claim, protocol, block, row):
    """The effect of one line of the audit."""
    return audit(claim, protocol, block, row).effect.item()


def share(claim, row, block="direction", protocol="converged"):
    """A share of experiments won, in percent."""
    return 100 * effect(claim, protocol, block, row)


AT_EACH_M = "at each M, on sets and splits with every M"


def cells(methods, verdict=""):
    """Cells of Table 1, all or those with a verdict."""
    frame = lines("qp_fidelity.csv", f"check == 'cell' and method in {methods}")
    return len(frame[frame.verdict == verdict] if verdict else frame)


def losses(sign):
    """Rows on which the corrected VB's log loss is above (1) or below (-1) EP's by more than 0.001 nats."""
    frame = audit("QP4", "corrected", "vb, NTLL", quantity="vb - EP, NTLL")
    frame = frame[frame.status != "shown only"]
    return int((frame.low > 0.001).sum() if sign > 0 else (frame.high < -0.001).sum())


def fits(alpha, condition="smll > 0"):
    """Converged Power-EP regressions on real sets with a power, those that meet a condition."""
    where = "protocol == 'converged' and start == 'data' and m > 0 and dataset != 'synthetic'"
    return len(lines("pep/regression.csv.gz", f"{where} and alpha == '{alpha}' and {condition}"))


def runs(method, outcome="converged", flips=None):
    """Runs of a relaxed-EP method with an outcome, on all sets or on made-up ones with a share of flips."""
    frame = lines("rep/fits.csv.gz", f"chosen_on == 0 and method == '{method}'")
    frame = frame if flips is None else frame[(frame.dataset == "blobs") & (frame.flips == flips)]
    return len(frame[frame.outcome == outcome] if outcome else frame)


def lower_errors():
    """Rows of REP4 to REP6 on which the paper's EP is shown to have the higher test error."""
    frame = table("audit_rows.csv")
    frame = frame[frame.id.isin(["REP4", "REP5", "REP6"]) & (frame.quantity == "ep - REP, test error")]
    frame = frame[frame.block.str.startswith("against EP and Power EP")]
    return int((frame.status == "yes").sum())


def printed(score, first, second):
    """A published share of experiments, in percent."""
    frame = pd.read_csv(ROOT / "data/published/pep_win_rates.csv")
    return frame[(frame.score == score) & (frame["first"] == first) & (frame.second == second)].percent.item()


def within(column):
    """Smallest and largest share of a column over the four families of entropy search, in percent."""
    values = 100 * lines("pesc_accuracy.csv", "family != 'all'")[column]
    return values.min(), values.max()


EP_VARIANCES = ("QP10", "as-released", "test latents", "", "EP: log(v / exact), mean")
QP_NEARER = ("QP10", "as-released", "test latents", "", "rms of log(v / exact), EP - QP")
QUOTED = [
    (README, "all {} EP and QP cells are within half", lambda: [cells(["ep", "qp"], "pass")]),
    (README, "EP's are too small on all {}", lambda: [WORDS[len(audit(*EP_VARIANCES, "no"))]]),
    (README, "it beats EP on {} rows and loses on Sonar", lambda: [WORDS[losses(-1)]]),
    (README, "EP beats VFE in {:.0f} % of", lambda: [share("PEP5", "α = 1 over α = 0")]),
    (README, "of the experiments (printed: {:.0f} %)", lambda: [printed("SMLL", 1, 0)]),
    (
        README,
        "from {:.0f} % with 5 pseudo-points to {:.0f} % with 100",
        lambda: [share("PEP5", f"M = {m}: α = 1 over α = 0", AT_EACH_M) for m in (5, 100)],
    ),
    (README, "{} of {} EP fits predict worse", lambda: [fits("1"), fits("1", "smll == smll")]),
    (
        README,
        "α = 0.5 beats VFE in {:.0f} % and EP in {:.0f} % (printed: {:.0f} % and {:.0f} %)",
        lambda: [
            *(share("PEP4", f"α = 0.5 over α = {a}") for a in (0, 1)),
            *(printed("SMSE", 0.5, a) for a in (0, 1)),
        ],
    ),
    (README, "in {} and {} of 100 runs", lambda: [runs("rep-as-described", flips=f) for f in (0.1, 0.2)]),
    (
        README,
        "converged in {} of {} runs",
        lambda: [runs("ep-engine"), runs("ep-engine", "")],
    ),
    (
        README,
        "on {} of four families",
        lambda: [WORDS[len(audit("PESC1", "corrected", "at the points and x*", status="yes"))]],
    ),
    (README, "tolerances on {:.0f} to {:.0f} % of the problems", lambda: within("nfcpd_within")),
]
WORDS = "no one two three four five six seven eight nine ten".split()
FACTS = [
    ("a power of 0.8 never predicts worse than the training mean", lambda: fits("0.8") == 0),
    ("QP's variances are further off on every row", lambda: set(audit(*QP_NEARER).status) == {"no"}),
    ("VB is shown to be behind EP on Sonar alone", lambda: losses(1) == 1),
    ("EP and QP differ by less than 0.001 nats on every row", lambda: largest_gap() < 1e-3),
    ("no test error is lower than that of the paper's EP", lambda: lower_errors() == 0),
]


def largest_gap():
    """The largest mean difference of EP's and QP's log loss, in nats."""
    return max(audit("QP2", p, "EP as reported").effect.abs().max() for p in ("as-released", "corrected"))


def words(name):
    """The text of a page, white space and emphasis aside."""
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8").replace("*", "").replace("`", ""))


@pytest.mark.parametrize(("page", "fragment", "numbers"), QUOTED, ids=[f"{p}: {f}" for p, f, _ in QUOTED])
def test_a_number_is_that_of_the_data(page, fragment, numbers):
    assert fragment.format(*numbers()).replace("-", "−") in words(page).replace("-", "−")


@pytest.mark.parametrize("fact", [check for _, check in FACTS], ids=[name for name, _ in FACTS])
def test_a_statement_without_a_number_is_true(fact):
    assert fact()


def test_a_wrong_number_is_seen(monkeypatch):
    text = words(README)
    page, fragment, numbers = QUOTED[0]
    assert fragment.format(*numbers()) in text
    assert fragment.format(np.array(numbers()).item() + 1) not in text

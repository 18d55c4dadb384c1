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
FINDINGS, QP, POWER, RELAXED, ENTROPY, DIFFERENCES, CHOOSING = (
    f"docs/{name}.md"
    for name in (
        "findings paper-qp paper-power-ep paper-relaxed-ep paper-entropy-search differences choosing-a-method"
    ).split()
)


@functools.cache
def table(name):
    """A table, or a record of results/."""
    path = next(ROOT / kind / name for kind in ("tables", "results") if (ROOT / kind / name).is_file())
    return pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)


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


def off(row, metric):
    """How far a mean of VB is from the printed one, in standard errors of the two means."""
    line = lines("vb_column.csv", f"step == 'released' and row == '{row}' and metric == '{metric}'").iloc[0]
    return (line["mean"] - line.published_mean) / np.hypot(line.sd, line.published_sd) * np.sqrt(line.n_seeds)


def steps(row):
    """VB's printed log loss of a row, and ours by the steps that lead to it."""
    frame = lines("vb_column.csv", f"metric == 'NTLL' and row == '{row}'").set_index("step")
    return frame.published_mean.iloc[0], *frame["mean"][["released", "stable", "bound"]]


def clipped():
    """Folds of IonoS on which VB's variances are noise, and all."""
    frame = lines("qp/as-released.csv.gz", "dataset == 'ionosphere' and method == 'vb-joint-released'")
    return int((frame.clipped > 0).sum()), len(frame)


def changed(name, row, method="ep", column="effect", metric="NTLL"):
    """A number of the differences between text and code."""
    where = f"difference == '{name}' and row == '{row}' and method == '{method}' and metric == '{metric}'"
    return lines("differences.csv", where)[column].item()


def spans(name, method="ep"):
    """The smallest and largest effect of a difference on the log loss."""
    frame = lines("differences.csv", f"difference == '{name}' and method == '{method}' and metric == 'NTLL'")
    return frame.effect.min(), frame.effect.max()


def ratios(row):
    """Variance over the exact one of EP, QP and VB."""
    frame = lines("qp_truth.csv", f"part == 'test' and row == '{row}'").set_index("method")
    return np.exp(frame.log_variance_bias[["ep", "qp", "vb"]])


def unfinished(protocol, made_up):
    """Regressions that did not converge, and all."""
    sets = "==" if made_up else "!="
    where = f"protocol == '{protocol}' and start == 'data' and m > 0 and dataset {sets} 'synthetic'"
    frame = lines("pep/regression.csv.gz", where)
    frame = frame[frame.alpha != "full"]
    return f"{(frame.outcome != 'ok').sum():,}", f"{len(frame):,}"


def made_up(alpha, m):
    """Mean log loss of made-up sets."""
    where = f"dataset == 'synthetic' and alpha == '{alpha}' and m == {m}"
    return lines("pep_converged_means.csv", where).smll.item()


def ranks(score):
    """Average ranks of the eight powers."""
    return lines("pep_converged_ranks.csv", f"score == '{score}'").sort_values("alpha")["rank"]


def refits():
    """Repeated rows: how many, those that gave the record, those that differed."""
    return table("verified.csv")[["rows", "same", "different"]].sum()


def family(name):
    """Problems on which EP converged, shares within the tolerances of EP and of the last Gaussian."""
    line = lines("pesc_accuracy.csv", f"family == '{name}'").iloc[0]
    return line.converged, 100 * line.q_within, 100 * line.nfcpd_within


def within(column):
    """Smallest and largest share of a column over the four families of entropy search, in percent."""
    values = 100 * lines("pesc_accuracy.csv", "family != 'all'")[column]
    return values.min(), values.max()


def behind(row):
    """By how much QP's log loss is above EP's with one lengthscale a column, in nats."""
    return changed("ard", row, "qp - ep", "change_mean") / 1000


def above():
    """Points at which QP's variance exceeds EP's after EP's second search moved, and all of these points."""
    frame = lines("qp/variances.csv.gz", "protocol == 'as-released' and reference == 'moved'")
    return int((frame.v_qp > 1.000001 * frame.v_ep).sum()), len(frame)


def won(score, first, second, dataset="all"):
    """The share of experiments that a power wins against another."""
    where = f"score == '{score}' and first == {first} and second == {second} and dataset == '{dataset}'"
    return lines("pep_converged_wins.csv", where)["share"].item()


VB = "vb-joint-released"
VB_LOSSES = ("QP4", "corrected", "vb, NTLL", "", "vb - EP, NTLL")
NARROW = ("NLL: α = 0.5 over α = 1", "shares of experiments won", "corrected")
PAIRS = {
    "PEP5": ("α = 1 over α = 0", "α = 1 over α = 0.5", "α = 0.5 over α = 0"),
    "PEP4": ("α = 0.5 over α = 0", "α = 0.5 over α = 1", "α = 0 over α = 1"),
}
FAMILIES = {
    "one input, one constraint": "1-D, K = 1",
    "one input, two constraints": "1-D, K = 2",
    "two inputs, one constraint": "2-D, K = 1",
    "two inputs, two constraints": "2-D, K = 2",
}
EP_VARIANCES = ("QP10", "as-released", "test latents", "", "EP: log(v / exact), mean")
QP_NEARER = ("QP10", "as-released", "test latents", "", "rms of log(v / exact), EP - QP")
QUOTED = [
    (README, "all {} EP and QP cells are within half", lambda: [cells(["ep", "qp"], "pass")]),
    (README, "EP's are too small on all {}", lambda: [WORDS[len(audit(*EP_VARIANCES, "no"))]]),
    (README, "VB beats EP on {} sets and loses on Sonar", lambda: [WORDS[losses(-1)]]),
    (README, "EP beats VFE in {:.0f} % of", lambda: [share("PEP5", "α = 1 over α = 0")]),
    (README, "of the experiments (printed: {:.0f} %)", lambda: [printed("SMLL", 1, 0)]),
    (
        README,
        "in {:.0f} % with 5 pseudo-points, in {:.0f} % with 100",
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
    (
        README,
        "in {} of 100 runs with 10 % of labels flipped, in {} with 20 %",
        lambda: [runs("rep-as-described", flips=f) for f in (0.1, 0.2)],
    ),
    (
        README,
        "Over all {} runs it converged in {} as printed, in {} with this library's engine",
        lambda: [runs("ep-engine", ""), runs("rep-as-described"), runs("rep-engine")],
    ),
    (
        README,
        "on {} of four families",
        lambda: [WORDS[len(audit("PESC1", "corrected", "at the points and x*", status="yes"))]],
    ),
    (
        README,
        "{:.0f} to {:.0f} % of the problems before that step, {:.0f} to {:.0f} % after it",
        lambda: [*within("q_within"), *within("nfcpd_within")],
    ),
    (FINDINGS, "All {} EP and QP cells", lambda: [cells(["ep", "qp"], "pass")]),
    (
        FINDINGS,
        "by {:.1f} to {:.0f} % on average",
        lambda: sorted(100 - 100 * np.exp(audit(*EP_VARIANCES).effect))[::9],
    ),
    (FINDINGS, "loses on Sonar by {:.3f} nats", lambda: [audit(*VB_LOSSES).set_index("row").effect["Sonar"]]),
    (FINDINGS, "{} of VB's {} cells", lambda: [cells([VB], "pass"), cells([VB])]),
    (
        FINDINGS,
        "IonoS is {:.1f} (test error) and {:.1f} (log loss) off",
        lambda: [off("IonoS", "TE"), off("IonoS", "NTLL")],
    ),
    (
        FINDINGS,
        "of the code gives {1:.3f} nats where {0:.3f} is printed",
        lambda: [loss / 1000 for loss in steps("IonoS")],
    ),
    (FINDINGS, "log loss rises by {:.3f} nats", lambda: [changed("glass-without-id", "Glass") / 1000]),
    (
        FINDINGS,
        "by {:.4f} nats on Wine1 and by {:.4f} on Wine3",
        lambda: [behind("Wine1"), behind("Wine3")],
    ),
    (
        FINDINGS,
        "{:.0f} % (93), {:.0f} % (71) and {:.0f} % (93)",
        lambda: [share("PEP5", row) for row in PAIRS["PEP5"]],
    ),
    (
        FINDINGS,
        "{:.0f} % (67), {:.0f} % (78) and {:.0f} % (64)",
        lambda: [share("PEP4", row) for row in PAIRS["PEP4"]],
    ),
    (FINDINGS, "on log loss in {:.0f} % (65)", lambda: [share("PEP7", *NARROW)]),
    (
        FINDINGS,
        "training mean and variance, {} of them on Energy",
        lambda: [fits("1", "smll > 0 and dataset == 'energy'")],
    ),
    (FINDINGS, "is {:.2f} at M = 100 and at M = 500", lambda: [made_up("1", 100)]),
    (FINDINGS, "at M = 100 and at M = 500; the full model's is {:.2f}", lambda: [made_up("full", 500)]),
    (FINDINGS, "where {} of {} did not converge", lambda: unfinished("as-described", False)),
    (FINDINGS, "{} of {} did not converge)", lambda: unfinished("converged", False)),
    (FINDINGS, "have p = {:.3f}", lambda: [audit("PEP7", "corrected", NARROW[1], NARROW[0]).p_holm.item()]),
    (FINDINGS, "paper's EP in {} and {} |", lambda: [runs("ep", flips=f) for f in (0.1, 0.2)]),
    (
        FINDINGS,
        "in {} of {} runs and EP, iterated as in the paper, in {}",
        lambda: [runs("rep-as-described"), runs("ep", ""), runs("ep")],
    ),
    (
        FINDINGS,
        "on {:,.0f} of {:,.0f} problems",
        lambda: lines("pesc_accuracy.csv", "family == 'all'")[["converged", "problems"]].iloc[0],
    ),
    (FINDINGS, "one has {:.1f} % (95 %", lambda: [100 * audit("PESC2", "corrected").effect.min()]),
    (FINDINGS, "Before it {:.0f} to {:.0f} % are", lambda: within("q_within")),
    (FINDINGS, "exact moments, is within on {:.0f} to {:.0f} %", lambda: within("last_within")),
    (FINDINGS, "{1:,} of {0:,} gave the record and {2:,} differed", refits),
    (
        QP,
        "Cancer ({:.0f} %), Pima ({:.0f} %) and Wine3 ({:.0f} %) miss",
        lambda: [
            100 * effect("QP3", "as-released", "by folds, EP as reported", row)
            for row in ("Cancer", "Pima", "Wine3")
        ],
    ),
    *[
        (QP, f"| {row} | {{:,.0f}} | {{:,.0f}} | {{:,.0f}} | {{:,.0f}} |", functools.partial(steps, row))
        for row in ("IonoS", "Crabs", "Sonar", "Mining")
    ],
    (QP, "On {} of {:,} folds the factorisation succeeds", clipped),
    (QP, "is {:.2f} (Glass) to {:.2f} (Mining)", lambda: [ratios("Glass")["ep"], ratios("Mining")["ep"]]),
    (
        QP,
        "on average {1:.3f} standard deviations off against {0:.3f}",
        lambda: [
            lines("qp_truth.csv", f"part == 'test' and method == '{m}'").mean_rms.mean() for m in ("ep", "qp")
        ],
    ),
    (QP, "at {} of {:,} points, all of them Pima's", above),
    *[
        (
            POWER,
            f"| regression, {name} sets, {protocol} | {{}} | {{}} |",
            functools.partial(unfinished, protocol, name == "made-up"),
        )
        for name in ("real", "made-up")
        for protocol in ("as-described", "converged")
    ],
    (
        POWER,
        "| SMLL | EP over VFE | 0.93 | {:.2f} | {:.2f} |",
        lambda: [share("PEP5", PAIRS["PEP5"][0], protocol=p) / 100 for p in ("converged", "as-described")],
    ),
    (
        POWER,
        "minus EP's is {:.2f} nats at M = 5, {:.2f} at 200 and {:.2f} at 500",
        lambda: [
            effect("PEP5", "converged", "on the made-up sets at each M", f"SMLL, M = {m}: α = 1 over α = 0")
            for m in (5, 200, 500)
        ],
    ),
    (
        RELAXED,
        "| all | {} | {} | {} | {} | {} |",
        lambda: [
            runs("ep", ""),
            runs("ep"),
            runs("ep", "diverged"),
            runs("rep-as-described"),
            runs("rep-as-described", "diverged"),
        ],
    ),
    (
        RELAXED,
        "in {} (printed), {} (normalised) and {} (unnormalised)",
        lambda: [runs(f"rep-{reading}") for reading in ("printed", "normalised", "unnormalised")],
    ),
    *[
        (ENTROPY, f"| {words_of} | {{:.0f}} | {{:.0f}} % | {{:.0f}} % |", functools.partial(family, name))
        for words_of, name in FAMILIES.items()
    ],
    (
        DIFFERENCES,
        "| ard | one lengthscale a column | one for all | {:.0f} to +{:.0f} |",
        lambda: spans("ard"),
    ),
    (DIFFERENCES, "| +{:.1f} to +{:.1f} |", lambda: spans("ard", "qp - ep")),
    (
        DIFFERENCES,
        "converged bound lowers NTLL by {:.0f} on Mining, {:.0f} on Sonar and {:.0f} on Crabs",
        lambda: [-changed("vb-converged", row, "vb-joint") for row in ("Mining", "Sonar", "Crabs")],
    ),
    (
        DIFFERENCES,
        "its test error from {:.0f} to {:.0f} %",
        lambda: [
            changed("glass-without-id", "Glass", column=c, metric="TE") for c in ("base_mean", "change_mean")
        ],
    ),
    (
        DIFFERENCES,
        "raises EP's NTLL by {:.0f}, and {:.0f} of {:.0f} searches do not converge",
        lambda: [
            changed("coal-zero-mean", "Mining", column=c) for c in ("effect", "change_unconverged", "n_fits")
        ],
    ),
    *[
        (CHOOSING, f"| {row} | {{:.2f}} | {{:.2f}} | {{:.2f}} |", functools.partial(ratios, row))
        for row in ("IonoS", "Glass", "Mining")
    ],
    *[
        (
            CHOOSING,
            f"| {score}, average rank of eight | " + " | ".join(["{:.2f}"] * 8),
            functools.partial(ranks, score),
        )
        for score in ("SMSE", "SMLL")
    ],
    (CHOOSING, "EP beats it in {:.0f} % of the experiments", lambda: [100 * won("SMLL", 1, 0.8)]),
    (
        CHOOSING,
        "in {:.0f} % of the experiments on Kin8nm and {:.0f} % on Power",
        lambda: [100 * won("SMSE", 0.5, 1, name) for name in ("kin8nm", "power")],
    ),
]
WORDS = "no one two three four five six seven eight nine ten".split()
NAMES = [f"{page}: {fragment}" for page, fragment, _ in QUOTED]
FACTS = [
    ("a power of 0.8 never predicts worse than the training mean", lambda: fits("0.8") == 0),
    ("QP's variances are further off on every row", lambda: set(audit(*QP_NEARER).status) == {"no"}),
    ("VB is shown to be behind EP on Sonar alone", lambda: losses(1) == 1),
    ("EP and QP differ by less than 0.001 nats on every row", lambda: largest_gap() < 1e-3),
    ("no test error is lower than that of the paper's EP", lambda: lower_errors() == 0),
    ("searches at the paper's limit give the verdicts of converged ones", lambda: same_verdicts()),
    ("the penalty is 10 on Pima and Diabetes, 3 elsewhere", lambda: penalties() == {"pima", "diabetes"}),
]


def largest_gap():
    """The largest mean difference of EP's and QP's log loss, in nats."""
    return max(audit("QP2", p, "EP as reported").effect.abs().max() for p in ("as-released", "corrected"))


def same_verdicts():
    """True if Power EP's verdicts at the paper's limit of evaluations are those of converged searches."""
    verdicts = lines("audit.csv", "protocol in ['as-described', 'converged'] and paper == 'PEP'")
    verdicts = verdicts.pivot(index="id", columns="protocol", values="verdict").dropna()
    return len(verdicts) == 6 and (verdicts["as-described"] == verdicts["converged"]).all()


def penalties():
    """Data sets on which relaxed EP as described has penalty 10; on the others it must be 3."""
    frame = lines("rep_errors.csv", "method == 'rep-as-described'")
    return {*frame[frame.value == 10].dataset} if set(frame.value) == {3, 10} else None


def words(name):
    """The text of a page, white space and emphasis aside."""
    return re.sub(r"\s+", " ", (ROOT / name).read_text(encoding="utf-8").replace("*", "").replace("`", ""))


@pytest.mark.parametrize(("page", "fragment", "numbers"), QUOTED, ids=NAMES)
def test_a_number_is_that_of_the_data(page, fragment, numbers):
    """The text has the number of the data, and not another one in its place."""
    text, found = words(page).replace("-", "−"), numbers()
    assert fragment.format(*found).replace("-", "−") in text
    others = ["none" if isinstance(number, str) else 1.1 * number + 1 for number in found]
    assert fragment.format(*others).replace("-", "−") not in text


@pytest.mark.parametrize("fact", [check for _, check in FACTS], ids=[name for name, _ in FACTS])
def test_a_statement_without_a_number_is_true(fact):
    assert fact()

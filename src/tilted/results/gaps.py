"""QP's test log-likelihood against EP's, experiment by experiment: the asterisks of Table 1.

The paper marks a row where QP's NTLL is below EP's in more than 90 % of the experiments [Zhang 2020,
table 1] and does not say whether an experiment is a fold or a seed; both shares are given. EP stands
there ``reported`` (tuned twice where the protocol does) and at ``equal`` hyperparameters (the record
named in QP's ``pair``, where its hyperparameters are QP's, see `pairs.unmoved`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilted.results import pairs
from tilted.results.aggregate import FIELDS
from tilted.results.compact import FAILED, FOLDS, n_folds, ordered
from tilted.results.published import row_of

if TYPE_CHECKING:
    import pandas as pd

ASTERISK = 0.9
AGAINST = REPORTED, EQUAL = ("reported", "equal")
FIT = ["protocol", "dataset", "seed", "fold"]
COLUMNS = ("protocol", "row", "against", "n_folds", "n_below", "n_seeds", "n_seeds_below", "gap")


def ntll_gaps(frame: pd.DataFrame, folds: int = FOLDS) -> pd.DataFrame:
    """How often, and by how much, QP's NTLL is below EP's.

    Parameters
    ----------
    frame : pandas.DataFrame
        Compact records (`compact.read`), in any order.
    folds : int
        Folds that make a seed complete (coal always has 1).

    Returns
    -------
    gaps : pandas.DataFrame
        `COLUMNS`, a line a (protocol, row, against). Everything is over the seeds all of whose folds have
        numbers from both: their folds, and in how many QP's NTLL is strictly below; the seeds, and in how
        many the mean is; and the mean of EP - QP in printed units (NaN without such a seed).
    """
    import pandas as pd

    lines = ordered(frame[frame["outcome"] != FAILED])
    qp = lines[lines["method"] == "qp"]
    ep = lines[["method", *FIT, "ntll", "variance", "lengthscale"]]
    parts = []
    for against in AGAINST:
        partner = "ep" if against == REPORTED else qp["pair"]
        both = qp.assign(partner=partner).merge(
            ep, left_on=["partner", *FIT], right_on=["method", *FIT], suffixes=("_qp", "_ep")
        )
        if against == EQUAL:  # on the counts QP's own search moves some
            both = both[pairs.unmoved(both, ("_qp", "_ep"))]
        parts.append(_shares(both, folds).assign(against=against))
    gaps = pd.concat(parts, ignore_index=True)
    gaps["row"] = gaps["dataset"].map(row_of)
    order = {
        name: k for k, name in enumerate(dict.fromkeys(zip(lines["protocol"], lines["dataset"], strict=True)))
    }
    place = [order[key] for key in zip(gaps["protocol"], gaps["dataset"], strict=True)]
    return gaps.assign(place=place).sort_values("place", kind="stable")[list(COLUMNS)].reset_index(drop=True)


def has_asterisk(n_below: int, n: int) -> bool:
    """Whether QP is below EP in more than 90 % of n experiments."""
    return n > 0 and n_below > ASTERISK * n


def _shares(both: pd.DataFrame, folds: int) -> pd.DataFrame:
    """A line a (protocol, dataset) from matched folds; only complete seeds count."""
    row = ["protocol", "dataset"]
    rows = both[row].drop_duplicates()
    sizes = both.groupby([*row, "seed"])["fold"].transform("size")
    both = both[sizes == both["dataset"].map(lambda name: n_folds(name, folds))]
    both = both.assign(below=both["ntll_qp"] < both["ntll_ep"])
    by_seed = both.groupby([*row, "seed"], sort=False)
    seeds = by_seed.agg(qp=("ntll_qp", "mean"), ep=("ntll_ep", "mean")).reset_index()
    seeds = seeds.assign(below=seeds["qp"] < seeds["ep"], gap=FIELDS["NTLL"][1] * (seeds["ep"] - seeds["qp"]))
    shares = both.groupby(row).agg(n_folds=("below", "size"), n_below=("below", "sum"))
    over_seeds = seeds.groupby(row).agg(
        n_seeds=("below", "size"), n_seeds_below=("below", "sum"), gap=("gap", "mean")
    )
    whole = rows.merge(shares.join(over_seeds).reset_index(), on=row, how="left")
    counts = ["n_folds", "n_below", "n_seeds", "n_seeds_below"]
    return whole.fillna(dict.fromkeys(counts, 0)).astype(dict.fromkeys(counts, int))

"""Words of the table and the report: titles, introduction, captions of the figures."""

from __future__ import annotations

from pathlib import Path

TITLE = "Quantile propagation: Table 1 and Figure 1"
TABLE_TITLE = "Table 1 of the QP paper: ours and published"

INTRODUCTION = """\
Table 1 and Figure 1 of "Quantile Propagation for Wasserstein-Approximate Gaussian Processes" (Zhang, Walder,
Bonilla, Rizoiu and Xie, NeurIPS 2020), computed afresh by one engine for all methods, beside the published
values.

Every number belongs to a named protocol: as-released does what the paper's released code does, as-described
what its text says, corrected mends leaks and unconverged searches. A deviation is our mean minus the
published one, in units of the published standard deviation over seeds. Fits that failed or did not converge
are counted and listed, never dropped."""

CAPTIONS = {
    "figure1a": (
        "Predictive variances of the latent function on the test points of the classification rows, EP "
        "against QP at equal hyperparameters; below the diagonal QP's is smaller. Open circles and the "
        "lowest panel: folds whose reported EP moved in its second tuning."
    ),
    "figure1b": "The same for Poisson regression on the coal-mining counts, as reported.",
    "paired": (
        "Differences of NTLL between methods on the same folds, row by row: the mean over seeds, its spread "
        "over seeds, and the interval of the corrected resampled t test; the band is 0.001 nats wide on "
        "either side, the smallest effect that matters. At the right of a panel what a point rests on: seeds "
        "times folds a seed, over the seeds complete for both methods; a comparison with fewer than two is "
        "not drawn."
    ),
    "published": (
        "Ours minus published in printed units (TE in percent, NTLL in 0.001 nats): dot and line are the "
        "mean and spread over our seeds, the grey bar is the published spread."
    ),
    "qp_truth": (
        "EP, QP and VB against the exact posterior on one fold a data set: predictive variance over the "
        "exact one (each dot a test point, bars their geometric mean), error of the latent means, mean test "
        "log density (NTLL) and log evidence minus the exact ones; grey is what two Monte-Carlo standard "
        "errors may explain, a hollow marker an evidence above the exact one."
    ),
}


def of_figure(path: str | Path) -> str:
    """Caption of a figure file ``<protocol>/<figure>.png``, or of ``qp_truth.png``."""
    path = Path(path)
    protocol = "" if path.stem == "qp_truth" else f" Protocol {path.parent.name}."
    return CAPTIONS[path.stem] + protocol

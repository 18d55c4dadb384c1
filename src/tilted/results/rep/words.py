"""Words about the relaxed-EP paper: claims, introductions."""

from __future__ import annotations

HEADING = "Which claims of the relaxed-EP paper hold"
TITLES = {
    "REP1": "five points: REP nearer to the exact posterior for many c, Power EP further than EP",
    "REP2": "for large c REP is EP",
    "REP3": "made-up set: REP always converges, and faster; EP and Power EP sometimes diverge",
    "REP4": "made-up set: REP has a lower test error than EP and Power EP",
    "REP5": "Heart, Pima, Diabetes, Haberman: REP has the lowest test error",
    "REP6": "Spam with flipped labels: REP has the lowest test error at every rate",
}
MEANINGS = {
    "REP1": (
        "Holds: on a hundred random sets, with c chosen on others, both errors of REP are significantly "
        "smaller than EP's and Power EP's; both are smaller than EP's by more than 5 % on at least one "
        "decade of c on average; and at every power below 1 both errors of Power EP are significantly larger "
        "than EP's. Under as-described Power EP too is as printed (a whole site makes the cavity)."
    ),
    "REP2": "Holds: at c = 100 posterior means of the weights are EP's on every set, to the stopping rule.",
    "REP3": (
        "Holds: at both rates REP converges in all ten runs and, where both do, in significantly fewer "
        "sweeps than EP and Power EP, each of which diverges at least once. Diverged: a cavity, marginal or "
        "posterior became improper; unsettled: neither within 100 sweeps. Sweeps are undecided where both "
        "converged on fewer than five sets."
    ),
    "REP4": "Holds: at both rates REP's test error is significantly below EP's and Power EP's.",
    "REP5": "Holds: on each of the four sets REP's test error is significantly below EP's and Power EP's.",
    "REP6": "Holds: at each rate of flips REP's test error is significantly below EP's and Power EP's.",
}
LEGEND = """\
No code was released. `as-described` is REP as printed (eq. 36 and step (e), relaxations searched to the
end); `corrected` the algorithm that its own derivation gives, relaxations held after ten sweeps, in three
readings of the divergence, of which each row is judged by the one most favourable to the claim (of REP3 to
REP6; p-values are adjusted over all three). EP and Power EP are without rescue, as the paper has them,
Power EP in REP3 to REP6 consistent under both protocols (docs/rep.md); runs that do not converge are scored
at their last proper posterior. Every method has the lengthscale and the parameter that cross-validation on
one training part chose for it: a difference of errors is one of these choices too, and its p-value does not
know that they might have fallen otherwise. Where lengthscales differ they are named. The smallest
differences that matter are half a percentage point of an error rate, half a sweep, and 5 % of an error of
the posterior."""

TITLE = "Relaxed EP for Gaussian-process classification"
INTRODUCTION = """\
"Message passing with relaxed moment matching" (Qi and Guo, 2012) claims that EP gains accuracy and stability
by a relaxation factor around each site. All with the noisy-step likelihood; lengthscale, penalty c and power
u are chosen by three-fold cross-validation on the training part of one split. The paper prints no numbers,
only figures, and its data partitions are not available: ours have its sizes and numbers."""
METHODS = {
    "ep": "EP, sequential, without rescue",
    "ep-damped": "the same with step 1/2",
    "ep-engine": "EP by this package's engine",
    "pep": "Power EP, sequential, without rescue",
    "rep-normalised": "REP, KL of normalised distributions",
    "rep-unnormalised": "REP, KL of unnormalised distributions",
    "rep-printed": "REP, eq. 36 as printed",
    "rep-as-described": "REP, eq. 36 and step (e) as printed",
    "rep-engine": "REP (normalised) by the engine",
}
"""What the methods of the fits are."""

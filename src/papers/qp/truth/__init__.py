"""EP, QP and VB compared with the exact posterior, at the same hyperparameters."""

"""EP, QP and VB beside the exact posterior, at the same hyperparameters."""

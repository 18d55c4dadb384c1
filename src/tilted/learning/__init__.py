"""Hyperparameters, mean and pseudo-inputs by the evidence."""

"""Projections of a tilted distribution onto a Gaussian: moments (KL), Wasserstein, a certified table."""

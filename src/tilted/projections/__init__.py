"""Projections of a tilted distribution onto a Gaussian: moments (KL), Wasserstein, L_p, a certified table."""

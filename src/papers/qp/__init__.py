"""Quantile propagation [Zhang et al. 2020]."""

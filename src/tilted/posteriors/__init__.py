"""Gaussian posteriors q(f) given the sites: marginals, evidence parts, gradients, prediction."""

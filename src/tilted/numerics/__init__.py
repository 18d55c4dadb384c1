"""Numerical tools without statistics: factorisations, quadrature, optimisation."""

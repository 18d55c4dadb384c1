"""Verdicts on the claims of the Power-EP paper."""

"""Accuracy of EP, QP, VB and other approximations against the exact posterior."""

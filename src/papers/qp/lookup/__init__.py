"""Lookup tables of the projection, the certified one and the paper's: their cost and their effect."""

"""Lookup tables of the projection, the certified one and the paper's: what they cost and what they do."""

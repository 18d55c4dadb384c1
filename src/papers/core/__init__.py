"""Studies, and the comparison of repeated rows: the part that all four papers share."""

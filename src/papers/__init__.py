"""The reproduction of four papers: their experiments, records, tables, figures and verdicts."""

PAPERS = ("qp", "pep", "rep", "pesc")
"""Names of the papers: the package, the rules and the tables of each begin with its name."""

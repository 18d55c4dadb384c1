"""The reproduction of four papers: their experiments, records, tables, figures and verdicts."""

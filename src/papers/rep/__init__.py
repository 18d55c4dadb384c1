"""The relaxed-EP paper: records, comparisons, tables, figures, verdicts."""

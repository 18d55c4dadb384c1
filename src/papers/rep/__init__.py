"""The relaxed-EP paper's evidence: records, comparisons, tables, figures, verdicts."""

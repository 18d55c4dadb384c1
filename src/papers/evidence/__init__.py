"""What the four papers share: records, runs, comparisons, verdicts, pages and figures."""

"""Compare the inference methods on a person's own table by cross-validation, and report on one page."""

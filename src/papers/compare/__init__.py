"""Which method for my data? Every method that fits a table's task, ten folds, one page."""

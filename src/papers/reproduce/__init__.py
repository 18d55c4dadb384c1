"""A claim, a figure, a table, a paper made again by its name: a sample of its rows, and a receipt.

`names` says what a name stands for, `sample` draws rows, `command` has them repeated, `comparison` computes
numbers on both sides, `receipt` says what came of it. `preview` ends a run of the workflow.
"""

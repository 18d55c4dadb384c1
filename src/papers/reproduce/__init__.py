"""A claim, a figure, a table, a paper made again by its name: what it needs, its fits, its receipt.

`names` says what a name stands for, `needs` which jobs that takes, `fits` has them run by Snakemake, `sample`
makes some of the reused fits again, `results` compares, `receipt` says what came of it.
"""

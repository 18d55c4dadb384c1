#!/bin/sh
# Snakemake runs this in the environment that it made of tilted.yaml, from the folder of the run: a checkout.
python -m pip install --no-deps --no-build-isolation -e . -e src/papers

#!/bin/sh
# Make the environment of this checkout: tools/setup.sh PYTHON FOLDER (see `make setup`).
set -eu
PYTHON=$1 VENV=$2
fail() { echo "$1"; exit 1; }

"$PYTHON" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' || fail \
  "tilted needs Python >= 3.11 (PYTHON=/path/to/python3.11) with venv (Debian: apt-get install python3-venv)"
# Snakemake puts the interpreter's path into shell commands as it is.
"$PYTHON" -c 'import os, re, sys; sys.exit(not re.fullmatch(r"[\w@%+=:,./-]+", os.getcwd()))' || fail \
  "rename the folder and those above it: their names may have letters, digits and @ % + = : , . - _ only"

echo "Setting up $VENV (about a minute) ..."
if [ -e "$VENV/.unfinished" ]; then rm -rf "$VENV"; fi # an earlier set-up was interrupted
mkdir -p "$VENV"
touch "$VENV/.unfinished"
"$PYTHON" -m venv "$VENV"
# Modules are compiled on first use: compiling every package takes as long as installing it.
pip() { "$VENV/bin/python" -m pip install --quiet --quiet --progress-bar off --no-compile "$@"; }
# The pinned setuptools go first: one dependency has no wheel, and pip would build it with the newest ones.
sed -n '/^setuptools==/,/[^\\]$/p' requirements.lock > "$VENV/backend.lock"
pip --require-hashes -r "$VENV/backend.lock"
pip --require-hashes --no-build-isolation -r requirements.lock
pip --no-deps --no-build-isolation -e . -e src/papers
mv "$VENV/.unfinished" "$VENV/.stamp"

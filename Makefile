# make            set up .venv and run the preview (four rows of Table 1, a few minutes)
# make help       everything else

PYTHON ?= python3
CORES ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
UNFINISHED := $(VENV)/.unfinished
AUDIT := $(VENV)-audit
# Modules are compiled on first use: compiling every package takes as long as installing it.
PIP := $(BIN)/python -m pip install --quiet --quiet --progress-bar off --no-compile
SNAKEMAKE := $(BIN)/python -m snakemake --cores $(CORES)
TILTED := $(BIN)/python -m papers
TEST := $(BIN)/python -m pytest -q -n $(CORES) --dist loadfile --no-loadscope-reorder
# A cluster's modules set PYTHONPATH, whose packages would hide those of the environment.
unexport PYTHONPATH PYTHONHOME
# One BLAS thread a worker: two make these fits three times slower.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export MPLBACKEND := agg
export PATH := $(abspath $(BIN)):$(PATH)

.DEFAULT_GOAL := preview
.NOTPARALLEL:
.PHONY: setup preview paper unlock records tables docs site verify check plan cluster test-cluster test test-workflow test-full bench sbom audit-dependencies lint format lock clean help

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(STAMP) ## .venv with the pinned requirements, the library and the reproduction

# An interrupted set-up leaves UNFINISHED, and the next one starts anew. The pinned setuptools go first: one dependency has
# no wheel, and pip would build it with the newest ones.
$(STAMP): requirements.lock pyproject.toml src/papers/pyproject.toml
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' || { echo \
	  "tilted needs Python >= 3.11 (set PYTHON=/path/to/python3.11) and its venv module (Debian: apt-get install python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import os, re, sys; sys.exit(not re.fullmatch(r"[\w@%+=:,./-]+", os.getcwd()))' || { echo \
	  "rename the folder and those above it: their names may have letters, digits and @ % + = : , . - _ only"; exit 1; }
	@echo "Setting up $(VENV) (about a minute) ..."
	@if [ -e $(UNFINISHED) ]; then rm -rf $(VENV); fi
	@mkdir -p $(VENV) && touch $(UNFINISHED)
	@$(PYTHON) -m venv $(VENV)
	@sed -n '/^setuptools==/,/[^\\]$$/p' requirements.lock > $(VENV)/backend.lock
	@$(PIP) --require-hashes -r $(VENV)/backend.lock
	@$(PIP) --require-hashes --no-build-isolation -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e . -e src/papers
	@mv $(UNFINISHED) $@

$(AUDIT): requirements-audit.lock
	$(PYTHON) -m venv $@ && $@/bin/python -m pip install --quiet --require-hashes -r $< && touch $@

preview: setup ## four rows of Table 1, without network
	@$(SNAKEMAKE) --quiet all
paper: setup ## all rows, all protocols (many core-hours, restartable)
	$(SNAKEMAKE) --configfile config/paper.yaml
plan: setup ## what `make paper` would run: jobs, core-hours, memory and disk, from measured fits
	$(SNAKEMAKE) --configfile config/paper.yaml --dry-run --quiet rules
	@$(TILTED) plan --config config/paper.yaml
unlock: setup ## after a run that was killed (power, kill -9): let the next one begin
	$(SNAKEMAKE) --unlock
records: setup ## add new fits (data/fits, data/truth, data/nearer) to the committed rows (results/)
	$(TILTED) records
check: setup ## compare the committed records with their check sums and runs, in seconds
	$(TILTED) check
verify: setup ## make a sample of the committed records again and compare (VERIFY="--papers pesc --fits 5")
	$(TILTED) verify --jobs $(CORES) $(VERIFY)
tables: setup ## every table and figure from the committed records, in three minutes, without fitting
	$(TILTED) tables
docs: setup ## documents, API reference, claims and figures as pages that open offline: report/index.html
	@$(PIP) --require-hashes --no-deps -r requirements-docs.lock
	$(BIN)/python -m sphinx -W --keep-going -n -q -j auto -d build/doctrees -c docs . report
site: docs ## the same

cluster: setup ## what running on a cluster needs beside (docs/cluster.md)
	$(PIP) --require-hashes --no-deps -r requirements-cluster.lock
test-cluster: cluster ## the workflow through stand-ins of PBS, SGE, LSF and a real Slurm (root on Debian; minutes)
	$(BIN)/python -m pytest -q -n 4 -m slow tests/workflow/test_generic_profile.py
	TILTED_INSTALL_SLURM=1 $(BIN)/python -m pytest -q tests/workflow/test_slurm.py
test: setup ## the tests (minutes)
	$(TEST)
test-workflow: setup ## the tests that start Snakemake on the whole workflow (minutes)
	$(TEST) -m "workflow and not slow" tests/workflow
test-full: cluster ## all tests, the long ones included
	$(TEST) -m ""
bench: setup ## ours against GPy, scikit-learn, GPyTorch and GPflow (minutes, on a quiet machine); writes benchmarks/
	$(PIP) --require-hashes --no-deps --only-binary :all: -r requirements-bench.lock || echo "GPy could not be installed: its rows will be missing"
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/time_to_score.py

lint: setup ## ruff, snakefmt, mypy, snakemake --lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(SNAKEMAKE) --lint
format: setup ## let ruff and snakefmt rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow
lock: ## the locks and environment.yml from the pyproject.toml of both packages (needs uv)
	$(PYTHON) tools/lock.py
sbom: setup $(AUDIT) ## what is installed, with versions and licences: sbom.json (CycloneDX)
	$(AUDIT)/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible --output-format JSON --output-file sbom.json
audit-dependencies: $(AUDIT) ## known vulnerabilities of what the locks name (asks a public service)
	@for lock in requirements*.lock; do $(AUDIT)/bin/pip-audit --disable-pip --require-hashes -r $$lock || exit 1; done
clean: ## remove products and caches (not .venv, not raw data)
	rm -rf .snakemake logs data/standard data/lookup data/fits data/truth data/nearer data/chapters data/rows results/preview tables/preview \
	  figures/preview report docs/generated reproduced .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist

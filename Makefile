# make            set up .venv and run the preview (four rows of Table 1, two minutes)
# make help       everything else

PYTHON ?= python3
CORES ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --progress-bar off --require-hashes --no-deps
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
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 20
setup: $(VENV)/.stamp ## .venv with the pinned requirements, the library and the reproduction
$(VENV)/.stamp: requirements.lock pyproject.toml src/papers/pyproject.toml
	@sh tools/setup.sh "$(PYTHON)" $(VENV)
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
	@$(PIP) -r requirements-docs.lock
	$(BIN)/python -m sphinx -W --keep-going -n -q -j auto -d build/doctrees -c docs . report
cluster: setup ## what running on a cluster needs as well (docs/cluster.md)
	$(PIP) -r requirements-cluster.lock
test: setup ## the tests (minutes)
	$(TEST)
test-workflow: setup ## the tests that start Snakemake on the whole workflow (minutes)
	$(TEST) -m "workflow and not slow" tests/workflow
test-full: cluster ## all tests, the long ones included
	$(TEST) -m "" --hypothesis-profile thorough
test-cluster: cluster ## the workflow through stand-ins of PBS, SGE, LSF and a real Slurm (root on Debian; minutes)
	$(BIN)/python -m pytest -q -n 4 -m slow tests/workflow/test_generic_profile.py
	TILTED_INSTALL_SLURM=1 $(BIN)/python -m pytest -q tests/workflow/test_slurm.py
bench: setup ## ours against GPy, scikit-learn, GPyTorch and GPflow (minutes, on a quiet machine); writes benchmarks/
	$(PIP) --only-binary :all: -r requirements-bench.lock || echo "GPy could not be installed: its rows will be missing"
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/time_to_score.py
lint: setup ## ruff, snakefmt, mypy, snakemake --lint
	ruff check . && ruff format --check . && snakefmt --check Snakefile workflow && mypy
	$(SNAKEMAKE) --lint
format: setup ## let ruff and snakefmt rewrite the sources
	ruff check --fix . ; ruff format . ; snakefmt Snakefile workflow
lock: ## the locks and environment.yml from the pyproject.toml of both packages (needs uv)
	$(PYTHON) tools/lock.py
.venv-audit: requirements-audit.lock
	$(PYTHON) -m venv $@ && $@/bin/python -m pip install --quiet --require-hashes -r $< && touch $@
sbom: setup .venv-audit ## what is installed, with versions and licences: sbom.json (CycloneDX)
	.venv-audit/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible --output-format JSON --output-file sbom.json
audit-dependencies: .venv-audit ## known vulnerabilities of what the locks name (asks a public service)
	@for lock in requirements*.lock; do .venv-audit/bin/pip-audit --disable-pip --require-hashes -r $$lock || exit 1; done
clean: ## remove products and caches (not .venv, not raw data)
	rm -rf .snakemake logs data/standard data/lookup data/fits data/truth data/nearer data/chapters data/rows report docs/generated \
	  results/preview tables/preview figures/preview reproduced .*_cache .hypothesis build dist

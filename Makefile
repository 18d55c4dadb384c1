# make            set up .venv and run the preview (four rows of Table 1, a few minutes)
# make help       everything else

PYTHON ?= python3
ifeq ($(origin CORES),undefined)
CORES := $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif
override CORES := $(strip $(value CORES))
ifeq ($(origin VENV),environment)
$(error VENV is set in your environment ($(VENV)), which would be installed into and perhaps emptied: unset it, or say `make VENV=...`)
endif
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
SETTING_UP := $(VENV).pid
AUDIT := $(VENV)-audit
# pip would compile every module of every package, near half of the set-up's processor time; what is imported
# is compiled on first use instead, unless an inherited PYTHONDONTWRITEBYTECODE forbids it.
# Packages of a folder that PYTHONPATH names would count as installed, or hide ours (a papers.py), and a user's own
# settings (PIP_USER, pip.conf) may send them elsewhere or nowhere; those of a file that nothing here overrides are
# refused (ELSEWHERE). Constraints are overridden by none: the locks say every version, and an empty PIP_CONSTRAINT
# would leave the file's in force.
PIP := PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_DRY_RUN=0 PIP_REQUIRE_HASHES=0 PIP_CONSTRAINT=/dev/null \
  $(BIN)/python -m pip install --quiet --progress-bar off --no-compile
unexport VENV PIP_TARGET PIP_PREFIX PIP_ROOT PIP_PYTHON PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE
ELSEWHERE := '^[a-z]*\.(target|prefix|root|python|no-binary|only-binary)='

# One BLAS thread a worker: two make these fits three times slower.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# The tools of this environment come first, also for snakemake's own calls of python.
export PATH := $(abspath $(BIN)):$(PATH)

# Snakemake keeps a cache below HOME, or here where nothing can be kept there.
ifneq ($(shell d="$${XDG_CACHE_HOME:-$$HOME/.cache}"; mkdir -p "$$d" 2>/dev/null && test -w "$$d" && echo kept),kept)
export XDG_CACHE_HOME := $(abspath $(VENV))/cache
export MPLCONFIGDIR := $(XDG_CACHE_HOME)/matplotlib
endif

# A copied or moved environment runs the code of the checkout that it was made in: it is made again.
MADE_IN := $(shell sed -n 's/^command = .* -m venv \(--[^ ]* \)*//p' $(VENV)/pyvenv.cfg 2>/dev/null)
ifneq ($(MADE_IN),)
ifneq ($(realpath $(MADE_IN)),$(realpath $(VENV)))
$(info $(VENV) was made as $(MADE_IN): it is made again)
.PHONY: $(STAMP)
CLEAR := --clear
endif
endif

# The system's Python was upgraded or removed.
ifneq ($(wildcard $(VENV)/pyvenv.cfg),)
ifeq ($(realpath $(BIN)/python),)
$(info $(BIN)/python leads nowhere: $(VENV) is made again)
.PHONY: $(STAMP)
CLEAR := --clear
endif
endif

# Another Python was asked for than the environment has: whose packages they are is not decided here.
ifeq ($(origin PYTHON)$(CLEAR),command line)
ifneq ($(wildcard $(BIN)/python),)
SAY_VERSION := import sys; print(*sys.version_info[:2], sep=".")
ASKED := $(shell $(PYTHON) -c '$(SAY_VERSION)' 2>/dev/null || echo none)
MADE_WITH := $(shell $(BIN)/python -c '$(SAY_VERSION)' 2>/dev/null || echo none)
ifneq ($(filter-out $(MADE_WITH),$(ASKED)),)
$(error PYTHON=$(PYTHON) is Python $(ASKED), but $(VENV) has $(MADE_WITH): delete $(VENV), or leave PYTHON out)
endif
endif
endif

.DEFAULT_GOAL := preview
# `make -j clean preview` would do both at once; what a target runs uses the cores itself.
.NOTPARALLEL:
.PHONY: setup preview paper unlock records tables docs site verify check plan cluster test-cluster test test-workflow test-full bench sbom audit-dependencies lint format lock clean help

help: ## this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

# One word, which does not begin with 0 and of which no letter is left without its digits; no shell sees it before.
UNDIGITED := $(subst 0,,$(subst 1,,$(subst 2,,$(subst 3,,$(subst 4,,$(CORES))))))
UNDIGITED := $(subst 5,,$(subst 6,,$(subst 7,,$(subst 8,,$(subst 9,,$(UNDIGITED))))))
ifneq ($(words $(CORES))$(filter 0%,$(CORES))$(UNDIGITED),1)
$(error CORES must be a whole number from 1, got "$(CORES)")
endif

# SETTING_UP has the number of the make that sets up: one that ended is no make any more, though another process may
# have its number. Where it cannot be written (VENV in a folder that is not there yet) nothing is refused.
# A kill may leave a package's METADATA and nothing else, which pip takes for installed; the list of files comes last.
define HALF_INSTALLED
import importlib.metadata as m, sys
half = sorted(str(d.metadata["Name"]) for d in m.distributions() if d.files is None)
sys.exit(f"installed in part, as by a set-up that was killed: {', '.join(half)}; delete {sys.prefix} and run it again" if half else 0)
endef
export HALF_INSTALLED

setup: $(STAMP) ## .venv with the pinned requirements, the library and the reproduction

# The pinned build backend goes first: one dependency has no wheel, and pip would otherwise build it with
# whatever setuptools the registry has today.
$(STAMP): requirements.lock pyproject.toml src/papers/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tilted needs Python >= 3.11; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	@case "$$(pwd)" in *[[:space:]\"\`\\'{}$$']*) \
	  echo "Snakemake cannot run scripts from a path with a space or one of \"\`\\{}\$$: clone to another folder"; exit 1;; esac
	@if ! (set -C; echo $$PPID > $(SETTING_UP)) 2>/dev/null; then \
	  pid=$$(cat $(SETTING_UP) 2>/dev/null); name=$$(cat "/proc/$$pid/comm" 2>/dev/null || ps -p "$$pid" -o comm= 2>/dev/null); \
	  case "$$pid $$name" in "$$PPID "*) ;; *make*) \
	    echo "another make, process $$pid, sets up $(VENV): wait for it, then run it again"; exit 1;; esac; \
	  (echo $$PPID > $(SETTING_UP)) 2>/dev/null || :; fi
	@rm -f "$@"
	$(PYTHON) -m venv $(CLEAR) $(VENV)
	@if $(BIN)/python -m pip config list | grep -E $(ELSEWHERE); then \
	  echo "These settings of pip.conf would install elsewhere or other files: run it with PIP_CONFIG_FILE=/dev/null"; \
	  exit 1; fi
	@sed -n '/^setuptools==/,/[^\\]$$/p' requirements.lock > $(VENV)/backend.lock
	$(PIP) --require-hashes -r $(VENV)/backend.lock
	$(PIP) --require-hashes --no-build-isolation -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e . -e src/papers
	@$(BIN)/python -I -c 'import importlib.metadata as m; [m.version(x) for x in ("numpy", "snakemake", "tilted")]' || \
	  { echo "pip ended well, but installed nothing into $(VENV): look at its settings ($(BIN)/python -m pip config list)"; exit 1; }
	@$(BIN)/python -I -c "$$HALF_INSTALLED"
	@rm -f $(SETTING_UP) && touch "$@"

preview: setup ## four rows of Table 1, without network
	$(BIN)/python -m snakemake --cores $(CORES)

paper: setup ## all rows, all protocols (many core-hours, restartable)
	$(BIN)/python -m snakemake --cores $(CORES) --configfile config/paper.yaml

unlock: setup ## after a run that was killed (power, kill -9): let the next one begin
	$(BIN)/python -m snakemake --cores 1 --unlock

records: setup ## fold new fits (data/fits) into the committed records (results/)
	$(BIN)/python -m papers records

tables: setup ## every table and figure from the committed records, in three minutes, without fitting
	$(BIN)/python -m papers tables --documents

docs: setup ## documents, API reference, claims and figures as pages that open offline: report/index.html
	$(PIP) --require-hashes --no-deps -r requirements-docs.lock
	$(BIN)/python -m sphinx -W --keep-going -n -q -j auto -d build/doctrees -c docs . report

site: docs ## the same

check: setup ## compare the committed records with their check sums and runs, in seconds
	$(BIN)/python -m papers check

verify: setup ## make a sample of the committed records again and compare (VERIFY="--papers pesc --fits 5")
	$(BIN)/python -m papers verify --jobs $(CORES) $(VERIFY)

plan: setup ## what `make paper` would run: jobs, core-hours, memory and disk, from measured fits
	$(BIN)/python -m snakemake --cores $(CORES) --configfile config/paper.yaml --dry-run --quiet rules
	@$(BIN)/python -m papers plan --config config/paper.yaml

cluster: setup ## what running on a cluster needs beside (docs/cluster.md)
	$(PIP) --require-hashes --no-deps -r requirements-cluster.lock

test-cluster: cluster ## the workflow through stand-ins of PBS, SGE, LSF and a real Slurm (root on Debian; minutes)
	$(BIN)/python -m pytest -q -n 4 -m slow tests/workflow/test_generic_profile.py
	TILTED_INSTALL_SLURM=1 $(BIN)/python -m pytest -q tests/workflow/test_slurm.py

test: setup ## the tests (minutes)
	$(BIN)/python -m pytest -q -n $(CORES) --dist loadfile --no-loadscope-reorder

test-workflow: setup ## the tests that start Snakemake on the whole workflow (minutes)
	$(BIN)/python -m pytest -q -n $(CORES) --dist loadfile --no-loadscope-reorder -m "workflow and not slow" tests/workflow

test-full: cluster ## all tests, the long ones included
	$(BIN)/python -m pytest -q -n $(CORES) --dist loadfile --no-loadscope-reorder -m ""

bench: setup ## ours against GPy, scikit-learn, GPyTorch and GPflow (minutes, on a quiet machine); writes benchmarks/
	$(PIP) --require-hashes --no-deps --only-binary :all: -r requirements-bench.lock || \
	  echo "GPy could not be installed: its rows will be missing"
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/time_to_score.py

# What looks at the dependencies is not among them.
$(AUDIT)/.stamp: requirements-audit.lock
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --progress-bar off --require-hashes -r requirements-audit.lock
	@touch "$@"

sbom: setup $(AUDIT)/.stamp ## what is installed, with versions and licences: sbom.json (CycloneDX)
	$(AUDIT)/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml --output-reproducible \
	  --output-format JSON --output-file sbom.json

audit-dependencies: $(AUDIT)/.stamp ## known vulnerabilities of what the locks name (asks a public service)
	@for lock in requirements*.lock; do $(AUDIT)/bin/pip-audit --disable-pip --require-hashes -r $$lock || exit 1; done

lint: setup ## ruff, snakefmt, mypy, snakemake --lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/python -m snakemake --lint

format: setup ## let ruff and snakefmt rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

lock: ## the locks and environment.yml from the pyproject.toml of both packages (needs uv)
	$(PYTHON) tools/lock.py

clean: ## remove products and caches (not .venv, not raw data)
	rm -rf .snakemake logs data/standard data/lookup data/fits data/truth data/nearer data/chapters data/folded results/preview tables/preview \
	  figures/preview report docs/generated reproduced .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist

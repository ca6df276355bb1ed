# Two commands: `make lab` opens the workbench, `make test` proves it. `make help` lists the rest.
#
#   PYTHON=/path/to/python3.11   the Python to make .venv with
#   EXTRAS=cuda,hf,test          the engines' package and more; default cpu,hf,lightning,deepspeed,federated,test
#   LAB_ARGS=--no-browser        handed to JupyterLab by `make lab`
#   CHROMIUM=/path/to/chromium   the browser of the browser tests
#   PYTEST_ARGS="-k digits"      handed to pytest by `make test` and `make test-all`
#   JOBS=5                       test files run side by side, three more than cores; each takes about 1 GB
#   MODULES="runs compare"       the parts that `make mutants` tries; default all
#   SAMPLE=40 SEED=1             how many mutants of each part it tries, and which; default all
#   MINUTES=10                   how long it tries those of each part; default as long as it takes
#   AGAIN=1                      only the mutants that survived the last time
#   TESTS="tests/compare/.."     with these files of tests alone; default all of the part

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Packages are installed uncompiled: each module that is imported is compiled once and kept, also
# where the account forbids it. Compiling again in each process doubles the time of all tests.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
EXTRAS ?= cpu,hf,lightning,deepspeed,federated,test
LAB_ARGS ?=
PYTEST_ARGS ?=
JOBS ?= 5
# In a container people are root, and Jupyter wants to hear that this is meant.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

BUNDLED := $(VENV)/.bundled
EXTENDED := $(VENV)/.extended
INFERENCE := $(VENV)/inference/.installed
COMPILED := $(VENV)/.compiled
FRONT_END := extensions/widgets/build.py
FRONT_END_SOURCES := $(shell find extensions -type f -not -path '*/node_modules/*')

.PHONY: help lab test test-all check front-end-check system-packages bench docs pictures mutants clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

lab: $(BUNDLED) $(EXTENDED) ## set up, check the machine, open JupyterLab on the tour
	@cd notebooks && $(abspath $(BIN))/workbench doctor # where their runs are stored
	@exec $(BIN)/jupyter lab $(AS_ROOT) $(LAB_ARGS) notebooks/00_tour.ipynb

test: TESTS := -m "not sweep"
test: ready pytest ## set up and pass every test but the sweeps

test-all: TESTS :=
test-all: export WORKBENCH_WHOLE_TABLES := 1
test-all: ready pytest ## the same, sweeps included

.PHONY: pytest ready
# Side by side: the compiler, the downloads and the checks wait for different things.
ready:
	@$(MAKE) --no-print-directory --jobs=3 \
	  check system-packages $(EXTENDED) $(INFERENCE) $(COMPILED)

# Threads that wait busily hold the cores which the other test file's processes need.
pytest: export OMP_WAIT_POLICY := PASSIVE
pytest: $(BUNDLED) $(EXTENDED) $(INFERENCE)
	@home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && export WORKBENCH_HOME="$$home"; \
	run() { $(BIN)/python -m pytest $(TESTS) --durations=10 "$$@" $(PYTEST_ARGS) || \
	  $(if $(strip $(PYTEST_ARGS)),[ $$? = 5 ],false); }; \
	echo "== Tests, $(JOBS) files at a time" && \
	run -n $(JOBS) --dist loadfile --no-loadscope-reorder --nbval-lax notebooks tests

check: $(INSTALLED) $(BUNDLED) ## lint, format and types, of Python and TypeScript; unit tests of the front end
	@echo "== Lint, format, types"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(MAKE) --no-print-directory front-end-check

front-end-check: $(BUNDLED)
	@$(BIN)/python $(FRONT_END) --check

system-packages: ## Chromium and compilers for the tests; Debian's packages where none are found and we may
	@missing=; \
	[ -n "$${CHROMIUM:-}" ] || command -v chromium chromium-browser google-chrome google-chrome-stable \
	  >/dev/null || missing=" chromium"; \
	command -v javac >/dev/null || missing+=" default-jdk-headless"; \
	command -v mcs >/dev/null || missing+=" mono-mcs"; \
	if [ -z "$$missing" ]; then \
	  exit 0; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "== Installing for the tests:$$missing"; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$missing >/dev/null || \
	  echo "They could not be installed: tests that need them will be skipped."; \
	else \
	  echo "Tests will be skipped that need what this account may not install." \
	       "To run them: sudo apt-get install$$missing"; \
	fi

bench: $(BUNDLED) $(EXTENDED) ## measure performance ratios; needs an idle machine
	@$(BIN)/python -m benchmarks

docs: $(INSTALLED) ## test every layer at every shape and write docs/what-trains.md
	@$(BIN)/python -m tests.coverage

pictures: $(BUNDLED) $(EXTENDED) ## take the README's pictures again; needs Chromium and an idle machine
	@$(BIN)/python -m pytest -q -p no:cacheprovider tests/browser/readme_pictures.py

mutants: $(BUNDLED) $(EXTENDED) ## mutation tests of the measuring and recording code; takes hours (MODULES=.. SAMPLE=.. SEED=..)
	@$(BIN)/python -m tests.mutants $(MODULES) $(if $(SAMPLE),--sample $(SAMPLE)) \
	  $(if $(SEED),--seed $(SEED)) \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(AGAIN),--again) $(if $(TESTS),--tests $(TESTS))

clean: ## remove what was installed and built; runs in .workbench are kept
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  workbench/widgets/static extensions/*/node_modules
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

$(VENV)/pyvenv.cfg:
	@python="$(PYTHON)"; \
	for name in python3.11 python3 python3.12 python; do \
	  if [ -z "$$python" ] && command -v $$name >/dev/null && \
	    $$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null; \
	  then python=$$name; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "The workbench needs Python 3.11 or 3.12 and found neither" \
	       "(python3 here: $$(python3 --version 2>&1 || true))."; \
	  echo "Install one (Debian, Ubuntu: apt-get install python3.11 python3.11-venv)," \
	       "or say where it is: make PYTHON=/path/to/python3.11 lab"; \
	  exit 1; \
	fi; \
	echo "== Making $(VENV) with $$($$python --version)"; \
	$$python -m venv $(VENV)

$(INSTALLED): $(VENV)/pyvenv.cfg pyproject.toml constraints.txt hatch_build.py
	@echo "== Installing the workbench and what it needs (minutes the first time)"
	@$(BIN)/python install.py $(BIN)/python constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

# Installing bundles the front end too; this does so again when only its sources have changed.
$(BUNDLED): $(INSTALLED) $(FRONT_END_SOURCES)
	@$(BIN)/python $(FRONT_END)
	@touch $@

# The test processes begin together: each would compile all that it imports.
$(COMPILED): $(BUNDLED)
	@$(BIN)/python -c "import tests.preloaded" 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

# Without a C++ compiler this says so and set-up continues: everything trains without the extension.
$(EXTENDED): $(INSTALLED) $(wildcard extensions/torch_interop/*.cpp extensions/device_kernels/*)
	@echo "== Compiling the extensions: PyTorch's kernels for ORTModule, the workbench's own (a minute the first time)"
	@$(BIN)/workbench build-extensions --if-possible
	@touch $@

# Exported models are for the onnxruntime of today, which cannot be installed beside onnxruntime-training.
$(INFERENCE): $(INSTALLED) constraints-inference.txt
	@echo "== Installing the onnxruntime of today in an environment of its own"
	@$(BIN)/python -m venv $(@D)
	@$(BIN)/python install.py $(@D)/bin/python constraints-inference.txt onnxruntime numpy
	@touch $@

# The way in. `make demo` shows Pannier at work, `make test` checks it; both bring what they need.

SHELL := /bin/sh
BIN := $(CURDIR)/.venv/bin
export PATH := $(BIN):$(PATH)
# Two processes: what shares a container or the engine stays in one of them (tests/conftest.py).
BESIDE := -n 2

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-unit conformance bench lint venv engine engine-stop clean

help:  ## What there is to make
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: venv  ## The main job with real containers: no key, no questions, nothing left running
	@scripts/with-engine python demo/run.py

test: venv  ## All checks, and all tests but the long ones, with a container engine
	@status=0; scripts/lint || status=$$?; \
	scripts/with-engine pytest -m "not long" $(BESIDE) $(PYTEST) || status=$$?; exit $$status

test-long: venv  ## The tests that take minutes: faults, and when and how each client compacts
	@scripts/with-engine pytest -m long tests/long tests/clients $(BESIDE) $(PYTEST)

test-unit: venv  ## The tests that need no container engine
	@pytest tests/unit $(BESIDE) $(PYTEST)

conformance: venv  ## Run the clients' suite, and write docs/conformance.md
	@scripts/with-engine pytest tests/clients --write-table $(PYTEST)

bench: venv  ## Measure, print a table, and write docs/bench.md
	@scripts/with-engine python tests/bench/bench.py

lint: venv  ## ruff, mypy --strict, shellcheck
	@scripts/lint

venv:  ## The Python environment, .venv
	@PYTHON="$(PYTHON)" scripts/venv

engine:  ## A container engine for the commands of the README; prints the lines to export
	@scripts/with-engine --keep
	@scripts/engine env

engine-stop:  ## End the private engine
	@scripts/engine stop

clean:  ## Remove all that was made in this checkout: the environment, the private engine, caches
	@scripts/clean

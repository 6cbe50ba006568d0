# The two commands of the README are `make run` and `make test`; the rest serves those who work on the project.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: run test install check lint types unit bench docs clean

run: $(VENV)/.installed
	@$(BIN)/oi-lsp chat

test: $(VENV)/.installed-test lint types unit

install: $(VENV)/.installed

check: lint types

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "oi-lsp needs Python 3.11 or later; name one: make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

unit: $(VENV)/.installed-test
	$(BIN)/python -m pytest

bench: $(VENV)/.installed-test
	$(BIN)/python -m bench

docs: $(VENV)/.installed-test
	$(BIN)/python -m oi_lsp.docs

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis

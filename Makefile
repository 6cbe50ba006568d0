# The two commands of the README are `make run` and `make test`; the rest serves those who work on the project.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: run test install check lint lua types unit fuzz bench docs locks clean vscode vscode-workbench vscode-check vscode-vsix vscode-test

run: $(VENV)/.installed
	@$(BIN)/oi-lsp chat

test: $(VENV)/.installed-test lint lua types unit vscode-check vscode-test

install: $(VENV)/.installed

check: lint types

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "oi-lsp needs Python 3.11 or later; name one: make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.installed: $(BIN)/python pyproject.toml locks/run.txt
	$(BIN)/python -m pip install --quiet --require-hashes --requirement locks/run.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed locks/test.txt $(VENV)/.installed-safe
	$(BIN)/python -m pip install --quiet --require-hashes --requirement locks/test.txt
	@touch $@

# semgrep asks for exact versions of libraries that others here use too: it has an environment of its own.
$(VENV)/.installed-safe: $(BIN)/python locks/safe.txt
	$(PYTHON) -m venv $(VENV)/safe
	$(VENV)/safe/bin/python -m pip install --quiet --require-hashes --requirement locks/safe.txt
	ln -sf ../safe/bin/semgrep $(BIN)/semgrep
	@touch $@

# The exact versions, with hashes, that `make` installs; pyproject.toml has the ranges that the project works with.
COMPILE = $(BIN)/uv pip compile --quiet pyproject.toml --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --no-annotate --upgrade --custom-compile-command "make locks"
locks: $(BIN)/python
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --output-file locks/run.txt
	$(COMPILE) --group test --constraint locks/run.txt --output-file locks/test.txt
	$(subst pyproject.toml,--group pyproject.toml:scan,$(COMPILE)) --output-file locks/safe.txt

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lua:
	editors/nvim/dev/check

types: $(VENV)/.installed-test
	$(BIN)/mypy

# Where .ci/editors keeps the editors that some tests drive.
unit: export TEST_EDITORS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/oi-lsp-ci/editors
unit: $(VENV)/.installed-test
	$(BIN)/python -m pytest

# The fuzzer with ten times as many inputs as in `make test`, other ones each time.
fuzz: $(VENV)/.installed-test
	FUZZ=10 $(BIN)/python -m pytest tests/fuzz --timeout 3600

bench: $(VENV)/.installed-test
	$(BIN)/python -m bench

docs: $(VENV)/.installed-test
	$(BIN)/python -m oi_lsp.docs
	$(BIN)/python -m oi_lsp.mirrors.typescript
	$(BIN)/python -m oi_lsp.mirrors.lua

# The VS Code extension. Its tools run on the Node that comes with the workbench of .ci/vscode.
EXTENSION := editors/vscode
TEST_VSCODE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/oi-lsp-ci/vscode
export TEST_VSCODE
# on_node COMMAND: or, where the workbench cannot be had, why not.
on_node = @if [ -e "$(TEST_VSCODE)/missing" ]; then echo "vscode: skipped: $$(cat "$(TEST_VSCODE)/missing")"; \
	else cd $(EXTENSION) && PATH="$(TEST_VSCODE)/node/bin:$$PATH" && $(1); fi

# Builds it all, and opens the extension in VS Code itself, to be used in a browser.
vscode: vscode-vsix
	$(call on_node,node test/open.ts)

vscode-workbench:
	@.ci/vscode

$(EXTENSION)/node_modules/.installed: $(EXTENSION)/package-lock.json | vscode-workbench
	$(call on_node,npm ci --silent --ignore-scripts && touch node_modules/.installed)

vscode-check: $(EXTENSION)/node_modules/.installed
	$(call on_node,npm run --silent check)

vscode-vsix: $(EXTENSION)/node_modules/.installed $(VENV)/.installed
	$(call on_node,node package.mjs $(abspath $(BIN))/python)

vscode-test: vscode-vsix
	$(call on_node,node test/run.ts)

clean:
	rm -rf $(addprefix $(EXTENSION)/,node_modules dist out)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis

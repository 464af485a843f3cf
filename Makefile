# make demo    install into .venv, compile the example for a Cortex-M4 and for this machine, and run it
# make test    install what the tests need, then lint and run them all
# make check   the tests that take longer: browsers, ONNX's backend suite compiled as C, models on all CPUs
# make lint    ruff and mypy
# make docs    write the pages of reference from docstrings, tables and options
# make site    the documentation as a site, in build/site
# make clean   remove everything that these made
PYTHON ?= python3
PYTEST_ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
EXAMPLE := examples/digits
DEMO := build/demo
HOST := $(if $(filter aarch64 arm64,$(shell uname -m)),linux-arm64,x86)

.PHONY: demo test check lint docs site clean tools install install-dev

demo: install
	$(BIN)/ccml compile $(EXAMPLE)/digits.onnx --target arm -o $(DEMO)/arm
	$(BIN)/ccml compile $(EXAMPLE)/digits.onnx --target $(HOST) --cpu native -o $(DEMO)/host
	$(BIN)/python $(EXAMPLE)/demo.py $(DEMO)/host $(DEMO)/arm

test: tools lint
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

check: tools install-dev
	$(BIN)/python -m pytest -n 2 -m check $(PYTEST_ARGS)

# mypy has to see the package under its name: the root of the repository is the package itself.
lint: install-dev
	$(BIN)/ruff check .
	rm -rf build/lint
	mkdir -p build/lint/ccml
	ln -s $(addprefix $(CURDIR)/,$(wildcard *.py) $(patsubst %/__init__.py,%,$(wildcard */__init__.py))) build/lint/ccml
	cd build/lint && $(CURDIR)/$(BIN)/mypy --config-file $(CURDIR)/pyproject.toml --cache-dir $(CURDIR)/.mypy_cache -p ccml

docs: install-dev
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_operators.py
	$(BIN)/python docs/make_tflite.py
	$(BIN)/python docs/make_reference.py

# The pages as a site: build/site/index.html.
site: docs
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/mkdocs build --quiet --strict --site-dir build/site

tools:
	.ci/tools

# A build folder of an earlier installation would add its files to the next one.
install: $(BIN)/python
	rm -rf build/lib build/bdist.*
	$(BIN)/python -m pip install --quiet .

install-dev: $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ccml needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf build dist ccml.egg-info $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

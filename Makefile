# One command sets everything up: `make test`. `make` lists the others.

# The newest of these that runs and is 3.11 or newer; `make setup PYTHON=…` takes another.
PYTHON ?= $(shell for each in python3.14 python3.13 python3.12 python3.11 python3; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$each && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup test test-slow test-core test-all lint referee conformance sweep mutants bench bench-ir bench-onnx bench-accuracy bench-compiled compare zoo demo tour docs dist clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 24

setup: $(STAMP) ## make .venv and install the package with its development tools

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, found $$(python3 --version 2>/dev/null || echo none)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@test -e tools || ln -s qmlir/dialects qmlir/tools .  # an sdist has no links
	@touch $@

ORDINARY := not referee and not conformance and not sweep
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
# Files that can hold a referee name the marker or import from `tests.referee`; pytest need not collect the others.
REFEREES = $(shell grep -rlw --include='test_*.py' referee tests)

test: $(STAMP) ## run the tests that are quick: some of every folder, in a few minutes
	$(PYTEST) -m 'not slow and $(ORDINARY)'

test-slow: $(STAMP) ## run the others, but for the referees and most of the conformance tests, compiled
	$(PYTEST) -m 'slow and $(ORDINARY)'

EXTENSIONS = $(shell $(BIN)/python -c 'from qmlir.registry.tree import EXTENSIONS; print(",".join(EXTENSIONS))')
CORE := tests/unit/onnx/test_elementwise.py tests/unit/workflows/test_loading.py tests/unit/workflows/test_validating.py \
	tests/unit/quantization/test_deciding.py tests/unit/quantization/test_edges.py tests/unit/quantization/test_masks.py \
	tests/unit/targets/cpu/test_batch_tiling.py tests/filecheck/passes/integer

test-core: $(STAMP) ## run tests of the core's way from a model to a program, without any extension (a minute or two)
	QMLIR_WITHOUT=$(EXTENSIONS) $(PYTEST) -m 'not slow and $(ORDINARY)' $(CORE)

test-all: $(STAMP) ## run both, in one session
	$(PYTEST) -m '$(ORDINARY)'

lint: $(STAMP) ## ruff, pyright in strict mode, and the import rules
	$(BIN)/ruff check qmlir benchmarks examples docs/generator docs/walkthrough tests
	$(BIN)/ruff format --check qmlir benchmarks examples docs/generator docs/walkthrough tests
	$(BIN)/pyright
	$(BIN)/lint-imports

referee: $(STAMP) ## compare with upstream MLIR (Debian: mlir-22-tools, llvm-22-tools)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "referee and not sweep" -rs $(REFEREES)

sweep: $(STAMP) ## many random cases down all levels and against guarded memory (an hour and more)
	$(BIN)/python -m pytest -n 2 --timeout 1800 -m sweep

mutants: $(STAMP) ## change the compiler in 60 places, one by one, and list the changes that no test notices (COUNT=, SEED=)
	$(BIN)/python -m tests.mutants --count $(or $(COUNT),60) --seed $(or $(SEED),0) --processes 2

conformance: $(STAMP) ## run all of ONNX's node tests at the integer level and compiled (about twenty minutes)
	$(BIN)/python -m pytest -n 2 --timeout 600 tests/conformance/test_compiled.py tests/conformance/test_integer_level.py

bench: bench-ir bench-onnx bench-compiled ## measure everything that is timed, other runtimes beside

bench-ir: $(STAMP) ## measure parsing, verifying and printing of large modules
	$(BIN)/python -m benchmarks.ir

bench-onnx: $(STAMP) ## measure ONNX import and the interpreter on a real model
	$(BIN)/python -m benchmarks.onnx_import

bench-accuracy: $(STAMP) ## measure the accuracy of quantized models, ONNX Runtime's beside
	$(BIN)/python -m benchmarks.accuracy

compare: $(STAMP) ## compare the working tree with a commit, in turns (make compare BASE=COMMIT): times, memory, accuracy, integers
	$(BIN)/python -m benchmarks.commits $(or $(BASE),HEAD)

bench-compiled: $(STAMP) ## measure compiled programs on 1 and 2 threads, ONNX Runtime and OpenVINO beside (pip install -e '.[peers]'), ggml too with '.[ggml]'
	$(BIN)/python -m benchmarks.compiled --threads 1 2

zoo: $(STAMP) ## take models that people bring through all of it, and write docs/results/zoo.json (pip install -e '.[zoo]'; hours)
	$(BIN)/python -m benchmarks.zoo.make
	$(BIN)/python -m benchmarks.zoo
	$(BIN)/python -m benchmarks.zoo --times --results docs/results/zoo.json

demo: $(STAMP) ## take a trained model from ONNX to an exact int8 program, with a report, into build/demo
	$(BIN)/python -m docs.walkthrough.demo

tour: $(STAMP) ## take one convolution through all levels, step by step
	$(BIN)/python -m docs.walkthrough.tour

docs: $(STAMP) ## write measured figures into pages, draw the pictures (MEASURE=1: measure theirs first), and build the site into build/docs
	@$(BIN)/python -c 'import furo, matplotlib, myst_parser, sphinx' 2>/dev/null \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	$(BIN)/python -m docs.generator.results
	$(BIN)/python -m docs.generator.pictures docs/pictures $(if $(MEASURE),--measure)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "open build/docs/index.html"

dist: $(STAMP) ## build sdist and wheel into dist/, and try the wheel in an empty environment (make dist PYTHON=python3.12)
	@$(BIN)/python -m build --version >/dev/null 2>&1 \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check build
	rm -rf dist build/dist
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/dist
	build/dist/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cp docs/examples/digits_cnn.onnx docs/examples/digits_samples.npz docs/examples/digits_one.npz build/dist
	cd build/dist && bin/qmlir quantize digits_cnn.onnx --data digits_samples.npz -o out \
		&& bin/qmlir compile out --shape input=1x1x8x8 -o program && bin/qmlir run program --input digits_one.npz

clean: ## remove what the other commands made
	rm -rf $(VENV) build dist .hypothesis .pytest_cache .ruff_cache .import_linter_cache

# nonproj: `make` lists the targets.  Requires only make and Python 3.11 or newer.
#
#   make train LANG=danish PARTS=sibling EPOCHS=5 ARGS="--set training.margin=0.5"
#
# Assignments in this file override the environment, so the locale's LANG is never mistaken for a treebank; assignments
# on the command line of make override both.

PYTHON = python3
VENV = .venv
LANG = turkish
PARTS = grandparent
CONFIG = $(firstword $(wildcard $(patsubst %,configs/%.yaml,$(LANG)-$(PARTS) $(LANG) universal-$(PARTS) universal)))
EPOCHS =
ENCODER =
ARGS =
TREEBANKS =
ARCHIVE =
DATA = data
IN = -
OUT = -
JOBS = 2
SECONDS = 1800
CONSTRAINTS =
UDPIPE = none
SEED = 1
TAG =

unexport LANG PYTHONDONTWRITEBYTECODE
export LC_ALL = C.UTF-8
export PYTHONUTF8 = 1
ifneq ($(TREEBANKS),)
empty =
blank = $(empty) $(empty)
# Colons separate folders, whose names may have blanks.
FOLDERS = $(subst |, ,$(subst $(blank),:,$(abspath $(subst :, ,$(subst $(blank),|,$(TREEBANKS))))))
export NONPROJ_TREEBANKS = $(FOLDERS)
endif

LANGUAGES = danish dutch basque english english-ewt greek turkish \
	afrikaans galician gothic latin tamil uyghur vietnamese wolof
ifeq ($(filter $(LANG),$(LANGUAGES)),)
$(error LANG=$(LANG) is not a known treebank; known: $(LANGUAGES))
endif

ENCODERS = minilm e5-small
ifneq ($(filter-out $(ENCODERS),$(ENCODER)),)
$(error ENCODER=$(ENCODER) is not a known encoder; known: $(ENCODERS); others by ARGS='--encoder FOLDER')
endif

BIN = $(VENV)/bin
READY = $(VENV)/.ready
WARM = $(VENV)/.warm
MEASURE = $(VENV)/.bench
TORCH = $(VENV)/.torch
SITE = $(VENV)/.docs
PACKAGING = $(VENV)/.packaging
QUICK = -m "not thorough"
PYTEST = "$(BIN)/python" -m pytest $(QUICK) $(if $(filter-out 1,$(JOBS)),-n $(JOBS) --dist worksteal)
FILE = models/$(LANG)-$(PARTS)$(ENCODER:%=-%).nonproj
SOURCES = $(wildcard nonproj/*.py nonproj/*/*.py nonproj/*/*/*.py)
FETCH = "$(BIN)/python" data_scripts/fetch.py $(LANG) --out "$(DATA)" --paths $(if $(TREEBANKS),--source "$(FOLDERS)") \
	$(if $(ARCHIVE),--archive "$(ARCHIVE)")
PATHS = paths=$$($(FETCH)) && train=$$(echo "$$paths" | sed -n 1p) && test=$$(echo "$$paths" | sed -n 2p)
GET_ENCODER = $(if $(ENCODER),encoder=$$("$(BIN)/python" data_scripts/fetch_encoder.py $(ENCODER) --out "$(DATA)") &&)
NEEDS_MODEL = test -f $(FILE) || { echo "there is no $(FILE); create it with: make train LANG=$(LANG) PARTS=$(PARTS)$(ENCODER:%= ENCODER=%)" >&2; exit 2; }
DECODE_TESTS = $(addprefix tests/,trees parts automata dual relaxation programs) $(addprefix nonproj/,trees automata dual programs relaxation)
# The tests of kernels; what compares solvers, or Python with Python, has no bounds to check.
BOUNDS_TESTS = $(addprefix tests/,trees parts automata dual pipeline/test_joint_scoring.py scoring/test_scoring.py learning/test_learning.py \
	programs/test_column_generation.py) $(addprefix nonproj/,trees automata dual programs) -k 'not integer_program and not sizes and not library_step_by_step'

THERE = $(wildcard $(foreach lang,$(LANGUAGES),$(patsubst %,models/$(lang)-%.nonproj,arc sibling grandparent third)))

.PHONY: help setup train evaluate parse models test test-decode test-bounds test-python test-encoder attack bench bench-text bench-text-all bench-full reproduce docs dist kernels release-check check-container lint types clean

help: ## list the targets (the default)
	@echo "make TARGET [LANG=turkish] [PARTS=grandparent] [ENCODER=e5-small] [EPOCHS=N] [CONFIG=file.yaml] [TREEBANKS=folders] [ARCHIVE=file] [ARGS='...']"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 16
	@echo
	@echo "LANG is one of: $(LANGUAGES); PARTS is one of: arc sibling grandparent third."
	@echo "TREEBANKS names folders of treebanks, separated by colons; by default, ../shared/treebanks and ../shared/ud are searched."
	@echo "UDPIPE is for bench-text: train, use (if it was trained before) or none (the default)."
	@echo "ENCODER is a pretrained encoder: minilm (English) or e5-small (about 100 languages); training with it installs PyTorch, several gigabytes."
	@echo "ARCHIVE is a treebank's source archive, for machines that cannot download it."
	@echo "ARGS is passed to the program, as in: make train ARGS='--resume -v'"

setup: $(WARM) ## create .venv with all dependencies, and compile all kernels

$(READY): pyproject.toml
	@command -v "$(PYTHON)" >/dev/null || { echo "$(PYTHON) is not installed; name another interpreter: make PYTHON=..." >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed, $$("$(PYTHON)" -V 2>&1) found; name another interpreter: make PYTHON=python3.12" >&2; exit 2; }
	@echo "setting up $(VENV) ..." >&2
	@test -x "$(BIN)/python" || "$(PYTHON)" -m venv "$(VENV)" >&2
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		$(CONSTRAINTS:%=--constraint "%") --editable '.[test]' >&2
	@touch $@

$(WARM): $(READY) $(SOURCES)
	@"$(BIN)/nonproj" compile >&2
	@touch $@

train: $(WARM) $(if $(ENCODER),$(TORCH)) ## fetch a treebank, train on it, evaluate, show some trees; with ENCODER, fetch and fine-tune it, too
	@mkdir -p models
	@$(PATHS) && $(GET_ENCODER) "$(BIN)/nonproj" train "$$train" --test "$$test" $(CONFIG:%=--config "%") --parts $(PARTS) \
		$(EPOCHS:%=--epochs %) $(if $(ENCODER),--encoder "$$encoder") -o $(FILE) $(ARGS)
	@$(PATHS) && "$(BIN)/python" examples/show_trees.py --text $(FILE) "$$test"

evaluate: $(WARM) ## evaluate that model on its treebank's test file
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/nonproj" evaluate -m $(FILE) "$$test" $(ARGS)

parse: $(WARM) ## parse a file with that model: IN=file OUT=file
	@$(NEEDS_MODEL)
	@"$(BIN)/nonproj" parse -m $(FILE) "$(IN)" -o "$(OUT)" $(ARGS)

models: $(WARM) ## train and evaluate the models of a release, with cards and packages; ARGS selects some: danish-arc turkish-grandparent
	@"$(BIN)/python" release/models.py --out models --data "$(DATA)" $(if $(TREEBANKS),--source "$(FOLDERS)") $(ARGS); \
		code=$$?; "$(BIN)/python" release/environment.py models/wheels && exit $$code

test: $(WARM) ## run the tests, without the thorough ones
	@$(PYTEST) $(ARGS)

test-decode: $(WARM) ## run only the tests of the decoders
	@$(PYTEST) $(DECODE_TESTS) $(ARGS)

test-bounds: $(READY) ## run the tests of kernels with array bounds checks
	@NUMBA_BOUNDSCHECK=1 $(PYTEST) $(BOUNDS_TESTS) $(ARGS)

test-python: $(READY) ## run the tests of decoders and scores without compilation, for coverage; takes minutes
	@NUMBA_DISABLE_JIT=1 $(PYTEST) -W ignore::RuntimeWarning $(DECODE_TESTS) tests/scoring/test_scoring.py $(ARGS)

$(TORCH): $(READY)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
		$(CONSTRAINTS:%=--constraint "%") --editable '.[test,train-encoder]' >&2
	@touch $@

test-encoder: $(WARM) $(TORCH) ## run the tests of fine-tuning encoders; first installs PyTorch, several gigabytes
	@$(PYTEST) tests/learning/encoders nonproj/learning/encoders $(ARGS)

attack: $(WARM) ## run the fuzzing and fault-injection campaign: SECONDS=1800 SEED=1; see attack/README.md
	@"$(BIN)/python" -m attack all --seconds $(SECONDS) --seed $(SEED) $(ARGS)

$(MEASURE): $(READY)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --editable '.[bench]' >&2 && \
		touch $@ || echo "cannot install the reference parsers; benchmarking without them" >&2

bench: $(WARM) $(MEASURE) ## benchmark that model on its treebank's test file; 1 to 2 minutes
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/python" -m benchmarks.bench --cache "$(DATA)/bench" $(FILE) "$$train" "$$test" $(ARGS)

bench-text: $(WARM) $(if $(filter-out none,$(UDPIPE)),$(MEASURE)) ## measure that model from raw text; UDPIPE=train compares it with UDPipe, trained first, for an hour or more
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/python" -m benchmarks.text --cache "$(DATA)/bench" --udpipe $(UDPIPE) $(FILE) "$$train" "$$test" $(ARGS)

bench-text-all: $(WARM) ## measure from raw text on ten treebanks, beside Stanza: results/text.md; trains missing models; ARGS selects some
	@"$(BIN)/python" -m experiments.text --data "$(DATA)" $(ARGS)

bench-full: $(WARM) $(MEASURE) ## benchmark all models in models/, with training and instruction counts; long
	@set --; for file in $(THERE); do \
		name=$${file#models/}; paths=$$("$(BIN)/python" data_scripts/fetch.py $${name%-*} --out "$(DATA)" --paths \
			$(if $(TREEBANKS),--source "$(FOLDERS)")) || exit; \
		set -- "$$@" "$$file" "$$(echo "$$paths" | sed -n 1p)" "$$(echo "$$paths" | sed -n 2p)"; \
	done; test $$# -gt 0 || { echo "there is no model; create one with: make train LANG=$(LANG) PARTS=$(PARTS)" >&2; exit 2; }; \
	"$(BIN)/python" -m benchmarks.bench --full --cache "$(DATA)/bench" --markdown benchmarks/README.md "$$@" $(ARGS)

reproduce: $(WARM) ## reproduce the papers' tables and figures in results/, or one of them: reproduce-table2; see ARGS=--help
	@"$(BIN)/python" -m experiments --data "$(DATA)" $(ARGS)

reproduce-%: $(WARM)
	@"$(BIN)/python" -m experiments $* --data "$(DATA)" $(ARGS)

$(SITE): $(READY)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --editable '.[docs,test]' >&2
	@touch $@

docs: $(WARM) $(SITE) ## build the documentation site, build/docs/index.html, and run its tutorials
	@"$(BIN)/python" docs/reference.py
	@"$(BIN)/python" data_scripts/fetch.py turkish --out data
	@"$(BIN)/python" data_scripts/fetch.py english-ewt --out data
	@PYTHONPATH="$(CURDIR)" "$(BIN)/python" -m sphinx --quiet --fail-on-warning --keep-going -c docs . build/docs
	@echo "build/docs/index.html"

$(PACKAGING): $(READY)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: 'build>=1.2' 'twine>=6.1' >&2
	@touch $@

kernels: $(READY) ## compile all kernels for processors with AVX2, and make a package of them in dist/
	@"$(BIN)/python" release/kernels.py --out dist

dist: $(PACKAGING) ## build wheel and sdist into dist/, and test each in an empty environment
	@rm -rf dist build/lib build/bdist.* *.egg-info
	@"$(BIN)/python" -m build --outdir dist .
	@"$(BIN)/python" -m twine check --strict dist/*
	@"$(BIN)/python" tests/installed.py dist/*.whl dist/*.tar.gz

release-check: $(READY) ## check that versions, changelog and interface are those of a release: TAG=v1.0.0
	@"$(BIN)/python" release/check.py "$(TAG)"

check-container: $(READY) ## run the steps of deploy/Containerfile without a container; 5 minutes, needs the network
	@"$(BIN)/python" deploy/check.py

lint: $(READY) ## run the linter and the format check
	@"$(BIN)/ruff" check . && "$(BIN)/ruff" format --check .

types: $(READY) ## check the types
	@"$(BIN)/python" -m mypy

clean: ## remove everything generated, except models/ and data/
	@rm -rf "$(VENV)" build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

include $(wildcard */targets.mk)

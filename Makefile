# nonproj: `make` lists the targets.  Requires only make and Python 3.11 or newer.
#
#   make train LANG=danish PARTS=sibling EPOCHS=5 ARGS="--set training.margin=0.5"
#
# Assignments in this file override the environment, so the locale's LANG is never mistaken for a treebank; assignments
# on the command line of make override both.

PYTHON = python3
VENV = .venv
LANG = turkish
WITH =
PARTS = grandparent
CONFIG = $(firstword $(wildcard $(patsubst %,configs/%.yaml,$(LANG) universal)))
EPOCHS =
ENCODER =
VECTORS =
ARGS =
TREEBANKS =
ARCHIVE =
DATA = data
IN = -
OUT = -
JOBS = 2
CONSTRAINTS =

unexport LANG PYTHONDONTWRITEBYTECODE
export LC_ALL = C.UTF-8
export PYTHONUTF8 = 1
empty =
blank = $(empty) $(empty)
ifneq ($(TREEBANKS),)
# Colons separate folders, whose names may have blanks.
FOLDERS = $(subst |, ,$(subst $(blank),:,$(subst $(CURDIR),$(subst $(blank),|,$(CURDIR)),$(abspath $(subst :, ,$(subst $(blank),|,$(TREEBANKS)))))))
export NONPROJ_TREEBANKS = $(FOLDERS)
endif

# Treebanks with a name of their own; data_scripts/fetch.py knows those of Universal Dependencies, too.
LANGUAGES = danish dutch basque english-ewt english-wsj greek turkish \
	afrikaans galician gothic latin tamil uyghur vietnamese wolof

ifneq ($(filter english English en,$(LANG)),)
override LANG = english-ewt
endif

# The model of many languages, whose encoder others start from.
MANY = models/multilingual-$(PARTS)-e5-small.nonproj
ENCODERS = minilm e5-small multilingual
ifneq ($(filter-out $(ENCODERS),$(ENCODER)),)
$(error ENCODER=$(ENCODER) is not a known encoder; known: $(ENCODERS); others by ARGS='--encoder FOLDER')
endif
ifneq ($(filter-out e5-small,$(VECTORS)),)
$(error VECTORS=$(VECTORS) is not known; known: e5-small; files of vectors by ARGS='--set features.vectors=FILE')
endif
ifneq ($(filter train,$(MAKECMDGOALS)),)
ifneq ($(and $(filter multilingual,$(LANG)),$(filter-out e5-small,$(or $(ENCODER),none))),)
$(error LANG=multilingual is for an encoder: make train LANG=multilingual ENCODER=e5-small)
endif
ifeq ($(ENCODER):$(wildcard $(MANY)),multilingual:)
$(error there is no $(MANY); create it with: make train LANG=multilingual PARTS=$(PARTS) ENCODER=e5-small)
endif
endif

BIN = $(VENV)/bin
READY = $(VENV)/.ready
WARM = $(VENV)/.warm
TOOLS = $(VENV)/.test
TORCH = $(VENV)/.torch
QUICK = -m "not thorough"
PYTEST = "$(BIN)/python" -m pytest $(QUICK) $(if $(filter-out 1,$(JOBS)),-n $(JOBS) --dist worksteal)
FILE = models/$(subst $(blank),_,$(LANG))-$(PARTS)$(ENCODER:%=-%)$(VECTORS:%=-%-vectors).nonproj
PIP = "$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: $(CONSTRAINTS:%=--constraint "%")
SOURCES = $(wildcard nonproj/*.py nonproj/*/*.py nonproj/*/*/*.py)
# Treebanks are fetched before anything is installed, so that a missing one is reported at once.
FETCH_ONE = "$(or $(wildcard $(BIN)/python),$(PYTHON))" data_scripts/fetch.py "$(1)" --out "$(DATA)" \
	$(if $(TREEBANKS),--source "$(FOLDERS)")
FETCH = $(call FETCH_ONE,$(LANG)) $(if $(ARCHIVE),--archive "$(ARCHIVE)") $(JOINED:%="%")
# Those that LANG=multilingual consists of, and those that are related to any other treebank.
JOINED = $(if $(filter multilingual,$(LANG)),$(WITH))
NEAR = $(if $(JOINED),,$(WITH))
RELATED = $(foreach name,$(NEAR),--related "$$($(call FETCH_ONE,$(name)) --paths | sed -n 1p)")
PATHS = paths=$$($(FETCH) --paths) && train=$$(echo "$$paths" | sed -n 1p) && test=$$(echo "$$paths" | sed -n 2p)
GET_ENCODER = $(if $(ENCODER),encoder=$(if $(filter multilingual,$(ENCODER)),"$(MANY)",$$("$(BIN)/python" data_scripts/fetch_encoder.py $(ENCODER) --out "$(DATA)")) &&)
GET_VECTORS = $(if $(VECTORS),vectors=$$("$(BIN)/python" data_scripts/fetch_encoder.py $(VECTORS) --out "$(DATA)") &&)
NEEDS_MODEL = test -f $(FILE) || { echo "there is no $(FILE); create it with: make train LANG=$(LANG) PARTS=$(PARTS)$(ENCODER:%= ENCODER=%)$(VECTORS:%= VECTORS=%)" >&2; exit 2; }
DECODE_TESTS = $(addprefix tests/,trees parts automata dual) $(addprefix nonproj/,trees automata dual)
.PHONY: help help-all setup train evaluate parse test test-decode test-all lint docs dist clean

LIST = sed -n 's/^\([a-z-]*\):.*\#\# \(.*\)/  \1	\2/p' $(1) | expand -t 24

help: ## list these targets (the default)
	@echo "make TARGET [LANG=turkish] [PARTS=grandparent] [ENCODER=e5-small] [VECTORS=e5-small] [EPOCHS=N] [CONFIG=file.yaml] [WITH=treebanks] [TREEBANKS=folders] [ARCHIVE=file] [ARGS='...']"
	@echo
	@$(call LIST,Makefile)
	@echo
	@echo "make help-all lists the other targets, too: experiments, benchmarks, releases, the papers' other systems."
	@echo "LANG is one of: $(LANGUAGES); or a language of Universal Dependencies, such as german, its code, or UD_German-GSD."
	@echo "PARTS is one of: arc sibling grandparent third."
	@echo "LANG=multilingual with ENCODER=e5-small learns from many treebanks (those that WITH names, else 28 small ones); ENCODER=multilingual starts from it."
	@echo "WITH names related treebanks, separated by blanks, that are also learnt from, as in: make train LANG=UD_Lithuanian-HSE WITH=UD_Lithuanian-ALKSNIS"
	@echo "TREEBANKS names folders of treebanks, separated by colons; by default, ../shared/treebanks and ../shared/ud are searched."
	@echo "ENCODER is a pretrained encoder: minilm (English), e5-small (about 100 languages), or multilingual; training with it installs PyTorch, several gigabytes."
	@echo "VECTORS=e5-small gives all words vectors by the pieces of that encoder's vocabulary; neither training nor parsing needs PyTorch."
	@echo "ARCHIVE is a treebank's source archive, for machines that cannot download it."
	@echo "ARGS is passed to the program, as in: make train ARGS='--resume -v'"

help-all:
	@$(call LIST,$(MAKEFILE_LIST))

setup: $(WARM) ## create .venv with what parsing and training need, and compile all kernels

CHECK_PYTHON = command -v "$(PYTHON)" >/dev/null || { echo "$(PYTHON) is not installed; name another interpreter: make PYTHON=..." >&2; exit 2; }; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed, $$("$(PYTHON)" -V 2>&1) found; name another interpreter: make PYTHON=python3.12" >&2; exit 2; }

$(READY): pyproject.toml
	@$(CHECK_PYTHON)
	@echo "setting up $(VENV): half a gigabyte ..." >&2
	@"$(BIN)/python" -c 'import pip' 2>/dev/null || "$(PYTHON)" -m venv "$(VENV)" >&2
	@$(PIP) --editable . >&2
	@touch $@

$(TOOLS): $(READY)
	@echo "installing what the tests need ..." >&2
	@$(PIP) --editable '.[test]' >&2
	@touch $@

$(WARM): $(READY) $(SOURCES)
	@"$(BIN)/nonproj" compile >&2
	@touch $@

train: treebank $(WARM) $(if $(ENCODER),$(TORCH)) ## fetch a treebank, train on it, evaluate, show a tree; with ENCODER, fetch and fine-tune it, too
	@mkdir -p models
	@$(PATHS) && $(GET_ENCODER) $(GET_VECTORS) "$(BIN)/nonproj" train "$$train" $(RELATED) --test "$$test" $(CONFIG:%=--config "%") --parts $(PARTS) \
		$(EPOCHS:%=--epochs %) $(if $(ENCODER),--encoder "$$encoder")$(if $(VECTORS), --set features.vectors="$$vectors") -o $(FILE) $(ARGS)
	@$(PATHS) && "$(BIN)/python" examples/next_steps.py "$(BIN)/nonproj" $(FILE) "$$test"

evaluate: $(WARM) ## evaluate that model on its treebank's test file
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/nonproj" evaluate -m $(FILE) "$$test" $(ARGS)

parse: $(WARM) ## parse a file with that model: IN=file OUT=file
	@$(NEEDS_MODEL)
	@"$(BIN)/nonproj" parse -m $(FILE) "$(IN)" -o "$(OUT)" $(ARGS)

test: $(TOOLS) $(WARM) ## run the tests of the parser, without the thorough ones
	@$(PYTEST) $(ARGS)

test-decode: $(TOOLS) $(WARM) ## run only the tests of the decoders
	@$(PYTEST) $(DECODE_TESTS) $(ARGS)

test-all: QUICK =
test-all: lint test ## run every test and check, before a release, except test-encoder, which needs PyTorch; long

$(TORCH): $(READY)
	@$(PIP) --editable '.[train-encoder]' >&2
	@touch $@

lint: $(TOOLS) ## run the linter and the format check
	@"$(BIN)/ruff" check . && "$(BIN)/ruff" format --check .

docs: ## build the documentation site, build/docs/index.html, and run its tutorials

dist: ## build wheel and sdist into dist/, and test each in an empty environment

clean: ## remove everything generated, except models/ and data/
	@rm -rf "$(VENV)" build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The other targets, and the rules of docs (docs/targets.mk) and dist (packaging/targets.mk).
include $(wildcard */targets.mk)

# The targets of the package in this folder, for the repository's Makefile, which includes this file.

WORKBENCH = $(VENV)/.workbench

.PHONY: setup-workbench test-workbench attack-workbench types-workbench types-page docs-workbench dist-workbench clean-workbench

setup-workbench: $(WORKBENCH) ## install the commands for makers of treebanks into .venv too; see workbench/README.md

$(WORKBENCH): $(TOOLS) workbench/pyproject.toml
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-build-isolation \
		$(CONSTRAINTS:%=--constraint "%") --editable './workbench[test]' >&2
	@touch $@

test-workbench: $(WORKBENCH) ## run the tests of annotation, audit and search
	@$(PYTEST) workbench/tests workbench/nonproj_workbench $(ARGS)

attack-workbench: $(WORKBENCH) ## flood the annotator and disturb its files: SECONDS=1800 SEED=1; see workbench/attack/README.md
	@"$(BIN)/python" -m workbench.attack all --seconds $(SECONDS) --seed $(SEED) $(ARGS)

types-workbench: $(WORKBENCH) ## check the types of annotation, audit and search
	@cd workbench && "$(abspath $(BIN))/python" -m mypy

types-page: ## check the types of the pages' scripts; npx fetches TypeScript
	@npx --yes --package typescript@5.9.3 tsc --project nonproj/evaluation/html
	@npx --yes --package typescript@5.9.3 tsc --project workbench

test-all: test-workbench types-workbench $(if $(shell command -v npx),types-page)

docs: docs-workbench

docs-workbench: $(WORKBENCH) ## write the reference of their commands; a part of docs
	@"$(BIN)/python" workbench/docs/reference.py

dist-workbench: dist ## also build wheel and sdist of the workbench, and test each in an empty environment
	@rm -rf workbench/build workbench/*.egg-info
	@"$(BIN)/python" -m build --outdir dist workbench
	@"$(BIN)/python" -m twine check --strict dist/nonproj_workbench-*
	@"$(BIN)/python" workbench/tests/installed.py dist/nonproj-*.whl dist/nonproj_workbench-*

clean: clean-workbench

clean-workbench: ## remove generated files of the workbench; a part of clean
	@rm -rf workbench/build workbench/*.egg-info workbench/.pytest_cache workbench/.mypy_cache

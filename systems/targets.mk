# The targets of the package in this folder, for the repository's Makefile, which includes this file.

SYSTEMS = $(VENV)/.systems
SYSTEMS_BOUNDS = $(addprefix systems/tests/,constituency mrf programs/test_column_generation.py translation tsp) $(addprefix systems/nonproj_systems/,constituency mrf programs tsp translation) \
	-k 'not page and not integer_program and not data and not command'

.PHONY: setup-systems test-systems test-systems-bounds attack-systems types-systems docs-systems dist-systems clean-systems

setup-systems: $(SYSTEMS) ## install the papers' other systems into .venv too; see systems/README.md

$(SYSTEMS): $(TOOLS) systems/pyproject.toml
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-build-isolation \
		$(foreach file,$(CONSTRAINTS),--constraint "$(file)" $(patsubst %,--constraint "%",$(wildcard systems/$(file)))) \
		--editable './systems[test]' >&2
	@touch $@

test-systems: $(SYSTEMS) ## run the tests of the other systems
	@$(PYTEST) systems/tests systems/nonproj_systems $(ARGS)

test-systems-bounds: $(SYSTEMS) ## run the tests of their kernels with array bounds checks
	@NUMBA_BOUNDSCHECK=1 $(PYTEST) $(SYSTEMS_BOUNDS) $(ARGS)

reproduce-systems-%: $(SYSTEMS)
	@"$(BIN)/python" -m research.experiments $* --data "$(DATA)" $(ARGS)

attack-systems: $(SYSTEMS) ## fuzz the loading of the other systems' models: SECONDS=1800 SEED=1; see systems/attack/README.md
	@"$(BIN)/python" -m systems.attack all --seconds $(SECONDS) --seed $(SEED) $(ARGS)

types-systems: $(SYSTEMS) ## check the types of the other systems
	@cd systems && "$(abspath $(BIN))/python" -m mypy

test-all: test-systems test-systems-bounds types-systems

docs: docs-systems

docs-systems: $(SYSTEMS) ## write the reference of their commands; a part of docs
	@"$(BIN)/python" systems/docs/reference.py

dist-systems: dist ## also build wheel and sdist of the other systems, and test each in an empty environment
	@rm -rf systems/build systems/*.egg-info
	@"$(BIN)/python" -m build --outdir dist systems
	@"$(BIN)/python" -m twine check --strict dist/nonproj_systems-*
	@"$(BIN)/python" systems/tests/installed.py dist/nonproj-*.whl dist/nonproj_systems-*

clean: clean-systems

clean-systems: ## remove generated files of the other systems; a part of clean
	@rm -rf systems/build systems/*.egg-info systems/.pytest_cache systems/.mypy_cache systems/docs/api

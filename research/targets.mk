# The targets of experiments, benchmarks and the attack, for the Makefile of the root, which includes this file.

SECONDS = 1800
SEED = 1
UDPIPE = none
MEASURE = $(VENV)/.bench

.PHONY: test-research attack bench bench-text bench-text-all figures reproduce

test-research: $(WARM) $(VENV)/.workbench $(VENV)/.systems ## run the tests of experiments, benchmarks and the attack
	@$(PYTEST) research/tests $(ARGS)

test-all: test-research

attack: $(TOOLS) $(WARM) ## run the fuzzing and fault-injection campaign: SECONDS=1800 SEED=1; see research/attack/README.md
	@"$(BIN)/python" -m research.attack all --seconds $(SECONDS) --seed $(SEED) $(ARGS)

$(MEASURE): $(READY)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --editable '.[bench]' >&2 && \
		touch $@ || echo "cannot install the reference parsers; benchmarking without them" >&2

bench: $(TOOLS) $(WARM) ## speed of that model on its treebank's test file by stage, start-up and memory; 1 to 2 minutes
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/python" -m research.benchmarks.stages $(FILE) "$$test" $(ARGS) && \
		"$(BIN)/python" -m research.benchmarks.processes $(FILE) "$$test"

bench-text: $(TOOLS) $(WARM) $(if $(filter-out none,$(UDPIPE)),$(MEASURE)) ## measure that model from raw text; UDPIPE=train compares it with UDPipe, trained first, for an hour or more; UDPIPE=use, trained before
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/python" -m research.benchmarks.text --cache "$(DATA)/bench" --udpipe $(UDPIPE) $(FILE) "$$train" "$$test" $(ARGS)

bench-text-all: $(TOOLS) $(WARM) ## measure from raw text on ten treebanks, beside Stanza and UDPipe 2: research/results/text.md; trains missing models; ARGS="--languages tamil" selects
	@"$(BIN)/python" -m research.experiments text --data "$(DATA)" $(ARGS)

figures: $(WARM) $(VENV)/.workbench $(VENV)/.systems ## make all pages of results again that are of an earlier version: hours, can be resumed; ARGS names some
	@"$(BIN)/python" -m research.experiments --stale --data "$(DATA)" $(ARGS)

reproduce: $(WARM) $(VENV)/.systems ## reproduce the papers' tables and figures in research/results/, or one of them: reproduce-table2; see ARGS=--help
	@"$(BIN)/python" -m research.experiments --data "$(DATA)" $(ARGS)

reproduce-%: $(WARM) $(VENV)/.systems
	@"$(BIN)/python" -m research.experiments $* --data "$(DATA)" $(ARGS)

# The targets of experiments, benchmarks and the attack, for the Makefile of the root, which includes this file.

SECONDS = 1800
SEED = 1
UDPIPE = none
MEASURE = $(VENV)/.bench
THERE = $(wildcard $(foreach lang,$(LANGUAGES),$(patsubst %,models/$(lang)-%.nonproj,arc sibling grandparent third)))

.PHONY: test-research attack bench bench-text bench-text-all bench-full figures reproduce

test-research: $(WARM) $(VENV)/.workbench $(VENV)/.systems ## run the tests of experiments, benchmarks and the attack
	@$(PYTEST) research/tests $(ARGS)

test-all: test-research

attack: $(TOOLS) $(WARM) ## run the fuzzing and fault-injection campaign: SECONDS=1800 SEED=1; see research/attack/README.md
	@"$(BIN)/python" -m research.attack all --seconds $(SECONDS) --seed $(SEED) $(ARGS)

$(MEASURE): $(READY)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --editable '.[bench]' >&2 && \
		touch $@ || echo "cannot install the reference parsers; benchmarking without them" >&2

bench: $(TOOLS) $(WARM) $(MEASURE) ## benchmark that model on its treebank's test file; 1 to 2 minutes
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/python" -m research.benchmarks.bench --cache "$(DATA)/bench" $(FILE) "$$train" "$$test" $(ARGS)

bench-text: $(TOOLS) $(WARM) $(if $(filter-out none,$(UDPIPE)),$(MEASURE)) ## measure that model from raw text; UDPIPE=train compares it with UDPipe, trained first, for an hour or more; UDPIPE=use, trained before
	@$(NEEDS_MODEL)
	@$(PATHS) && "$(BIN)/python" -m research.benchmarks.text --cache "$(DATA)/bench" --udpipe $(UDPIPE) $(FILE) "$$train" "$$test" $(ARGS)

bench-text-all: $(TOOLS) $(WARM) ## measure from raw text on ten treebanks, beside Stanza and UDPipe 2: research/results/text.md; trains missing models; ARGS selects some
	@"$(BIN)/python" -m research.experiments.text --data "$(DATA)" $(ARGS)

bench-full: $(TOOLS) $(WARM) $(MEASURE) ## benchmark all models in models/, with training and instruction counts; long
	@set --; for file in $(THERE); do \
		name=$${file#models/}; paths=$$("$(BIN)/python" data_scripts/fetch.py $${name%-*} --out "$(DATA)" --paths \
			$(if $(TREEBANKS),--source "$(FOLDERS)")) || exit; \
		set -- "$$@" "$$file" "$$(echo "$$paths" | sed -n 1p)" "$$(echo "$$paths" | sed -n 2p)"; \
	done; test $$# -gt 0 || { echo "there is no model; create one with: make train LANG=$(LANG) PARTS=$(PARTS)" >&2; exit 2; }; \
	"$(BIN)/python" -m research.benchmarks.bench --full --cache "$(DATA)/bench" --markdown research/benchmarks/README.md "$$@" $(ARGS)

figures: $(WARM) $(VENV)/.workbench $(VENV)/.systems ## make all pages of results again that are of an earlier version: hours, can be resumed; ARGS names some
	@"$(BIN)/python" -m research.experiments.figures --data "$(DATA)" $(ARGS)

reproduce: $(WARM) $(VENV)/.systems ## reproduce the papers' tables and figures in research/results/, or one of them: reproduce-table2; see ARGS=--help
	@"$(BIN)/python" -m research.experiments --data "$(DATA)" $(ARGS)

reproduce-%: $(WARM) $(VENV)/.systems
	@"$(BIN)/python" -m research.experiments $* --data "$(DATA)" $(ARGS)

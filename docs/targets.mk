# The rules of the documentation site, for the Makefile of the root, which includes this file.

SITE = $(VENV)/.docs

$(SITE): $(TOOLS)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --editable '.[docs,test]' >&2
	@touch $@

docs: $(WARM) $(SITE)
	@"$(BIN)/python" docs/reference.py
	@"$(BIN)/python" data_scripts/fetch.py english-ewt --out data
	@PYTHONPATH="$(CURDIR)" "$(BIN)/python" -m sphinx --quiet --fail-on-warning --keep-going -c docs . build/docs
	@echo "build/docs/index.html"

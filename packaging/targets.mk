# The targets of a release, for the Makefile of the root, which includes this file.

TAG =
INDEX =
LANGS =
PACKAGING = $(VENV)/.packaging

.PHONY: test-packaging models english-model kernels release-check publish

test-packaging: $(TOOLS) $(WARM) $(PACKAGING) ## run the tests of the programs for releases and systemd
	@$(PYTEST) packaging/tests $(ARGS)

test-all: test-packaging

$(PACKAGING): $(READY)
	@"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: 'build>=1.2' 'twine>=6.1' 'pypiserver>=2.3' >&2
	@touch $@

dist: $(PACKAGING)
	@rm -rf dist build/lib build/bdist.* *.egg-info
	@"$(BIN)/python" -m build --outdir dist .
	@"$(BIN)/python" -m twine check --strict dist/*
	@"$(BIN)/python" tests/installed.py dist/*.whl dist/*.tar.gz

models: $(TOOLS) $(WARM) ## train and evaluate the models of a release, with cards and packages: ten treebanks, or LANGS="danish UD_Welsh-CCG"
	@$(GET_VECTORS) "$(BIN)/python" packaging/models.py $(LANGS:%=%-$(PARTS)) --out models --data "$(DATA)" \
		$(if $(TREEBANKS),--source "$(FOLDERS)") $(if $(VECTORS),--train="--set features.vectors=$$vectors") $(ARGS); \
		code=$$?; { ! test -d models/wheels || "$(BIN)/python" packaging/environment.py models/wheels; } && exit $$code

english-model: $(WARM) ## make the English model that comes with nonproj, from one of UD English EWT; trained if it is missing, half an hour
	@"$(BIN)/python" packaging/models.py english-ewt-grandparent --out models --data "$(DATA)" $(if $(TREEBANKS),--source "$(FOLDERS)")
	@test=$$("$(BIN)/python" data_scripts/fetch.py english-ewt --out "$(DATA)" --paths $(if $(TREEBANKS),--source "$(FOLDERS)") | sed -n 2p) && \
		"$(BIN)/python" packaging/english.py models/english-ewt-grandparent.nonproj --test "$$test" $(ARGS)

publish: $(PACKAGING) ## upload the packages in dist/ and models/wheels/ to PyPI, or to INDEX=URL
	@"$(BIN)/python" packaging/publish.py $(wildcard dist models/wheels) $(if $(INDEX),--index "$(INDEX)")

kernels: $(READY) ## compile all kernels for processors with AVX2, and make a package of them in dist/
	@"$(BIN)/python" packaging/kernels.py --out dist

release-check: $(TOOLS) ## check that versions, changelog and interface are those of a release: TAG=v1.0.0
	@"$(BIN)/python" packaging/check_release.py "$(TAG)"

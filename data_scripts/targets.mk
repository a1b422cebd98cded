# The target of treebanks, for the Makefile of the root, which includes this file.

.PHONY: treebank

treebank: ## fetch a treebank, or find it: LANG=turkish, or LANG=german, LANG=de, LANG=UD_German-GSD of Universal Dependencies
	@$(CHECK_PYTHON)
	@$(FETCH)
	@$(foreach name,$(NEAR),$(call FETCH_ONE,$(name)) &&) true

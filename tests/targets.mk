# Further targets for the tests of the parser, for the Makefile of the root, which includes this file.

# The packages whose kernels are tested with bounds checks; what compares solvers, or Python with Python, has none.
BOUNDS ?= automata dual learning linear parts scoring trees
# Of the tests of the dual, those that compare its kernels with twins; the others train models, or check proofs in Python.
DUAL = arrays branch_and_bound crossing domain dual k_best
BOUNDS_TESTS = $(sort $(foreach package,$(BOUNDS),$(BOUNDS_OF_$(package))))
BOUNDS_OF_automata = tests/automata nonproj/automata
BOUNDS_OF_dual = $(if $(QUICK),$(DUAL:%=tests/dual/test_%.py),tests/dual) nonproj/dual
BOUNDS_OF_learning = tests/learning/test_learning.py
BOUNDS_OF_linear = tests/learning/test_learning.py
BOUNDS_OF_parts = tests/parts
BOUNDS_OF_scoring = tests/scoring/test_scoring.py
BOUNDS_OF_trees = tests/trees nonproj/trees

PLAIN_TESTS ?= tests/kernels/test_plain.py tests/automata tests/parts tests/trees tests/dual tests/scoring tests/pipeline

.PHONY: test-bounds test-plain test-python mutants test-encoder types

test-bounds: $(TOOLS) ## run the tests of kernels with array bounds checks
	@$(if $(BOUNDS_TESTS),NUMBA_BOUNDSCHECK=1 $(PYTEST) $(BOUNDS_TESTS) -k 'not integer_program and not sizes' $(ARGS),:)

test-plain: $(TOOLS) ## run the tests of kernels that numba compiles by itself, as with unknown versions of it; takes minutes
	@NONPROJ_PLAIN_KERNELS=1 $(PYTEST) $(PLAIN_TESTS) $(ARGS)

test-python: $(TOOLS) ## run the tests of decoders and scores without compilation, for coverage; takes minutes
	@NUMBA_DISABLE_JIT=1 $(PYTEST) -W ignore::RuntimeWarning $(DECODE_TESTS) tests/scoring/test_scoring.py $(ARGS)

mutants: $(TOOLS) $(WARM) ## try whether the tests find each fault of tests/mutants.txt that they found before; takes an hour
	@"$(BIN)/python" tests/mutants.py

test-encoder: $(TOOLS) $(WARM) $(TORCH) ## run the tests of fine-tuning encoders; first installs PyTorch, several gigabytes
	@$(PYTEST) tests/learning/encoders nonproj/learning/encoders $(ARGS)

types: $(TOOLS) ## check the types
	@"$(BIN)/python" -m mypy

test-all: test-bounds test-plain test-python mutants types

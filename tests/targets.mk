# Further targets for the tests of the parser, for the Makefile of the root, which includes this file.

# The tests of kernels; what compares solvers, or Python with Python, has no bounds to check.
BOUNDS_TESTS = $(addprefix tests/,trees parts automata dual scoring/test_scoring.py learning/test_learning.py) \
	$(addprefix nonproj/,trees automata dual) -k 'not integer_program and not sizes'

.PHONY: test-bounds test-python test-encoder types

test-bounds: $(READY) ## run the tests of kernels with array bounds checks
	@NUMBA_BOUNDSCHECK=1 $(PYTEST) $(BOUNDS_TESTS) $(ARGS)

test-python: $(READY) ## run the tests of decoders and scores without compilation, for coverage; takes minutes
	@NUMBA_DISABLE_JIT=1 $(PYTEST) -W ignore::RuntimeWarning $(DECODE_TESTS) tests/scoring/test_scoring.py $(ARGS)

test-encoder: $(WARM) $(TORCH) ## run the tests of fine-tuning encoders; first installs PyTorch, several gigabytes
	@$(PYTEST) tests/learning/encoders nonproj/learning/encoders research/tests/test_encoder_experiment.py $(ARGS)

types: $(READY) ## check the types
	@"$(BIN)/python" -m mypy

test-all: test-bounds test-python types

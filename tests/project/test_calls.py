"""Number of Python functions that a short text passes through."""

from pathlib import Path

import pytest

import nonproj
from research.benchmarks.calls import LIMITS, count, main, summary

TEXT = "Den hund ser stor kat."


@pytest.fixture(scope="module")
def path(model_of) -> Path:
    """A model file of the toy language, with all that a model of a real one has."""
    return model_of("confident")


def test_a_sentence_passes_through_few_functions(path):
    nlp = nonproj.load(path)
    nlp(f"{TEXT} " * 600)  # enough to know that it fits the model
    found = summary(count(lambda: nlp(TEXT)))
    assert all(number <= limit for number, limit in zip(found, LIMITS, strict=True)), found


def test_the_benchmark_lists_all_modules(path, capsys):
    assert main([str(path), TEXT]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    calls, functions, modules = (int(word) for word in first.split() if word.isdigit())
    assert sum(int(line.split()[0]) for line in lines) == calls
    assert sum(int(line.split()[1]) for line in lines) == functions
    assert len(lines) == modules

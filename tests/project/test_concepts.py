"""Concepts that exist once: whoever writes a second one is told where the first one is."""

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "nonproj"
SOURCES = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
PACKAGES = {"components", "confidence", "learning", "linear", "networks", "scoring", "tagging", "text"}
LEARNT = {name: text for name, text in SOURCES.items() if name.split("/")[0] in PACKAGES}
"""The files of models that are learnt, and of their learning."""


def containing(pattern: str) -> set[str]:
    """The files in which a regular expression is found."""
    return {name for name, text in LEARNT.items() if re.search(pattern, text)}


def test_one_compiler_of_templates():
    """Terms are read and their coefficients are made in one place; others say what may be named, sort the result."""
    assert containing(r"def (parse|compile)_templates?\b") == {"linear/templates.py"}
    assert containing(r"def coefficient\b") == {"linear/hashing.py"}
    assert containing(r"\bcoefficient\(") == {"linear/hashing.py", "linear/templates.py"}
    assert containing(r"\(\[\+-\]") == {"linear/templates.py"}, "a second regular expression of terms"


def test_one_hash_of_strings_and_features():
    digests = containing(r"import hashlib|\bcrc32\b|\badler32\b|\bhash\(")
    assert digests == {"linear/hashing.py", "components/checkpoint.py"}, "the checkpoint's is the digest of its input"
    assert containing(r"<< 64|>> np\.uint64\(32\)") <= {
        "linear/hashing.py", "linear/templates.py", "scoring/templates.py", "tagging/words.py", "tagging/chain.py",
    }  # fmt: skip
    multiplied = containing(r"np\.uint64\(\w+[^)]*\)\)? >> np\.uint64\(32\)")
    assert multiplied == {"linear/hashing.py"}


def test_one_averaged_perceptron():
    """Only `change_weight` changes a running total, only means divide by the number of steps."""
    assert containing(r"total\[[^\]]*\] \+= step") == {"linear/perceptron.py"}
    assert containing(r"total\b[^\n]* / \w*\.?step\b") == {"linear/perceptron.py"}
    assert containing(r"self\.total = np\.zeros") == {"linear/perceptron.py"}
    assert LEARNT["linear/perceptron.py"].count("self.total = np.zeros") == 1


def test_optimisers_are_in_one_place():
    """The divisor of AdaGrad's steps, for weights and for rows, the steps of Adam, and the loop over epochs."""
    assert containing(r"squares\[\w+\] \+=") == {"linear/optimisers.py"}
    assert containing(r"square\[\w+\] = |def _?adam") == {"linear/optimisers.py"}
    assert containing(r"epoch %d: %.1f s") == {"linear/optimisers.py"}
    assert containing(r"epochs // 2|2 \* \w+ > epochs") == {"linear/optimisers.py"}


def test_one_component_protocol():
    """Ours and a user's are fitted by one loop, cross-fitted by one function, and draw from streams with a name."""
    callers = {f"components/{name}.py" for name in ("base", "fitting", "confidence")}
    assert containing(r"component\.(fit|extend)\(") == callers
    assert containing(r"def (cross_fit|blocks)\b") == {"linear/folds.py"}
    assert containing(r"def jackknife\b") == {"components/base.py"}


def seeds(text: str) -> set[str]:
    """The seeds of the generators of random numbers that a file makes, and arguments of numpy's global one."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    makers = re.compile(r"(np|numpy)\.random\.\w+|(.*\.)?(default_rng|Random)")
    calls = [call for call in calls if makers.fullmatch(ast.unparse(call.func))]
    return {", ".join(map(ast.unparse, (*call.args, *call.keywords))) for call in calls}


def test_random_streams_have_names():
    """All learning draws from a named stream; elsewhere, a seed is the caller's, or a constant."""
    text = "# default_rng(0)\nnp.random.default_rng(seed + copy), default_rng(seed=1), np.random.normal(2), Random(3)"
    assert seeds(text) == {"seed + copy", "seed=1", "2", "3"}
    makers = {name: text for name, text in SOURCES.items() if "andom" in text or "default_rng" in text}
    found = {name: drawn for name, text in makers.items() if name != "linear/streams.py" and (drawn := seeds(text))}
    assert not found.keys() & LEARNT.keys()
    assert set().union(*found.values()) <= {"0", "seed", "check_integer(seed, 'seed', 0)"}


def test_one_network_over_words():
    """The learner, hyperparameters, steps on rows, their gradient, the positive part, the loss of classes, rounding."""
    assert containing(r"\broot_of_squares\(squares") == {"linear/optimisers.py", "networks/rows.py"}
    assert containing(r"\[r, k\] \+= ") == {"networks/rows.py"}
    assert containing(r"\bAdam\(|\.gradient_of\(") == {"networks/learner.py"}, "a second loop of training"
    assert containing(r"\bHyperparameters\(") == {"networks/hyperparameters.py"}
    assert containing(r"\* \(\w+ > 0\)\n") == {"networks/training.py"}
    assert containing(r"scores\.max\(axis=1, keepdims") == {"networks/training.py"}
    assert containing(r"def _?rounded_context|def _?run_layer") == {
        f"networks/context{s}.py" for s in ("", "_learning")
    }


def test_one_rounding_of_weights():
    """One of tables, to 16 bits; and one of an encoder's matrices, to eight bits in blocks."""
    assert containing(r"def quantise|\b32767\b") == {"linear/weights.py", "scoring/encoders/quantisation.py"}
    assert containing(r"def _?zero_of|_ZEROS") == {"linear/weights.py"}

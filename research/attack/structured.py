"""Lane of well-formed treebanks drawn by hypothesis: everything that the formats allow is read and preserved."""

from __future__ import annotations

import random
from pathlib import Path

from nonproj.io import conll
from nonproj.io.checks import ReadingRules
from research.attack.campaign import Lane, UnavailableError
from research.attack.properties import require
from research.attack.reads import check_reading, draw_heads, read_all, stream_of

EXAMPLES = 200
"""Treebanks drawn in a case."""


def treebanks():
    """Return a strategy of well-formed treebanks as texts: CoNLL-U with all that is allowed besides words, or CoNLL-X.

    Raises
    ------
    UnavailableError
        Hypothesis is not installed.
    """
    try:
        from hypothesis import strategies as st
    except ImportError:
        raise UnavailableError("hypothesis is not installed; run: pip install hypothesis") from None
    plain = st.characters(blacklist_categories=("Cs",), blacklist_characters="\t\n\r\ufeff")
    value = st.text(plain, min_size=1, max_size=5)
    comment = st.text(plain, max_size=9).map(lambda text: f"# {text}")

    @st.composite
    def sentence(draw) -> str:
        count, ending = draw(st.integers(1, 6)), draw(st.sampled_from(("\n", "\n", "\r\n")))
        heads = draw(st.randoms(use_true_random=False).map(lambda rng: draw_heads(rng, count)))
        lines, end = draw(st.lists(comment, max_size=2)), 0
        for number in range(count + 1):
            if number:
                if number > end and number < count and draw(st.integers(0, 4)) == 0:
                    end = draw(st.integers(number + 1, count))
                    lines.append("\t".join([f"{number}-{end}", draw(value), *"_" * 8]))
                columns = draw(st.lists(value, min_size=9, max_size=9))
                columns[5] = str(heads[number])
                lines.append("\t".join([str(number), *columns]))
            for empty in range(draw(st.sampled_from((0, 0, 0, 0, 1, 2)))):
                lines.append("\t".join([f"{number}.{empty + 1}", *draw(st.lists(value, min_size=9, max_size=9))]))
        return "".join(line + ending for line in lines) + ending

    @st.composite
    def treebank(draw) -> str:
        sentences = draw(st.lists(sentence(), min_size=1, max_size=4))
        between = draw(st.sampled_from(("", "", "\n", " \n")))
        text = draw(st.sampled_from(("", "", "\ufeff", "\n"))) + between.join(sentences)
        return text.rstrip("\r\n") if draw(st.integers(0, 9)) == 0 else text

    return treebank()


def check_treebank(text: str, rng: random.Random) -> None:
    """Check that a well-formed treebank with any contents is read and preserved."""
    data = text.encode()
    sentences, error = read_all(conll.read(stream_of(data)))
    require(error is None, f"rejected: {error}")
    require(all(sentence.heads is not None for sentence in sentences), "the heads are not read")
    require(check_reading(data, ReadingRules(require_heads=True), rng) == "read", "rejected")


class Structured(Lane):
    """Draws treebanks and checks that they are read and kept."""

    name = "structured"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.strategy = treebanks()
        self.notes = {"treebanks": 0}

    def case(self, rng: random.Random, number: int) -> str:
        """Draw and check some treebanks; the smallest one that fails is kept."""
        import hypothesis

        @hypothesis.seed(rng.randrange(1 << 32))
        @hypothesis.settings(
            max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(self.strategy)
        def check(text: str) -> None:
            self.current = {"input": text.encode()}
            self.notes["treebanks"] += 1
            check_treebank(text, random.Random(0))

        check()
        return f"{EXAMPLES} treebanks kept"

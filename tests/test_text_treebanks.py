"""Segmentation of real raw text against the treebank."""

from __future__ import annotations

import pytest

from nonproj.io import conll
from nonproj.text.corpus import paragraphs, raw_text, surface
from nonproj.text.output import restore
from nonproj.text.segmenter import Segmenter


def figures(gold, found) -> list[float]:
    """F1 of tokens, words and sentences, by characters."""
    values = []
    for sentences in (gold, found):
        tokens, words, spans, position = set(), set(), set(), 0
        for sentence in sentences:
            begin = position
            for token in surface(sentence):
                place = (position, position + len(token.form))
                tokens.add(place)
                words |= {(place, word.lower()) for word in token.words or (token.form,)}
                position = place[1]
            spans.add((begin, position))
        values.append((tokens, words, spans))
    return [200 * len(a & b) / (len(a) + len(b)) for a, b in zip(*values, strict=True)]


@pytest.mark.parametrize(
    ("name", "least"), [("greek/el_gdt-ud", (99.6, 99.6, 92.5)), ("english-ewt/en_ewt-ud", (98.9, 98.6, 85.5))]
)
def test_real_treebanks(treebanks, name, least):
    gold = list(conll.read(treebanks / f"{name}-dev.conllu"))
    segmenter = Segmenter.fit(list(conll.read(treebanks / f"{name}-train.conllu")))
    text = raw_text(paragraphs(gold)).text
    found = segmenter.segment(text)
    assert restore(found) == text
    assert all(value >= bound for value, bound in zip(figures(gold, found), least, strict=True)), figures(gold, found)

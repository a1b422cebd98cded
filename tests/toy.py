"""Small treebanks: a tiny language with crossing arcs that is learnt in a moment, and sentences of random words."""

import io
import random

import numpy as np

from nonproj.io import conll
from nonproj.io.copies import with_rows
from nonproj.types import Sentence

QUICK = {"network.epochs": 2, "tagger.restarts": 1, "tagger.network_epochs": 2, "tagger.folds": 2, "pruner.folds": 0}
"""Options that suffice for the toy language, in a quarter of the time of training."""

FROM_GOLD_TAGS = {"features.bits": 16, "pruner.bits": 14, "labeler.bits": 14, "pruner.folds": 0, "tagger.epochs": 0}
FROM_GOLD_TAGS |= {"training.tags": "gold", "segmenter.epochs": 0, "confidence.share": 0.0}
"""Options for small tables without tagger, segmenter and classifier."""

NOUNS, VERBS = ("hund", "kat", "mand", "hus"), ("ser", "jager", "kender")
ADJECTIVES, PARTICIPLES = ("stor", "lille"), ("sovende", "løbende")


def sentence(chance: random.Random) -> list[tuple[str, str, int, str]]:
    """Form, tag, head and label of each word; a participle at the end belongs to the subject, over the verb."""
    words: list = []

    def phrase(label: str) -> int:
        first = len(words) + 1
        inner = [("den", "DET", "det")] * chance.randint(0, 1)
        inner += [(chance.choice(ADJECTIVES), "ADJ", "amod") for _ in range(chance.randint(0, 2))]
        noun = first + len(inner)
        words.extend((form, tag, noun, kind) for form, tag, kind in inner)
        words.append([chance.choice(NOUNS), "NOUN", None, label])
        return noun

    subject = phrase("nsubj")
    words.append((chance.choice(VERBS), "VERB", 0, "root"))
    verb = len(words)
    if chance.random() < 0.7:
        phrase("obj")
    if chance.random() < 0.5:
        words.append((chance.choice(PARTICIPLES), "PART", subject, "acl"))
    words.append((".", "PUNCT", verb, "punct"))
    return [(form, tag, verb if head is None else head, label) for form, tag, head, label in words]


def treebank(count: int, seed: int = 0) -> str:
    """A text with a number of sentences, in CoNLL-X format."""
    chance, text = random.Random(seed), ""
    for _ in range(count):
        for i, (form, tag, head, label) in enumerate(sentence(chance), 1):
            text += f"{i}\t{form}\t{form}\t{tag}\t{tag}\t_\t{head}\t{label}\t_\t_\n"
        text += "\n"
    return text


def noisy_sentences(count: int) -> list[Sentence]:
    """Sentences in which nobody can know the head of every other determiner or adjective."""
    chance, lines = random.Random(1), []
    for block in treebank(count).strip().split("\n\n"):
        rows = [row.split("\t") for row in block.split("\n")]
        verb = next(row[0] for row in rows if row[6] == "0")
        for row in rows:
            if row[7] in ("det", "amod") and chance.random() < 0.5:
                row[6] = verb
        lines += ["\t".join(row) for row in rows] + [""]
    return list(conll.read(io.StringIO("\n".join(lines) + "\n")))


def raw_treebank(count: int, seed: int = 0) -> str:
    """A number of sentences in CoNLL-U, with raw text: a capital letter, and no blank before the full stop."""
    chance, blocks = random.Random(seed), []
    for number in range(1, count + 1):
        rows = sentence(chance)
        forms = [rows[0][0].capitalize(), *(form for form, *_ in rows[1:])]
        lines = [f"# sent_id = {number}", f"# text = {' '.join(forms[:-1])}{forms[-1]}"]
        for i, (form, (lemma, tag, head, label)) in enumerate(zip(forms, rows, strict=True), 1):
            misc = "SpaceAfter=No" if i == len(rows) - 1 else "_"
            lines.append("\t".join((str(i), form, lemma, tag, tag, "_", str(head), label, "_", misc)))
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def ambiguous(sentences: list[Sentence], columns: slice) -> list[Sentence]:
    """Sentences in which every third word has the tags of another, in some columns, so that words are ambiguous."""
    rng, made = np.random.default_rng(1), []
    tags = [row[columns] for sentence in sentences for row in sentence.rows]
    for sentence in sentences:
        rows = [list(row) for row in sentence.rows]
        for row in rows:
            row[columns] = tags[rng.integers(len(tags))] if rng.random() < 0.3 else row[columns]
        made.append(with_rows(sentence, rows))
    return made


def read(text: str) -> list[Sentence]:
    """The sentences of a text, all with gold heads."""
    return list(conll.read(io.StringIO(text), require_heads=True))


def sentences(count: int, seed: int = 0) -> list[Sentence]:
    """A number of sentences of the toy language."""
    return read(treebank(count, seed))


def draw_sentence(rng, n):
    """A sentence of made-up words, some with absent columns."""
    rows = []
    for i in range(1, n + 1):
        form = "".join(rng.choice(list("abcXY1-"), rng.integers(1, 7)))
        feats = "|".join(sorted(rng.choice(["a=1", "b=2", "c=3", "d=4"], rng.integers(0, 4), replace=False))) or "_"
        lemma, pos = rng.choice([form.lower(), "_"]), rng.choice(["N", "V", "NN", "_"])
        rows.append([str(i), form, str(lemma), str(rng.choice(["N", "V", "P"])), str(pos), feats, "0", "x", "_", "_"])
    return Sentence(rows)

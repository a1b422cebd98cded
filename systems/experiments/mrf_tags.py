"""Tags made consistent over documents: weights chosen on the development file, figures of the test file."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from nonproj.io.conll import read
from nonproj.options.sections import TaggerConfig
from nonproj.tagging.analyzer import Analyzer
from nonproj_systems.mrf.consistency import documents, tag_document
from nonproj_systems.mrf.linear_program import solve_program
from research.experiments.layout import pick, seconds, table
from research.experiments.setting import ROOT
from research.experiments.store import Row

WEIGHTS = (30.0, 60.0, 120.0, 240.0)
MOST_SEEN = (0, 10, 10**9)
SAME = {"tag": tuple, "UPOS": lambda tag: tag[0]}
"""Weights of a tie; words tied have been seen so often in training at most; what has to be the same."""

PROGRAM_DOCUMENTS = 20
"""Documents of the test file for which the programs are solved too."""

COLUMNS = ("UPOS", "XPOS", "FEATS")

HEAD = """## Tags made consistent over documents

UD English EWT: the tagger of this package, trained on the first sentences of the training file or on all of them. Words
of the same form in a document (`# newdoc`) are tied to a consensus node. Which words are tied (those seen at most so
often in training), what has to be the same (the whole tag, or its UPOS) and the weight were chosen by the accuracy of
UPOS on the development file; the table has the test file.

Where the tagger has seen little, ties repair more words than they break. With all training data the gain is within
chance. Words that are frequent in training are better left alone: forms such as *that* rightly have several tags, and
tying all forms at a high weight costs accuracy (last table). Tying rare words alone costs nothing at any weight."""


def locate(data: Path | None) -> tuple[Path, Path, Path]:
    """Return the files for training, testing and development; fetch them if they are missing."""
    fetch = str(ROOT / "data_scripts" / "fetch.py")
    command = [sys.executable, fetch, "english-ewt", "--out", str(data or ROOT / "data"), "--paths"]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=False, encoding="utf-8")
    if found.returncode:
        raise SystemExit(found.returncode)
    train, test, *development = map(Path, found.stdout.splitlines())
    return train, test, development[0] if development else test.with_name(test.name.replace("test", "dev"))


class _Split:
    """The documents of a file with the tagger's own tags."""

    def __init__(self, tagger, path: Path, most: int):
        self.tagger, self.documents = tagger, list(documents(read(path)))[:most]
        rows = [[row for sentence in document for row in sentence.rows] for document in self.documents]
        self.gold = [[(row[3], row[4], row[5]) for row in each] for each in rows]
        self.own, began = [], time.process_time()
        for document in self.documents:
            forms = [form for sentence in document for form in sentence.forms]
            self.own.append(tagger.tag_with_margins(forms, [len(sentence) for sentence in document])[0])
        self.seconds = time.process_time() - began

    def accuracy(self, tags: list) -> list[float]:
        """Return the accuracy of UPOS, XPOS and FEATS."""
        pairs = [pair for a, b in zip(self.gold, tags, strict=True) for pair in zip(a, b, strict=True)]
        return [float(np.mean([gold[k] == tag[k] for gold, tag in pairs])) for k in range(3)]

    def tie(self, weight: float, most_seen: int, same: str, seen: Counter) -> list:
        """Return what `tag_document` does for each document."""

        def key(form: str) -> str | None:
            return form if seen[form] <= most_seen else None

        return [tag_document(self.tagger, document, weight, key, SAME[same]) for document in self.documents]


def run_tags(data: Path | None, n_train: int, short: bool) -> list[Row]:
    """Train a tagger, choose the ties on the development file, and measure them on the test file."""
    train, test, development = locate(data)
    sentences = list(read(train))[:n_train]
    seen, most = Counter(form for sentence in sentences for form in sentence.forms), 20 if short else 10**6
    began = time.process_time()
    tagger = Analyzer.fit(sentences, TaggerConfig()).tagger
    head: Row = {"training": len(sentences), "training_seconds": time.process_time() - began}
    split, rows = _Split(tagger, development, most), []
    for most_seen in MOST_SEEN:
        for same in SAME:
            for weight in WEIGHTS[1::2] if short else WEIGHTS:
                found = split.tie(weight, most_seen, same, seen)
                row = head | {"split": "development", "most_seen": most_seen, "same": same, "weight": weight}
                rows.append(row | measured(split, found))
    best = max(rows, key=lambda row: row["UPOS_after"])
    split = _Split(tagger, test, most)
    began = time.process_time()
    found = split.tie(best["weight"], best["most_seen"], best["same"], seen)
    spent = time.process_time() - began
    row = head | {"split": "test", **{name: best[name] for name in ("most_seen", "same", "weight")}}
    rows.append(row | measured(split, found) | {"seconds": spent, "own_seconds": split.seconds} | programs(found))
    return rows


def measured(split: _Split, found: list) -> Row:
    """Return accuracies before and after, changes, and certificates."""
    tags = [each[0] for each in found]
    row: Row = {}
    for name, before, after in zip(COLUMNS, split.accuracy(split.own), split.accuracy(tags), strict=True):
        row |= {f"{name}_before": before, f"{name}_after": after}
    words = [
        (a, b, c) for triple in zip(split.gold, split.own, tags, strict=True) for a, b, c in zip(*triple, strict=True)
    ]
    row["words"], row["documents"] = len(words), len(found)
    row["better"] = sum(own[0] != gold[0] == tag[0] for gold, own, tag in words)
    row["worse"] = sum(own[0] == gold[0] != tag[0] for gold, own, tag in words)
    row["certified"] = sum(each[1].certified for each in found)
    row["first"] = sum(each[1].iterations <= 10 and each[1].certified for each in found)
    row["iterations"] = float(np.mean([each[1].iterations for each in found]))
    row["ties"] = sum(len(each[2].tied) for each in found)
    return row


def programs(found: list) -> Row:
    """Return how the linear program compares on some documents."""
    row = {"program_documents": 0, "lp_integral": 0, "lp_equal": 0, "lp_seconds": 0.0, "own_program_seconds": 0.0}
    for _, inference, document in found[:PROGRAM_DOCUMENTS]:
        began = time.process_time()
        _, bound, _, labels = solve_program(document.field, seconds=60.0)
        row["lp_seconds"] += time.process_time() - began
        row["program_documents"] += 1
        row["lp_integral"] += labels is not None
        row["lp_equal"] += abs(bound - inference.bound) <= 1e-6 * (1.0 + abs(bound))
        row["own_program_seconds"] += inference.seconds
    return row


def tags_page(rows: list[Row]) -> list[str]:
    """Return the section of the page."""
    tests = [row for unit in ("tags", "tags-all") for row in pick(rows, unit=unit, split="test")]
    lines = []
    for row in tests:
        lines.append([f"{row['training']:,} sentences", row["most_seen"] if row["most_seen"] < 10**9 else "any"])
        lines[-1] += [row["same"], f"{row['weight']:g}"]
        for name in COLUMNS:
            lines[-1].append(f"{100 * row[f'{name}_before']:.2f} → {100 * row[f'{name}_after']:.2f}")
        chance = binomtest(row["better"], row["better"] + row["worse"]).pvalue if row["better"] + row["worse"] else 1.0
        lines[-1] += [row["better"], row["worse"], f"{chance:.2g}"]
    head = ["tagger trained on", "seen at most", "same", "weight", *COLUMNS, "UPOS repaired", "broken", "sign test, p"]
    proofs = []
    for row in tests:
        proofs.append([f"{row['training']:,} sentences", row["documents"], row["ties"], row["certified"], row["first"]])
        proofs[-1] += [f"{row['iterations']:.1f}", seconds(row["seconds"]), seconds(row["own_seconds"])]
        share = f"{row['lp_integral']} of {row['program_documents']}"
        proofs[-1] += [share, seconds(row["lp_seconds"]), seconds(row["own_program_seconds"])]
    proof_head = ["tagger trained on", "documents", "ties", "proven", "within 10 iterations", "iterations"]
    proof_head += ["seconds", "seconds of the tagger alone", "LP integral", "seconds of these LPs", "of ours"]
    chosen = [row for row in rows if row.get("split") == "development" and row["unit"] == "tags"]
    course = [
        [f"{'any' if row['most_seen'] == 10**9 else row['most_seen']}, {row['same']}", f"{row['weight']:g}"]
        + [f"{100 * (row[f'{name}_after'] - row[f'{name}_before']):+.2f}" for name in COLUMNS]
        for row in chosen
    ]
    text = "On the development file, with the smaller tagger, the gains in per cent of the words are:"
    found = [HEAD, table(head, lines), table(proof_head, proofs), text]
    return [*found, table(["seen at most, same", "weight", *COLUMNS], course)]

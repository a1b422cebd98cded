"""Enhanced graphs of gold trees and from raw text, beside two baselines, by the official script of IWPT 2021.

Writes ``graphs.csv`` and ``graphs.md``; treebanks that are not measured keep their figures.
"""

from __future__ import annotations

import io
import logging
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from nonproj.evaluation.universal import ud_scores
from nonproj.io import conll
from nonproj.io.columns import DEPS
from nonproj.io.graphs import Graph, read_graph
from nonproj.learning.graphs import learn_graphs, trees_of, with_graphs
from nonproj.model.installed import DEFAULT, located
from nonproj.model.model import Model
from nonproj.scoring.graphs import GraphModel, TreeWords
from nonproj.types import Sentence
from research.experiments.layout import percent, table
from research.experiments.provenance import publish
from research.experiments.raw import parsed
from research.experiments.setting import ExperimentSettings, configuration, development, trained_file, treebank
from research.experiments.store import Row, read_rows, replace_rows
from research.experiments.text import title_of

FROM_TRAINING = ("english-ewt", "tamil")
"""Treebanks whose graphs are learnt from the training file; those of others, from the development file."""

FROM_DEVELOPMENT = ("UD_Swedish-Talbanken", "UD_Lithuanian-ALKSNIS", "UD_Belarusian-HSE")
LANGUAGES = (*FROM_TRAINING, *FROM_DEVELOPMENT)
METRICS = ("ELAS", "EULAS")
ROWS = (
    "gold trees: DEPS = tree",
    "gold trees: rule",
    "gold trees: nonproj",
    "raw text: DEPS = tree",
    "raw text: nonproj",
)
FILE = "graphs.csv"
BUNDLED = "english-ewt"
"""The treebank of the model that comes with the package."""

INTRODUCTION = """# Enhanced graphs

F1 of the arcs of enhanced graphs, with whole labels (ELAS) and with universal ones (EULAS), in per cent, by the
official script of IWPT 2021 (`udtools`); arcs through empty nodes are collapsed, as there. The graphs are learnt with
the default options, from the training file (English EWT, Tamil) or the development file (Swedish, Lithuanian,
Belarusian), and measured on the test file, on which nothing was chosen.

Three rows are about its gold trees, tags and lemmas: a copy of the tree in DEPS; a *rule*, which adds lemmas of `case`,
`mark` and `cc` and the feature Case to labels, and an arc from the head of the first conjunct to each other; and
nonproj. Two are about raw text, by a parser of the same sentences (for English, the model `english`). LAS is that of
the same output, of universal labels. `python -m research.experiments graphs` makes this page.
"""

log = logging.getLogger("experiments")


def measure(setting: ExperimentSettings, languages: Sequence[str]) -> None:
    """Measure treebanks one by one; rows of others are kept."""
    for language in languages:
        log.info("graphs, %s", language)
        replace_rows(setting.results / FILE, language, figures(setting, language), LANGUAGES)
        write_page(setting)


def files(setting: ExperimentSettings, language: str) -> tuple[Path, Path]:
    """Return the file that is learnt from, and the test file."""
    first, test = treebank(setting, language)
    known = language in setting.files or language in FROM_TRAINING
    return first if known else development(setting, language), test


def figures(setting: ExperimentSettings, language: str) -> list[Row]:
    """Return the rows of a treebank."""
    learnt_from, test = files(setting, language)
    pairs, gold = with_graphs(conll.read(learnt_from)), list(conll.read(test, require_heads=True))
    model = learn_graphs(pairs, 0)
    trees = [[[pair] for pair in zip(own.heads.tolist(), own.labels, strict=True)] for own in gold]
    ruled = [by_rule(words) for words, _ in trees_of(zip(gold, trees, strict=True))]
    ours = [model.graph(own, own.heads.tolist(), own.labels) for own in gold]
    found = [scored(test, written(gold, graphs)) for graphs in (trees, ruled, ours)]
    found += from_text(parser_file(setting, language, model), test)
    size: Row = {"language": language, "sentences": len(pairs), "words": sum(len(own) for own, _ in pairs)}
    return [size | {"row": name} | row for name, row in zip(ROWS, found, strict=True)]


def by_rule(words: TreeWords) -> Graph:
    """Return the graph of a tree by a rule for conjuncts and case.

    Examples
    --------
    >>> rows = [["", "a", "a", *"____"], ["", "or", "or", *"____"], ["", "b", "b", *"____"]]
    >>> by_rule(TreeWords(rows, [0, 3, 1], ["root", "cc", "conj"]))
    [[(0, 'root')], [(3, 'cc')], [(0, 'root'), (1, 'conj:or')]]
    """
    graph = []
    for word in range(1, len(words.forms)):
        head, texts = words.heads[word], words.texts(word)
        names = ("cc.all",) if texts["udeprel"] == "conj" else ("case.all", "mark.all", "Case")
        wanted = texts["udeprel"] in ("conj", "nmod", "obl", "advcl", "acl")
        label = ":".join([words.labels[word], *(texts[name] for name in names if wanted and name in texts)])
        more = [(words.heads[head], words.labels[head])] if texts["udeprel"] == "conj" and head else []
        graph.append(sorted({(head, label), *more}))
    return graph


def written(sentences: Iterable[Sentence], graphs: Iterable[Graph]) -> str:
    """Return sentences with other graphs, as text."""
    pairs = zip(sentences, graphs, strict=True)
    return "".join(conll.replace(own, own.heads, graph=graph) for own, graph in pairs)


def scored(gold: Path, text: str) -> Row:
    """Return the scores of the graphs of a text, and its LAS."""
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "gold.conllu", Path(folder) / "parsed.conllu"
        paths[0].write_text("".join(map(collapsed, conll.read(gold))), encoding="utf-8")
        paths[1].write_text("".join(map(collapsed, conll.read(io.StringIO(text)))), encoding="utf-8")
        scores = ud_scores(*paths)
    return {name: scores[name]["f1"] for name in (*METRICS, "LAS")}


def collapsed(sentence: Sentence) -> str:
    """Return a sentence in which DEPS has arcs through empty nodes as arcs between words."""
    lines = list(sentence.lines)
    for place, arcs in zip(sentence.word_lines, read_graph(sentence) or (), strict=False):
        cells = lines[place].split("\t")
        cells[DEPS] = "|".join(f"{head}:{label}" for head, label in arcs)
        lines[place] = "\t".join(cells)
    return "".join(lines)


def parser_file(setting: ExperimentSettings, language: str, graphs: GraphModel) -> Path:
    """Return the file of a parser with these graphs; train the parser if it is missing."""
    path = setting.models / f"{language}-graphs.nonproj"
    if language != BUNDLED or language in setting.files:
        own = replace(setting, files={language: files(setting, language)})
        return trained_file(path, own, language, configuration(own, language, "grandparent"))
    path.parent.mkdir(parents=True, exist_ok=True)
    model = Model.load(located(DEFAULT))
    model.add_component(GraphModel.name, graphs.state())
    model.save(path)
    return path


def from_text(model: Path, test: Path) -> list[Row]:
    """Return the scores of a model's trees as graphs, and of its graphs, on the raw text of a gold file."""
    with parsed(model, test) as target:
        sentences, text = list(conll.read(target)), target.read_text(encoding="utf-8")
    trees = [[[pair] for pair in zip(own.heads.tolist(), own.labels, strict=True)] for own in sentences]
    return [scored(test, written(sentences, trees)), scored(test, text)]


def write_page(setting: ExperimentSettings) -> None:
    """Write the page."""
    rows, lines = read_rows(setting.results / FILE), []
    for language in LANGUAGES:
        own = [row for row in rows if row["language"] == language]
        for row in own:
            las = percent(row["LAS"]) if str(row["row"]).startswith("raw") else ""
            first = title_of(language) if row is own[0] else ""
            lines.append([first, row["row"], *(percent(row[name]) for name in METRICS), las])
    publish(setting.results, "graphs", [INTRODUCTION, table(["", "", *METRICS, "LAS"], lines)])

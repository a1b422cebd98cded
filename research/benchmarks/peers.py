"""Stanza's tagger and parser, and a transformer pipeline of spaCy, with random weights.

    python -m research.benchmarks.peers {stanza,spacy} VOCABULARY SOURCE TARGET [--pieces FILE]
    python -m research.benchmarks.peers {stanza,spacy} --about

`research.benchmarks.encoders` runs this program to measure time.  Layers have the packages' default sizes, on which the
time depends; it does not depend on the values of the weights.  VOCABULARY is a CoNLL-U file from which the models
take words, tags and labels; the program tags and parses the words of SOURCE, in its sentences, on one thread.

The time of decoding does depend on scores: random ones make many more cycles than those of a trained parser.  In
Stanza's parser, the arcs and labels of SOURCE therefore score highest, so that contracting cycles and repairing labels
take no longer than after training.  It is also given the tags and lemmas of SOURCE: no lemmatizer runs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

HIGHEST = 1e3
"""The score of the arcs and labels of SOURCE in Stanza's parser."""


class Sentence(NamedTuple):
    """The rows of a sentence, each with the ten columns of CoNLL-U."""

    rows: list[list[str]]

    def column(self, number: int) -> list[str]:
        """Return a column."""
        return [row[number] for row in self.rows]


FORM, LEMMA, XPOS, HEAD, DEPREL = 1, 2, 4, 6, 7
"""Columns."""


def read(path: Path) -> list[Sentence]:
    """Return the sentences of a CoNLL-U file, without multiword tokens and empty nodes."""
    blocks = path.read_text(encoding="utf-8").strip("\n").split("\n\n")
    rows = ([line.split("\t") for line in block.split("\n") if not line.startswith("#")] for block in blocks)
    return [Sentence([row for row in sentence if row[0].isdigit()]) for sentence in rows]


def write(path: Path, columns: Sequence[Sequence[object]]) -> None:
    """Write words with tags, heads and labels, a line each."""
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in columns), encoding="utf-8")


# -- Stanza ------------------------------------------------------------------------------------------------------------

CHARACTERS, VECTORS, VECTOR = 1024, 150_000, 100
"""Dimensions of the character language models; number and dimensions of word vectors."""

BATCH = 5000
"""Words in a batch of the parser."""

ANNOTATION = ("lemma", "upos", "xpos", "feats", "head", "deprel")
"""The columns from `LEMMA` to `DEPREL`, as Stanza calls them."""

STANZA_ABOUT = (
    "character language models forward and backward, LSTM of 1,024 (default of `stanza.models.charlm`); word vectors"
    " of 100 dimensions (CoNLL 2017; `stanza.resources.default_packages` has both for English); tagger: two layers of"
    " bidirectional LSTM of 200, classifiers of 400, batches of 250 sentences (defaults of `stanza.models.tagger`);"
    " parser: three layers of bidirectional LSTM of 400, biaffine layers of 400 (defaults of `stanza.models.parser`),"
    " batches of 5,000 words (`stanza.utils.training.run_depparse`)"
)


def charlm_files(folder: Path, characters: list[str]) -> list[str]:
    """Write character language models with random weights; return the options that name them."""
    from stanza.models import charlm
    from stanza.models.common.char_model import CharacterLanguageModel
    from stanza.models.common.vocab import CharVocab

    options = vars(charlm.build_argparse().parse_args([]))
    vocabulary = {"char": CharVocab([characters], "en")}
    words = ["--charlm", "--charlm_shorthand", "en_random"]
    for direction in ("forward", "backward"):
        model = CharacterLanguageModel(options, vocabulary, is_forward_lm=direction == "forward")
        assert model.hidden_dim() == CHARACTERS
        path = folder / f"{direction}.pt"
        model.save(str(path))
        words += [f"--charlm_{direction}_file", str(path)]
    return words


class WordVectors(NamedTuple):
    """The vocabulary and the matrix of word vectors, named as in Stanza's ``Pretrain``."""

    vocab: Any
    emb: Any


def word_vectors(words: set[str]) -> WordVectors:
    """Return random vectors for these words and others."""
    import torch
    from stanza.models.common.pretrain import PretrainedWordVocab

    others = (f"\0{number}" for number in range(VECTORS - len(words)))
    vocabulary = PretrainedWordVocab([*sorted(words), *others], "en")
    return WordVectors(vocabulary, torch.randn(len(vocabulary), VECTOR))


def fill(module: Any) -> None:
    """Draw the matrices that training would change but which start at zero, as those of the classifiers do."""
    import torch

    for weights in module.parameters():
        if weights.dim() > 1 and not weights.any():
            torch.nn.init.normal_(weights, std=0.01)


def prefer_gold(parser: Any) -> None:
    """Make the arcs and labels of the document score highest."""
    from stanza.models.common.vocab import VOCAB_PREFIX_SIZE

    scores_of = parser.forward_scores

    def forward_scores(*arguments: Any) -> tuple:
        arcs, labels, *others = scores_of(*arguments)
        heads, relations = arguments[9], arguments[10] - VOCAB_PREFIX_SIZE
        arcs[:, 1:].scatter_(2, heads.unsqueeze(2), HIGHEST)
        places = relations.clamp(min=0)[:, :, None, None].expand(-1, -1, labels.shape[2], 1)
        labels[:, 1:].scatter_(3, places, HIGHEST)
        return arcs, labels, *others

    parser.forward_scores = forward_scores


class Models(NamedTuple):
    """Stanza's trainers of a tagger and of a parser, which also predict, and the word vectors of both."""

    tagger: Any
    parser: Any
    vectors: WordVectors


def stanza_models(sentences: list[Sentence], folder: Path) -> Models:
    """Return models with the vocabularies of a treebank; ``folder`` is for the files of character language models."""
    from stanza.models import parser, tagger
    from stanza.models.common.doc import Document
    from stanza.models.depparse.data import DataLoader
    from stanza.models.depparse.trainer import GraphTrainer
    from stanza.models.pos.data import Dataset
    from stanza.models.pos.trainer import Trainer

    logging.getLogger("stanza").setLevel(logging.WARNING)
    treebank = Document([stanza_words(sentence, annotated=True) for sentence in sentences])
    forms = {form for sentence in sentences for form in sentence.column(FORM)}
    vectors = word_vectors({form.lower() for form in forms})
    words = ["--lang", "en", "--shorthand", "en_combined", *charlm_files(folder, sorted({" ", "\n", *"".join(forms)}))]
    options = tagger.parse_args(words), parser.parse_args([*words, "--batch_size", str(BATCH)])
    assert [(each["num_layers"], each["hidden_dim"]) for each in options] == [(2, 200), (3, 400)]
    found = Models(
        Trainer(options[0], Dataset(treebank, options[0], vectors).vocab, vectors, device="cpu"),
        GraphTrainer(options[1], DataLoader(treebank, BATCH, options[1], vectors).vocab, vectors, device="cpu"),
        vectors,
    )
    fill(found.tagger.model)
    fill(found.parser.model)
    prefer_gold(found.parser.model)
    return found


def tag(document: Any, models: Models) -> None:
    """Tag a document with the batches of Stanza's ``POSProcessor``, which itself accepts a model only in a file."""
    from stanza.models.common.utils import unsort
    from stanza.models.pos.data import Dataset

    options, vocabulary = models.tagger.args, models.tagger.vocab
    data = Dataset(document, options, models.vectors, vocab=vocabulary, evaluation=True, sort_during_eval=True)
    sizes = {"batch_size": options["batch_size"], "maximum_tokens": options["batch_maximum_tokens"]}
    order, found = [], []
    for batch in data.to_length_limited_loader(**sizes):
        order.extend(batch[-1])
        found += models.tagger.predict(batch)
    document.set(["upos", "xpos", "feats"], [tags for sentence in unsort(found, order) for tags in sentence])


def parse(document: Any, models: Models) -> None:
    """Parse a document with the batches and options of Stanza's ``DepparseProcessor``."""
    from stanza.models.common.utils import unsort
    from stanza.models.depparse.data import DataLoader
    from stanza.pipeline.depparse_processor import DEFAULT_SEPARATE_BATCH

    given = {"vocab": models.parser.vocab, "evaluation": True, "sort_during_eval": True}
    given["min_length_to_batch_separately"] = DEFAULT_SEPARATE_BATCH
    loader = DataLoader(document, BATCH, models.parser.args, models.vectors, **given)
    found = [tree for batch in loader for tree in models.parser.predict(batch, resolve_head_constraints=True)]
    document.set(["head", "deprel"], [arc for tree in unsort(found, loader.data_orig_idx) for arc in tree])
    for sentence in document.sentences:
        sentence.build_dependencies()


def stanza_words(sentence: Sentence, annotated: bool) -> list[dict[str, Any]]:
    """Return the words of a sentence for a ``Document`` of Stanza, with or without `ANNOTATION`."""
    found = []
    for number, row in enumerate(sentence.rows, 1):
        word: dict[str, Any] = {"id": (number,), "text": row[FORM]}
        if annotated:
            word |= dict(zip(ANNOTATION, annotation(row), strict=True))
        found.append(word)
    return found


def annotation(row: Sequence[str]) -> list[Any]:
    """Return the columns `ANNOTATION` of a word."""
    values = [None if value == "_" else value for value in row[LEMMA : DEPREL + 1]]
    return [int(value) if name == "head" else value for name, value in zip(ANNOTATION, values, strict=True)]


def run_stanza(vocabulary: Path, source: Path, target: Path) -> None:
    """Tag and parse a file."""
    import torch
    from stanza.models.common.doc import Document

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        models = stanza_models(read(vocabulary), Path(folder))
    sentences = read(source)
    document = Document([stanza_words(sentence, annotated=False) for sentence in sentences])
    with torch.no_grad():
        tag(document, models)
        tags = document.get(["upos", "xpos"])
        document.set(ANNOTATION, [annotation(row) for sentence in sentences for row in sentence.rows])
        parse(document, models)
    words = document.get(["text", "head", "deprel"])
    write(target, [[*word, *tags_of] for word, tags_of in zip(words, tags, strict=True)])


# -- spaCy -------------------------------------------------------------------------------------------------------------

SPACY_ABOUT = (
    "RoBERTa base, twelve layers of 768 with 12 heads, inner layers of 3,072, 50,265 pieces, windows of 128 every"
    " 96 (defaults of `spacy-curated-transformers`); words are cut into the pieces of the model that is compared with"
    " it; tagger; parser with a hidden layer of 64 with two pieces (default of `spacy.pipeline.dep_parser`) and without"
    " an upper layer (spaCy's quickstart for transformers); the file is one document, which is faster than several"
)

LAYERS = "spacy-curated-transformers"

LISTENER = {
    "@architectures": f"{LAYERS}.LastTransformerLayerListener.v1",
    "width": 768,
    "pooling": {"@layers": "reduce_mean.v1"},
}

TRANSFORMER = {
    "@architectures": f"{LAYERS}.RobertaTransformer.v1",
    "vocab_size": 50265,
    "piece_encoder": {"@architectures": f"{LAYERS}.BertWordpieceEncoder.v1"},
    "with_spans": {"@architectures": f"{LAYERS}.WithStridedSpans.v1"},
}

PARSER = {
    "@architectures": "spacy.TransitionBasedParser.v2",
    "state_type": "parser",
    "extra_state_tokens": False,
    "hidden_width": 64,
    "maxout_pieces": 2,
    "use_upper": False,
    "tok2vec": LISTENER,
}

TAGGER = {"@architectures": "spacy.Tagger.v2", "tok2vec": LISTENER}

SPACY_CONFIG = {
    "nlp": {"lang": "en", "pipeline": ["transformer", "tagger", "parser"]},
    "components": {
        "transformer": {"factory": "curated_transformer", "model": TRANSFORMER},
        "tagger": {"factory": "tagger", "model": TAGGER},
        "parser": {"factory": "parser", "model": PARSER},
    },
}


def spacy_pipeline(sentences: list[Sentence], pieces: Path) -> Any:
    """Return the pipeline, with the tags and labels of a treebank."""
    import spacy
    from spacy.tokens import Doc
    from spacy.training import Example
    from thinc.api import Config

    importlib.import_module("spacy_curated_transformers")
    importlib.import_module("curated_tokenizers")
    nlp = spacy.util.load_model_from_config(Config(SPACY_CONFIG), auto_fill=True, validate=True)
    set_pieces(nlp, pieces)

    def examples() -> list[Example]:
        found = []
        for sentence in sentences:
            words = sentence.column(FORM)
            heads = [int(head) - 1 if head != "0" else i for i, head in enumerate(sentence.column(HEAD))]
            gold = {"words": words, "tags": sentence.column(XPOS), "heads": heads, "deps": sentence.column(DEPREL)}
            found.append(Example.from_dict(Doc(nlp.vocab, words), gold))
        return found

    nlp.initialize(examples)
    return nlp


def set_pieces(nlp: Any, path: Path) -> None:
    """Give the transformer its pieces, which it would load with its weights."""
    from curated_tokenizers import WordPieceProcessor

    facts = json.loads(path.read_text(encoding="utf-8"))
    (encoder,) = (node for node in nlp.get_pipe("transformer").model.walk() if node.name == "wordpiece_encoder")
    encoder.attrs["wordpiece_processor"] = WordPieceProcessor(facts["pieces"])
    encoder.attrs["lowercase"] = encoder.attrs["strip_accents"] = facts["lowercase"]


def run_spacy(vocabulary: Path, source: Path, target: Path, pieces: Path) -> None:
    """Tag and parse a file as one document, which takes less time than several because fewer windows are padded."""
    import torch
    from spacy.tokens import Doc

    torch.manual_seed(0)
    nlp = spacy_pipeline(read(vocabulary), pieces)
    sentences = read(source)
    words = [form for sentence in sentences for form in sentence.column(FORM)]
    starts = [number == 0 for sentence in sentences for number in range(len(sentence.rows))]
    document = nlp(Doc(nlp.vocab, words, sent_starts=starts))
    write(target, [(token.text, token.head.i, token.dep_, token.tag_) for token in document])


# -- the program -------------------------------------------------------------------------------------------------------

PACKAGES = {"stanza": ("stanza",), "spacy": ("spacy", "spacy-curated-transformers")}
"""The packages that a peer needs beside PyTorch."""

ABOUT = {"stanza": STANZA_ABOUT, "spacy": SPACY_ABOUT}


def about(name: str) -> str:
    """Return versions and sizes of a peer.

    Raises
    ------
    ImportError
        If a package is missing.
    """
    packages = (*PACKAGES[name], "torch")
    for package in packages:
        importlib.import_module(package.replace("-", "_"))
    return f"{', '.join(f'{package} {version(package)}' for package in packages)}; {ABOUT[name]}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a peer."""
    parser = argparse.ArgumentParser(prog="python -m research.benchmarks.peers", description=__doc__.split("\n")[0])
    parser.add_argument("peer", choices=list(PACKAGES))
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help="VOCABULARY SOURCE TARGET")
    parser.add_argument("--about", action="store_true", help="print versions and sizes")
    parser.add_argument("--pieces", type=Path, help="JSON with the pieces of a WordPiece tokenizer, for spaCy")
    options = parser.parse_args(arguments)
    if options.about:
        sys.stdout.write(about(options.peer) + "\n")
        return
    if len(options.files) != 3 or (options.peer == "spacy") == (options.pieces is None):
        parser.error("needs the files VOCABULARY, SOURCE and TARGET, and for spaCy --pieces")
    importlib.import_module("torch").set_num_threads(1)
    if options.peer == "stanza":
        run_stanza(*options.files)
    else:
        run_spacy(*options.files, options.pieces)


if __name__ == "__main__":
    main()

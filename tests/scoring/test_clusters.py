"""Word clusters: their file, their attributes, their templates, and models that have them."""

import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import toy
from scripts import SCRIPTS, imported, zipped

from nonproj.components.preparation import load_features
from nonproj.components.trainer import train
from nonproj.errors import ConfigError, DataError, FileError, ModelError
from nonproj.io.objects import from_words
from nonproj.linear.state import load
from nonproj.model.model import Model
from nonproj.options.config import Config
from nonproj.pipeline.parser import Parser
from nonproj.scoring.clusters import PREFIXES, Clusters
from nonproj.scoring.templates import attributes_of, load_templates
from nonproj.scoring.vocabulary import PADDING, UNKNOWN, TokenEncoder

LINES = "0010\thund\t7\n0010\tkat\t5\n00111111\thus\n01\tser\n1\t.\n"
SMALL = toy.FROM_GOLD_TAGS | {"labeler.epochs": 1, "training.epochs": 2, "confidence.share": 0.3, "network.epochs": 1}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "clusters.txt"
    path.write_text(LINES, encoding="utf-8")
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_word_has_the_bits_of_its_line(path, end):
    path.write_bytes(("\ufeff" + LINES.replace("\n", end)).encode())
    clusters, lines = Clusters.read(path), [line.split("\t") for line in LINES.splitlines()]
    assert len(clusters) == len(lines)
    for bits, word, *_ in lines:
        assert [clusters.of(word, name) for name in ("cluster", "cluster6", "cluster4")] == [bits, bits[:6], bits[:4]]
    assert clusters.of("HUND", "cluster") == "0010" and clusters.of("mand", "cluster") is None


REFUSED = [
    (b"0010 hund\n", ":1: "),
    (b"01\tser\n0120\thund\n", ":2: "),
    (b"01\tser\n\thund\n", ":2: "),
    (b"01\tser\n01\t\n", ":2: "),
    (b"01\tser\t3\t4\n", ":1: "),
    (b"01\tser\n\n", ":2: "),
    (b"0" * 65 + b"\tser\n", ":1: "),
    (b"01\tser\n11\thund\n10\tser\n", ":3: "),
    (None, ".*no such file"),
    (b"", ".*is empty"),
    (b"01\t\xff\n", ".*is not UTF-8"),
]


@pytest.mark.parametrize(("content", "problem"), REFUSED)
def test_other_files_are_refused_and_malformed_lines_named(path, content, problem):
    path.unlink() if content is None else path.write_bytes(content)
    error = DataError if problem[0] == ":" else FileError
    with pytest.raises(error, match=f"^{re.escape(str(path))}{problem}") as caught:
        Clusters.read(path)
    assert "\n" not in str(caught.value)


def test_state_and_damage(path):
    clusters = Clusters.read(path)
    description, arrays = clusters.state()
    text = arrays["text"]
    assert load(Clusters, (description, arrays)).state()[1]["text"].tobytes() == text.tobytes()
    changed = [text.tobytes().replace(*each) for each in ((b"0010", b"00x0"), (b"\thus", b"\xff\thus"))]
    damaged = [text.astype(np.int32), text[:-3], *(np.frombuffer(each, np.uint8) for each in changed)]
    states = [({"words": 4}, arrays), ({}, arrays), (description, {}), *((description, {"text": d}) for d in damaged)]
    for state in states:
        with pytest.raises(ModelError, match="clusters are damaged|^the component 'clusters' has no"):
            load(Clusters, state)


def test_encoder_numbers_the_clusters_of_words_it_has_not_seen(path):
    encoder = TokenEncoder.from_sentences([from_words(["hund", "hus", "mand"])], list(PREFIXES), 1, Clusters.read(path))
    assert encoder.vocabularies["cluster"] == ["0010", "00111111"]
    assert encoder.vocabularies["cluster4"] == ["0010", "0011"]
    atoms = encoder.encode(from_words(["hund", "Kat", "mand", "ser"])).atoms[PADDING + 1 : -PADDING]
    assert (atoms[0] == atoms[1]).all()  # kat is in the cluster of hund
    assert (atoms[2:] == UNKNOWN).all()  # a word without a cluster; a cluster without a word in training
    assert (TokenEncoder(encoder.vocabularies).encode(from_words(["hund"])).atoms[PADDING + 1] == UNKNOWN).all()


def test_templates_of_clusters_are_used_only_with_clusters(path):
    plain, extended = load_templates(labelled=True), load_templates(labelled=True, clusters=True)
    assert not PREFIXES.keys() & set(attributes_of(plain)) and PREFIXES.keys() <= set(attributes_of(extended))
    for name, spec in plain.items():
        assert extended[name]["templates"][: len(spec["templates"])] == spec["templates"]
    for changes, expected in (({"features.clusters": str(path)}, extended), ({}, plain)):
        assert load_features(Config().with_overrides(changes), labelled=True)[0]["arc"] == expected["arc"]


def test_broken_templates_of_clusters_are_errors_even_if_they_are_not_used(tmp_path):
    for name, spec in load_templates(parts="arc").items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(spec))
    other = "'s.cluster': the words of this part are h, m"
    for templates, problem in (("h.cluster", "clusters is no list of texts"), (["s.cluster"], other)):
        (tmp_path / "arc.yaml").write_text(json.dumps(load_templates()["arc"] | {"clusters": templates}))
        with pytest.raises(ConfigError, match=f"^{re.escape(str(tmp_path / 'arc.yaml'))}: .*{problem}"):
            load_templates(tmp_path, "arc")


def test_a_model_keeps_its_clusters(path, few_words, caplog):
    """Training, the second parser of confidence, and the model file."""
    config = Config(parts="sibling").with_overrides(SMALL | {"features.clusters": str(path)})
    with caplog.at_level("INFO", "nonproj"):
        model = train(toy.sentences(40), config)
    path.unlink()
    assert "held-out heads are wrong" in caplog.text
    parser = Parser(Model.from_bytes(model.to_bytes()))
    known = parser.loaded.encoder.encode(from_words(["hund", "kat", "ser"]))
    column = parser.loaded.encoder.attributes.index("cluster")
    assert known.atoms[PADDING + 1, column] == known.atoms[PADDING + 2, column] > UNKNOWN
    model.components["clusters"] = {"words": 3}
    with pytest.raises(ModelError, match="clusters are damaged"):
        Parser(model)


def test_script_writes_the_words_of_a_package(tmp_path, capsys):
    numbers = {".": 8, "the": 0b1011, "a b": 1, "tab\t": 3, "none": 0, "øl": 0b10, "rare": 5}
    content, out = gzip.compress(json.dumps(numbers).encode()), ["--out", str(tmp_path)]
    wheel = zipped(tmp_path / "a.whl", {"spacy_lookups_data/data/de_lexeme_cluster.json.gz": content})
    path = tmp_path / "clusters" / "german.txt"
    subprocess.check_call([sys.executable, "-S", SCRIPTS / "fetch_clusters.py", "--help"])  # the standard library alone
    with imported("fetch_clusters") as [script]:
        assert script.main(["german", *out, "--words", "4", "--archive", str(wheel)]) == 0
        assert capsys.readouterr().out == f"{path}\n"
        assert path.read_text(encoding="utf-8") == "0001\t.\n1101\tthe\n1000\ta b\n0100\tøl\n"
        assert Clusters.read(path).of("The", "cluster4") == "1101"
        wrong = ["english", "--archive", str(wheel)], ["german", "--archive", str(path)], ["german", "--words", "0"]
        for words in wrong:
            assert script.main([*words, *out]) == 2 and len(capsys.readouterr().err.splitlines()) == 1

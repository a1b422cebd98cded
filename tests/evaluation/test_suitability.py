"""Input that does not fit a model, and input that is masked, is reported; other files of the language are not."""

import io
import re
from collections import Counter
from itertools import islice, permutations
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import SMALL
from toy import treebank

import nonproj
from nonproj.cli.main import main
from nonproj.components.continuing import check_continued
from nonproj.evaluation.suitability import first_sentences, misfit_of
from nonproj.io import conll
from nonproj.io.objects import from_words
from nonproj.model.model import Model
from nonproj.scoring.vocabulary import prefer_coarse

GOLDEN = str(Path(__file__).resolve().parents[1] / "golden" / "model.nonproj")
FILES = {
    "english": ("wsj_sample_train.conll", "wsj_sample_test.conll"),
    "danish": ("danish_ddt_train.conll", "danish_ddt_test.conll"),
    "dutch": ("nl_lassysmall-ud-train.conllu", "nl_lassysmall-ud-test.conllu"),
    "basque": ("basque_conll2007_train.conll", "basque_conll2007_test.conll"),
    "greek": ("el_gdt-ud-train.conllu", "el_gdt-ud-dev.conllu"),
}
MASKED = "\n".join(f"{m}\t_\t_\tX\tX\t_\t{m - 1}\tdep\t_\t_" for m in range(1, 9)) + "\n\n"


def vocabularies(path: Path, count: int):
    """Vocabulary of a model of the first sentences of a treebank."""
    sentences = list(islice(conll.read(path), count))
    coarse, rows = prefer_coarse(sentences), [row for sentence in sentences for row in sentence.rows]
    places = {"form": 1, "cpos": 3, "pos": 3 if coarse else 4}
    counts = {name: Counter(row[place] for row in rows) for name, place in places.items()}
    found = {name: [text for text, _ in count.most_common()] for name, count in counts.items()}
    return SimpleNamespace(vocabularies=found, meta={"coarse_tags": coarse})


@pytest.mark.parametrize("count", [100, pytest.param(10**9, marks=pytest.mark.thorough)])
def test_only_other_languages_are_reported(treebanks, count):
    models = {name: vocabularies(treebanks / name / files[0], count) for name, files in FILES.items()}
    inputs = {name: first_sentences(conll.read(treebanks / name / files[1])) for name, files in FILES.items()}
    for name, model in models.items():
        assert misfit_of(model, inputs[name])[0] == []
    for model, text in permutations(FILES, 2):
        found = misfit_of(models[model], inputs[text], "all")[0]
        if {model, text} != {"danish", "dutch"}:  # which share some of their most frequent words
            assert len(found) == 1, (model, text)
            assert ("script" in found[0]) == (text == "greek"), (model, text)


@pytest.mark.thorough
def test_another_treebank_of_the_language_fits_but_for_its_tags(treebanks, released):
    model = vocabularies(treebanks / "english" / "wsj_sample_train.conll", 300)
    ewt = first_sentences(conll.read(treebanks / "english-ewt" / "en_ewt-ud-dev.conllu"))
    assert misfit_of(model, ewt, "all")[0] == []
    danish = vocabularies(treebanks / "danish" / "danish_ddt_train.conll", 300)
    file = next((released / "Danish-DDT").glob("*.conllu*"))
    reasons, only_tags = misfit_of(danish, first_sentences(conll.read(file)))
    assert only_tags
    assert reasons[0].startswith("100 % of the tags (")


def test_a_short_input_is_judged_by_its_script_and_tags_only():
    model = Model.load(GOLDEN)
    assert misfit_of(model, [from_words(["the", "cat", "sees", "the", "dog", "."])] * 100)[0] == []
    [russian] = misfit_of(model, [from_words(["Здравствуйте", "!"])] * 10)[0]
    assert russian == "100 % of the letters are in a script that it has not learnt from (Cyrillic)"
    mixed = from_words([*["hund"] * 10, "Москва"])
    assert misfit_of(model, [mixed] * 10)[0] == []


def test_a_program_is_warned_once_and_not_about_text_that_fits(caplog):
    nlp = nonproj.load(GOLDEN)
    known = " ".join(nlp.model.vocabularies["form"][:10])
    for text in [known] * 3 + ["Здравствуйте, мир! Как дела? Сегодня хорошая погода, и мы идём гулять."] * 3:
        nlp(text)
    [message] = [each.getMessage() for each in caplog.records if "fit" in each.getMessage()]
    pattern = r"the input does not fit the model: \d+ % of the letters .* \(Cyrillic\); is it a model of"
    assert re.match(pattern, message)


def test_continuing_a_model_in_another_script_is_questioned(caplog):
    model = Model.load(GOLDEN)
    check_continued(model, model.config, [from_words(["Здравствуйте", "!"])] * 10)
    assert "the treebank does not fit the model: 100 % of the letters" in caplog.text


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    good = Path(GOLDEN).with_name("input.conll").read_text()
    odd = re.sub(r"(?m)^((?:[^\t\n]*\t){4}[^\t\n]*)", r"\1x", good)
    coarse = re.sub(r"(?m)^((?:[^\t\n]*\t){4})[^\t\n]*", r"\1_", good)
    for name, text in {"good": good, "odd": odd, "masked": MASKED * 5, "coarse": coarse}.items():
        Path(name).write_text(text)
    return tmp_path


COMMANDS = ["parse -m MODEL FILE -o out", "parse -m MODEL FILE -o out --jobs 2", "parse -m MODEL FILE -o out --resume"]
COMMANDS += ["evaluate -m MODEL FILE --gold-tags", "show -m MODEL FILE -o out.html"]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_warn_once(here, capsys, command):
    warnings = {}
    for file in ("good", "odd", "masked", "coarse"):
        assert main([word.replace("MODEL", GOLDEN).replace("FILE", file) for word in command.split()]) == 0
        warnings[file] = capsys.readouterr().err.splitlines()
    assert not any("fit" in text or "masked" in text for text in warnings["good"] + warnings["coarse"])
    [odd] = [text for text in warnings["odd"] if "tag" in text]
    assert odd.startswith("odd does not fit the model: 100 % of the tags (")
    assert "x, ...) are unknown to it, which knows PUNCT1, NOUN0, ADJ1, ..." in odd
    [masked] = [text for text in warnings["masked"] if "masked" in text]
    assert masked.startswith("masked: 100 % of the words are _: ")


def test_a_pipe_is_judged_by_what_has_arrived(here, capsys, monkeypatch):
    stream = io.BufferedReader(io.BytesIO(Path("odd").read_bytes()))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream, isatty=lambda: False))
    assert main(["parse", "-m", GOLDEN, "-o", "out"]) == 0
    assert "<stdin> does not fit the model: 100 % of the tags" in capsys.readouterr().err
    assert len(list(conll.read("out"))) == len(list(conll.read("good")))


def test_nothing_is_learnt_from_masked_words(here, capsys):
    assert main(["train", "masked", "-o", "m", *SMALL]) == 2
    assert capsys.readouterr().err.startswith("nonproj: masked:1: 100 % of the words are _: the words are masked")
    few = MASKED.splitlines(keepends=True)[0] + "\n"
    for name, text, warning in (
        ("partly", treebank(12) + MASKED, "partly: 10 % of the words are _"),
        ("some", treebank(60) + few, ""),
    ):
        Path(name).write_text(text)
        assert main(["train", name, "-o", "m", *SMALL[:-1]]) == 0
        error = capsys.readouterr().err
        assert warning in error and ("of the words are _" in error) == bool(warning)

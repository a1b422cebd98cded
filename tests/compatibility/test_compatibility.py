"""Promises of docs/compatibility.md: models of earlier releases, and names and options that stay."""

import hashlib
import importlib
import json
import re
from pathlib import Path

import pytest
from compatibility.interface import FILE, MOST, listing, missing
from compatibility.make_model import FOLDER, RUNS, install, model_in, parse

from nonproj.model import container
from nonproj.model.installed import located
from nonproj.model.model import Model

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
RELEASES = sorted(path.name for path in FOLDER.iterdir() if path.name[0].isdigit())
DIGESTS = {"1.0": "d65924a1b177b4f8411cf6d22884646e5653fc599331e59fe813896df6d1e6a9"}
"""SHA-256 of the package of each release: made once, never again."""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The installed model of each release, by the folder into which pip has installed it."""
    sites = {name: tmp_path_factory.mktemp("site") for name in RELEASES}
    for name, site in sites.items():
        install(FOLDER / name, site)
    return sites


def test_every_release_has_a_model_which_is_never_made_again():
    assert set(RELEASES) == set(DIGESTS)
    for name in RELEASES:
        (wheel,) = (FOLDER / name).glob("*.whl")
        assert hashlib.sha256(wheel.read_bytes()).hexdigest() == DIGESTS[name], f"{wheel} has been changed"
        assert wheel.stat().st_size < 50_000


@pytest.mark.parametrize("release", RELEASES)
def test_models_of_earlier_releases_load_and_have_all_components(release, models, monkeypatch):
    """Found by name, as users find it; the digests of its arrays are right."""
    monkeypatch.syspath_prepend(str(models[release]))
    path = located("toy")
    assert str(path) == model_in(models[release])
    model = Model.load(path, verified=True)
    assert {"segmenter", "tagger", "clusters", "network", "confidence"} <= model.components.keys()
    assert model.meta["version"].startswith(release)


def shown(path):
    """Return the sentences and words of a CoNLL-U file without scores, which may change in their last digits."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^# nonproj (?!rank)\w+ = .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\b(Labelled)?Confidence=[\d.]+\|?", "", text)


FIRM = {"id", "form", "lemma", "upos", "xpos", "feats", "head", "label", "text", "sent_id", "certified", "rank"}


COURSE = {"recomputed"}
"""Shares that, like the numbers of iterations, say how a tree was found."""


def check_record(new, old, place):
    """Check that a record of an earlier release is contained in a later one, with equal values of its firm keys."""
    assert type(new) is type(old), place
    if isinstance(old, list):
        assert len(new) == len(old), place
        new, old = (dict(enumerate(each)) for each in (new, old))
    if isinstance(old, dict):
        assert old.keys() <= new.keys(), place
        for key, value in old.items():
            if key not in COURSE:
                check_record(new[key], value, f"{place}.{key}")
            assert key not in FIRM or new[key] == value, f"{place}.{key}"
    elif isinstance(old, float):
        assert new == pytest.approx(old, rel=1e-3, abs=0.011), place


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", RUNS)
def test_models_of_earlier_releases_parse_to_the_same_trees(release, name, models, tmp_path):
    """And lines of JSON keep their keys."""
    parse(name, FOLDER / release, model_in(models[release]), tmp_path)
    assert shown(tmp_path / f"{name}.conllu") == shown(FOLDER / release / f"{name}.conllu")
    new, old = ((folder / f"{name}.jsonl").read_text().splitlines() for folder in (tmp_path, FOLDER / release))
    assert len(new) == len(old) > 5
    for number, (one, other) in enumerate(zip(new, old, strict=True), 1):
        check_record(json.loads(one), json.loads(other), f"line {number}")


def test_formats_that_a_release_wrote_are_read(models, monkeypatch, tmp_path):
    """And so they will be by a version that writes format 8."""
    assert container.FORMAT in container.READ and min(container.READ) == 7
    beginnings = tuple(b'{"__metadata__":{"nonproj":"%d","checksum":"' % version for version in (7, 8))
    monkeypatch.setattr(container, "READ", (7, 8))
    monkeypatch.setattr(container, "FORMAT", 8)
    monkeypatch.setattr(container, "_BEGINNINGS", beginnings)
    old = Model.load(model_in(models["1.0"]))
    old.save(tmp_path / "new.nonproj")
    assert b'"nonproj":"8"' in (tmp_path / "new.nonproj").read_bytes()[:64]
    new = Model.load(tmp_path / "new.nonproj")
    assert new.labels == old.labels and new.to_bytes() == old.to_bytes()


# -- names and options -------------------------------------------------------------------------------------------------


def test_everything_that_was_public_still_is():
    """A change of the interface on purpose waits for the next major version: docs/compatibility.md."""
    lost = missing(FILE.read_text(encoding="utf-8").splitlines(), listing())
    assert not lost, "lost, or changed incompatibly: " + "; ".join(lost)


def test_the_listing_has_the_whole_interface():
    import nonproj

    lines = FILE.read_text(encoding="utf-8").splitlines()
    assert 200 < len(lines) == len(set(lines)) <= MOST, "another line is another promise: which one goes?"
    for name in nonproj.__all__:
        assert any(re.match(rf"python {name}\b", line) for line in lines), name
    for line in ("argument --nbest VALUE: parse", "option decoding.max_words", "server POST /process"):
        assert line in lines


ADDITIONS = [
    ("python f(a, *, b=...)", "python f(a, b=..., c=...)"),
    ("python f(a)", "python f(a, *more, **options)"),
    ("argument --on-error {skip,stop}: parse", "argument --on-error {copy,skip,stop}: parse"),
    ("argument --on-error {skip,stop}: parse", "argument --on-error VALUE: parse"),
    ("argument -j, --jobs VALUE: parse train", "argument -j, --jobs, --processes VALUE: evaluate parse train"),
    ("argument <FILE> +: search", "argument <FILE> +: search show"),
]
LOSSES = [("python f(a)", f"python f({new})") for new in ("b", "a, b", "*, a")]
LOSSES += [("python f(a=...)", "python f(a)"), ("python f(**more)", "python f(more=...)")]
LOSSES += [("python f.x", "python f.y"), ("option a.b", "option a.c")]


@pytest.mark.parametrize(("old", "new", "lost"), [*((*e, False) for e in ADDITIONS), *((*e, True) for e in LOSSES)])
def test_what_breaks_callers_is_found_and_additions_are_compatible(old, new, lost):
    assert missing([old], [new, "python g(x)"]) == [old] * lost


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("argument --on-error {skip,stop}: parse", "argument --on-error {skip}: parse", "--on-error {skip,stop}"),
        ("argument --full: parse", "argument --full VALUE: parse", "--full"),
        ("argument -q, --quiet: parse", "argument --quiet: parse", "-q"),
        ("argument --tag, --no-tag: evaluate parse", "argument --tag, --no-tag: evaluate", "--tag"),
        ("argument <FILE> +: parse", "argument <FILE> 1: parse", "<FILE> +"),
    ],
)
def test_a_lost_argument_of_a_command_is_found(old, new, lost):
    assert missing([old], [new])[0] == f"command parse {lost}"


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_page_names_what_exists():
    """Commands, environment variables, entry points and exit codes that it promises."""
    from nonproj.kernels.folders import IGNORED
    from nonproj.model.installed import GROUP

    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "nonproj").rglob("*.py"))
    variables = set(re.findall(r"`(NONPROJ_\w+)`", PAGE))
    assert {"NONPROJ_CACHE", IGNORED} <= variables
    assert all(name in source or name in (ROOT / "Makefile").read_text() for name in variables)
    assert f"`{GROUP}`" in PAGE
    assert set(map(int, re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE))) == {0, 1, 2, 129, 130, 141, 143}
    for module in re.findall(r"`(nonproj(?:\.\w+)+)`", PAGE):
        if module != GROUP:
            importlib.import_module(module)

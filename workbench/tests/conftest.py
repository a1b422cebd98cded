"""Fixtures of several test files, some from the repository's own."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT), str(ROOT / "tests"), str(ROOT / "research" / "tests")]  # `research`, `toy`, `attacking`

import instances  # noqa: E402

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as for the repository's own tests
os.environ["NONPROJ_SILENT"] = "1"  # what a test expects on standard error does not depend on what is compiled already


def pytest_configure(config) -> None:
    """Take fewer random instances if thorough tests are left out."""
    instances.set_thorough("not thorough" not in config.option.markexpr)


@pytest.fixture(scope="session")
def released() -> Path:
    """The folder of the treebanks of Universal Dependencies 2.12; tests that need it are skipped without it."""
    named = os.environ.get("NONPROJ_TREEBANKS", "").split(os.pathsep)[0]
    folder = Path(named or ROOT.parent / "shared" / "treebanks").parent / "ud"
    if not folder.is_dir():
        pytest.skip(f"no treebanks in {folder}")
    return folder


@pytest.fixture(scope="session")
def noisy_model(tmp_path_factory) -> Path:
    """A model of the toy language with a tagger and with confidences, unsure of the heads of adjectives."""
    from toy import noisy_sentences

    from nonproj.components.trainer import train
    from nonproj.options.config import Config

    options = {"features.bits": 16, "pruner.bits": 16, "labeler.bits": 16, "training.epochs": 2}
    options |= {"confidence.share": 0.4}
    path = tmp_path_factory.mktemp("models") / "noisy.nonproj"
    train(noisy_sentences(200), Config().with_overrides(options)).save(path)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless browser; the tests that need one are skipped without it."""
    from browsing import browsing

    with browsing(tmp_path_factory.mktemp("browser")) as browser:
        yield browser

"""The treebanks known to the programs in this folder: their sources, and the digests of their files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple


class TreebankError(Exception):
    """A treebank is not available; the message is one line that says what to do."""


FROM_THE_INDEX = "'make train' alone trains on a Turkish treebank of the package index"
"""Alternative that needs no other network, for messages."""


class Treebank(NamedTuple):
    """A treebank.

    Attributes
    ----------
    train, test : str
        The files, relative to a folder of treebanks.
    train_digest, test_digest : str
        Their SHA-256.
    sources : tuple of str
        URLs, or the requirement of a Python package (``name==version``), from which all files are made.
    licence : str
        As its source states it.
    dev, dev_digest : str
        The development file and its SHA-256, or empty.
    title : str
        The name of the treebank, with its version.
    repository : str
        The name of its repository, or empty; a copy of it may be in a folder of treebanks under this name.
    code : str
        The code of its language (ISO 639), or empty if the names of its files begin with the code, as in Universal
        Dependencies.
    """

    train: str
    test: str
    train_digest: str
    test_digest: str
    sources: tuple[str, ...]
    licence: str
    dev: str = ""
    dev_digest: str = ""
    title: str = ""
    repository: str = ""
    code: str = ""

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """The training, test and development file, as far as there are such files, each with its SHA-256."""
        dev = ((self.dev, self.dev_digest),) if self.dev else ()
        return (self.train, self.train_digest), (self.test, self.test_digest), *dev

    def places(self, folder: Path) -> tuple[tuple[Path, ...], ...]:
        """Return the possible paths of all files in a folder of treebanks, a tuple for each layout of the folder.

        A treebank with a repository may be in a folder of the repository's name, with or without ``UD_``, or be the
        folder itself.
        """
        inside = (self.repository, self.repository.removeprefix("UD_"), "") if self.repository else ()
        names = [name for name, _ in self.files]
        own = tuple(folder / name for name in names)
        return own, *(tuple(folder / each / Path(name).name for name in names) for each in inside)


_GITHUB = "https://github.com"
_RAW = "https://raw.githubusercontent.com"
_DDT = "mbkromann/copenhagen-dependency-treebank"
_DDT_COMMIT = "d594a8e05ce9b1192512b4d836a0637e9526b242"
_LASSY = "UniversalDependencies/UD_Dutch-LassySmall/r1.4"
_UD = f"{_GITHUB}/UniversalDependencies"
_NLTK = "nltk/nltk_data/gh-pages/packages/corpora"


def _released(language: str, name: str, prefix: str, licence: str, train: str, test: str, dev: str = "") -> Treebank:
    """Return a treebank of release 2.12 of Universal Dependencies; ``train``, ``test`` and ``dev`` are digests."""
    files = [f"{language}/{prefix}-ud-{part}.conllu" for part in ("train", "test", "dev")]
    source = f"{_UD}/UD_{name}/archive/refs/tags/r2.12.tar.gz"
    title = f"UD {name.replace('-', ' ')} 2.12"
    return Treebank(*files[:2], train, test, (source,), licence, files[2] * bool(dev), dev, title, f"UD_{name}")


_RELEASED = (
    _released(
        "afrikaans",
        "Afrikaans-AfriBooms",
        "af_afribooms",
        "CC BY-SA 4.0",
        "01852b9f9a26cdbd60b2f268e19e5da51ae3915162ee5e607afde96e5f636c97",
        "1e75d2899b5470b98a137a896f4c1d33a16925a2a66beb9bda18bd0400577799",
        "3ba7d43ba044ac8759148c4574dbceb16cd98cd51f60a223e50aafde553e58c3",
    ),
    _released(
        "galician",
        "Galician-TreeGal",
        "gl_treegal",
        "LGPL-LR",
        "27d1c5aaca162a58a5a8a76dfb4310a340ca780f75290815527bc3ca3866d7a4",
        "cd61faebdea091fbc9e1eea454a70547fea11aaf3cd04d9359aa6ea318b23c3a",
    ),
    _released(
        "gothic",
        "Gothic-PROIEL",
        "got_proiel",
        "CC BY-NC-SA 3.0, for research",
        "328b605afa4d7f962e5840eb820723ce661b24ded68dfee482d590defe850639",
        "1eca87866dd477066ddf7b03239ab3b47a86fc1b32dc33b3dc95307189f12028",
        "2a6da7a646813641b684a431e8befb83a221d148459229bbee099ad250a02c14",
    ),
    _released(
        "latin",
        "Latin-Perseus",
        "la_perseus",
        "CC BY-NC-SA 2.5, for research",
        "5eb206d294669ef30aa3db7bdc8dd7236634a10abc093fd8f5465f47207c3833",
        "d476407dbe0e5c41b6cd692ed776f21b7c052aef85d29b1e44b157199260ef89",
    ),
    _released(
        "tamil",
        "Tamil-TTB",
        "ta_ttb",
        "CC BY-NC-SA 3.0, for research",
        "c7eaefb217435087d31df854db56e11213e7c7cba9e480c3bde31e996fff1cd5",
        "82d34a519c727b39738e9cbd5e3a6193fbff0e6a3801a3a85929ec3fdc945ac2",
        "a526b1038a8e1a087d0d5cc063dba527849a7bc2961f2e685ca0324f5f66a92e",
    ),
    _released(
        "uyghur",
        "Uyghur-UDT",
        "ug_udt",
        "CC BY-SA 4.0",
        "0e8b5535fa8b6b7fa204505d8b0e89f0f22733ec36c895ba30cb7c8605f18b87",
        "02541954c555890cc0e54e758b719e7c3785cbd383d20ea6fc311e5e0259a603",
        "917297e92c2525e487371952346c364f83f8c6010c8813aab043c7ab58d91085",
    ),
    _released(
        "vietnamese",
        "Vietnamese-VTB",
        "vi_vtb",
        "CC BY-SA 4.0",
        "1df180722db99b724f7368aca50597133bee28606de3394cd8d12a57da89978d",
        "abc1b0ea98661bbb494a8c0da123ba2fe1a3ef71322c380fe66468884d9b4285",
        "0b779257b9225575b3b30e15d64cc4ef9945a77f8cceb9f92d794b483a2752dd",
    ),
    _released(
        "wolof",
        "Wolof-WTB",
        "wo_wtb",
        "CC BY-SA 4.0",
        "f90c40c50805fe1cd830671bf81610f33a952dc25b3b69824cdd3e9e739ff8e2",
        "ec674aa9c939974550a59e2d91f33fcf2ab7a1cd7fdb141af78f5e8fa7b90a61",
        "062c57ed32c29cf988790e61a22dcc1e51dd7192d034468988136b4dbf781d78",
    ),
)

TREEBANKS = {
    "danish": Treebank(
        "danish/danish_ddt_train.conll",
        "danish/danish_ddt_test.conll",
        "3e6e5f2dee77fd4579937c84a9837e4c0e6f13656039bda3fa0a6cce2d50ef70",
        "492a2b5a8dee8e64d611d87e8afe21233aa7dc6bfa6fb059956a994213e3e297",
        (f"{_GITHUB}/{_DDT}/archive/{_DDT_COMMIT}.tar.gz",),
        "MIT, CC BY-SA 4.0 or GPL",
        title="Danish Dependency Treebank 1.0, CoNLL-X 2006",
        code="da",
    ),
    "dutch": Treebank(
        "dutch/nl_lassysmall-ud-train.conllu",
        "dutch/nl_lassysmall-ud-test.conllu",
        "4c788336a9b9b022755ed0c3e12d0184b16730e9301f81f1d176b91ebbaa7c36",
        "2382cd0c37e6e4ddf046c4f38e3aad05e02db15c65f45c74d77ccb1fc5226dd5",
        (f"{_RAW}/{_LASSY}/nl_lassysmall-ud-train.conllu", f"{_RAW}/{_LASSY}/nl_lassysmall-ud-test.conllu"),
        "CC BY-SA 4.0",
        title="UD Dutch LassySmall 1.4",
    ),
    "basque": Treebank(
        "basque/basque_conll2007_train.conll",
        "basque/basque_conll2007_test.conll",
        "a546f05f0ccf7224a964e669553bc38366b0733a895ddc2e54fbf93a008b0d4f",
        "3b95a0c3c0fe53c3c3d26d705c41d4e9369d66cc837cbf04caa6eec150ecefcb",
        (f"{_RAW}/{_NLTK}/conll2007.zip",),
        "CC BY-NC-ND, for research",
        title="Basque, CoNLL 2007",
        code="eu",
    ),
    "english-wsj": Treebank(
        "english/wsj_sample_train.conll",
        "english/wsj_sample_test.conll",
        "aed1f9906fea3a0a1fccf04e01121ddd9085221a3a0ab2987c025127c3902e36",
        "12afb1334c9dc063b5dd429598fa5d3de54515630b49031de707a44403e06520",
        (f"{_RAW}/{_NLTK}/dependency_treebank.zip",),
        "for research",
        title="Penn Treebank, sample of the Wall Street Journal",
        code="en",
    ),
    "turkish": Treebank(
        "turkish/turkish_web_train.conllu",
        "turkish/turkish_web_test.conllu",
        "07f69662a143a48b90721e1d38fa102bb9c79703a2c2181792a36aa31f5fbbef",
        "ac3d73438179e4ab5f0a35a99a992352a5b8b483df84395ee2828fcb49a49485",
        ("turkish-treebanks==1.0.0",),
        "Apache 2.0",
        title="Turkish Web Treebank 1.0",
        code="tr",
    ),
    "english-ewt": Treebank(
        "english-ewt/en_ewt-ud-train.conllu",
        "english-ewt/en_ewt-ud-test.conllu",
        "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
        "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
        (f"{_UD}/UD_English-EWT/archive/15d613d84.tar.gz",),
        "CC BY-SA 4.0",
        "english-ewt/en_ewt-ud-dev.conllu",
        "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
        title="UD English EWT, commit 15d613d84",
    ),
    "greek": Treebank(
        "greek/el_gdt-ud-train.conllu",
        "greek/el_gdt-ud-test.conllu",
        "892cd36cd47372ec0d7ccdbc874af9a6994651cdb0cf2cee6ba93bb01ee83794",
        "30cb5881ce6f8ba628de88853a4c105e716a365e8fcd9024a85befe41165c260",
        (f"{_UD}/UD_Greek-GDT/archive/1485f849d.tar.gz",),
        "CC BY-NC-SA 3.0, for research",
        "greek/el_gdt-ud-dev.conllu",
        "53de54735051eecef04aa8c0f5f0fbf2466e0e0d4fd9dfd3d313560c394ddf41",
        title="UD Greek GDT, commit 1485f849d",
    ),
    **{treebank.train.partition("/")[0]: treebank for treebank in _RELEASED},
}
"""Treebanks by language.  The Danish test file is the official one of the CoNLL-X shared task, byte for byte.

The treebanks of Universal Dependencies except Dutch, and Turkish, carry raw text: ``# text`` is the tokens with the
spaces that ``SpaceAfter=No`` leaves.
"""

ALIASES = {"english": "english-ewt", "en": "english-ewt"}
"""Other names of treebanks: languages that are not the names of their treebanks."""

RELEASED = tuple(language for language, treebank in TREEBANKS.items() if treebank.repository)
"""The languages whose treebanks are those of release 2.12 of Universal Dependencies, unchanged."""


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def write_file(path: Path, data: bytes) -> None:
    """Write a file that appears under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)

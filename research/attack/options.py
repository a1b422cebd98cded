"""Lane of damaged configurations, templates and command lines: each works, or is refused in one line."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
from pathlib import Path

from nonproj.cli.main import parse_arguments
from nonproj.errors import ConfigError
from nonproj.options.config import Config, options
from nonproj.scoring.templates import attributes_of, load_templates, part_templates
from research.attack import material, mutators
from research.attack.campaign import ROOT, Lane
from research.attack.forked import call, check_error
from research.attack.properties import check_message, require

VALUES = ["", "0", "1", "-1", "2", "1e9", "1e400", "nan", "inf", "true", "null", "~", "[", "{", "[1]", "x", "-"]
VALUES += ["--", "=", "a=b"]
VALUES += ["\udcff", "é" * 400, "a\nb", "\x1b[2J", "tcp://", "127.0.0.1:1", "/dev/null", "/", ".", "none.conll"]
VALUES += ["999999999999"]
VALUES += ["!!python/object:os.system", "2024-13-45", "&a", "*a", "0x1F", "1_0", "0o7", "'", '"', "\u2028", "- 1", "#"]
"""What arguments and options are replaced by."""

_EXTREME = ("training.epochs", "pruner.epochs", "labeler.epochs", "pruner.folds", "features.bits", "pruner.bits")


class Options(Lane):
    """Reads damaged configurations and templates, and runs damaged command lines."""

    name = "options"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.work = folder / "work"
        material.train(folder / "toy.nonproj", "--set", "features.bits=10", sentences=12)
        (folder / "in.conll").write_text(material.toy_treebank(4, 9), encoding="utf-8")
        self.configs = [path.read_bytes() for path in sorted((ROOT / "configs").glob("*.yaml"))]
        self.templates = sorted((ROOT / "features").glob("*.yaml"))
        self.names = [name for name, _ in options()]
        everything = [f"{name.rpartition('.')[2]}: {option.default}" for name, option in options() if "." in name]
        self.configs.append(("decoding:\n" + "".join(f"  {line}\n" for line in everything)).encode())

    def case(self, rng: random.Random, number: int) -> str:
        """Run one case."""
        return rng.choice((self._config, self._config, self._config, self._overrides, self._template, self._command))(
            rng
        )

    def _config(self, rng: random.Random) -> str:
        """Read a damaged configuration."""
        data = damage_yaml(rng, rng.choice(self.configs))
        self.current = {"config.yaml": data}
        path = self.folder / "damaged.yaml"
        path.write_bytes(data)
        try:
            config = Config.load(path)
        except ConfigError as error:
            check_message(error)
            return "configuration refused"
        require(Config.from_dict(config.as_dict()) == config, "another configuration from its own values")
        return "configuration accepted"

    def _overrides(self, rng: random.Random) -> str:
        """Set options to values as on the command line."""
        chosen = {rng.choice(self.names): rng.choice((*VALUES, "0.5", "auto", "arc")) for _ in range(rng.randint(1, 3))}
        self.current = {"overrides.txt": repr(chosen).encode()}
        try:
            config = Config().with_overrides(chosen, text=True)
        except ConfigError as error:
            check_message(error)
            return "option refused"
        require(Config.from_dict(config.as_dict()) == config, "another configuration from its own values")
        return "option accepted"

    def _template(self, rng: random.Random) -> str:
        """Read damaged templates, and compile them."""
        folder, damaged = self.folder / "features", rng.choice(self.templates)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / "features", folder)
        data = damage_yaml(rng, damaged.read_bytes())
        self.current = {damaged.name: data}
        (folder / damaged.name).write_bytes(data)
        try:
            files = load_templates(str(folder), "grandparent")
            for spec in files.values():
                part_templates(spec, attributes_of(files))
        except ConfigError as error:
            check_message(error)
            return "templates refused"
        return "templates accepted"

    def _command(self, rng: random.Random) -> str:
        """Run a damaged command line."""
        words = damage_words(rng, rng.choice(COMMANDS))
        self.current = {"words.txt": repr(words).encode()}
        error = io.StringIO()
        try:
            with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
                parsed = parse_arguments(list(words))
        except SystemExit as end:
            if end.code == 0:
                return "help"
            require(end.code == 2, f"exit code {end.code}")
            lines = error.getvalue().splitlines()
            require(len(lines) == 1, f"{len(lines)} lines of error: {error.getvalue()}")
            check_message(lines[0].split(" (try ")[0], "nonproj")
            return "command line refused"
        if not _is_short(parsed):
            return "command line accepted"
        return self._run(words)

    def _run(self, words: list[str]) -> str:
        """Run the command, and check for leftovers."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        for name in ("toy.nonproj", "in.conll", "train.conll"):
            shutil.copy(self.folder / name, self.work / name)
        before = {path.name: path.read_bytes() for path in self.work.iterdir()}
        ended = call(words, self.work)
        left = {path.name for path in self.work.iterdir() if path.name.startswith(".nonproj-")}
        require(not left, f"temporary files are left: {left}")
        if ended.code == 0:
            return "command succeeded"
        check_error(ended)
        after = {path.name: path.read_bytes() for path in self.work.iterdir() if path.is_file()}
        require(after == before, f"files have changed: {sorted(set(after) ^ set(before))}")
        return "command refused"


COMMANDS = [
    ["parse", "toy.nonproj", "in.conll", "-o", "out.conll", "--stats", "stats.json"],
    ["parse", "-m", "toy.nonproj", "in.conll", "--stats-comments", "--deps", "keep"],
    [
        "parse",
        "toy.nonproj",
        "in.conll",
        "--no-exact",
        "--max-iterations",
        "9",
        "--max-words",
        "50",
        "--max-line",
        "999",
    ],
    ["parse", "toy.nonproj", "in.conll", "--full", "--single-root", "--projective", "--search-limit", "1000"],
    ["evaluate", "in.conll", "in.conll", "--json"],
    ["evaluate", "in.conll", "in.conll", "train.conll"],
    ["evaluate", "-m", "toy.nonproj", "in.conll", "-q"],
    ["inspect", "toy.nonproj", "--json", "--verify"],
    ["train", "in.conll", "-o", "new.nonproj", "--epochs", "1", "--set", "features.bits=10", "--set", "pruner.bits=10"],
    ["train", "in.conll", "-o", "new.nonproj", "--parts", "arc", "--held-out", "0.3", "--set", "labeler.bits=12"],
    ["--version"],
    ["parse", "--help"],
]
"""Command lines before the damage."""


def damage_yaml(rng: random.Random, data: bytes) -> bytes:
    """Return a YAML document with a changed value, line or byte."""
    lines = data.decode().split("\n")
    places = [i for i, line in enumerate(lines) if ":" in line and not line.startswith("#")]
    change = rng.randrange(6)
    if change <= 2 and places:
        index = rng.choice(places)
        key = lines[index].partition(":")[0]
        lines[index] = f"{key}: {rng.choice(VALUES)}"
    elif change == 3:
        index = rng.randrange(len(lines))
        lines.insert(index, rng.choice(lines))
    elif change == 4:
        index = rng.randrange(len(lines))
        lines[index] = rng.choice((" ", "  ", "\t", "- ", "? ", "!!", "&a ", "<<: *a", "%")) + lines[index]
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    return mutators.damage(rng, text) if change == 5 else text


def damage_words(rng: random.Random, words: list[str]) -> list[str]:
    """Return a command line with one to three changed, lost, repeated or inserted words."""
    words = list(words)
    known = sorted({word for command in COMMANDS for word in command})
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        place, change = rng.randrange(len(words) + 1), rng.randrange(6)
        value = rng.choice(VALUES if rng.random() < 0.6 else known)
        if change == 0 and place < len(words):
            del words[place]
        elif change == 1 and place < len(words):
            words[place] = value
        elif change == 2:
            words.insert(place, value)
        elif change == 3 and place < len(words):
            words[place] += value
        elif change == 4 and place < len(words):
            words[place] = words[place][: rng.randrange(len(words[place]) + 1)]
        else:
            words.insert(place, rng.choice(known))
    return [word.replace("\0", "") for word in words]


def _is_short(parsed) -> bool:
    """Return whether a command needs neither other processes nor a long time, and writes only to its folder."""
    if getattr(parsed, "jobs", None) or getattr(parsed, "scheduler", None):
        return False
    if any("/" in str(getattr(parsed, name, "")) for name in ("output", "stats")):
        return False
    if (getattr(parsed, "search_limit", None) or 0) > 10**6 or (getattr(parsed, "max_iterations", None) or 0) > 10**4:
        return False
    if parsed.command == "train":
        named = [text.partition("=") for text in parsed.set if text.partition("=")[0].strip() in _EXTREME]
        small = all(value.strip().isdecimal() and int(value) <= 12 for _, _, value in named)
        return small and 0 < (parsed.epochs or 10) <= 10
    return True

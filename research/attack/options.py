"""Lane of damaged configurations and templates: each is accepted, or refused in one line."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from nonproj.errors import ConfigError
from nonproj.options.config import Config, options
from nonproj.scoring.templates import attributes_of, load_templates, part_templates
from research.attack import mutators
from research.attack.campaign import ROOT, Lane
from research.attack.properties import check_message, require

VALUES = ["", "0", "1", "-1", "2", "1e9", "1e400", "nan", "inf", "true", "null", "~", "[", "{", "[1]", "x", "-"]
VALUES += ["--", "=", "a=b"]
VALUES += ["\udcff", "é" * 400, "a\nb", "\x1b[2J", "tcp://", "127.0.0.1:1", "/dev/null", "/", ".", "none.conll"]
VALUES += ["999999999999"]
VALUES += ["!!python/object:os.system", "2024-13-45", "&a", "*a", "0x1F", "1_0", "0o7", "'", '"', "\u2028", "- 1", "#"]
"""Replacements of options."""


class Options(Lane):
    """Reads damaged configurations and templates."""

    name = "options"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.configs = [path.read_bytes() for path in sorted((ROOT / "configs").glob("*.yaml"))]
        self.templates = sorted((ROOT / "features").glob("*.yaml"))
        self.names = [name for name, _ in options()]
        everything = [f"{name.rpartition('.')[2]}: {option.default}" for name, option in options() if "." in name]
        self.configs.append(("decoding:\n" + "".join(f"  {line}\n" for line in everything)).encode())

    def case(self, rng: random.Random, number: int) -> str:
        """Run one case."""
        return rng.choice((self._config, self._config, self._config, self._overrides, self._template))(rng)

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

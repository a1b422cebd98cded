"""``nonproj package``: a model becomes a package that pip installs."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from nonproj import __version__
from nonproj.cli.common import progress_bar, reading_rules
from nonproj.cli.train import evaluate_on
from nonproj.errors import ConfigError, FileError, one_line
from nonproj.evaluation.card import UNKNOWN_LICENCE, model_card, record
from nonproj.io import conll
from nonproj.model.installed import SUFFIX, is_name, located
from nonproj.model.model import Model
from nonproj.model.rounding import rounded
from nonproj.model.wheel import WheelContents, is_version, write_wheel

log = logging.getLogger("nonproj")


def run(options: argparse.Namespace) -> int:
    """Write the wheel of a model, and print its path."""
    folder, name = Path(options.output), options.name or Path(options.model).name.removesuffix(SUFFIX)
    if not is_name(name):
        hint = "lower-case letters, digits and hyphens are allowed; give one with --name, as in --name danish"
        raise ConfigError("--name" if options.name else "MODEL", f"{name!r} cannot be the name of a model: {hint}")
    if not is_version(options.package_version):
        raise ConfigError("--package-version", f"{options.package_version!r} is not a version such as 1.0.0")
    if not folder.is_dir():
        raise FileError(str(folder), "this is no folder; a folder for the wheel is expected")
    model = rounded(Model.load_trained(located(options.model)), options.rounding)
    if options.test:
        rules = reading_rules(options, require_heads=True)
        evaluate_on(model, list(conll.read(options.test, rules)), progress_bar(options))
    contents = contents_of(model, name, options.package_version, options.licence, options.language)
    if contents.licence == UNKNOWN_LICENCE:
        log.warning("the model does not say the licence of its treebank; say it with --licence")
    path = write_wheel(contents, folder)
    log.info("%.1f MB, installed %.1f MB", path.stat().st_size / 1e6, len(contents.model) / 1e6)
    sys.stdout.write(f"{one_line(str(path))}\n")
    return 0


def contents_of(
    model: Model, name: str, version: str, licence: str | None = None, language: str | None = None
) -> WheelContents:
    """Return the contents of a model's wheel; also record licence and language in the model.

    Parameters
    ----------
    model : Model
    name, version : str
    licence : str, optional
        By default that of the model's treebank.
    language : str, optional
        Its code; by default that of the model's treebank.
    """
    given = {"licence": licence, "language": language}
    model.meta["data"] = data = record(model.meta, "data") | {key: value for key, value in given.items() if value}
    of = f", trained on {one_line(str(data['name']))}" if data.get("name") else ""
    content = model.to_bytes()
    return WheelContents(
        name,
        version,
        f"A dependency parser for nonproj{of}",
        one_line(str(data.get("licence") or UNKNOWN_LICENCE)),
        model_card(name, model.describe(), len(content)),
        (f"nonproj>={__version__}",),
        content,
    )

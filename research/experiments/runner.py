"""Runs experiments unit by unit; skips units with stored results for the same sizes, models and sentences."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import yaml

from research.experiments.layout import languages
from research.experiments.provenance import EXPERIMENTS as ORDER
from research.experiments.provenance import of_experiment, recorded
from research.experiments.setting import RANDOM, ExperimentSettings, fingerprint
from research.experiments.store import Row, appearing, read_rows, stored, write_rows

PAPERS, NOTES = (
    yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8")) for name in ("papers.yaml", "notes.yaml")
)

EXPERIMENTS: dict[str, ModuleType] = {name: importlib.import_module(f"research.experiments.{name}") for name in ORDER}
"""In page order.  Each has ``TITLE``, ``SIZES`` (fields of `ExperimentSettings` that its numbers depend on),
``units(setting)``, ``run(setting, *unit)``, ``page(rows, papers)``, and perhaps ``plot(rows, folder)``."""


def run_all(setting: ExperimentSettings, names: Sequence[str]) -> None:
    """Run experiments by name, write their tables and plots, then the page over all stored results."""
    for name in names:
        rows = run_experiment(setting, name)
        write_rows(setting.results / f"{name}.csv", rows)
        if hasattr(EXPERIMENTS[name], "plot"):
            EXPERIMENTS[name].plot(rows, setting.results)
    write_page(setting, names)


def run_experiment(setting: ExperimentSettings, name: str) -> list[Row]:
    """Return the rows of all units of an experiment; write each unit to disk when it is complete."""
    experiment, rows = EXPERIMENTS[name], []
    for unit in experiment.units(setting):
        rows += stored(unit_file(setting, name, unit), partial(experiment.run, setting, *unit))
    return rows


def unit_file(setting: ExperimentSettings, name: str, unit: Sequence[str]) -> Path:
    """Return the file of a unit; its name changes with everything that the rows depend on except the code."""
    words = "-".join(unit).replace(" ", "-").replace("(", "").replace(")", "")
    return setting.results / "runs" / name / f"{words}-{fingerprint(setting, EXPERIMENTS[name].SIZES, *unit[:2])}.csv"


def write_page(setting: ExperimentSettings, names: Sequence[str]) -> None:
    """Write ``README.md`` from the stored tables; ``names`` are those of the experiments that have just been run."""
    file = setting.results / "README.md"
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    text = ["# The papers' tables and figures, reproduced", NOTES["head"].strip()]
    for name, experiment in EXPERIMENTS.items():
        path = setting.results / f"{name}.csv"
        if not path.exists():
            continue
        rows, papers = read_rows(path), PAPERS[name]
        now = of_experiment(name, setting)
        made = now if name in names else recorded(before, experiment.TITLE) or now
        text += [f"## {experiment.TITLE}", made.line(now), *experiment.page(rows, papers), NOTES[name].strip()]
        covered = ", ".join(language.title() for language in languages(rows) if language != RANDOM)
        text.append(f"Sources: {papers['source']}; ours: [{name}.csv]({name}.csv), {covered}.")
    with appearing(file) as temporary:
        temporary.write_text("\n\n".join(text) + "\n", encoding="utf-8")

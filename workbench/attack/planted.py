"""Lane of planted modules: training that the annotation page starts imports none of them."""

from __future__ import annotations

import time
from pathlib import Path

from nonproj_workbench.annotation.retraining import Retraining
from research.attack import planted
from research.attack.properties import require


def retrain(data: Path) -> None:
    """Retrain a model, as the annotation page does; the first error is that the other treebank is none."""
    (data / "others").write_text("no treebank\n", encoding="utf-8")
    retraining = Retraining(str(data / "out.nonproj"), None, 0, str(data / "others"), None, lambda path: None)  # type: ignore[arg-type,return-value]
    retraining.start(["# annotation = done\n1\tRegn\t_\tN\t_\t_\t0\tROOT\t_\t_\n\n"])
    while retraining.is_running:
        time.sleep(0.01)
    require("training.conllu" in str(retraining.state), f"no error of the training: {retraining.state}")


class Imports(planted.Imports):
    """Starts training in a folder with files that have the names of modules."""

    starts = {"retraining": retrain}  # noqa: RUF012

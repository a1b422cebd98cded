"""``nonproj inspect``."""

from __future__ import annotations

import argparse
import json
import os
import sys

from nonproj.evaluation.card import model_card
from nonproj.evaluation.report import model_report
from nonproj.model.installed import located
from nonproj.model.model import Model


def run(options: argparse.Namespace) -> int:
    """Describe a model file."""
    path = located(options.model)
    model = Model.load(path, verified=options.verify)
    description = model.describe()
    if options.card:
        sys.stdout.write(model_card(options.model, description, os.path.getsize(options.model)))
    elif options.json:
        description["verified"] = options.verify or None
        sys.stdout.write(json.dumps(description, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(model_report(options.model, description, verified=options.verify))
    return 0

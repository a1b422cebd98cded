"""``nonproj inspect``."""

from __future__ import annotations

import argparse
import json
import sys

from nonproj.evaluation.report import model_report
from nonproj.model import Model


def run(options: argparse.Namespace) -> int:
    """Describe a model file."""
    model = Model.verify(options.model) if options.verify else Model.load(options.model)
    description = model.describe()
    if options.json:
        description["verified"] = True if options.verify else None
        text = json.dumps(description, indent=2, ensure_ascii=False)
        sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")  # lone surrogates as JSON has them
    else:
        sys.stdout.write(model_report(options.model, description, verified=options.verify))
    return 0

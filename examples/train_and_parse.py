"""Train, save, load and parse with `DependencyParser`, the scikit-learn estimator.

python examples/train_and_parse.py train.conllu test.conllu --epochs 5
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from nonproj import DependencyParser, NonprojError


def main() -> int:
    """Run the program."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("train")
    arguments.add_argument("test")
    arguments.add_argument("--epochs", type=int, default=5)
    arguments.add_argument("--model", choices=("arc", "sibling", "grandparent"), default="grandparent")
    options = arguments.parse_args()
    try:
        parser = DependencyParser(options.model, epochs=options.epochs).fit(options.train)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "example.nonproj")
            parser.save(path)
            loaded = DependencyParser.load(path)
            trees = loaded.predict_with_certificates(options.test)
            accuracy = loaded.score(options.test)
    except NonprojError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    certified = sum(tree.certified for tree in trees)
    sys.stdout.write(f"UAS {100 * accuracy:.2f} without punctuation\n")
    sys.stdout.write(
        f"{certified} of {len(trees)} trees are certified: no tree over their candidate arcs scores higher\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

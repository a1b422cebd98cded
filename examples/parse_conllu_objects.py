"""Parse sentences given as objects of the package ``conllu`` with a trained model.

python examples/parse_conllu_objects.py models/turkish-grandparent.nonproj test.conllu
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice

import conllu

from nonproj import DependencyParser, NonprojError


def main() -> int:
    """Run the command line."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("model")
    arguments.add_argument("file")
    options = arguments.parse_args()
    try:
        parser = DependencyParser.load(options.model)
        with open(options.file, encoding="utf-8") as stream:
            sentences = list(islice(conllu.parse_incr(stream), 3))
        for tokens in parser.parse_all(sentences):
            for token in tokens:
                if isinstance(token["id"], int):  # multiword ranges and empty nodes have no head
                    sys.stdout.write(f"{token['form']} <-{token['deprel']}- {token['head']}\n")
            sys.stdout.write("\n")
    except (NonprojError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

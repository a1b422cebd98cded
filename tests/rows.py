"""Sentences of CoNLL-X without content, for tests of reading and writing."""

import io

from nonproj.io import conll
from nonproj.types import Sentence


def word(number, head, form="w", label="dep") -> str:
    return f"{number}\t{form}\t_\tN\tNN\t_\t{head}\t{label}\t_\t_\n"


def words(*heads) -> str:
    return "".join(word(number, head) for number, head in enumerate(heads, 1)) + "\n"


def read(text: str | bytes, **options) -> list[Sentence]:
    return list(conll.read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options))


GOOD = words(0, 1)

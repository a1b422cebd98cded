"""Random queries and sentences for the tests of search."""

import random

FORMS, TAGS, LABELS = ("a", "b", "Ab", "ba"), ("NOUN", "VERB", "ADJ"), ("obj", "nsubj", "nsubj:pass")
SIGNS = (">", "<", ">++", ">--", "<++", "<--", ">>", "<<", "$", "$++", "$--", "..", "--", ".", "-", "><", "==")
TESTS = (
    *(
        "upos:NOUN",
        "upos!=VERB",
        "deprel:obj",
        "deprel:/nsubj.*/",
        "Case=Gen",
        "Case",
        "!Case",
        "form:/A?b+/",
        "lemma:a",
    ),
    *("distance>1", "children=0", "children>=2", "depth<=2", "head<3", "id>2", "length>4", "confidence<0.5", "root"),
    *("headless", "crossing", "differs", "head-differs", "label-differs", "~deprel:obj", "~crossing", "~root"),
    *("head.upos:VERB", "~head.form:/a/i", "head.head.deprel:obj", "misc.X:1", "lemma", "~distance<2"),
)

ATOMS = ("a", "b", "é", ".", "[ab]", "[^a]", "[a-c]", r"\w", r"\d", "1", "A", r"\.", "[.b-]")
"""Parts of regular expressions that mean the same in `re` as they are."""


def random_query(chance: random.Random, names: int = 2) -> str:
    """Return a query whose names are all used outside of ``!`` and ``|``."""
    named = [f"n{i}" for i in range(chance.randint(0, names))]
    query = _pattern(chance, named, 0)
    for name in named:
        query += f" {_relation(chance)} {_element(chance)}={name}"
    return query


def _relation(chance: random.Random) -> str:
    sign = chance.choice(SIGNS)
    if sign in ("..", "--", "<<", ">>"):
        sign += chance.choice(("", "", "2", "2-3", "2-"))
    elif sign[0] in "<>" and sign != "><":
        sign += chance.choice(("", "", "obj", "/nsubj.*/"))
    return "~" * (sign[0] in "<>$" and chance.random() < 0.2) + sign


def _element(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.25:
        return "{}"
    if kind < 0.5:
        return chance.choice((*TAGS, *FORMS, '"Ab"', "/.*b/", "!NOUN", "a:b"))
    return "{" + _condition(chance, 0) + "}"


def _condition(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if kind < 0.6 or depth > 1:
        return chance.choice(TESTS)
    if kind < 0.7:
        return f"!({_condition(chance, depth + 1)})"
    parts = [_condition(chance, depth + 1) for _ in range(2)]
    return f"({chance.choice(('; ', ' | ', ' & ')).join(parts)})"


def _pattern(chance: random.Random, named: list[str], depth: int) -> str:
    text = _element(chance)
    for _ in range(chance.choice((0, 1, 1, 2)) if depth < 3 else 0):
        kind = chance.random()
        if kind < 0.55:
            text += f" {'!' * (chance.random() < 0.3)}{_link(chance, named, depth)}"
        else:
            inner = (" | ", " ")[kind < 0.7].join(_link(chance, named, depth) for _ in range(2))
            text += f" {'!' * (chance.random() < 0.3)}[{inner}]"
    return text


def _link(chance: random.Random, named: list[str], depth: int) -> str:
    if named and chance.random() < 0.4:
        return f"{_relation(chance)} {_element(chance)}={chance.choice(named)}"
    return f"{_relation(chance)} ({_pattern(chance, named, depth + 1)})"


def random_heads(chance: random.Random, n: int, partial: float = 0.1) -> list[int]:
    """Return a random tree of ``n`` words, of which some have no head (-1)."""
    order = chance.sample(range(1, n + 1), n)
    heads = [0] * n
    for i, word in enumerate(order):
        heads[word - 1] = -1 if chance.random() < partial else chance.choice([0, *order[:i]])
    return heads


def random_rows(chance: random.Random, n: int) -> list[list[str]]:
    """Return the columns of ``n`` words, with the heads and labels of a tree and other attributes."""
    return [
        [
            str(i),
            chance.choice(FORMS),
            chance.choice((*FORMS, "_")),
            chance.choice(TAGS),
            "_",
            chance.choice(("_", "Case=Gen", "Case=Nom|X=1")),
            "_" if head < 0 else str(head),
            "_" if head < 0 else chance.choice((*LABELS, "_")),
            "_",
            chance.choice(("_", "X=1", "Y=2|X=1")),
        ]
        for i, head in enumerate(random_heads(chance, n), 1)
    ]


def random_regex(chance: random.Random, atoms: tuple[str, ...], depth: int = 0) -> str:
    """Return a random regular expression; some have nested repetitions, which are refused."""
    kind = chance.random()
    if kind < 0.45 or depth > 3:
        return chance.choice(atoms)
    if kind < 0.6:
        return random_regex(chance, atoms, depth + 1) + random_regex(chance, atoms, depth + 1)
    if kind < 0.75:
        return f"({random_regex(chance, atoms, depth + 1)}|{random_regex(chance, atoms, depth + 1)})"
    return f"(?:{random_regex(chance, atoms, depth + 1)})" + chance.choice(["*", "+", "?", "{2}", "{1,}", "{0,2}"])

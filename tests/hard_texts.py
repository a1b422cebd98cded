"""Texts that are hard to segment without loss or to parse in time, and treebanks with the text of their sentences."""

import itertools
import random
from collections.abc import Callable, Iterable

NASTY = [
    "",
    " \t\n",
    "a",
    "\ufeffHello there.\r\n\r\n  Second\tparagraph, it is.\r\n",
    "Cafe\u0301 na\u0308ive \u0301lone. \u1100\u1161\u11a8 \u212b \u2126\n",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\U0001f3fd!! \U0001f1ec\U0001f1f7 \u2764\ufe0f",
    "x\u00a0y\u2003z\u200bw\u2028v\u2029u\x00t\x1fs\x85r\x0bq\x0cp",
    "a|b\\n c\\p | \\ _ \\u0041\n\n\n\n\t# text = x\n1-2\t_\n",
    "= \u0338x =\u0338",
    "R&amp;D&nbsp;do&#110;&apos;t &lt;b&gt; &foo; &#xD800;&#10;x &NotEqualTilde; e&#769; &am p; &amp",
    "don't DON'T isn't xn't n't",
    "\r\r a \r\n\r b \n \n\n c \x0c\n d",
    "\u0915\u094d\u0937\u0947\u0924\u094d\u0930 \u0e20\u0e32\u0e29\u0e32",
    "\u65e5\u672c\u8a9e\u3067\u3059\u3002\u306f\u3044\u3002",
]


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit.encode()) + 1)).encode()[:size].decode(errors="ignore")


def _random(first: int, last: int, length: int = 0, blank: str = " ") -> Callable[[int], str]:
    """Random characters of a range, in words of this length; without blanks if it is 0."""

    def made(size: int) -> str:
        chance, width = random.Random(1), len(chr(first).encode())
        count = size // width if not length else size // (length * width + len(blank))
        pieces = ("".join(chr(chance.randint(first, last)) for _ in range(length or 1)) for _ in range(count))
        return (blank if length else "").join(pieces)

    return made


def _numbers(size: int) -> str:
    return "".join(itertools.islice((f"{i}.{i % 1000:03}," for i in itertools.count(1)), size // 8))


PATHOLOGICAL: dict[str, Callable[[int], str]] = {
    "one letter": _repeated("a"),
    "random letters": _random(ord("a"), ord("z")),
    "Chinese without full stops": _random(0x4E00, 0x9F00),
    "Chinese with full stops": _repeated("我们今天去北京看朋友然后回家吃饭。"),
    "Hebrew words": _random(0x5D0, 0x5EA, 5),
    "equal words": _repeated("ve "),
    "two words": _repeated("bir iki "),
    "a, null, b": _repeated("a\0b"),
    "a letter on each line": _repeated("a\n"),
    "capitals": _random(ord("A"), ord("Z"), 7),
    "full stops": _repeated("."),
    "single letters with full stops": _repeated("A. "),
    "marks on one letter": lambda size: "e" + "\u0301" * (size // 2),
    "decomposed Japanese": _repeated("か\u3099き\u3099は\u309a"),
    "digits": _repeated("1234567890"),
    "numbers": _numbers,
    "one address": lambda size: ("http://a.b/" + "c/?d=e&" * (size // 7))[:size],
    "addresses": _repeated("a@b.c@http://www."),
    "brackets and quotation marks": _repeated("(\"'[{"),
    "emoji": _repeated("👩\u200d👩\u200d👧🇩🇰👍🏽"),
    "markup": _repeated('<a href="b">c</a>'),
    "abbreviations": _repeated("f.eks. bl.a. "),
}
"""Names of texts, each with a function from a size in bytes to the text: every one has little that ends a sentence or
a token, or much that looks like it."""


def treebank(sentences: Iterable[str]) -> str:
    """CoNLL-U of sentences of tokens; those that begin with ``+`` have no blank before them, ``a|b`` are two words."""
    text = ""
    for number, sentence in enumerate(sentences):
        rows, n, tokens = [], 0, sentence.split()
        for index, token in enumerate(tokens):
            form, glued = token.lstrip("+"), index + 1 < len(tokens) and tokens[index + 1].startswith("+")
            words, misc = form.split("|"), "SpaceAfter=No" if glued else "_"
            if len(words) > 1:
                rows.append(f"{n + 1}-{n + len(words)}\t{''.join(words)}" + "\t_" * 7 + f"\t{misc}")
            for word in words:
                n += 1
                rows.append(f"{n}\t{word}" + "\t_" * 7 + "\t" + ("_" if len(words) > 1 else misc))
        plain = sentence.replace("|", "").replace(" +", "")
        text += f"# newpar\n# text = {plain}\n" * (number % 4 == 0) + "\n".join(rows) + "\n\n"
    return text

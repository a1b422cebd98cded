"""Edits of sentences from their definition: words are objects that refer to one another, numbered when written."""

SPACES = ("SpaceAfter", "SpacesAfter")
DECISIONS = ("Head", "NotHead", "Deprel")
ROOT = "0"


class Node:
    """A word or an empty node; its references to other nodes are objects."""

    def __init__(self, columns: list[str]):
        self.columns = columns
        self.empty = "." in columns[0]
        self.head = self.deps = self.misc = None


class Sentence:
    """A sentence as objects."""

    def __init__(self, text: str):
        lines = [line for line in text.split("\n") if line]
        self.comments = [line for line in lines if line.startswith("#")]
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        self.nodes = [Node(row) for row in rows if "-" not in row[0]]
        named = {node.columns[0]: node for node in self.nodes} | {"0": ROOT}
        self.ranges = [[*(named[name] for name in row[0].split("-")), row] for row in rows if "-" in row[0]]
        for node in self.nodes:
            row = node.columns
            node.head = named.get(row[6], row[6])
            node.deps = [] if row[8] == "_" else [edge.split(":", 1) for edge in row[8].split("|")]
            node.deps = [(named.get(head, head), label) for head, label in node.deps]
            node.misc = [] if row[9] == "_" else [item.partition("=")[::2] for item in row[9].split("|")]
            node.misc = [(n, named.get(v, v) if n in ("Head", "NotHead") else v) for n, v in node.misc]

    @property
    def words(self) -> list[Node]:
        return [node for node in self.nodes if not node.empty]

    def range_of(self, node: Node):
        """The multiword token of a word."""
        for each in self.ranges:
            first, last = self.nodes.index(each[0]), self.nodes.index(each[1])
            if first <= self.nodes.index(node) <= last:
                return each
        return None

    def surface(self) -> str:
        """The text of the tokens."""
        tokens, covered = [], set()
        for node in self.words:
            found = self.range_of(node)
            if found is None:
                tokens.append((node.columns[1], ("SpaceAfter", "No") in node.misc))
            elif id(found) not in covered:
                covered.add(id(found))
                tokens.append((found[2][1], "SpaceAfter=No" in found[2][9].split("|")))
        text = "".join(form if glued else form + " " for form, glued in tokens)
        return text[:-1] if text.endswith(" ") else text

    def comment(self, key: str):
        """The value of a comment."""
        values = [line.split("=", 1)[1].strip() for line in self.comments if line.split("=")[0].strip("# ") == key]
        return values[0] if values else None

    def set_comment(self, key: str, value: str) -> None:
        """Replace a comment, or add it."""
        places = [i for i, line in enumerate(self.comments) if line.split("=")[0].strip("# ") == key]
        if places:
            self.comments[places[0]] = f"# {key} = {value}"
        else:
            self.comments.append(f"# {key} = {value}")

    def text(self) -> str:
        """The lines."""
        names, word, empty = {ROOT: "0"}, 0, 0
        for node in self.nodes:
            word, empty = (word, empty + 1) if node.empty else (word + 1, 0)
            names[node] = f"{word}.{empty}" if node.empty else str(word)
        lines = list(self.comments)
        for node in self.nodes:
            for first, last, row in self.ranges:
                if first is node:
                    lines.append("\t".join([f"{names[first]}-{names[last]}", *row[1:]]))
            row = node.columns.copy()
            row[0] = names[node]
            if isinstance(node.head, Node) and node.head not in names:
                row[6:8] = ["_", "_"]
            else:
                row[6] = names.get(node.head, node.head)
            edges = [(names.get(head, head), label) for head, label in node.deps if not gone(head, names)]
            row[8] = "|".join(f"{head}:{label}" for head, label in edges) or "_"
            items = [(name, names.get(value, value)) for name, value in node.misc if not gone(value, names)]
            row[9] = "|".join(f"{name}={value}" if value else name for name, value in items) or "_"
            lines.append("\t".join(row))
        return "\n".join(lines) + "\n\n"


def gone(target, names) -> bool:
    """Whether a node is not in the sentence."""
    return isinstance(target, Node) and target not in names


def with_text(sentence: Sentence, edit) -> str:
    """The lines after an edit; the comment ``text`` is updated if it agreed with the words."""
    followed = sentence.comment("text") == sentence.surface()
    edit()
    if followed:
        sentence.set_comment("text", sentence.surface())
    return sentence.text()


def split_word(text: str, word: int, forms: list[str]) -> str:
    """Split a word in two; references stay with the first, and the second depends on it."""
    sentence = Sentence(text)
    first = sentence.words[word - 1]

    def edit() -> None:
        second = Node(["", forms[1], *"________"])
        second.head, second.deps, second.misc = first, [], []
        covering = sentence.range_of(first)
        if covering is None:
            second.misc = [item for item in first.misc if item[0] in SPACES]
            first.misc = [item for item in first.misc if item[0] not in SPACES]
            if " ".join(forms) != first.columns[1]:
                first.misc.append(("SpaceAfter", "No"))
        elif covering[1] is first:
            covering[1] = second
        first.columns[1:6] = [forms[0], *"____"]
        sentence.nodes.insert(sentence.nodes.index(first) + 1, second)

    return with_text(sentence, edit)


def above(node: Node, other: Node, count: int) -> bool:
    """Whether a word is above another one."""
    for _ in range(count):
        other = other.head
        if other is node:
            return True
        if not isinstance(other, Node) or other.empty:
            return False
    return False


def join_words(text: str, word: int) -> str | None:
    """Join a word and the next one; None if they belong to different tokens."""
    sentence = Sentence(text)
    first, second = sentence.words[word - 1], sentence.words[word]
    covering = sentence.range_of(first)
    if covering is not sentence.range_of(second):
        return None

    def edit() -> None:
        blank = " " if covering is None and ("SpaceAfter", "No") not in first.misc else ""
        outer = second if above(second, first, len(sentence.words)) else first
        known = {name for name, _ in first.misc if name not in (*SPACES, *DECISIONS)}
        misc = [item for item in first.misc if item[0] in known]
        misc += [i for i in second.misc if i[0] in SPACES or (i[0] not in known and i[0] not in DECISIONS)]
        misc += [item for item in outer.misc if item[0] in DECISIONS]
        first.columns[1:6] = [first.columns[1] + blank + second.columns[1], *"____"]
        first.columns[7] = outer.columns[7]
        first.head, both = outer.head, {(head, label) for head, label in first.deps + second.deps}
        order = {node: i for i, node in enumerate([ROOT, *(n for n in sentence.nodes)])}
        first.deps = sorted(both, key=lambda edge: (order.get(edge[0], 0), edge[1]))
        sentence.nodes.remove(second)
        for node in sentence.nodes:
            node.head = first if node.head is second else node.head
            node.deps = [(first if head is second else head, label) for head, label in node.deps]
            node.misc = [(name, first if value is second else value) for name, value in node.misc]
        first.misc = [(name, first if value is second else value) for name, value in misc]
        first.misc = [(name, value) for name, value in first.misc if value is not first]
        first.deps = [(head, label) for head, label in first.deps if head is not first]
        for each in list(sentence.ranges):
            each[:2] = [first if node is second else node for node in each[:2]]
            if each[0] is each[1]:
                sentence.ranges.remove(each)
                first.columns[1] = each[2][1]
                spaces = [item.partition("=")[::2] for item in each[2][9].split("|")]
                first.misc += [item for item in spaces if item[0] in SPACES]

    return with_text(sentence, edit)


def split_sentence(text: str, word: int) -> tuple[str, str] | None:
    """Split a sentence after a word; None within a multiword token."""
    first, second = Sentence(text), Sentence(text)
    if first.range_of(first.words[word - 1]) and first.range_of(first.words[word - 1]) is first.range_of(
        first.words[word]
    ):
        return None
    followed = first.comment("text") == first.surface()
    ends = [sentence.nodes.index(sentence.words[word]) for sentence in (first, second)]
    first.nodes, second.nodes = first.nodes[: ends[0]], second.nodes[ends[1] :]
    for part in (first, second):
        part.ranges = [each for each in part.ranges if each[0] in part.nodes]
    names, second.comments = first.comment("sent_id"), []
    if names is not None:
        second.comments.append(f"# sent_id = {names}-2")
    if followed:
        first.set_comment("text", first.surface())
        second.set_comment("text", second.surface())
    return first.text(), second.text()


def join_sentences(one: str, two: str) -> str:
    """Join two sentences, both with or both without text."""
    first, second = Sentence(one), Sentence(two)
    texts = first.comment("text"), second.comment("text")
    followed = texts[0] == first.surface() and texts[1] == second.surface()
    first.nodes += second.nodes
    first.ranges += second.ranges
    known = {line.split("=")[0].strip("# ") for line in first.comments}
    for line in second.comments:
        key = line.split("=")[0].strip("# ")
        if key not in known and key not in ("sent_id", "text"):
            first.comments.append(line)
    if followed:
        first.set_comment("text", first.surface())
    elif None not in texts:
        first.set_comment("text", " ".join(texts))
    return first.text()

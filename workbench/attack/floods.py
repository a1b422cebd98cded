"""Lane of floods of connections to a live annotator that may open few files: meanwhile, it answers and saves."""

from __future__ import annotations

import json

from research.attack import floods, material
from research.attack.live import Live, status_of
from research.attack.properties import require


class Floods(floods.Floods):
    """Floods ``nonproj annotate``, and edits a sentence at the same time."""

    def prepare(self) -> tuple[str, ...]:
        """Write a treebank, and return the command."""
        self.treebank = self.folder / "trees.conllu"
        self.treebank.write_text(material.CONLLU, encoding="utf-8")
        return "annotate", str(self.treebank)

    def request(self, live: Live, value: str) -> bytes:
        """Return the response to an edit, or to the question for the sentence if that is not answered."""
        sentence = self.send(live, "GET", "/api/sentence/0")
        if status_of(sentence) != 200:
            return sentence
        version = json.loads(sentence.partition(b"\r\n\r\n")[2])["version"]
        edit = {"op": "column", "word": 1, "column": "lemma", "value": value}
        body = json.dumps({"version": version, "edit": edit}).encode()
        return self.send(live, "POST", "/api/sentence/0", body)

    def check_effect(self, value: str) -> None:
        """Check that the edit is in the file or in its journal."""
        files = [self.treebank, self.treebank.with_name(f"{self.treebank.name}.journal")]
        saved = b"".join(path.read_bytes() for path in files if path.exists())
        require(value.encode() in saved, f"the edit {value!r} is not saved")

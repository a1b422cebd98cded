"""The page of `nonproj annotate`: a template, a style sheet and scripts, which become one text.

The scripts share one scope and are concatenated in the order of `SCRIPTS`, behind `tree.js` of `nonproj/pictures`
and before its `theme.js`:

- `basics.js`: elements, requests, the banner of a lost server
- `choosing.js`: the list of labels and tags with completion, and small forms
- `listing.js`: the list of sentences, of which only those in view exist
- `drawing.js`: the tree of the open sentence
- `dragging.js`: heads by mouse, pen and touch
- `wording.js`: the table of words
- `asides.js`: suggestions, messages, changes, the other annotator's tree
- `editing.js`: the open sentence and the queue of its edits
- `keys.js`: the keyboard, and the start

``make types-page`` checks the types of the scripts, which `page.d.ts` and comments declare.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import re

from nonproj.pictures.svg import theme_script, tree_script, tree_style

SCRIPTS = (
    "basics.js",
    "choosing.js",
    "listing.js",
    "drawing.js",
    "dragging.js",
    "wording.js",
    "asides.js",
    "editing.js",
    "keys.js",
)
"""The page's scripts, in their order."""


def load_page() -> tuple[str, dict[str, str]]:
    """Return the page, with headers that restrict a browser to its own scripts and styles.

    Examples
    --------
    >>> text, headers = load_page()
    >>> text.startswith("<!doctype html>"), "unsafe" in headers["Content-Security-Policy"]
    (True, False)
    """
    files = importlib.resources.files("nonproj_workbench.annotation.page")
    read = {
        name: files.joinpath(name).read_text(encoding="utf-8") for name in ("annotate.html", "annotate.css", *SCRIPTS)
    }
    style = tree_style() + read["annotate.css"]
    script = "\n".join(['\n"use strict";', tree_script(), *(read[name] for name in SCRIPTS), theme_script()])
    parts = {"style": style, "script": script}
    text = re.sub(r"\{(style|script)\}", lambda match: parts[match[1]], read["annotate.html"])
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; connect-src 'self'"
    policy += "; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return text, {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

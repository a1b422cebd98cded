"""The page of `nonproj annotate`: a template, a style sheet and scripts, joined into one document.

The scripts share one scope and are concatenated in the order of `SCRIPTS`, behind `tree.js` and `certificate.js` of
`nonproj/pictures` and before its `theme.js`:

- `basics.js`: elements, requests, the banner of a lost server
- `choosing.js`: the list of labels and tags with completion, and small forms
- `listing.js`: the list of sentences, with elements for those in view only
- `drawing.js`: the tree of the open sentence
- `dragging.js`: heads by mouse, pen and touch
- `wording.js`: the table of words
- `asides.js`: suggestions, messages, changes, the other annotator's tree
- `editing.js`: the open sentence and the queue of its edits
- `keys.js`: the keyboard, and the start

``make types-page`` checks the types of the scripts, which `page.d.ts` and comments declare.
"""

from __future__ import annotations

import re

from nonproj.pictures.pages import headers, join_modules, resource

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
    *drawing, theme = (resource("nonproj.pictures", name) for name in ("tree.js", "certificate.js", "theme.js"))
    style = resource("nonproj.pictures", "tree.css") + resource(__name__, "annotate.css")
    script = '\n"use strict";\n' + join_modules([*drawing, *(resource(__name__, name) for name in SCRIPTS), theme])
    parts = {"style": style, "script": script}
    text = re.sub(r"\{(style|script)\}", lambda match: parts[match[1]], resource(__name__, "annotate.html"))
    return text, headers(script, style) | {"Cache-Control": "no-store"}

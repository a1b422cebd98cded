"""Runs the code of a page of the documentation, as its readers would."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run_page(name, folder, monkeypatch):
    """Run all Python blocks of a page in one namespace, in a folder; check what they print; return the namespace.

    The page is named from the root of the repository.
    What a block prints stands behind it in a block of text; a block without one prints nothing.
    """
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(blocks) == text.count("```python") > 0
    monkeypatch.chdir(folder)
    names: dict = {}
    for code, expected in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, name, "exec"), names)
        assert printed.getvalue() == expected
    return names

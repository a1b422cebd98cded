"""Sphinx configuration of the documentation site (`make docs`).

The sources are the Markdown files in docs/ and beside the code, so their links also work on a code host.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "systems"), str(ROOT / "workbench")]

project = "nonproj"
author = "The developers of nonproj"
version = release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
project_copyright = author

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
extensions += ["sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "*.md",
    "research/*.md",
    "research/attack/README.md",
    "research/benchmarks/*.md",
    "research/results/*.md",
    "packaging/*.md",
    "systems/README.md",
    "systems/docs/**",
    "systems/attack/README.md",
    "systems/results/*.md",
    "workbench/README.md",
    "workbench/docs/**",
    "workbench/attack/README.md",
]
exclude_patterns = ["docs/_*/**", "build/**", ".venv/**", "data/**", "models/**"]
templates_path = [str(ROOT / "docs" / "_templates")]

html_theme = "furo"
html_title = f"nonproj {version}"
html_extra_path = ["_extra"]
html_static_path = [str(ROOT / "docs" / "_static")]
html_copy_source = False
html_search_scorer = str(ROOT / "docs" / "_static" / "scorer.js")

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"

_BESIDE = re.compile(r"(?:research|systems)/results/(?!README).*|\w+/attack/README|docs/internals")

autosummary_generate = True
_NEED_TORCH = ["checkpoint", "losses", "module", "training"]
_LEFT_OUT = [] if find_spec("torch") else [f"nonproj.learning.encoders.{name}" for name in _NEED_TORCH]
autosummary_context = {"left_out": _LEFT_OUT}  # PyTorch takes gigabytes
autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "py:obj"
numpydoc_show_class_members = False


def _plain_links(app, docname: str, source: list[str]) -> None:
    """Replace links to folders, and to files that are not pages, by their text: the site does not contain them."""
    folder = (ROOT / docname).parent

    def replace(match: re.Match) -> str:
        text, target = match[1], match[2].partition("#")[0]
        return match[0] if target.endswith(".md") and (folder / target).is_file() else text

    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:|mailto:|#)([^)\s]+)\)", replace, source[0])


def _skip_fields(app, what: str, name: str, obj, skip: bool, options) -> bool | None:
    """Leave out the fields of named tuples, which the docstrings of their classes describe, and names of types."""
    return True if type(obj).__name__ in ("_tuplegetter", "GenericAlias", "TypeVar", "ParamSpec") else None


def _leave_out_of_the_sidebar(app, doctree) -> None:
    """Keep reports of experiments, the attacks and the internals out of the sidebar; other pages have links to them."""
    if _BESIDE.fullmatch(app.env.docname):
        app.env.metadata[app.env.docname]["orphan"] = ""


def _style_start_page(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Show the tables at the top of the start page as cards."""
    if pagename == root_doc:
        app.add_css_file("start.css")


def setup(app) -> None:
    """Register the handlers above."""
    app.connect("source-read", _plain_links)
    app.connect("doctree-read", _leave_out_of_the_sidebar)
    app.connect("autodoc-skip-member", _skip_fields)
    app.connect("html-page-context", _style_start_page)

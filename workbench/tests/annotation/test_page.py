"""The page as a text: what a browser is allowed to run, and rules for its scripts."""

import base64
import hashlib
import importlib.resources
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nonproj.pictures.pages import join_modules, resource
from nonproj_workbench.annotation.page import SCRIPTS, load_page

TEXT, HEADERS = load_page()
FILES = importlib.resources.files("nonproj_workbench.annotation.page")
WORKBENCH = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("tag", ["script", "style"])
def test_the_policy_allows_exactly_the_pages_own_script_and_style(tag):
    [content] = re.findall(f"<{tag}>(.*?)</{tag}>", TEXT, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    assert f"{tag}-src 'sha256-{digest}';" in HEADERS["Content-Security-Policy"]


def test_the_policy_has_no_gaps():
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert not re.search(r"unsafe|\*|https?:", HEADERS["Content-Security-Policy"])


def test_nothing_is_loaded_from_elsewhere():
    assert not re.search(r"""(src|href)=["'](?!data:)""", TEXT)
    assert set(re.findall(r"https?://[^\"'\s]+", TEXT)) == {"http://www.w3.org/2000/svg"}


def test_trees_are_drawn_by_the_shared_script_and_style():
    assert (
        join_modules([resource("nonproj.pictures", "tree.js")]) in TEXT
        and resource("nonproj.pictures", "tree.css") in TEXT
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_from_a_file_becomes_markup(name):
    script = FILES.joinpath(name).read_text(encoding="utf-8")
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function"
    forbidden += r"|setAttribute\(\"(style|on)"
    assert not re.search(forbidden, script)


def test_every_script_is_listed():
    found = {path.name for path in FILES.iterdir() if path.name.endswith(".js")}
    assert found == set(SCRIPTS)


class Elements(HTMLParser):
    """The elements of a page."""

    def __init__(self):
        super().__init__()
        self.found: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        self.found.append((tag, dict(attrs)))


def test_scripts_use_only_elements_that_exist():
    parser = Elements()
    parser.feed(FILES.joinpath("annotate.html").read_text(encoding="utf-8"))
    names = [attributes["id"] for _, attributes in parser.found if "id" in attributes]
    assert len(names) == len(set(names))
    scripts = "".join(FILES.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)
    assert set(re.findall(r'find\("([\w-]+)"\)', scripts)) <= set(names)
    for _, attributes in parser.found:
        for reference in ("aria-labelledby", "aria-controls", "for"):
            assert set(attributes.get(reference, "").split()) <= set(names)


def test_the_type_checker_sees_what_the_page_has():
    files = json.loads((WORKBENCH / "tsconfig.json").read_text(encoding="utf-8"))["files"]
    assert [Path(name).name for name in files] == ["page.d.ts", "tree.js", "certificate.js", *SCRIPTS, "theme.js"]
    assert all((WORKBENCH / name).is_file() for name in files)


@pytest.mark.skipif(shutil.which("tsc") is None, reason="needs TypeScript; make types-page fetches it")
def test_the_scripts_have_no_errors_of_types():
    command = ["tsc", "--project", str(WORKBENCH)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

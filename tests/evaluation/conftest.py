"""The report that tests in a browser look at."""

from pathlib import Path

import pytest
from browsing import open_report
from shown import COUNT, write_report


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """A folder with gold trees, those of two parsers, and their report."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(folder, COUNT, "--other", str(folder / "other.conllu"))


@pytest.fixture
def page(browser, report):
    """The report in light colours; in the end there must not be any message in the console."""
    open_report(browser, report)
    yield browser
    browser.execute_script("localStorage.clear()")
    assert browser.get_log("browser") == []  # neither errors nor breaches of the content security policy

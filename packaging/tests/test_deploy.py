"""The units for systemd."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nonproj.cli.main import parse_arguments
from nonproj.server.run import LAST_REQUEST_SECONDS, STOPPING_SECONDS

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "packaging"


def unit(name: str) -> configparser.ConfigParser:
    """The settings of a unit."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",))
    parser.optionxform = str
    parser.read(DEPLOY / name, encoding="utf-8")
    return parser


def test_the_service_starts_the_server_and_waits_for_it_to_stop():
    service = unit("nonproj.service")["Service"]
    words = service["ExecStart"].split()
    options = parse_arguments(words[1:])
    assert options.command == "serve"
    assert float(service["TimeoutStopSec"]) > 2 * options.timeout + STOPPING_SECONDS + LAST_REQUEST_SECONDS
    gigabytes = float(service["MemoryMax"].removesuffix("G"))
    assert gigabytes >= 2 * options.jobs * options.max_worker_memory / 1024 + 1
    assert unit("nonproj.service")["Unit"]["Requires"] == "nonproj.socket"
    assert re.fullmatch(r"[\d.]+:\d+", unit("nonproj.socket")["Socket"]["ListenStream"])


def test_systemd_accepts_the_units(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd is not installed")
    for name in ("nonproj.service", "nonproj.socket"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace("/opt/nonproj/bin/nonproj", "/bin/true"), encoding="utf-8")
    words = [program, "verify", str(tmp_path / "nonproj.service"), str(tmp_path / "nonproj.socket")]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    (tmp_path / "nonproj.socket").write_text("[Socket]\nListenStream=none\n", encoding="utf-8")
    assert subprocess.run(words, capture_output=True, check=False).returncode != 0

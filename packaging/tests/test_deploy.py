"""The container file and the units for systemd; `packaging/check_container.py` runs the whole build."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nonproj.cli.main import parse_arguments
from nonproj.server.run import LAST_REQUEST_SECONDS, STOPPING_SECONDS

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "packaging"
sys.path.insert(0, str(DEPLOY))

from check_container import ABSOLUTE, FILE, steps_of  # noqa: E402

STEPS = steps_of(FILE.read_text(encoding="utf-8"))


def unit(name: str) -> configparser.ConfigParser:
    """The settings of a unit."""
    parser = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",))
    parser.optionxform = str
    parser.read(DEPLOY / name, encoding="utf-8")
    return parser


def last(instruction: str) -> str:
    """The arguments of the last instruction of this kind."""
    return [step.text for step in STEPS if step.instruction == instruction][-1]


def test_the_image_runs_the_server_as_another_user():
    assert last("USER") not in ("0", "root")
    assert f"--uid {last('USER')} " in "".join(step.text for step in STEPS)
    order = [step.instruction for step in STEPS]
    assert "RUN" not in order[order.index("USER") :], "everything is installed by root"
    entry, default = yaml.safe_load(last("ENTRYPOINT")), yaml.safe_load(last("CMD"))
    options = parse_arguments([*entry[1:], *default])
    assert (options.command, options.host, str(options.port)) == ("serve", "0.0.0.0", last("EXPOSE"))
    assert f":{options.port}/health" in last("HEALTHCHECK")


def test_everything_copied_into_the_image_exists():
    copied = [step.text.split() for step in STEPS if step.instruction == "COPY" and "--from" not in step.text]
    assert len(copied) >= 4
    assert all((ROOT / name).exists() for words in copied for name in words[:-1])


def test_the_last_stage_needs_no_network():
    stage = STEPS[[step.instruction for step in STEPS].index("FROM", 1) :]
    installs = [step.text for step in stage if "pip install" in step.text]
    assert installs and all("--no-index" in text for text in installs)


def test_paths_of_the_image_are_found_in_commands():
    text = "/opt/nonproj/bin/pip a /wheels 'nonproj[server]' packaging/kernels.py && rm -r /wheels"
    assert ABSOLUTE.sub(r"R/\1", text) == text.replace("/opt", "R/opt").replace(" /wheels", " R/wheels")


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

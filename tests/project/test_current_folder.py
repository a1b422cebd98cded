"""No library finds settings in the current folder of a command, which may be that of a stranger's data."""

import json
import re
import subprocess
import sys

import toy

from nonproj.pipeline.compiling import helper
from nonproj.workers.processes import Processes

NUMBA = ".numba_config.yaml"
TRACE = "chrome_trace: victim\nopt: '0'\ncache_dir: .\n"  # numba writes the trace when the process ends

TRAPS = (".env", ".netrc", "matplotlibrc", "setup.cfg", "pyproject.toml", "dask.yaml", "config.json")
"""Further files that libraries look for, some of them before they open them."""

NAMED = re.compile(r"(a\.conllu|text\.txt|m|out\..*|\.nonproj-.*|\.m\..*|m\..*|README\.md|LICENSE\.txt|__editable__.*)")
"""Files that the user names, files made beside them, README and licence of a treebank, and an entry of a path."""


def test_processes_that_commands_start_take_no_settings_of_numba_from_it(tmp_path, monkeypatch):
    """Otherwise the trace would overwrite a file."""
    (tmp_path / NUMBA).write_text(TRACE)
    (tmp_path / "victim").write_text("precious")
    monkeypatch.chdir(tmp_path)
    with helper("nonproj.pipeline.compiling"):  # which ends, with an error, when all is imported
        pass
    assert (tmp_path / "victim").read_text() == "precious"
    (tmp_path / NUMBA).write_text("{")
    with Processes(1) as processes:
        assert processes.submit(len, "abc").result() == 3


PROGRAM = """
import json, os, sys

folder, seen = os.getcwd(), set()

def look(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], (str, bytes)):
        name = os.path.relpath(os.path.abspath(os.fsdecode(arguments[0])), folder)
        if not name.startswith("..") and name != ".":
            seen.add(name)

sys.addaudithook(look)
from nonproj.cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["nonproj", *words]
    code = main()
    assert code == 0, (words, code)
print(json.dumps(sorted(seen)), file=sys.__stderr__)
"""

FEW = ("tagger.epochs", "tagger.restarts", "tagger.network_epochs", "network.epochs", "labeler.epochs", "pruner.epochs")
LITTLE = [f"--set={name}=1" for name in FEW] + [f"--set={name}.bits=14" for name in ("features", "pruner", "labeler")]
COMMANDS = [
    ["train", "a.conllu", "-o", "m", "--epochs=1", "--parts=arc", "-qq", "--set=pruner.folds=0", *LITTLE],
    ["inspect", "m"],
    ["parse", "m", "--text", "text.txt", "-o", "out.parquet"],
    ["parse", "m", "a.conllu", "-j", "2", "-o", "out.conllu"],
    ["evaluate", "a.conllu", "out.conllu"],
    ["evaluate", "-m", "m", "a.conllu"],
    ["show", "out.conllu", "-o", "out.html"],
    ["models"],
]


def test_commands_open_no_file_there_that_the_user_has_not_named(tmp_path):
    for name in TRAPS:
        (tmp_path / name).write_text("{")
    (tmp_path / NUMBA).write_text(TRACE)
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "a.conllu").write_text(toy.raw_treebank(40), encoding="utf-8")
    (tmp_path / "text.txt").write_text("Den hund ser en kat.\n")
    command = [sys.executable, "-P", "-c", PROGRAM, json.dumps(COMMANDS)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    opened = json.loads(done.stderr.splitlines()[-1])
    assert (tmp_path / "victim").read_text() == "precious"
    assert "a.conllu" in opened and not [name for name in opened if not NAMED.fullmatch(name)]

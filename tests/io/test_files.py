"""Files that are written: whole or not at all, under names that nobody can guess, with the mode that they had."""

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nonproj.errors import FileError, one_line
from nonproj.io import files, kinds, temporary

ROOT = Path(__file__).resolve().parents[2]


def write(path, text="new") -> None:
    with files.open_output(path) as stream:
        stream.write(text)


def test_temporary_files_have_random_names_and_are_created_exclusively(tmp_path, monkeypatch):
    victim, names = tmp_path / "victim", set()
    victim.write_text("precious")
    for _ in range(2):
        with files.open_binary(tmp_path / "a.txt"):
            names |= {path.name for path in tmp_path.iterdir()} - {"victim", "a.txt"}
    assert len(names) == 2 and all(name.endswith(".txt") for name in names)
    monkeypatch.setattr(temporary.secrets, "token_hex", lambda size: "0" * 16)
    (tmp_path / f"{temporary._OF_THIS_MACHINE}{'0' * 16}.txt").symlink_to(victim)
    with pytest.raises(FileError, match="cannot be written: file exists"):
        write(tmp_path / "a.txt")
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("name", ["a" * 250, "a." + "b" * 248, "é" * 125, "." + "c" * 249])
def test_long_names(tmp_path, name):
    write(tmp_path / name)
    assert (tmp_path / name).read_text() == "new"
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o444])
def test_overwriting_keeps_the_mode(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    with files.open_output(path) as stream:
        if mode == 0o600:
            assert all(stat.S_IMODE(part.stat().st_mode) == 0o600 for part in tmp_path.iterdir())
        stream.write("new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_overwriting_keeps_the_owner(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    os.chown(path, 12345, 23456)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


def test_new_files_have_the_usual_mode_and_other_hard_links_keep_the_old_content(tmp_path):
    (tmp_path / "usual").write_text("old")
    write(tmp_path / "a")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "usual").stat().st_mode
    os.link(tmp_path / "usual", tmp_path / "b")
    write(tmp_path / "usual")
    assert ((tmp_path / "usual").read_text(), (tmp_path / "b").read_text()) == ("new", "old")


KILLED = (
    "import os, sys; from nonproj.io.files import open_binary\nwith open_binary(sys.argv[1]): os.kill(os.getpid(), 9)"
)


@pytest.fixture
def stale(tmp_path) -> Path:
    """The temporary file of a killed run."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.txt")], cwd=ROOT, check=False)
    [path] = tmp_path.iterdir()
    return path


def test_temporary_files_of_killed_runs_are_removed_and_no_others(stale, tmp_path):
    elsewhere = stale.name.replace(temporary._OF_THIS_MACHINE, ".nonproj-00000000-")
    others = [*map(stale.with_name, (stale.name[:-5], elsewhere, stale.name.replace("nonproj", "other")))]
    for path in others:
        path.touch()
    with files.open_binary(tmp_path / "living") as stream:
        stream.write(b"living")
        assert not stale.exists()
        write(tmp_path / "b.txt")
    assert sorted(tmp_path.iterdir()) == sorted([*others, tmp_path / "b.txt", tmp_path / "living"])
    assert (tmp_path / "living").read_bytes() == b"living"


def test_the_file_of_a_process_that_is_about_to_end_is_removed(stale, tmp_path):
    """It still has its lock when the next file is begun, but not when that one is complete."""
    with open(stale, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with files.open_binary(tmp_path / "b") as stream:
            stream.write(b"all")
            assert stale.exists()
            fcntl.flock(lock, fcntl.LOCK_UN)
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_links_to_stale_files_are_not_followed(tmp_path):
    (tmp_path / "victim").write_text("precious")
    link = tmp_path / f"{temporary._OF_THIS_MACHINE}{'0' * 16}"
    link.symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / f"{temporary._OF_THIS_MACHINE}{'1' * 16}")
    write(tmp_path / "a")
    assert (tmp_path / "victim").exists() and link.is_symlink()


@pytest.mark.parametrize("mode", ["ab", "r+b"])
def test_open_descriptors_are_written_at_their_place(tmp_path, mode):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before\n")
    link.symlink_to("/dev/stdout")
    names = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", str(link)]
    code = "import sys; from nonproj.io import files\nfor name in sys.argv[1:]:\n  with files.open_output(name) as s: "
    with open(target, mode) as stream:
        stream.seek(0, os.SEEK_END)
        subprocess.run([sys.executable, "-c", f"{code}s.write('new\\n')", *names], stdout=stream, cwd=ROOT, check=True)
        stream.write(b"after\n")
    assert target.read_text() == "before\n" + "new\n" * 5 + "after\n"


def test_the_descriptor_of_another_process_is_appended_to(tmp_path):
    target = tmp_path / "target"
    with open(target, "wb") as stream, subprocess.Popen(["sleep", "60"], stdout=stream) as process:
        stream.write(b"before ")
        stream.flush()
        write(f"/proc/{process.pid}/fd/1", "new")
        process.kill()
    assert target.read_text() == "before new"


def test_named_pipes_are_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE) as reader:
        write(tmp_path / "pipe", "new")
        assert reader.communicate(timeout=30)[0] == b"new"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_links_and_devices_are_written_to(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write(tmp_path / "link")
    write("/dev/null")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"
    assert not os.path.isfile("/dev/null")


def test_names_of_one_file_are_known_and_what_cannot_be_read_has_no_beginning(tmp_path):
    path, link, twin = tmp_path / "a", tmp_path / "link", tmp_path / "twin"
    path.touch()
    link.symlink_to(path)
    os.link(path, twin)
    assert files.identity(path, 1) == files.identity(link, 1) == files.identity(twin, 1)
    assert files.identity(tmp_path / "b", 1) == files.identity(f"{tmp_path}/./b", 1) != files.identity(path, 1)
    assert files.identity("/dev/null", 1) is None
    assert files.identity("-", 1) == files.identity("/dev/stdout", 0) is not None
    assert kinds.beginning_of(str(tmp_path)) == kinds.beginning_of(str(tmp_path / "missing")) == b""


def test_messages_are_one_one_line_line():
    assert str(FileError("a\n\x1b[31m\udce9", "x")) == "a\\n\\x1b[31m\\udce9: x"
    assert one_line("é ü") == "é ü"
    assert len(str(FileError("a" * 10**6, "b" * 10**6))) < 1300

"""Compiled code that others could have written is never executed, wherever its folder is or was named."""

import os
import stat
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest
from command import call_kernel, run_python

from nonproj.kernels import folders
from nonproj.kernels.cache import ENDING, KernelFiles
from nonproj.kernels.folders import cache_folder

ANOTHER = 4_000_000
DIGEST = "0123456789abcdef"
"""The digest of the sources, which need not be read for each test."""


@pytest.fixture(autouse=True)
def _speaking(tmp_path, monkeypatch, caplog):
    """Warnings are recorded, and the folder among the temporary files is a new one."""
    before = os.umask(0o022)
    caplog.set_level("WARNING", "nonproj")
    monkeypatch.setattr(folders, "source_digest", lambda **_: DIGEST)
    (tmp_path / "tmp").mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    yield
    os.umask(before)


@pytest.fixture
def give_away(monkeypatch):
    """Let a file, folder or link appear to be another user's in this process: only root could give it away."""
    given = set()

    def give(path: Path) -> None:
        facts = os.lstat(path)
        given.add((facts.st_dev, facts.st_ino))

    def disguise(look):
        def looked(*args, **options):
            facts = look(*args, **options)
            theirs = (facts.st_dev, facts.st_ino) in given
            return os.stat_result([*facts[:4], ANOTHER, *facts[5:]]) if theirs else facts

        return looked

    for name in ("lstat", "fstat"):
        monkeypatch.setattr(os, name, disguise(getattr(os, name)))
    return give


class Planted:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.fixture(params=["NONPROJ_CACHE", "XDG_CACHE_HOME", "HOME"])
def named(request, tmp_path, monkeypatch) -> Path:
    """The folder of all compiled code, within one that an environment variable names; it exists, with one above it."""
    for name in ("NONPROJ_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(request.param, str(tmp_path / "above" / "named"))
    below = {"NONPROJ_CACHE": "", "XDG_CACHE_HOME": "nonproj", "HOME": ".cache/nonproj"}[request.param]
    folder = tmp_path / "above" / "named" / below
    folder.mkdir(parents=True)
    return folder


def assert_refused(folder: Path, caplog, belongs: bool = False) -> None:
    """Another folder is used, and one line says why: others can write to a folder, or it belongs to another user."""
    shared = Path(tempfile.gettempdir()) / f"nonproj-{os.geteuid()}"
    assert cache_folder() == shared / DIGEST
    reason, remedy = f"others can write to {folder}", f"run chmod go-w {folder}, or "
    if belongs:
        reason, remedy = f"{folder} belongs to another user, {ANOTHER}", ""
    remedy += "set NONPROJ_CACHE to a folder of your own"
    assert caplog.messages == [f"{reason}, so compiled code is kept in {shared}; {remedy}"]


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o2770, None])
@pytest.mark.parametrize("which", ["folder", "above", "version"])
def test_a_folder_of_others_is_not_used_wherever_it_was_named(which, mode, named, tmp_path, caplog, give_away):
    """One that others can write to, or that of another user; for root, too, to whom all are writable."""
    folder = {"folder": named, "above": tmp_path / "above", "version": named / DIGEST}[which]
    folder.mkdir(exist_ok=True)
    give_away(folder) if mode is None else folder.chmod(mode)
    assert_refused(folder, caplog, mode is None)


def test_in_a_sticky_folder_others_cannot_replace_what_is_not_theirs(named, tmp_path, caplog, give_away):
    (tmp_path / "above").chmod(0o1777)
    named.chmod(0o1777)
    assert cache_folder() == named / DIGEST
    (named / DIGEST).chmod(0o1777)  # but they can make files in it
    assert_refused(named / DIGEST, caplog)
    caplog.clear()
    (named / DIGEST).rmdir()
    (named / DIGEST).symlink_to(named.parent)
    give_away(named / DIGEST)
    assert_refused(named / DIGEST, caplog, True)


def test_links_are_followed_if_nobody_else_can_change_them(tmp_path, monkeypatch, caplog, give_away):
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to("one/deep/../second")
    (tmp_path / "one" / "second").symlink_to(tmp_path / "two")
    monkeypatch.setenv("NONPROJ_CACHE", str(tmp_path / "link" / "new"))
    assert cache_folder() == tmp_path / "two" / "new" / DIGEST
    assert not caplog.messages
    give_away(tmp_path / "one")  # who could exchange the second link
    assert_refused(tmp_path / "one", caplog, True)
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("link")
    assert cache_folder().parent.parent == tmp_path / "tmp"  # a circle ends
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
def test_what_is_made_is_private_whatever_the_mask(mask, named, tmp_path, caplog):
    named.rmdir()
    os.umask(mask)
    folder = cache_folder()
    KernelFiles(assert_refused, folder).save("key", "code")
    made = list(named.rglob("*"))
    assert len(made) == 3
    assert all(stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600) for path in [named, *made])
    assert cache_folder() == folder == named / DIGEST
    assert KernelFiles(assert_refused, folder).load("key") == "code"
    assert not caplog.messages


# -- the files ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def planted(tmp_path) -> tuple[KernelFiles, Path, Path]:
    """Files of some function; that of a key, which executes something; and what it then writes."""
    files, mark = KernelFiles(assert_refused, tmp_path / "cache"), tmp_path / "mark"
    (tmp_path / "cache").mkdir(mode=0o700)
    files.save("key", Planted(mark))
    (path,) = tmp_path.rglob(f"*{ENDING}")
    return files, path, mark


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o1666, None])
@pytest.mark.parametrize("which", ["file", "folder"])
def test_a_file_of_others_is_neither_unpickled_nor_kept(which, mode, planted, caplog, give_away):
    """One that they can write to, or that of another user, in whose folder nothing is written."""
    files, path, mark = planted
    changed = path if which == "file" else path.parent
    if mode is None:
        give_away(changed)
    else:
        changed.chmod(mode | (0o111 if which == "folder" else 0))
    assert files.load("key") is files.load("key") is None
    reason = f"others can write to {changed}" if mode else f"{changed} belongs to another user, {ANOTHER}"
    assert caplog.messages == [f"{reason}, so compiled code there is not used; remove it"]  # once
    files.save("key", "code")
    assert files.load("key") == ("code" if which == "file" else None)  # it was replaced
    assert not mark.exists() and os.listdir(path.parent) == [path.name]


def test_neither_a_link_nor_a_pipe_nor_a_file_with_another_s_name_is_read(planted):
    files, path, mark = planted
    files.load("key")
    assert mark.exists()  # one's own file is used
    mark.unlink()
    other = path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")
    assert files.load("key") is None
    path.unlink()
    os.mkfifo(path, 0o600)
    assert files.load("key") is None
    path.unlink()
    files.save("other", "code")
    (path,) = path.parent.glob(f"*{ENDING}")
    other.replace(path)
    assert files.load("other") is None
    assert not mark.exists()


@pytest.mark.thorough
@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="there is no compiled code")
def test_a_process_executes_nothing_that_was_planted(tmp_path):
    """The files have the names of those that it looks for."""
    (tmp_path / "cache").mkdir(mode=0o700)
    variables = {"NONPROJ_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}
    call = partial(call_kernel, **variables)
    assert call()[1] == ""
    paths = list((tmp_path / "cache").rglob(f"*{ENDING}"))
    files = KernelFiles(assert_refused, tmp_path / "mine")
    for path in paths:
        files.save("key", Planted(tmp_path / "mark"))
        (planted,) = (tmp_path / "mine").rglob(f"*{ENDING}")
        path.write_bytes(path.read_bytes()[:32] + planted.read_bytes()[32:])
    (tmp_path / "cache").chmod(0o777)
    result, error = call()
    assert paths and result == "False True True"
    assert error.startswith(f"others can write to {tmp_path / 'cache'}, so compiled code is kept in ")
    assert error.count("\n") == 1
    assert not (tmp_path / "mark").exists()
    (tmp_path / "cache").chmod(0o700)
    call()
    assert (tmp_path / "mark").exists()  # had it not been refused


# -- the folder where the user's own cannot be used --------------------------------------------------------------------


@pytest.fixture
def shared(tmp_path, monkeypatch) -> Path:
    """The folder that is used where the user's own cannot be; it does not exist yet."""
    (tmp_path / "file").touch()
    temporary = tmp_path / "above" / "tmp"
    temporary.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("NONPROJ_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return temporary / f"nonproj-{os.geteuid()}"


def assert_private(folder: Path) -> None:
    found = os.lstat(folder)
    assert (found.st_mode, found.st_uid) == (stat.S_IFDIR | 0o700, os.geteuid())


def assert_avoided(shared: Path, caplog) -> None:
    """A new folder is used instead, and the user is told."""
    folder = cache_folder()
    assert_private(folder)
    assert shared not in (folder, *folder.parents)
    assert folder.parent == shared.parent
    remedy = "set NONPROJ_CACHE to a folder of your own"
    assert caplog.messages == [f"others can write to {shared}, so compiled code is not kept; {remedy}"]


def test_elsewhere_it_is_made_for_this_user_alone_whatever_the_mask(shared, caplog):
    os.umask(0)
    assert cache_folder() == shared / DIGEST
    assert_private(shared)
    assert_private(shared / DIGEST)
    assert cache_folder() == shared / DIGEST
    assert not caplog.records


@pytest.mark.parametrize("planted", [0o777, 0o770, 0o755, 0o2777, "within", "link", "broken link", "file", "given"])
def test_what_others_can_open_or_have_put_there_is_not_used(planted, shared, caplog, give_away):
    (shared.parent / "elsewhere").mkdir(mode=0o700)
    if planted == "file":
        shared.touch()
    elif planted in ("link", "broken link"):
        shared.symlink_to("elsewhere" if planted == "link" else "missing")
    elif planted == "given":
        shared.mkdir(mode=0o700)
        give_away(shared)
    else:
        (shared / DIGEST).mkdir(parents=True)
        shared.chmod(0o700 if planted == "within" else planted)
        (shared / DIGEST).chmod(0o777 if planted == "within" else 0o700)
    assert_avoided(shared, caplog)
    assert not list((shared.parent / "elsewhere").iterdir())


def test_a_folder_that_others_could_rename_is_not_used(shared, caplog):
    for folder in (shared.parent, shared.parent.parent):
        folder.chmod(0o777)
        assert_avoided(shared, caplog)
        folder.chmod(0o1777)
        assert cache_folder() == shared / DIGEST
        caplog.clear()


def test_neither_home_nor_a_known_user(shared, monkeypatch):
    monkeypatch.delenv("NONPROJ_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert cache_folder() == shared / DIGEST
    monkeypatch.setenv("NONPROJ_CACHE", str(shared / "mine"))
    assert cache_folder() == shared / "mine" / DIGEST


def test_no_folder_at_all(shared, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(shared / "missing"))
    assert cache_folder() is None


def test_a_folder_for_one_process_is_removed_at_its_end(shared):
    shared.touch()
    program = "from nonproj.kernels.folders import kept_in; print(kept_in())"
    done = run_python(program, TMPDIR=str(shared.parent))
    assert done.stdout.startswith(f"{shared.parent}/nonproj-")
    assert not Path(done.stdout.strip()).exists()
    assert done.stderr.startswith(f"others can write to {shared}, ")
    assert done.stderr.count("\n") == 1


def test_the_time_of_a_folder_is_that_of_its_last_use(shared):
    folder = cache_folder()
    os.utime(folder, (0, 0))
    assert cache_folder() == folder and time.time() - folder.stat().st_mtime < 3600

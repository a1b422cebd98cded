"""The folder of compiled code: numba executes its contents, so nobody else may write to it."""

import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from nonproj.kernels.folders import cache_folder, source_digest


@pytest.fixture
def shared(tmp_path, monkeypatch, caplog) -> Path:
    """The folder that is used where the user's own cannot be; it does not exist yet."""
    caplog.set_level("WARNING", "nonproj")  # other tests may have run quiet commands
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
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [f"others can write to {shared}"]


def test_elsewhere_it_is_made_for_this_user_alone_whatever_the_mask(shared, caplog):
    mask = os.umask(0)
    try:
        assert cache_folder() == shared / source_digest()
    finally:
        os.umask(mask)
    assert_private(shared)
    assert_private(shared / source_digest())
    assert cache_folder() == shared / source_digest()
    assert not caplog.records


@pytest.mark.parametrize("planted", [0o777, 0o770, 0o755, 0o2777, "within", "link", "broken link", "file"])
def test_what_others_can_open_or_have_put_there_is_not_used(planted, shared, caplog):
    (shared.parent / "elsewhere").mkdir(mode=0o700)
    if planted == "file":
        shared.touch()
    elif planted in ("link", "broken link"):
        shared.symlink_to("elsewhere" if planted == "link" else "missing")
    else:
        (shared / source_digest()).mkdir(parents=True)
        shared.chmod(0o700 if planted == "within" else planted)
        (shared / source_digest()).chmod(0o777 if planted == "within" else 0o700)
    assert_avoided(shared, caplog)
    assert not list((shared.parent / "elsewhere").iterdir())


def test_a_folder_of_another_user_is_not_used(shared, monkeypatch, caplog):
    shared.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    shared.rename(shared.parent / "nonproj-4000000")
    folder = cache_folder()
    assert folder.parent == shared.parent and folder.name != "nonproj-4000000"
    assert "others can write to" in caplog.text


def test_a_folder_that_others_could_rename_is_not_used(shared, caplog):
    for folder in (shared.parent, shared.parent.parent):
        folder.chmod(0o777)
        assert_avoided(shared, caplog)
        folder.chmod(0o1777)
        assert cache_folder() == shared / source_digest()
        caplog.clear()


def test_neither_home_nor_a_known_user(shared, monkeypatch):
    monkeypatch.delenv("NONPROJ_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    assert cache_folder() == shared / source_digest()
    monkeypatch.setenv("NONPROJ_CACHE", str(shared / "mine"))
    assert cache_folder() == shared / "mine" / source_digest()


def test_no_folder_at_all(shared, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(shared / "missing"))
    assert cache_folder() is None


def test_a_folder_for_one_process_is_removed_at_its_end(shared):
    shared.touch()
    program = "from nonproj.kernels.folders import kept_in; print(kept_in())"
    environment = os.environ | {"TMPDIR": str(shared.parent)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{shared.parent}/nonproj-")
    assert not Path(done.stdout.strip()).exists()
    assert done.stderr.startswith(f"others can write to {shared}, ")
    assert done.stderr.count("\n") == 1


def test_the_time_of_a_folder_is_that_of_its_last_use(shared):
    folder = cache_folder()
    os.utime(folder, (0, 0))
    assert cache_folder() == folder and time.time() - folder.stat().st_mtime < 3600

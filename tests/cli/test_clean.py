"""``nonproj clean``: what it lists and removes, and above all what it never touches."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from nonproj.cli.main import main
from nonproj.kernels import cleaning, kernel

OLD, RECENT, FOREIGN = "00000000000000aa", "00000000000000bb", "00000000000000zz"
DAY = 86400.0
KERNEL = "nonproj.dual/course._follow-12.0123456789abcdef.nbc"
PARTIAL = f"{KERNEL}.tmp.fedcba9876543210"


def write(path, size=1000, age=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (time.time() - age,) * 2)
    return path


def set_age(folder, days):
    os.utime(folder, (time.time() - days * DAY,) * 2)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with an old folder, a recent one and that of this installation; all others are out of reach."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NONPROJ_CACHE", str(folder))
    monkeypatch.setattr(cleaning, "shared_folder", lambda: tmp_path / "none")
    own = kernel.cache_folder()
    assert own.parent == folder
    monkeypatch.setattr(cleaning, "kept_in", lambda: own)
    for name in (OLD, RECENT, own.name):
        write(folder / name / KERNEL)
    set_age(folder / OLD, 31)
    set_age(folder / RECENT, 2.5)
    return folder


def clean(capsys, *words, code=0):
    """Run the command; return its lines without the sizes, and its messages."""
    capsys.readouterr()
    assert main(["clean", *words]) == code
    out, error = capsys.readouterr()
    return out, error


def tree(folder):
    """Return everything in a folder, with contents and targets of links."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def test_kernels_that_nobody_has_used_for_long_are_removed(cache, capsys):
    own = kernel.cache_folder().name
    out, error = clean(capsys)
    assert sorted(path.name for path in cache.iterdir()) == sorted([RECENT, own])
    assert (cache / RECENT / KERNEL).is_file() and (cache / own / KERNEL).is_file()
    assert f"0.0 MB  {cache / OLD}  used 31 days ago: removed\n" in out
    assert f"{cache / RECENT}  used 2 days ago: kept\n" in out
    assert f"{cache / own}  used today by this installation: kept\n" in out
    assert out.endswith("removed 0.0 MB, kept 0.0 MB\n") and not error


def test_nothing_is_removed_in_a_dry_run(cache, capsys):
    before = tree(cache.parent)
    for words in (["--dry-run"], ["--dry-run", "--all", "--unused", "0"]):
        out, _ = clean(capsys, *words)
        assert "31 days ago: would be removed" in out and "would remove 0.0 MB" in out
        assert tree(cache.parent) == before


def test_sizes_are_those_of_the_files(cache, capsys):
    write(cache / OLD / "nonproj.trees" / "a._b-1.00000000000000aa.nbc", 2_500_000)
    set_age(cache / OLD, 40)
    out, _ = clean(capsys)
    assert f"       2.5 MB  {cache / OLD}  used 40 days ago: removed\n" in out
    assert "removed 2.5 MB, kept 0.0 MB" in out


@pytest.mark.parametrize(("days", "left"), [("0", 1), ("2", 1), ("3", 2), ("32", 3)])
def test_unused_sets_the_age(cache, capsys, days, left):
    clean(capsys, "--unused", days)
    assert len(list(cache.iterdir())) == left


def test_all_removes_the_kernels_of_this_installation_too(cache, capsys):
    out, _ = clean(capsys, "--all")
    assert list(cache.iterdir()) == [] and out.count(": removed") == 3


def test_only_incomplete_files_of_killed_processes_are_removed_from_a_folder_in_use(cache, capsys):
    own = kernel.cache_folder()
    stale, fresh = write(own / PARTIAL, age=2 * 3600), write(own / f"{PARTIAL[:-1]}1")
    out, _ = clean(capsys)
    assert not stale.exists() and fresh.exists() and (own / KERNEL).exists()
    assert f"{own}  incomplete files: removed\n" in out


@pytest.fixture
def foreign(cache):
    """Files of others, within the cache folder and beside it; links to them."""
    home = cache.parent / "home"
    write(home / "thesis.tex")
    write(home / KERNEL)
    write(cache / "notes.txt")
    write(cache / OLD / "thesis.tex")
    write(cache / OLD / "nonproj.dual" / "model.nonproj")
    write(cache / OLD / "nonproj.dual" / "a.nbc")
    write(cache / FOREIGN / KERNEL)
    write(cache / "0123456789abcdef0" / KERNEL)
    (cache / "00000000000000cc").symlink_to(home)
    (cache / OLD / "linked").symlink_to(home)
    (cache / OLD / "nonproj.dual" / "linked._a-1.0123456789abcdef.nbc").symlink_to(home / "thesis.tex")
    for folder in (cache / OLD, cache / FOREIGN):
        set_age(folder, 50)
    return home


def test_nothing_else_is_ever_removed(cache, foreign, capsys):
    expected = tree(cache.parent)
    for name in (KERNEL, "nonproj.dual/linked._a-1.0123456789abcdef.nbc"):
        del expected[f"cache/{OLD}/{name}"]  # a link with the name of a kernel is removed, not what it points at
    del expected[f"cache/{RECENT}"], expected[f"cache/{RECENT}/nonproj.dual"], expected[f"cache/{RECENT}/{KERNEL}"]
    own = kernel.cache_folder().name
    del expected[f"cache/{own}"], expected[f"cache/{own}/nonproj.dual"], expected[f"cache/{own}/{KERNEL}"]
    clean(capsys, "--all", "--unused", "0")
    assert tree(cache.parent) == expected


def test_a_home_folder_as_cache_loses_nothing(tmp_path, cache, monkeypatch, capsys):
    home = tmp_path / "somebody"
    for name in ("thesis.tex", ".cache/nonproj/x.nbc", "deadbeefdeadbeef/secret.key", "nonproj/__init__.py"):
        write(home / name)
    before = tree(home)
    monkeypatch.setenv("NONPROJ_CACHE", str(home))
    clean(capsys, "--all")
    assert tree(home) == before


def test_a_cache_that_is_a_link_is_cleaned(cache, capsys):
    cache.rename(cache.parent / "disk")
    cache.symlink_to(cache.parent / "disk")
    clean(capsys)
    assert cache.is_symlink() and not (cache / OLD).exists() and (cache / RECENT).exists()


@pytest.mark.parametrize("kind", ["missing", "file", "dangling"])
def test_without_a_cache_there_is_nothing_to_do(kind, tmp_path, cache, monkeypatch, capsys):
    place = tmp_path / "place"
    if kind == "file":
        place.touch()
    elif kind == "dangling":
        place.symlink_to(tmp_path / "nowhere")
    monkeypatch.setenv("NONPROJ_CACHE", str(place))
    assert clean(capsys) == ("removed 0.0 MB, kept 0.0 MB\n", "")


def test_neither_home_nor_a_known_user(cache, monkeypatch, capsys):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cleaning, "own_folder", unknown)
    assert clean(capsys) == ("removed 0.0 MB, kept 0.0 MB\n", "")


def test_what_cannot_be_removed_is_reported_and_the_rest_is_removed(cache, monkeypatch, capsys):
    """By an error of the system call, because permissions do not apply to every user."""
    write(cache / "00000000000000ab" / KERNEL)
    set_age(cache / "00000000000000ab", 60)
    unlink, locked = os.unlink, os.stat(cache / OLD / KERNEL).st_ino

    def refuse(name, *, dir_fd=None):
        if os.stat(name, dir_fd=dir_fd).st_ino == locked:
            raise PermissionError(13, "Permission denied", str(cache / OLD / KERNEL))
        unlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", refuse)
    out, error = clean(capsys, code=2)
    assert error == f"nonproj: {cache / OLD / KERNEL}: cannot be removed: permission denied\n"
    assert f"{cache / OLD}  used 31 days ago: cannot be removed\n" in out
    assert (cache / OLD / KERNEL).exists() and not (cache / "00000000000000ab").exists()


def test_two_at_a_time(cache, capsys):
    for number in range(300):
        write(cache / OLD / f"nonproj.dual/a._b-{number}.0123456789abcdef.nbc")
    set_age(cache / OLD, 40)
    program = "from nonproj.cli.main import main; raise SystemExit(main(['clean']))"
    other = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for _ in range(20):
        assert main(["clean"]) == 0
    assert other.communicate()[1] == b"" and other.returncode == 0
    assert not (cache / OLD).exists()


def test_use_of_a_folder_is_recorded_once_a_day(cache):
    own = kernel.cache_folder()
    for days, recorded in ((0.9, False), (1.1, True), (400, True)):
        set_age(own, days)
        assert kernel.cache_folder() == own
        assert (time.time() - own.stat().st_mtime < 60) == recorded

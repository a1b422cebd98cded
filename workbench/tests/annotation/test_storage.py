"""The file on disk: bytes, lock, journal."""

import gzip
import itertools
import json
import os
import shutil
import stat
import threading
import time

import pytest
from opening import opened, sentence, wait_until

from nonproj.errors import DataError, FileError
from nonproj.io.checks import ReadingRules
from nonproj_workbench.annotation import replacing, storage, writing
from nonproj_workbench.annotation.storage import LockError, Storage, read_texts

TEXTS = ["# a\n" + sentence(0, 1), sentence(2, 0), "\n" + sentence(0)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text("".join(TEXTS), newline="")
    return path


def snapshot(path, folder):
    """Return the content that another process finds if this one is killed now."""
    folder.mkdir()
    for each in path.parent.glob("trees*"):
        shutil.copy(each, folder / each.name)
    return folder / path.name


def read(path):
    return path.read_bytes().decode()


def test_texts_are_the_file(path):
    with_bytes = Storage(path)
    assert with_bytes.texts == TEXTS
    with_bytes.close(None)
    assert read(path) == "".join(TEXTS) and os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + sentence(0),
        sentence(0).replace("\n", "\r\n"),
        sentence(0).rstrip("\n"),
        sentence(0) + "\n\n\n",
        sentence("nonsense", 9),
        "# c\n# annotation = done\n" + sentence(2, 1),
        "1\tשלום\u2028\t_\t_\t_\t_\t0\tx\t_\t_\n\n",
    ],
)
def test_bytes_survive(tmp_path, text):
    with opened(tmp_path / "a.conllu", text) as client:
        client.get("file"), client.get("sentence/0")
        client.session._writer.write()
    assert (tmp_path / "a.conllu").read_bytes() == text.encode()


def test_compressed_files(tmp_path):
    path = tmp_path / "a.conllu.gz"
    path.write_bytes(gzip.compress("".join(TEXTS).encode()))
    with opened(path) as client:
        client.edit(0, "done", value=True)
    marked = TEXTS[0].replace("# a\n", "# a\n# annotation = done\n")
    assert gzip.decompress(path.read_bytes()).decode() == marked + "".join(TEXTS[1:])
    (tmp_path / "b.conllu").write_bytes(path.read_bytes())
    with pytest.raises(FileError, match="is compressed by gzip; rename it"):
        Storage(tmp_path / "b.conllu")


def test_a_killed_process_loses_nothing(path, tmp_path):
    with opened(path) as client:
        client.edit(0, "head", word=1, head=2)
        client.edit(1, "join_sentences")
        client.edit(0, "done", value=True)
        wanted = client.session.treebank.texts
        killed = snapshot(path, tmp_path / "killed")
    assert read(killed) == "".join(TEXTS)
    again = Storage(killed)
    assert again.texts == wanted and again.repeated == 3
    again.close(again.texts)
    assert read(killed) == "".join(wanted) == read(path)
    assert [each.name for each in killed.parent.iterdir()] == [killed.name]


def test_a_process_killed_while_it_writes(path, tmp_path, monkeypatch):
    """Before the file is replaced, after it while the journal is still there, and after another edit."""
    with opened(path) as client:
        client.edit(0, "done", value=True)
        write = Storage.write
        taken = []

        def written(self, texts, digest):
            taken.append(snapshot(path, tmp_path / "before"))
            write(self, texts, digest)
            taken.append(snapshot(path, tmp_path / "after"))

        monkeypatch.setattr(Storage, "write", written)
        client.session._writer.write()
        monkeypatch.undo()
        client.edit(1, "done", value=True)
        taken.append(snapshot(path, tmp_path / "later"))
        texts = client.session.treebank.texts
    for folder, repeated in zip(taken, (1, 0, 1), strict=True):
        found = Storage(folder)
        assert found.repeated == repeated
        assert found.texts[0] == texts[0] and found.texts[1] == (texts[1] if folder is taken[2] else TEXTS[1])
        found.close(None)


def test_an_incomplete_line_of_the_journal_is_left_out(path, tmp_path):
    with opened(path) as client:
        client.edit(0, "done", value=True)
        killed = snapshot(path, tmp_path / "killed")
    journal = killed.with_name(killed.name + storage.SUFFIX)
    journal.write_bytes(journal.read_bytes() + b'{"at": 1, "remove": 1, "ins')
    found = Storage(killed)
    assert found.repeated == 1 and "annotation" in found.texts[0]
    found.add(1, 1, ["x"])  # the next line is a line of its own
    lines = journal.read_bytes().split(b"\n")
    assert json.loads(lines[-2])["insert"] == ["x"]
    found.close(None)


def test_a_file_changed_after_a_kill_is_not_overwritten(path, tmp_path):
    with opened(path) as client:
        client.edit(0, "done", value=True)
        killed = snapshot(path, tmp_path / "killed")
    killed.write_text(sentence(0))
    with pytest.raises(LockError, match="was changed by another program after 1 edits that are only in"):
        Storage(killed)
    assert read(killed) == sentence(0) and killed.with_name(killed.name + storage.SUFFIX).stat().st_size


def test_a_file_changed_meanwhile_is_not_overwritten(path):
    with pytest.raises(LockError, match="changed by another program"), opened(path) as client:
        client.edit(0, "done", value=True)
        path.write_text(sentence(0, 1))
        client.session._writer.write()
        assert "changed by another program" in client.get("status")["saved"]
        assert "changed by another program" in client.edit(1, "done", 423, value=True)["error"]
    assert read(path) == sentence(0, 1)


def rewrite(path, text):
    """Another program that empties the file and writes it anew."""
    path.write_text(text)


def replace(path, text):
    """Another program that writes a new file and renames it, as editors do."""
    other = path.with_name("other")
    other.write_text(text)
    other.rename(path)


def keep_size_and_time(path, text):
    """Another program that writes as many bytes, and restores the time, as synchronization does."""
    facts = path.stat()
    path.write_text(text)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (facts.st_size, facts.st_mtime_ns)


class Texts(list):
    """Sentences that call ``event`` when they are written."""

    def __iter__(self):
        self.event()
        return super().__iter__()


MOMENTS = ("before", "during", "at the last moment")


@pytest.mark.parametrize("change", [rewrite, replace, keep_size_and_time])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_change_by_another_program_is_not_lost_whenever_it_is_made(path, change, moment, monkeypatch):
    if moment == "at the last moment" and not exchanges(path.parent):
        pytest.skip("the system cannot exchange two files in one step")
    other, open_storage = "".join(TEXTS).replace("x", "y"), Storage(path)
    edited = Texts(["# annotation = done\n" + TEXTS[0], *TEXTS[1:]])
    edited.event = lambda: change(path, other) if moment == "during" else None

    open_storage.add(0, 1, edited[:1])
    digest = open_storage.mark(list(TEXTS))  # that of the sentences plays no part
    if moment == "before":
        change(path, other)
    with monkeypatch.context() as patch:
        if moment == "at the last moment":
            exchange = replacing._exchange
            patch.setattr(replacing, "_exchange", lambda *names: change(path, other) or exchange(*names))
        with pytest.raises(LockError, match="changed by another program and is left as it is"):
            open_storage.write(edited, digest)
    assert read(path) == other
    with pytest.raises(LockError, match="changed by another program"):
        open_storage.close(edited)
    assert read(path) == other
    assert sorted(os.listdir(path.parent)) == [path.name, path.name + storage.SUFFIX]
    records = [json.loads(line) for line in read(path.with_name(path.name + storage.SUFFIX)).splitlines()]
    assert [record["insert"] for record in records if "insert" in record] == [[edited[0]]]


def exchanges(folder):
    """Whether two files in a folder can be exchanged in one step."""
    first, second = folder / "first", folder / "second"
    first.write_text("1"), second.write_text("2")
    done = replacing._exchange(first, second)
    assert not done or (first.read_text(), second.read_text()) == ("2", "1")
    first.unlink(), second.unlink()
    return done


def test_without_exchanges_a_file_is_renamed(path, monkeypatch):
    monkeypatch.setattr(replacing, "_exchange", lambda first, second: False)
    with opened(path) as client:
        client.edit(0, "done", value=True)
    assert "annotation" in read(path) and os.listdir(path.parent) == [path.name]


def test_edits_go_on_while_the_file_is_replaced(path, monkeypatch):
    """An edit between the renaming and the record of the new file is not taken for another program's change."""
    with opened(path) as client:
        client.edit(0, "done", value=True)
        exchange, started, answers = replacing._exchange, threading.Event(), []

        def slow(first, second):
            done = exchange(first, second)
            started.set()
            time.sleep(0.3)
            return done

        monkeypatch.setattr(replacing, "_exchange", slow)
        writing = threading.Thread(target=client.session._writer.write)
        writing.start()
        started.wait(30)
        answers.append(client.edit(1, "done", value=True))
        writing.join()
        assert client.get("status")["saved"] is True
    assert read(path).count("annotation") == 2


def test_a_lost_lock(path):
    with opened(path) as client:
        path.with_name(path.name + storage.SUFFIX).unlink()
        assert "has lost its lock" in client.edit(0, "done", 423, value=True)["error"]


def test_one_process_at_a_time(path, tmp_path):
    first = Storage(path)
    link = tmp_path / "link.conllu"
    link.symlink_to(path)
    for name in (path, link):
        with pytest.raises(LockError, match="is open in another"):
            Storage(name)
    first.close(None)
    Storage(link).close(None)


def test_the_lock_is_free_when_opening_fails(path):
    path.write_text("nonsense\n")
    for _ in range(2):
        with pytest.raises(DataError, match="1 column"):
            Storage(path)
    assert os.listdir(path.parent) == [path.name]


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        Storage(tmp_path / "none")
    with pytest.raises(FileError, match="not a file"):
        Storage(tmp_path)
    (tmp_path / "empty").write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        Storage(tmp_path / "empty")


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written")
def test_files_that_cannot_be_written(path):
    path.chmod(0o444)
    with pytest.raises(FileError, match="-o OUT writes another file"):
        Storage(path)


def test_the_mode_of_a_file_stays(path):
    path.chmod(0o640)
    with opened(path) as client:
        client.edit(0, "done", value=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_full_disk_refuses_the_edit(path, monkeypatch):
    with opened(path) as client:
        version = client.get("sentence/0")["version"]
        write = os.write

        def full(descriptor, data):
            write(descriptor, data[:10])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(storage.os, "write", full)
        assert "no space left on device" in client.edit(0, "done", 500, value=True)["error"]
        monkeypatch.undo()
        assert client.get("sentence/0")["version"] == version
        client.edit(0, "done", value=True)
    assert read(path).count("annotation") == 1


def test_threads_edit_at_once(path):
    """Every edit is made once; the journal has each of them."""
    with opened(path, "".join(TEXTS)) as client:
        session, errors = client.session, []

        def work(i):
            for k in range(20):
                try:
                    version = session.sentence(i)["version"]
                    session.edit(i, version, {"op": "column", "word": 1, "column": "lemma", "value": f"{i}-{k}"})
                except Exception as error:  # noqa: BLE001
                    errors.append(error)

        threads = [threading.Thread(target=work, args=[i]) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
    lemmas = [line.split("\t")[2] for line in read(path).splitlines() if line.startswith("1\t")]
    assert lemmas == ["0-19", "1-19", "2-19"]


def test_reading_is_that_of_the_project(path):
    assert "".join(read_texts("x", path, ReadingRules(ignore_heads=True))) == read(path)


def test_a_journal_of_somebody_else_is_not_used(path):
    journal = path.with_name(path.name + storage.SUFFIX)
    journal.write_text("")
    journal.chmod(0o666)
    with pytest.raises(FileError, match="must belong to you and be writable by nobody else; remove it"):
        Storage(path)
    journal.unlink()
    journal.symlink_to(path)
    with pytest.raises(FileError, match="is a link, which is followed only if you name it yourself; remove it"):
        Storage(path)
    journal.unlink()
    os.mkfifo(journal, 0o600)
    with pytest.raises(FileError, match="is neither a file nor a folder; remove it"):
        Storage(path)


@pytest.mark.parametrize("make", [os.link, shutil.copy])
def test_a_file_that_is_no_journal_is_not_emptied(path, make, tmp_path):
    notes = tmp_path / "notes"
    notes.write_text("my notes")
    make(notes, path.with_name(path.name + storage.SUFFIX))
    with pytest.raises(FileError, match="has other names|is not a journal of 'nonproj annotate'; move it elsewhere"):
        Storage(path)
    assert notes.read_text() == path.with_name(path.name + storage.SUFFIX).read_text() == "my notes"


def test_a_failure_to_write_is_tried_again_after_a_while(path, monkeypatch):
    """Not at once, which would fill the journal; when it succeeds, the error is gone."""
    monkeypatch.setattr(writing, "LONGEST_DELAY", 0.5)
    monkeypatch.setattr(writing, "DELAY", 0.0)
    attempts = []

    def failing(self, texts, digest):
        attempts.append(time.monotonic())
        raise FileError("trees.conllu", "cannot be written: no space left on device")

    with opened(path) as client:
        with monkeypatch.context() as patch:
            patch.setattr(Storage, "write", failing)
            client.edit(0, "done", value=True)
            wait_until(lambda: len(attempts) >= 3)
            assert "no space left" in client.get("status")["saved"]
        assert min(b - a for a, b in itertools.pairwise(attempts)) >= 0.5
        wait_until(lambda: client.get("status")["saved"] is True)
        assert "annotation" in read(path)


def test_other_columns_than_those_of_conllu_are_not_edited(tmp_path):
    path = tmp_path / "a.conllup"
    for names in ("ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC X:Y", "ID FORM"):
        row = ["1", "x", *"________0"][: len(names.split())]
        path.write_text(f"# global.columns = {names}\n" + "\t".join(row) + "\n\n")
        with pytest.raises(FileError, match="has other columns than the ten of CoNLL-U"):
            read_texts("a.conllup", path, ReadingRules())

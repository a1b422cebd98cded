"""Cases, outcomes, failures; a lane runs case after case and keeps the figures."""

from __future__ import annotations

import hashlib
import json
import mmap
import random
import resource
import struct
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAVE_EVERY = 5.0
"""Seconds between two updates of a results file."""

_STATE = struct.Struct("<qd")


class BreachError(Exception):
    """A property does not hold; the argument says which."""


class ExhaustedError(Exception):
    """A lane has no further cases."""


class UnavailableError(Exception):
    """A lane cannot run here; the argument names what is missing."""


class Lane:
    """A kind of attack.

    Parameters
    ----------
    folder : Path
        A folder for the lane's own files, which exists.

    Attributes
    ----------
    name : str
        Name of the lane, on the command line.
    current : dict of str to bytes
        The files that reproduce the present case, set before it runs.
    notes : dict
        Further figures for the results file.
    until : float
        Time at which the lane ends, by `time.monotonic`.
    memory : int
        Bytes of address space that cases may take beyond what the lane has when it begins, so that a forgery that
        takes too much of it is noticed; 0 if there is no limit.
    """

    name = ""
    memory = 0
    until = float("inf")

    def __init__(self, folder: Path):
        self.folder = folder
        self.current: dict[str, bytes] = {}
        self.notes: dict = {}

    def case(self, rng: random.Random, number: int) -> str:
        """Run one case and return its outcome in a word or two; an exception is a failure."""
        raise NotImplementedError

    def limit_memory(self) -> None:
        """Limit this process, which must be the lane's own, to `memory`."""
        if self.memory:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (used + self.memory, hard))

    def close(self) -> None:
        """Check for leftovers of the cases, and end the processes of the lane."""


@dataclass
class Results:
    """The figures of a lane with one seed; they are kept in a file and continued by the next run.

    Attributes
    ----------
    lane, seed : str and int
    source : str
        Digest of the sources that were attacked.
    tried, next : int
        Cases that ran, and the number of the next one.
    outcomes : dict of str to int
    failures : list of dict
        Failures: the number of the case, the error, and the files.
    processor_seconds, seconds : float
    peak_mb : float
        The largest memory of the process, in megabytes.
    notes : dict
    """

    lane: str
    seed: int
    source: str
    tried: int = 0
    next: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    failures: list[dict] = field(default_factory=list)
    processor_seconds: float = 0.0
    seconds: float = 0.0
    peak_mb: float = 0.0
    notes: dict = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, lane: str, seed: int) -> Results:
        """Return the figures in a file, or new ones without a file or after changes of the sources."""
        new = cls(lane, seed, source_digest())
        if path.exists():
            old = cls(**json.loads(path.read_text(encoding="utf-8")))
            if old.source == new.source:
                return old
        return new

    def save(self, path: Path) -> None:
        """Write the figures."""
        temporary = path.with_name(path.name + ".part")
        temporary.write_text(json.dumps(asdict(self), indent=1, sort_keys=True) + "\n", encoding="utf-8")
        temporary.replace(path)


def source_digest() -> str:
    """Return a digest of the sources of nonproj and of the attack, 12 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(
        [*ROOT.glob("nonproj/**/*.py"), *ROOT.glob("features/**/*.yaml"), *ROOT.glob("research/attack/*.[pc]*")]
    ):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def results_path(out: Path, lane: str, seed: int) -> Path:
    """Return the path of a lane's results."""
    return out / f"{lane}-{seed}.json"


def generator(lane: str, seed: int, number: int) -> random.Random:
    """Return the random numbers of one case, which depend on nothing else.

    Examples
    --------
    >>> generator("reads", 1, 7).random() == generator("reads", 1, 7).random()
    True
    """
    return random.Random(f"{lane}/{seed}/{number}")


class Progress:
    """The number of the present case and when it began, in a file that survives a crash.

    Parameters
    ----------
    path : Path
    new : bool
        Whether to start with case -1.
    """

    def __init__(self, path: Path, new: bool = False):
        if new:
            path.write_bytes(_STATE.pack(-1, time.monotonic()))
        with open(path, "r+b") as stream:
            self._map = mmap.mmap(stream.fileno(), _STATE.size)

    def begin(self, number: int) -> None:
        """Record that a case begins."""
        self._map[:] = _STATE.pack(number, time.monotonic())

    def read(self) -> tuple[int, float]:
        """Return the number of the case, and the seconds since it began."""
        number, began = _STATE.unpack(self._map[:])
        return number, time.monotonic() - began


def run(lane: Lane, results: Results, out: Path, seconds: float, progress: Progress | None = None) -> Results:
    """Run cases for some time.

    Parameters
    ----------
    lane : Lane
    results : Results
        Continued from its ``next`` case; saved to ``out`` every few seconds.
    out : Path
        Folder of the results; the files of failures go to its folder ``failures``.
    seconds : float
        Time limit; the lane's own deadline may come first.
    progress : Progress, optional

    Returns
    -------
    Results
        The same object.
    """
    path, outcomes = results_path(out, results.lane, results.seed), Counter(results.outcomes)
    began, clock, saved = time.monotonic(), time.process_time(), time.monotonic()
    base, base_clock = results.seconds, results.processor_seconds

    def save() -> None:
        results.outcomes = dict(sorted(outcomes.items()))
        results.seconds = round(base + time.monotonic() - began, 2)
        results.processor_seconds = round(base_clock + time.process_time() - clock, 2)
        results.peak_mb = max(results.peak_mb, round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1))
        results.notes |= lane.notes
        results.save(path)

    while time.monotonic() < min(began + seconds, lane.until):
        number, lane.current = results.next, {}
        if progress:
            progress.begin(number)
        try:
            outcome = lane.case(generator(results.lane, results.seed, number), number)
        except ExhaustedError:
            results.notes["complete"] = True
            break
        except Exception as error:
            outcome = "failed"
            text = str(error) if isinstance(error, BreachError) else traceback.format_exc()
            results.failures.append(keep_failure(lane, results, out, number, text))
        outcomes[outcome] += 1
        results.tried, results.next = results.tried + 1, number + 1
        if outcome == "failed" or time.monotonic() - saved > SAVE_EVERY:
            save()
            saved = time.monotonic()
    try:
        lane.close()
    except BreachError as error:
        results.failures.append({"case": -1, "what": str(error), "files": []})
    save()
    return results


def keep_failure(lane: Lane, results: Results, out: Path, number: int, text: str) -> dict:
    """Save the files of a failed case, and return its entry in the results."""
    folder, names = out / "failures", []
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{results.lane}-{results.seed}-{number}"
    for name, data in (lane.current | {"what.txt": text.encode("utf-8", "backslashreplace")}).items():
        (folder / f"{stem}-{name}").write_bytes(data)
        names.append(f"{stem}-{name}")
    return {"case": number, "what": text[-2000:], "files": names}

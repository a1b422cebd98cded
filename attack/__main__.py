"""``python -m attack``."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from attack import campaign
from nonproj.cli.arguments import Arguments, seconds

LANES = ("reads", "parses", "models", "options", "kills", "writes", "load", "exact")
"""The lanes of ``all``, and of them the share of the time."""

MORE = ("structured", "fuzz")

_SHARES = {
    "reads": 0.2,
    "parses": 0.2,
    "models": 0.2,
    "options": 0.1,
    "kills": 0.1,
    "writes": 0.1,
    "load": 0.05,
    "exact": 0.05,
}
_PATIENCE = {"reads": 30.0, "options": 60.0, "load": 86_400.0, "structured": 600.0, "fuzz": 86_400.0}


def main() -> int:
    """Run lanes or write the page; return 1 if something failed."""
    parser = Arguments(prog="python -m attack", description="Attack nonproj.")
    parser.add_argument("lane", choices=(*LANES, *MORE, "all", "report"), nargs="?", default="all")
    parser.add_argument("--seconds", type=seconds, default=60.0, help="time for the lane, or for all (default: 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=campaign.ROOT / "attack" / "results", help="folder of the results")
    parser.add_argument("--case", type=int, help="run only this case, and let its error appear")
    parser.add_argument("--words", type=int, help="words of the lane of load (default: by its time, up to a million)")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.check_options(sys.argv[1:])
    options = parser.parse_args()
    if options.lane == "report":
        from attack.report import write

        return write(options.out)
    if options.inside:
        return _inside(options)
    if options.case is not None:
        return _one(options)
    from attack.supervisor import supervise

    failed = 0
    for name in LANES if options.lane == "all" else (options.lane,):
        share = options.seconds * (_SHARES[name] if options.lane == "all" else 1.0)
        words = options.words or min(1_000_000, int(500 * share))
        results = supervise(name, options.seed, share, options.out.resolve(), _PATIENCE.get(name, 180.0), words)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in results.outcomes.items())
        sys.stdout.write(f"{name}: {results.tried} tried in {results.seconds:.0f} s: {counts or 'nothing'}\n")
        sys.stdout.flush()
        failed += len(results.failures)
        for failure in results.failures:
            sys.stdout.write(f"FAILED: case {failure['case']}: {failure['what'].strip().splitlines()[-1]}\n")
    return int(failed > 0)


def make_lane(name: str, folder: Path) -> campaign.Lane:
    """Return a lane that works in this folder."""
    module = importlib.import_module(f"attack.{name}")
    return getattr(module, name.capitalize())(folder)


def _inside(options: argparse.Namespace) -> int:
    """Run a lane in this process, which a supervisor has started."""
    from attack.supervisor import UNAVAILABLE

    path = campaign.results_path(options.out, options.lane, options.seed)
    results = campaign.Results.load(path, options.lane, options.seed)
    progress = campaign.Progress(options.inside / "progress")
    try:
        if options.words:
            from attack.load import Load

            Load.words = options.words
        lane = make_lane(options.lane, options.inside)
    except campaign.UnavailableError as error:
        sys.stderr.write(f"{options.lane}: {error}\n")
        results.notes["unavailable"] = str(error)
        results.save(path)
        return UNAVAILABLE
    campaign.run(lane, results, options.out, options.seconds, progress)
    return 0


def _one(options: argparse.Namespace) -> int:
    """Run one case in this process."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        lane = make_lane(options.lane, Path(folder))
        outcome = lane.case(campaign.generator(options.lane, options.seed, options.case), options.case)
    sys.stdout.write(f"{outcome}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

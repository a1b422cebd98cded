"""``python -m research.attack``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from nonproj.cli.arguments import Arguments
from nonproj.cli.values import seconds
from research.attack import campaign
from research.attack.lanes import LANES, Entry, make_lane


def main(program: str = "research.attack", lanes: Mapping[str, Entry] = LANES) -> int:
    """Run lanes or write the page; return 1 if something failed, or a lane had no time to try anything.

    Parameters
    ----------
    program : str
        The package that ``python -m`` runs with these lanes; its folder ``results`` keeps the figures.
    lanes : mapping of str to Entry
    """
    parser = Arguments(prog=f"python -m {program}", description="Attack nonproj.")
    reports = ["report"] * (program == "research.attack")
    parser.add_argument("lane", choices=(*lanes, "all", *reports), nargs="?", default="all")
    parser.add_argument("--seconds", type=seconds, default=60.0, help="time for the lane, or for all (default: 60)")
    parser.add_argument("--seed", type=int, default=1)
    out = campaign.ROOT.joinpath(*program.split("."), "results")
    parser.add_argument("--out", type=Path, default=out, help="folder of the results")
    parser.add_argument("--case", type=int, help="run only this case, and let its error appear")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=float("inf"), help=argparse.SUPPRESS)
    parser.check_options(sys.argv[1:])
    options = parser.parse_args()
    options.program, options.lanes = program, lanes
    if options.lane == "report":
        from research.attack.report import write

        return write(options.out)
    if options.inside:
        return _inside(options)
    if options.case is not None:
        return _one(options)
    deadline, failed = time.monotonic() + options.seconds, 0
    names = list(lanes) if options.lane == "all" else [options.lane]
    for index, name in enumerate(names):
        weights = [lanes[other].weight for other in names[index:]]
        failed += _run(options, name, (deadline - time.monotonic()) * weights[0] / sum(weights))
    return int(failed > 0)


def _run(options: argparse.Namespace, name: str, share: float) -> int:
    """Run a lane within a time limit that includes its preparations; return the number of failures."""
    from research.attack.supervisor import Task, supervise

    task = Task(name, options.seed, options.lanes[name].patience, options.out.resolve(), options.program)
    before = campaign.Results.load(campaign.results_path(task.out, name, task.seed), name, task.seed)
    results = supervise(task, share, limit=share)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in results.outcomes.items())
    sys.stdout.write(f"{name}: {results.tried} tried in {results.seconds:.0f} s: {counts or 'nothing'}\n")
    for failure in results.failures:
        sys.stdout.write(f"FAILED: case {failure['case']}: {(failure['what'].strip().splitlines() or ['?'])[-1]}\n")
    idle = results.tried == before.tried and not {"unavailable", "complete"} & set(results.notes)
    if idle:
        sys.stdout.write(f"FAILED: {name} had no time to try anything in {share:.0f} s; give more by --seconds\n")
    sys.stdout.flush()
    return len(results.failures) + idle


def _inside(options: argparse.Namespace) -> int:
    """Run a lane in this process, which a supervisor has started."""
    from research.attack.supervisor import UNAVAILABLE

    path = campaign.results_path(options.out, options.lane, options.seed)
    results = campaign.Results.load(path, options.lane, options.seed)
    progress = campaign.Progress(options.inside / "progress")
    try:
        lane = make_lane(options.lane, options.inside, options.lanes)
    except campaign.UnavailableError as error:
        sys.stderr.write(f"{options.lane}: {error}\n")
        results.notes["unavailable"] = str(error)
        results.save(path)
        return UNAVAILABLE
    lane.until = options.until
    lane.limit_memory()
    campaign.run(lane, results, options.out, options.seconds, progress)
    return 0


def _one(options: argparse.Namespace) -> int:
    """Run one case in this process."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        lane = make_lane(options.lane, Path(folder), options.lanes)
        try:
            outcome = lane.case(campaign.generator(options.lane, options.seed, options.case), options.case)
        finally:
            lane.close()
    sys.stdout.write(f"{outcome}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

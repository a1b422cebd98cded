"""Runs cases of the attack."""

from pathlib import Path

from research.attack import campaign


def run_cases(lane: campaign.Lane, out: Path, count: int, failures: int = 1000) -> campaign.Results:
    """Run a number of cases of a lane, or until a number of them have failed."""
    cases, results = lane.case, campaign.Results(lane.name, 5, "test")

    def limited(rng, number):
        if number >= count or len(results.failures) >= failures:
            raise campaign.ExhaustedError
        return cases(rng, number)

    lane.case = limited
    try:
        return campaign.run(lane, results, out, 600.0)
    finally:
        lane.case = cases

"""docs/lexicalised.md: its code runs and prints the output shown on the page."""

import numpy as np
from pages import run_page


def test_the_page_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    names = run_page("systems/docs/lexicalised.md", tmp_path, monkeypatch)
    found, instance = names["found"], names["instance"]
    # The claims themselves: the model alone errs, and the joint optimum is that of the integer program.
    assert names["alone"].heads.tolist() != names["wanted"][1:] == instance.heads(found.solution).tolist()
    from nonproj_systems.constituency.dependency_program import joint_optimum

    np.testing.assert_allclose(found.primal_value, joint_optimum(instance))

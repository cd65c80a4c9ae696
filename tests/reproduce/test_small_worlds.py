"""Figures 1, 4 and 7 of Measuring Orthogonality: closed forms, and what the paper says of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unbraid.reproduce import REPRODUCTIONS, Colour
from unbraid.reproduce.run import load_run
from unbraid.reproduce.subspaces.small_worlds import closed_form, lines, planes, small_world_checks

KEPT = Path(__file__).resolve().parents[2] / "docs" / "reproductions"


@pytest.mark.parametrize(("case", "iwo"), [("(i)", 1), ("(ii)", 1), ("(iii)", 1 - 0.64 / 1.64)])
def test_lines_have_the_orthogonality_of_their_angle(case, iwo):
    axes = lines(case)
    np.testing.assert_allclose(np.linalg.norm(axes, axis=0), 1)
    assert closed_form((axes[:, :1], axes[:, 1:])) == pytest.approx(iwo)


@pytest.mark.parametrize(("case", "iwo"), [("(i)", 0.5), ("(ii)", 0.125), ("(iii)", 0.5), ("(iv)", 0.125)])
def test_planes_that_share_an_axis_have_half_the_squared_sine_of_their_angle(case, iwo):
    for basis in planes(case):
        np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    assert closed_form(planes(case)) == pytest.approx(iwo)


def test_a_statement_of_the_paper_that_does_not_hold_is_seen():
    result = load_run(KEPT, REPRODUCTIONS["iwo-figures"]).result
    first, *rest = small_world_checks(result)
    before = first.n_agree
    one, two, three = result.aligned
    entangled = replace(three, disentanglement=replace(three.disentanglement, ours=two.disentanglement.ours))
    changed = small_world_checks(replace(result, aligned=(one, two, entangled)))[0]
    assert changed.n_agree == before - 1
    assert changed.colour is not Colour.GREEN
    assert len(rest) == 2

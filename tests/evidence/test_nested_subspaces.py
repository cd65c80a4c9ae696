import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from helpers.small import run_cli
from unbraid import Representation
from unbraid.evidence.subspaces import nested
from unbraid.evidence.subspaces.geometry import (
    HeadTarget,
    frame_of,
    nested_basis,
    settled_losses,
    sliced_directions,
    slices_of,
    spine_widths,
)
from unbraid.evidence.subspaces.nested import fit_nested, nested_subspaces, nested_subspaces_many
from unbraid.evidence.subspaces.options import NestedTraining, SubspaceOptions
from unbraid.evidence.subspaces.solve import factor_subspaces
from unbraid.probes.splits import stratified_split
from unbraid.representation.factor import make_factor

pytestmark = pytest.mark.slow

NESTED = SubspaceOptions(solver="nested", max_rank=4)
SHORT = NestedTraining(n_steps=250)


def rotation(size, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def gaussian(n_samples, n_codes, seed=0):
    return np.random.default_rng(seed).standard_normal((n_samples, n_codes))


def smallest_cosine(a, b):
    """Of the angles between the spans of two sets of columns."""
    qa, qb = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    return np.linalg.svd(qa.T @ qb, compute_uv=False).min()


def solve(codes, factors, options=NESTED, *, training=SHORT, seed=0, kinds=None):
    rep = Representation(codes, factors, kinds=kinds)
    found = nested_subspaces_many(rep.codes[None], rep.factors, options, np.random.default_rng(seed), training=training)
    return found[0]


@pytest.mark.parametrize(
    ("n_codes", "max_rank", "expected"),
    [
        (1, 10, (1,)),
        (4, 10, (4, 3, 2, 1)),
        (5, 3, (5, 3, 2, 1)),
        (15, 10, (15, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)),
        (250, 3, (12, 6, 3, 2, 1)),
        (9, 1, (4, 2, 1)),
    ],
)
def test_widths_double_beyond_the_largest_rank(n_codes, max_rank, expected):
    assert spine_widths(n_codes, max_rank) == expected


def test_splits_share_out_labelled_rows_with_values_in_proportion():
    values = np.repeat([0.0, 1.0, 2.0, np.nan], [600, 300, 100, 500])[:, None]
    split = stratified_split(values[:, 0], categorical=True, rng=np.random.default_rng(0))
    parts = (split.train, split.validation, split.test)
    assert sorted(np.concatenate(parts)) == list(range(1000))
    for rows, share in zip(parts, (0.70, 0.15, 0.15), strict=True):
        np.testing.assert_allclose(np.bincount(values[rows, 0].astype(int)), share * np.array([600, 300, 100]), atol=3)


@pytest.mark.parametrize("seed", range(20))
def test_ten_rows_are_enough_for_three_parts(seed):
    split = stratified_split(gaussian(10, 1, seed)[:, 0], categorical=False, rng=np.random.default_rng(seed))
    assert min(len(split.train), len(split.validation), len(split.test)) > 0


def test_basis_follows_the_composed_projections():
    rng = np.random.default_rng(0)
    projections = [rng.standard_normal((4, 6))]
    for width in (3, 2, 1):
        projections.insert(0, rng.standard_normal((width, width + 1)) @ projections[0])
    basis = nested_basis(projections)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-12)
    for width, projection in enumerate(projections, start=1):
        assert smallest_cosine(projection.T, basis[:, :width]) > 1 - 1e-10


def test_basis_is_completed_where_a_projection_adds_nothing():
    first = np.array([[0.0, 2.0, 0.0]])
    basis = nested_basis([first, np.vstack([first, 3 * first]), np.vstack([first, np.eye(3)[0], 3 * first])])
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(abs(basis[:, 0]), [0, 1, 0], atol=1e-12)


def test_directions_go_back_through_the_scale_of_the_codes():
    codes = gaussian(500, 3) * [1, 10, 100] + 5
    projection = np.array([[1.0, 1.0, 0.0]])
    frame = frame_of(codes)
    raw = frame.to_codes(projection)
    np.testing.assert_allclose(frame.standardise(codes) @ projection.T, (codes - codes.mean(axis=0)) @ raw.T)


def test_directions_without_variance_are_left_out():
    codes = gaussian(500, 2)
    frame = frame_of(np.column_stack([codes, 2 * codes[:, 0], np.full(500, 7.0)]))
    assert frame.rank == 2
    kept = frame.to_codes(gaussian(1, 4))
    np.testing.assert_allclose(kept @ [[2], [0], [-1], [0]], 0, atol=1e-9)
    assert kept[0, 3] == 0


def test_losses_are_flat_from_the_rank_on_and_never_increase():
    noise = gaussian(4000, 6).T * 0.05
    rows = np.array([1.0, 0.5, 0.6, 0.1, 0.1005, 0.102])[:, None] + noise
    losses = settled_losses(rows)
    np.testing.assert_allclose(losses, [1, 0.5, 0.5, 0.1, 0.1, 0.1], atol=0.005)
    assert (np.diff(losses)[2:] <= 0).all()
    assert (losses[3:] == losses[3]).all()


def test_slices_are_even_and_keep_equal_values_together():
    assert np.bincount(slices_of(np.arange(100.0))).tolist() == [10] * 10
    values = np.repeat([0.0, 1.0, 2.0], [90, 5, 5])
    slices = slices_of(values)
    assert len(np.unique(slices[:90])) == 1
    assert slices.max() == len(np.unique(slices)) - 1


def test_the_first_guess_finds_both_even_and_odd_dependence():
    x = gaussian(5000, 6)
    guess = sliced_directions(x, slices_of(x[:, 0] ** 2 + x[:, 1]))
    np.testing.assert_allclose(guess.T @ guess, np.eye(6), atol=1e-10)
    assert smallest_cosine(np.eye(6)[:, :2], guess[:, :2]) > 0.98


@pytest.mark.parametrize("start", ["slices", "random"])
def test_recovers_a_rotated_plane_and_its_equal_weights(start):
    c, turn = gaussian(4000, 6), rotation(6)
    z = np.sqrt((c[:, :2] ** 2).mean(axis=1))
    (found,) = solve(c @ turn, z, training=NestedTraining(n_steps=500, start=start))
    assert smallest_cosine(turn.T[:, :2], found.basis[:, :2]) > 0.99
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(4), atol=1e-10)
    assert found.losses[0] == pytest.approx(z.var(), rel=0.1)
    np.testing.assert_allclose(found.losses[1:] / found.losses[0], [0.5, 0, 0, 0], atol=0.06)


def test_rescaled_codes_give_directions_in_their_own_coordinates():
    c = gaussian(2000, 3)
    scale = np.array([1.0, 10.0, 100.0])
    (found,) = solve(c * scale + 5, c[:, 0] + c[:, 1])
    expected = np.array([1.0, 0.1, 0.0])
    assert abs(found.basis[:, 0] @ expected) / np.linalg.norm(expected) > 0.999


def test_unlabelled_rows_do_not_count():
    c = gaussian(3000, 4)
    z = np.column_stack([c[:, 0], c[:, 1]])
    wrong = c.copy()
    wrong[1000:] = gaussian(2000, 4, seed=9)  # codes that say nothing of the factor where it has no label
    z[1000:, 0] = np.nan
    first, _ = solve(wrong, z)
    assert abs(first.basis[0, 0]) > 0.99
    assert first.losses[-1] < 0.05 * first.losses[0]
    z[10:, 0] = np.nan
    z[0, 0] = np.nan
    with pytest.raises(ValueError, match="'factor_0' has 9 labelled rows"):
        solve(wrong, z)


@pytest.mark.parametrize("loss", ["likelihood", "zero_one"])
def test_categories_are_classified_beside_numbers(loss):
    rng = np.random.default_rng(0)
    labels = rng.choice(3, size=3000, p=[0.5, 0.3, 0.2])
    c = gaussian(3000, 4)
    c[:, 2] += 6 * labels
    factors = {"number": c[:, 0], "class": np.array(["a", "b", "c"])[labels]}
    number, category = solve(c, factors, SubspaceOptions(solver="nested", max_rank=3, loss=loss))
    assert abs(number.basis[0, 0]) > 0.99
    assert abs(category.basis[2, 0]) > 0.95
    share = np.bincount(labels) / 3000
    baseline = -(share * np.log(share)).sum() if loss == "likelihood" else 1 - share.max()
    assert category.losses[0] == pytest.approx(baseline, rel=0.02)
    assert category.losses[1] < 0.05


def test_an_angle_is_its_cosine_and_sine():
    angle = np.random.default_rng(0).uniform(0, 360, size=3000)
    radians = np.deg2rad(angle)
    c = np.column_stack([gaussian(3000, 2), np.cos(radians), np.sin(radians)])
    (found,) = solve(c, {"angle": angle}, kinds={"angle": "circular:360"})
    assert found.losses[0] == pytest.approx(1.0, rel=0.05)
    np.testing.assert_allclose(found.losses[1:3], [0.5, 0.0], atol=0.1)
    assert smallest_cosine(np.eye(4)[:, 2:], found.basis[:, :2]) > 0.99


def test_an_unpredictable_factor_has_flat_losses():
    (found,) = solve(gaussian(1000, 4), gaussian(1000, 1, seed=5))
    assert (found.losses == found.losses[0]).all()


def test_constant_and_doubled_codes_leave_the_rest_alone():
    c = gaussian(2000, 3)
    codes = np.column_stack([c, np.full(2000, 3.0), c[:, 0]])
    (found,) = solve(codes, c[:, 0] + c[:, 1])
    expected = np.array([0.5, 1, 0, 0, 0.5]) / np.sqrt(1.5)
    assert abs(found.basis[:, 0] @ expected) > 0.999
    np.testing.assert_allclose(found.basis[3], 0, atol=1e-12)
    assert found.basis.shape == (5, 3)


def test_a_representation_that_never_varies_is_carried_along():
    c = gaussian(300, 2)
    factors = [make_factor(c[:, 0], name="a")]
    dead, alive = (
        one[0]
        for one in nested_subspaces_many(
            np.stack([np.ones_like(c), c]), factors, NESTED, np.random.default_rng(0), training=SHORT
        )
    )
    assert (dead.losses == dead.losses[0]).all()
    np.testing.assert_allclose(dead.basis.T @ dead.basis, np.eye(2), atol=1e-12)
    assert abs(alive.basis[0, 0]) > 0.99


def test_one_seed_gives_one_result():
    c = gaussian(500, 3)
    one, same, other = (solve(c, c[:, 0] ** 2, training=NestedTraining(n_steps=60), seed=seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.basis, same.basis)
    np.testing.assert_array_equal(one.losses, same.losses)
    assert (one.losses != other.losses).any()


def test_many_representations_train_as_one():
    c, turn = gaussian(2000, 4), rotation(4)
    factors = (make_factor(c[:, 0], name="a"), make_factor(c[:, 1] ** 2, name="b"))
    plain, turned = nested_subspaces_many(
        np.stack([c, c @ turn]), factors, NESTED, np.random.default_rng(0), training=SHORT
    )
    for k in range(2):
        assert abs(plain[k].basis[k, 0]) > 0.99
        assert abs(turned[k].basis[:, 0] @ turn.T[:, k]) > 0.99
    with pytest.raises(ValueError, match=r"codes must have shape \(n_representations, n_samples, n_codes\)"):
        nested_subspaces_many(c, factors, NESTED, np.random.default_rng(0))


def test_training_stops_when_validation_no_longer_improves(monkeypatch):
    steps = []
    adam = torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self: (steps.append(1), adam(self))[1])
    noise = HeadTarget(values=gaussian(300, 1, seed=3))
    training = NestedTraining(n_steps=2000, check_every=10, patience=3)
    fit_nested(gaussian(300, 3)[None], [noise], max_rank=3, rng=np.random.default_rng(0), training=training)
    assert len(steps) < 500


def test_reached_through_the_options():
    c = gaussian(300, 2)
    found = factor_subspaces(
        Representation(c, c[:, 0]), SubspaceOptions(solver="nested", max_rank=1), np.random.default_rng(0)
    )
    assert found.bases[0].shape == (2, 1)
    assert abs(found.bases[0][0, 0]) > 0.95


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_says_that_there_is_no_gpu():
    options = SubspaceOptions(solver="nested", device="cuda")
    with pytest.raises(ValueError, match="device 'cuda' is not there"):
        nested_subspaces(Representation(gaussian(50, 2), gaussian(50, 1)), options, np.random.default_rng(0))


def test_says_how_to_get_torch(monkeypatch):
    monkeypatch.delitem(sys.modules, "unbraid.evidence.subspaces.nested")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"needs torch.*pip install .*\[torch\]"):
        factor_subspaces(Representation(gaussian(50, 2), gaussian(50, 1)), NESTED, np.random.default_rng(0))


@pytest.mark.parametrize("heads", ["32", "32x32x32", "32x32+norm"])
def test_heads_of_any_depth_find_the_axis(heads):
    rng = np.random.default_rng(0)
    c = rng.normal(size=(1500, 3))
    options = SubspaceOptions(solver="nested", max_rank=2, heads=heads, learning_rate=5e-3, n_steps=250)
    (found,) = nested_subspaces(Representation(c, c[:, 0] + c[:, 1]), options, np.random.default_rng(0))
    assert abs(found.basis[:, 0] @ np.array([1, 1, 0]) / np.sqrt(2)) > 0.98


def test_running_means_take_the_place_of_those_of_the_batch_once_trained():
    """With batch norm, one row alone is predicted as among others."""
    norm = nested._Norm(1, 1, 2, torch.device("cpu"))
    rows = torch.randn(1, 1, 4000, 2, generator=torch.Generator().manual_seed(0)) * 3 + 5
    for _ in range(80):
        norm(rows)
    with torch.no_grad():
        alone, among = norm(rows[:, :, :1]), norm(rows)
    torch.testing.assert_close(alone[0, 0, 0], among[0, 0, 0])
    assert among.mean().abs() < 0.01
    assert abs(among.std() - 1) < 0.01


def test_training_is_kept_by_number_of_axes():
    c = np.random.default_rng(0).normal(size=(1000, 3))
    options = SubspaceOptions(solver="nested", max_rank=3, n_steps=200)
    (found,) = nested_subspaces(Representation(c, c[:, 0] ** 2 + c[:, 1] ** 2), options, np.random.default_rng(0))
    assert found.history[:, 0].tolist() == [50, 100, 150, 200]
    last = found.history[-1, 1:]
    assert last.shape == (3,)
    assert last[0] > 0.3 > last[1]  # one axis leaves half of the loss, two leave none


def test_published_heads_come_with_the_published_training():
    published = SubspaceOptions(solver="nested", heads="512x512x512").training
    assert (published.hidden, published.batch_norm, published.start) == ((512, 512, 512), False, "random")
    assert (published.learning_rate, published.batch_size, published.decay) == (5e-4, 128, False)
    assert SubspaceOptions(solver="nested", heads="256x256+norm").training.batch_norm
    assert SubspaceOptions(solver="nested", n_steps=7).training == replace(NestedTraining(), n_steps=7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": "wide"}, "heads must be the units of each hidden layer, such as 256x256"),
        ({"heads": "0x4"}, "heads must be"),
        ({"heads": "4", "solver": "fast"}, "heads is an option of solver='nested', got solver='fast'"),
        ({"n_steps": 0}, "n_steps must be at least 1, got 0"),
        ({"learning_rate": 1.5}, r"learning_rate must be in \(0, 1\), got 1.5"),
    ],
)
def test_options_of_training_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        SubspaceOptions(**({"solver": "nested"} | options))


def test_the_command_line_takes_heads_and_refits_with_the_fast_solver(tmp_path, capsys):
    codes = np.random.default_rng(0).normal(size=(400, 3))
    path, out = tmp_path / "codes.npz", tmp_path / "out.json"
    np.savez(path, codes=codes, factors=codes[:, :2])
    given = ("solver=nested", "heads=16x16+norm", "learning_rate=0.01", "n_steps=60")
    options = [part for one in given for part in ("--option", f"iwo.{one}")]
    code, _, _ = run_cli(capsys, "score", path, "--metrics", "iwo", *options, "--json", out)
    report = json.loads(out.read_text())
    score = report["scores"]["iwo"]
    assert code == 0
    assert score["low"] <= score["value"] <= score["high"]
    assert report["meta"]["options"]["iwo"]["heads"] == "16x16+norm"

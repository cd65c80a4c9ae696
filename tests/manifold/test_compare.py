"""Two decoders side by side."""

import json

import numpy as np
import pytest
import torch

from helpers.decoders import linear, network, rotation
from unbraid import manifold

ORDER = [2, 0, 1]
TURN = torch.as_tensor(rotation(3))
SCALE = torch.tensor([3.0, 2.0, 1.0], dtype=torch.float64)


def truth(z):
    return (torch.sinh(z) * SCALE) @ TURN


def inverse(x):
    return torch.asinh((x @ TURN.T) / SCALE)


def shuffled(z):
    """The same data with the latents in another order."""
    return truth(z[:, ORDER])


def shuffled_encoder(x):
    return inverse(x)[:, np.argsort(ORDER)]


def compare(a, b, **options):
    return manifold.compare(a, b, **{"latent_dim": 3, "n_samples": 30, "dtype": "float64"} | options)


def test_a_reordered_model_is_found_again():
    found = compare(truth, shuffled, encoder=shuffled_encoder)
    nearest = np.nanargmax(found.cross_mutual_information, axis=1)
    assert nearest.tolist() == ORDER
    others = np.sort(found.cross_mutual_information, axis=1)[:, :-1]
    assert others.max() < 1e-8
    assert found.cross_mutual_information.max(axis=1).min() > 17
    assert found.pearson[np.arange(3), nearest] == pytest.approx(1, abs=1e-10)
    assert found.table()["nearest"].tolist() == nearest[found.order_a].tolist()
    diagonal = np.diagonal(found.sorted_cross_mutual_information())
    assert (diagonal > 17).all()


def test_angle_between_two_linear_decoders():
    angle = 0.4
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = compare(linear(np.diag([2.0, 1.0])), linear(turn * [5.0, 0.1]), latent_dim=2)
    near, far = -np.log(np.sin(angle)), -np.log(np.cos(angle))
    assert found.cross_mutual_information == pytest.approx(np.array([[near, far], [far, near]]), abs=1e-8)
    assert found.cross_mutual_information_error == pytest.approx(0, abs=1e-8)
    assert found.pearson is None


def test_two_views_of_one_decoder_are_its_own_pairs():
    decoder = network()
    alone = manifold.analyze(decoder, latent_dim=4, n_samples=30)
    found = manifold.compare(decoder, decoder, latent_dim=4, n_samples=30)
    off_diagonal = ~np.eye(4, dtype=bool)
    for name in ("mutual_information", "mutual_information_error"):
        cross, pairs = getattr(found, f"cross_{name}"), getattr(alone, f"pairwise_{name}")
        assert cross[off_diagonal] == pytest.approx(pairs[off_diagonal], abs=1e-10)
    assert found.entropy_a == pytest.approx(alone.latent_entropy)


def test_same_data_or_same_latents():
    at_data = compare(truth, shuffled, encoder=shuffled_encoder)
    assert at_data.meta["at"] == "data"
    assert compare(truth, shuffled).meta["at"] == "latents"
    at_latents = compare(truth, shuffled, encoder=shuffled_encoder, at="latents")
    np.testing.assert_allclose(at_latents.cross_mutual_information, compare(truth, shuffled).cross_mutual_information)
    np.testing.assert_allclose(at_latents.pearson, at_data.pearson)
    curved = network(latent_dim=3, data_dim=3)
    with_data = compare(curved, lambda z: curved(-z), encoder=lambda x: torch.full_like(x, 0.5), n_samples=5)
    z = np.random.default_rng(0).standard_normal((5, 3))
    one = [torch.func.jacrev(curved)(torch.as_tensor(row)).detach().numpy() for row in z]
    other = -torch.func.jacrev(curved)(torch.full((3,), -0.5, dtype=torch.float64)).detach().numpy()
    expected = manifold.compare(np.stack(one), np.stack([other] * 5)).cross_mutual_information
    assert with_data.cross_mutual_information == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("memory", [1, 2000])
def test_chunks_change_nothing(memory):
    one, other = network(), network(seed=1)
    kept = manifold.compare(one, other, latent_dim=4, n_samples=20)
    found = manifold.compare(one, other, latent_dim=4, n_samples=20, memory=memory)
    np.testing.assert_allclose(found.cross_mutual_information, kept.cross_mutual_information, atol=1e-10)
    np.testing.assert_allclose(found.cross_mutual_information_error, kept.cross_mutual_information_error, atol=1e-10)


def test_a_dead_latent_poisons_nothing():
    decoder = network(latent_dim=3)
    found = compare(decoder, lambda z: decoder(z * torch.tensor([1.0, 0.0, 1.0])))
    assert found.active_a.all()
    assert found.active_b.tolist() == [True, False, True]
    assert np.isnan(found.cross_mutual_information[:, 1]).all()
    assert np.isfinite(found.cross_mutual_information[:, [0, 2]]).all()
    assert found.notes == ("Inactive in b: z1.",)
    assert found.order_b[-1] == 1


def test_result_as_json(tmp_path):
    found = compare(truth, shuffled, encoder=shuffled_encoder)
    data = json.loads(found.to_json(tmp_path / "found.json"))
    assert data["cross_mutual_information"]["value"] == found.cross_mutual_information.tolist()
    assert data["pearson"] == found.pearson.tolist()


def test_a_constant_encoder_has_no_correlation():
    found = compare(truth, truth, encoder=lambda x: x * 0)
    assert np.isnan(found.pearson).all()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"at": "data"}, ValueError, "at must be 'latents' without an encoder, got 'data'; give the encoder of b"),
        ({"at": "here"}, ValueError, "at must be one of auto, data, latents, got 'here'"),
        ({"b": network(latent_dim=3)}, ValueError, r"outputs of the same size, got \(3,\) and \(9,\)"),
        ({"encoder": 3}, TypeError, "encoder must be a torch module or function from data to latents, got 3"),
        ({"encoder": lambda x: (x, x)}, TypeError, r"encoder must return one tensor, got tuple; .*encoder\(x\)\[0\]"),
        ({"encoder": lambda x: x[0]}, ValueError, r"must return latents \(30, latent_dim\) for 30 outputs, got \(3,\)"),
        ({"encoder": lambda x: x / 0}, ValueError, "encoder must give finite latents"),
        ({"seed": -1}, ValueError, "seed must be"),
    ],
)
def test_bad_input(options, kind, message):
    with pytest.raises(kind, match=message):
        compare(truth, **{"b": shuffled} | options)


def test_jacobians_must_belong_together():
    with pytest.raises(ValueError, match="must have the same samples, got 3 and 4"):
        manifold.compare(np.ones((3, 2, 1)), np.ones((4, 2, 1)))
    with pytest.raises(ValueError, match="two samples or more"):
        manifold.compare(np.ones((3, 2, 1)), np.ones((4, 2)))


def log_volume(matrix):
    return 0.5 * np.linalg.slogdet(matrix.T @ matrix)[1]


SETS_A, SETS_B = {"x": [0, 2], "y": [1]}, {"u": [0], "v": [1, 2]}


def test_information_of_sets_is_that_of_their_volumes():
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((8, 3)), rng.standard_normal((8, 3))
    found = compare(linear(a), linear(b), partition_a=SETS_A, partition_b=SETS_B)
    for i, s in enumerate(SETS_A.values()):
        for j, t in enumerate(SETS_B.values()):
            together = log_volume(np.concatenate([a[:, s], b[:, t]], axis=1))
            expected = log_volume(a[:, s]) + log_volume(b[:, t]) - together
            assert found.set_cross_mutual_information[i, j] == pytest.approx(expected, abs=1e-10)
    assert found.set_cross_mutual_information_error == pytest.approx(0, abs=1e-10)
    assert found.set_table().loc["x", "v"] == found.set_cross_mutual_information[0, 1]
    assert json.loads(found.to_json())["set_cross_mutual_information"]["sets_b"] == SETS_B


def test_information_of_single_latents_is_that_of_pairs():
    found = compare(network(3), network(3, seed=1), partition_a=[[0], [1], [2]], partition_b=[[0], [1], [2]])
    np.testing.assert_allclose(found.set_cross_mutual_information, found.cross_mutual_information, atol=1e-9)
    np.testing.assert_allclose(
        found.set_cross_mutual_information_error, found.cross_mutual_information_error, atol=1e-9
    )


def test_a_set_holds_no_less_than_its_latents():
    found = compare(network(3), network(3, seed=1), partition_a=[[0, 1, 2]], partition_b=[[0], [1], [2]])
    assert (found.set_cross_mutual_information[0] >= found.cross_mutual_information.max(axis=0) - 1e-9).all()


def test_a_latent_that_moves_nothing_adds_nothing_to_its_set():
    a, b = np.eye(5, 3), np.random.default_rng(0).standard_normal((5, 2))
    still = a * [1.0, 1.0, 0.0]
    options = {"partition_a": [[0, 1, 2]], "partition_b": [[0, 1]]}
    found = manifold.compare(np.stack([still] * 2), np.stack([b] * 2), **options)
    whole = log_volume(a[:, :2]) + log_volume(b) - log_volume(np.concatenate([a[:, :2], b], axis=1))
    assert found.set_cross_mutual_information[0, 0] == pytest.approx(whole, abs=1e-10)


def test_sets_must_cover_the_latents_of_their_decoder():
    with pytest.raises(ValueError, match="every latent in a set"):
        compare(truth, shuffled, partition_b=[[0, 1]])
    with pytest.raises(ValueError, match="set_table needs partitions"):
        compare(truth, shuffled).set_table()

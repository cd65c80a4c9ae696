"""Inactive latents, chunks, priors, determinants and what the result can do."""

import json

import numpy as np
import pytest
import torch

from helpers.decoders import UNIT_ENTROPY, linear, network, torus
from unbraid import manifold


def analyze(decoder, latent_dim, **options):
    return manifold.analyze(decoder, latent_dim=latent_dim, **{"n_samples": 20, "dtype": "float64"} | options)


def same(one, other, tolerance=1e-10):
    for name in ("latent_entropy", "latent_entropy_error", "manifold_entropy", "pairwise_mutual_information"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=tolerance)
    for name in ("total_entropy", "total_correlation", "effective_dimension", "total_correlation_error"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=tolerance)
    np.testing.assert_allclose(
        one.pairwise_mutual_information_error, other.pairwise_mutual_information_error, atol=tolerance
    )


@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_dead_latent_is_inactive_and_poisons_nothing(place):
    decoder = network()
    alive = [i for i in range(5) if i != place]
    z = np.random.default_rng(0).standard_normal((20, 5))
    found = analyze(lambda z: decoder(z[:, alive]), 5, prior=z)
    without = analyze(decoder, 4, prior=z[:, alive])
    assert found.active.tolist() == [i != place for i in range(5)]
    assert found.latent_entropy[place] == -np.inf
    assert found.order[-1] == place
    assert np.isnan(found.pairwise_mutual_information[place]).all()
    assert found.latent_entropy[alive] == pytest.approx(without.latent_entropy, abs=1e-10)
    assert found.total_entropy == pytest.approx(without.total_entropy, abs=1e-10)
    assert found.total_correlation == pytest.approx(without.total_correlation, abs=1e-10)
    assert found.effective_dimension == pytest.approx(without.effective_dimension, abs=1e-10)
    pairs = found.pairwise_mutual_information[np.ix_(alive, alive)]
    np.testing.assert_allclose(pairs, without.pairwise_mutual_information, atol=1e-10)
    assert found.n_active == 4
    assert found.notes == (f"Inactive, moving the data nowhere: z{place}. All numbers are about the other latents.",)
    assert "Infinity" not in found.to_json()
    assert found.table().index[-1] == place


def test_a_dead_latent_leaves_its_set_to_the_others():
    decoder = network()
    found = analyze(lambda z: decoder(z[:, :4]), 6, partition={"mixed": [0, 1, 4], "live": [2, 3], "dead": [5]})
    z = np.random.default_rng(0).standard_normal((20, 6))[:, :4]
    without = analyze(decoder, 4, prior=z, partition={"mixed": [0, 1], "live": [2, 3]})
    assert found.manifold_entropy[:2] == pytest.approx(without.manifold_entropy, abs=1e-10)
    assert found.manifold_entropy[2] == -np.inf
    assert found.total_correlation == pytest.approx(without.total_correlation, abs=1e-10)
    assert found.set_mutual_information[0, 1] == pytest.approx(without.set_mutual_information[0, 1], abs=1e-10)


@pytest.mark.parametrize("memory", ["1GiB", 400])
def test_a_latent_that_stands_still_late_starts_the_pass_again(memory):
    z = np.full((9, 3), 2.0)
    z[7, 1] = -1.0
    found = analyze(lambda z: torch.relu(z) * torch.tensor([1.0, 2.0, 3.0]), 3, prior=z, memory=memory)
    assert found.active.tolist() == [True, False, True]
    assert found.total_entropy == pytest.approx(2 * UNIT_ENTROPY + np.log(3), abs=1e-10)
    assert found.notes[0].startswith("Counted as inactive, because")
    assert found.notes[0].endswith(": z1.")


def test_latents_that_do_the_same_stop_at_the_precision():
    found = analyze(linear([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), 3)
    assert 17 < found.pairwise_mutual_information[0, 1] < 18.1
    assert 17 < found.total_correlation < 19
    assert found.pairwise_mutual_information[0, 2] == pytest.approx(0)
    assert "same direction" in found.notes[0]


@pytest.mark.parametrize("memory", [1, 3000, 20_000, "1MiB"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_chunks_and_modes_change_nothing(memory, mode):
    decoder = network()
    same(analyze(decoder, 4, memory=memory, mode=mode), analyze(decoder, 4))


def test_jacobians_from_elsewhere_give_the_same():
    decoder = network()
    z = torch.as_tensor(np.random.default_rng(0).standard_normal((20, 4)))
    jacobians = torch.func.vmap(torch.func.jacrev(decoder))(z).detach().numpy()
    for memory in ("2GiB", 5000):
        found = manifold.analyze(jacobians=jacobians, memory=memory, partition=[[0, 1], [2, 3]])
        same(found, analyze(decoder, 4, partition=[[0, 1], [2, 3]]))


def test_single_precision_is_near_double():
    decoder = network()
    same(analyze(decoder, 4, dtype="float32"), analyze(decoder, 4), tolerance=1e-5)


def test_any_output_shape():
    decoder = network(data_dim=24)
    shaped = analyze(lambda z: decoder(z).reshape(-1, 2, 3, 4), 4)
    same(shaped, analyze(decoder, 4))
    assert shaped.output_shape == (2, 3, 4)


def test_same_seed_same_numbers():
    decoder = network()
    same(analyze(decoder, 4, seed=3), analyze(decoder, 4, seed=3), tolerance=0)
    assert analyze(decoder, 4, seed=4).total_entropy != analyze(decoder, 4, seed=3).total_entropy


def test_a_module_stays_as_it_was():
    decoder = network().float()
    analyze(decoder, 4)
    assert next(decoder.parameters()).dtype == torch.float32
    assert all(p.grad is None for p in decoder.parameters())


@pytest.mark.slow
def test_standard_errors_are_those_of_many_runs():
    decoder, _ = torus(n_circles=2)
    runs = [analyze(decoder, 4, n_samples=50, seed=seed) for seed in range(60)]
    spread = np.std([run.latent_entropy for run in runs], axis=0, ddof=1)[:2]
    claimed = np.mean([run.latent_entropy_error for run in runs], axis=0)[:2]
    assert claimed == pytest.approx(spread, rel=0.35)
    spread = np.std([run.effective_dimension for run in runs], ddof=1)
    assert np.mean([run.effective_dimension_error for run in runs]) == pytest.approx(spread, rel=0.35)


def test_mixture_scales_columns_by_the_deviations_of_the_component():
    mixture = manifold.GaussianMixture([[0.0, 5.0], [3.0, 0.0]], [[1.0, 4.0], [2.0, 0.5]])
    found = analyze(linear(np.eye(2)), 2, prior=mixture, n_samples=400)
    first = np.isclose(found.samples.log_lengths[:, 1], np.log(4))
    np.testing.assert_allclose(found.samples.log_lengths[first], np.log([[1.0, 4.0]]) * np.ones((first.sum(), 1)))
    np.testing.assert_allclose(found.samples.log_lengths[~first], np.log([[2.0, 0.5]]) * np.ones(((~first).sum(), 1)))
    assert 0.4 < first.mean() < 0.6
    expected = UNIT_ENTROPY + np.log([2, 2]) / 2
    assert (np.abs(found.latent_entropy - expected) < 3 * found.latent_entropy_error).all()


def test_mixture_weights_choose_components():
    mixture = manifold.GaussianMixture([[0.0], [0.0]], [[1.0], [2.0]], weights=[0.0, 3.0])
    assert analyze(linear([[1.0]]), 1, prior=mixture).latent_entropy[0] == pytest.approx(UNIT_ENTROPY + np.log(2))


def square_flow():
    turn = torch.as_tensor(np.random.default_rng(8).standard_normal((3, 3)))
    decoder = lambda z: torch.sinh(z @ turn)  # noqa: E731
    return decoder, lambda z: torch.linalg.slogdet(turn)[1] + torch.cosh(z @ turn).log().sum(dim=1)


@pytest.mark.parametrize("prior", [None, manifold.GaussianMixture([[0.0] * 3] * 2, [[1.0, 2.0, 3.0], [0.5, 0.5, 1.0]])])
def test_a_flow_may_give_its_own_determinant(prior):
    decoder, log_abs_det = square_flow()
    same(analyze(decoder, 3, log_abs_det=log_abs_det, prior=prior), analyze(decoder, 3, prior=prior))
    calls = []
    analyze(decoder, 3, prior=prior, log_abs_det=lambda z: calls.append(len(z)) or log_abs_det(z))
    assert sum(calls) >= 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value: -value, "but differs from the Jacobian's by .* the encoder's has the opposite sign"),
        (lambda value: value[:, None], r"must return one number for each latent, \(2,\), got \(2, 1\)"),
        (lambda value: value * float("nan"), "log_abs_det must be finite"),
    ],
)
def test_a_wrong_determinant_is_refused(change, message):
    decoder, log_abs_det = square_flow()
    with pytest.raises(ValueError, match=message):
        analyze(decoder, 3, log_abs_det=lambda z: change(log_abs_det(z)))


def test_convergence_tells_how_runs_scatter():
    decoder, _ = torus(n_circles=2)
    found = analyze(decoder, 4, n_samples=512)
    table = found.convergence([4, 64, 512]).set_index(["quantity", "n_samples"])
    rows = table.loc["total_entropy"]
    assert rows.loc[512, "value"] == pytest.approx(found.total_entropy)
    assert rows.loc[512, "error"] == pytest.approx(found.total_entropy_error)
    assert rows.loc[64, "runs"] == 8
    assert np.isnan(rows.loc[512, "variance_between_runs"])
    assert 6 < rows.loc[4, "variance_between_runs"] / rows.loc[64, "variance_between_runs"] < 50  # 16 on paper
    assert table.loc[("total_correlation", 512), "value"] == pytest.approx(found.total_correlation)
    default = set(found.convergence()["n_samples"])
    assert default == {4, 8, 16, 32, 64, 128, 256, 512}
    with pytest.raises(ValueError, match=r"sizes must be numbers from 2 to 512, the samples there are, got \[1\]"):
        found.convergence([1])


def test_result_as_table_and_json(tmp_path):
    found = analyze(network(), 4, partition={"a": [0, 1], "b": [2, 3]})
    table = found.table()
    assert list(table.index) == found.order.tolist()
    assert table["entropy"].is_monotonic_decreasing
    first = found.order[0]
    assert table.loc[first, "mutual_information"] == np.nanmax(found.pairwise_mutual_information[first])
    assert table.loc[first, "shares_most_with"] == np.nanargmax(found.pairwise_mutual_information[first])
    assert list(found.set_table().index) == ["a", "b"]
    data = json.loads(found.to_json(tmp_path / "found.json"))
    assert data == json.loads((tmp_path / "found.json").read_text())
    assert data["total_entropy"] == {"value": found.total_entropy, "error": found.total_entropy_error}
    assert data["pairwise_mutual_information"]["value"][0][0] is None
    assert data["sets"] == {"a": [0, 1], "b": [2, 3]}
    assert data["meta"]["seed"] == 0

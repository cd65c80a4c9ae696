"""The networks of the MLP ladder: how they grow, what they count, and what they can learn."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid import Representation
from unbraid.evidence.loss_capacity import LossCapacityOptions, loss_capacity_curves
from unbraid.metrics import loss_capacity
from unbraid.probes import network as network
from unbraid.probes.capacity import CapacityTask, MLPLadder
from unbraid.probes.capacity.linear import whitening_axes
from unbraid.probes.capacity.mlp import _linear_starts, linear_start
from unbraid.probes.linear import fit_linear, predict_linear
from unbraid.probes.splits import capacity_split, standardise


def xor_world(n_samples=900, seed=0):
    """A sign of a product, and a square: nothing of either for a line, all of it for a small network."""
    rng = np.random.default_rng(seed)
    codes = rng.uniform(-1, 1, (n_samples, 3))
    codes[:, :2] += 0.15 * np.sign(codes[:, :2])  # keeps rows away from the edges of the quadrants
    return codes, {"xor": np.where(codes[:, 0] * codes[:, 1] > 0, "same", "other"), "square": codes[:, 2] ** 2}


def task_of(codes, factors, seed=0, **kinds):
    rep = Representation(codes, factors, **kinds)
    split = capacity_split(rep.factors, rep.n_samples, rng=np.random.default_rng(seed))
    return CapacityTask(
        codes=standardise(rep.codes[split.train], rep.codes)[1], factors=tuple(rep.factors), split=split
    )


XOR = task_of(*xor_world())


def starts_of(task):
    return [
        fit_linear(task.codes[rows := task.labelled(factor, task.split.train)], factor, rows) for factor in task.factors
    ]


def linear_weights(task, *, shared):
    starts = starts_of(task)
    places = network._places(task, starts, shared=shared)
    return places, network._linear(places, starts, "cpu")


def jittered(weights, seed=0):
    """Weights as if trained: nothing is left at 0."""
    generator = torch.Generator().manual_seed(seed)
    return network._Weights(*(t + 0.3 * torch.randn(t.shape, generator=generator) for t in weights.tensors))


class TestGrowth:
    @pytest.mark.parametrize("shared", [True, False])
    def test_a_wider_network_starts_as_the_narrower_one(self, shared):
        _, line = linear_weights(XOR, shared=shared)
        generator = torch.Generator().manual_seed(0)
        narrow = jittered(line.widened(6, generator))
        wide = narrow.widened(20, generator)
        x = torch.as_tensor(XOR.codes, dtype=torch.float64)
        narrow, wide = (network._Weights(*(t.double() for t in weights.tensors)) for weights in (narrow, wide))
        torch.testing.assert_close(wide(x), narrow(x), rtol=1e-12, atol=1e-12)

    def test_new_units_can_learn(self):
        """They hear the codes; only what they say starts at 0."""
        _, line = linear_weights(XOR, shared=True)
        wide = jittered(line.widened(4, torch.Generator().manual_seed(0))).widened(8, torch.Generator().manual_seed(1))
        assert (wide.first[:, :, 4:] != 0).all()
        assert (wide.second[:, :, 4:] != 0).all()
        assert (wide.last[:, 4:] == 0).all()

    @pytest.mark.parametrize("networks", ["shared", "separate"])
    def test_the_first_level_is_the_linear_probe_in_closed_form(self, networks):
        found = MLPLadder(widths=(2,), n_steps=5, networks=networks).fit(XOR, rng=np.random.default_rng(0))
        axes = whitening_axes(XOR.codes[XOR.split.train], 3, rng=np.random.default_rng(0))
        white = replace(XOR, codes=XOR.codes @ axes)
        for start, factor, said in zip(starts_of(white), XOR.factors, found.test, strict=True):
            np.testing.assert_allclose(said[0], predict_linear(white.codes[XOR.split.test], start, factor), atol=1e-5)

    def test_one_value_only_to_fit_on(self):
        """The others get no chance at first, and no number is too large for a network."""
        names = np.where(np.isin(np.arange(900), XOR.split.train), "a", "b")
        task = task_of(xor_world()[0], {"f": names})
        found = MLPLadder(widths=(2,), n_steps=30).fit(task, rng=np.random.default_rng(0))
        assert np.isfinite(found.test[0]).all()
        assert (found.test[0][0, :, 0] > 0.999).all()


class TestCapacity:
    CODES, VALUES, K = 3, 2, 2  # three codes; the category has two outputs, the number one

    @pytest.mark.parametrize("networks", ["shared", "separate"])
    def test_counts_by_hand(self, networks):
        widths, outputs = (2, 5), [3, 3] if networks == "shared" else [2, 1]
        excess = MLPLadder(widths=widths, networks=networks)
        every = MLPLadder(widths=widths, networks=networks, capacity="parameters")
        for k, out in enumerate(outputs):
            hidden = [w * (3 + 1) + w * (w + 1) + w * out for w in (0, 4, 10)]
            np.testing.assert_allclose(np.exp(excess._capacities(3, [2, 1])[k]) - 1, hidden, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(np.exp(every._capacities(3, [2, 1])[k]), [h + 4 * out for h in hidden])

    def test_counts_are_those_of_the_tensors(self):
        _, line = linear_weights(XOR, shared=True)
        counts = [
            sum(t.numel() for t in weights.tensors)
            for weights in (line, line.widened(4, torch.Generator()), line.widened(10, torch.Generator()))
        ]
        ladder = MLPLadder(widths=(2, 5), capacity="parameters")
        np.testing.assert_allclose(np.exp(ladder._capacities(3, [2, 1])[0]), counts)

    def test_names_of_the_axis(self):
        assert MLPLadder().axis == "log of the parameters beyond the linear probe"
        assert MLPLadder(capacity="parameters").axis == "log of the parameters"

    def test_very_wide_networks_take_fewer_steps(self):
        ladder = MLPLadder(n_steps=1000)
        assert [network.n_steps_at(ladder, width) for width in (14, 448, 896, 100_000)] == [1000, 1000, 500, 100]
        assert network.n_steps_at(MLPLadder(n_steps=7), 100_000) == 7


class TestLearning:
    @pytest.mark.slow
    @pytest.mark.parametrize("networks", ["shared", "separate"])
    def test_learns_what_a_line_cannot(self, networks):
        curves = loss_capacity(*xor_world(), ladder=MLPLadder(widths=(4, 16), n_steps=300, networks=networks))
        assert (curves.losses[:, 0] > 0.85 * curves.baselines).all()
        assert (curves.losses[:, -1] < 0.12).all()

    @pytest.mark.slow
    def test_every_kind_of_factor(self):
        rng = np.random.default_rng(1)
        codes = rng.standard_normal((900, 3))
        radius = np.hypot(codes[:, 0], codes[:, 1])
        angle = np.arctan2(codes[:, 1], codes[:, 0])
        factors = {
            "angle": 2 * angle % (2 * np.pi),
            "ring": np.array(["in", "mid", "out"])[np.digitize(radius, [0.8, 1.5])],
        }
        rep = Representation(codes, factors, kinds={"angle": "circular"})
        curves = loss_capacity(rep, ladder=MLPLadder(widths=(4, 16), n_steps=400))
        assert (curves.losses[:, 0] > 0.8 * curves.baselines).all()
        assert (curves.losses[:, -1] < 0.35 * curves.baselines).all()

    def test_never_ends_above_the_level_below_on_the_validation_rows(self):
        """The best weights are kept, and those of the level below are the first candidates."""
        rng = np.random.default_rng(0)
        task = task_of(rng.standard_normal((200, 5)), {"noise": rng.standard_normal(200)})
        ladder = MLPLadder(widths=(8, 64), n_steps=200, patience=20)
        said = ladder.fit(task, rng=rng).validation[0][:, :, 0]
        losses = ((said - task.factors[0].numbers[task.split.validation]) ** 2).mean(axis=1)
        assert (np.diff(losses) <= 1e-6).all()

    def test_each_network_keeps_its_own_best(self):
        """Beside a factor that only over-fits, one that learns goes on learning."""
        rng = np.random.default_rng(0)
        codes, factors = xor_world()
        task = task_of(codes, {"noise": rng.standard_normal(900), "square": factors["square"]})
        ladder = MLPLadder(widths=(16,), n_steps=300, networks="separate")
        found = ladder.fit(task, rng=np.random.default_rng(0)).test
        losses = [
            ((said[-1] - f.targets(task.split.test)) ** 2).mean() / f.targets(task.split.test).var()
            for said, f in zip(found, task.factors, strict=True)
        ]
        assert losses[0] < 1.1
        assert losses[1] < 0.05

    def test_patience_ends_training_early(self, monkeypatch):
        rng = np.random.default_rng(0)
        task = task_of(rng.standard_normal((300, 5)), {"noise": rng.standard_normal(300)})
        steps = []
        original = network._batches

        def counted(*arguments):
            for batch in original(*arguments):
                steps.append(len(batch))
                yield batch

        monkeypatch.setattr(network, "_batches", counted)
        MLPLadder(widths=(64,), n_steps=200, patience=2).fit(task, rng=np.random.default_rng(0))
        impatient = len(steps)
        steps.clear()
        MLPLadder(widths=(64,), n_steps=200, patience=21).fit(task, rng=np.random.default_rng(0))
        assert impatient < 150
        assert len(steps) == 200

    def test_batches_go_through_every_row_before_any_comes_again(self):
        rows = torch.arange(50, 90)
        batches = list(network._batches(rows, 10, 9, torch.Generator().manual_seed(0)))
        assert len(batches) == 9
        assert sorted(torch.cat(batches[:4]).tolist()) == list(range(50, 90))
        assert not torch.equal(torch.cat(batches[:4]), torch.cat(batches[4:8]))


class TestUnlabelled:
    def test_factors_weigh_alike_however_few_rows_are_labelled(self):
        codes, factors = xor_world()
        sparse = np.where(np.arange(900) % 3 == 0, factors["square"], np.nan)
        full, part = (task_of(codes, {"square": column}) for column in (factors["square"], sparse))
        out = torch.zeros(1, 900, 1)
        losses = []
        for task in (full, part):
            places, _ = linear_weights(task, shared=True)
            losses.append(float(network._Objective(places, task, "cpu").losses(out, torch.arange(900))[0]))
        assert losses[0] == pytest.approx(1.0, abs=0.05)
        assert losses[1] == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow
def test_threads_of_torch_do_not_change_the_scores():
    rep = Representation(*xor_world())
    options = LossCapacityOptions(ladder=MLPLadder(widths=(4, 64), n_steps=60))
    before = torch.get_num_threads()
    try:
        found = []
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            found.append(loss_capacity_curves(rep, options, np.random.default_rng(0)))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_array_equal(found[0].losses, found[1].losses)
    np.testing.assert_array_equal(found[0].matrix, found[1].matrix)


def test_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="cuda"):
        loss_capacity(*xor_world(), ladder=MLPLadder(widths=(2,), n_steps=2, device="cuda"))


class TestWideCodes:
    @pytest.mark.parametrize("networks", ["shared", "separate"])
    @pytest.mark.parametrize("n_codes", [80, 2100])
    def test_a_level_predicts_the_same_from_sums_of_its_first_layer(self, networks, n_codes):
        rng = np.random.default_rng(0)
        codes = rng.normal(size=(120, n_codes))
        task = task_of(
            codes, {"a": codes[:, 0] * codes[:, 1], "b": rng.integers(0, 3, 120)}, kinds=[None, "categorical"]
        )
        fitted = MLPLadder(widths=(2, 3), networks=networks, n_steps=4).fit(task, rng=np.random.default_rng(0))
        new = rng.normal(size=(40, n_codes))
        for level in range(3):
            probe = fitted.probe(level)
            box = probe.by_sums()
            for ours, theirs in zip(box.predict(new @ box.weights), probe.predict(new), strict=True):
                np.testing.assert_allclose(ours, theirs, atol=1e-4)
                assert np.ptp(theirs, axis=0).max() > 0.01

    def test_the_linear_probe_along_axes_of_the_rows_is_that_of_all_codes(self):
        rng = np.random.default_rng(0)
        codes = rng.normal(size=(100, 2100))
        values = codes[:, :300].sum(axis=1)
        task = task_of(codes, {"a": values, "b": np.where(values > 0, "high", "low")})
        number, category = _linear_starts(task, np.ones(2100))
        whole = [linear_start(task, factor, np.ones(2100)) for factor in task.factors]
        np.testing.assert_allclose(number, whole[0], atol=1e-9)
        assert np.ptp(number) > 0.01
        guesses = [predict_linear(task.codes, fit, task.factors[1]).argmax(axis=1) for fit in (category, whole[1])]
        assert (guesses[0] == guesses[1]).mean() > 0.9

    @pytest.mark.slow
    def test_known_codes_are_found_among_2500(self):
        """Linear weights of noise codes are small, but many: most of the importance is that of the known codes."""
        rng = np.random.default_rng(0)
        factors = rng.normal(size=(1500, 2))
        codes = np.hstack([6 * factors, 0.2 * rng.normal(size=(1500, 2500))]) / 6
        codes[:, 2:] *= 0.5
        curves = loss_capacity_curves(
            Representation(codes, factors),
            LossCapacityOptions(ladder=MLPLadder(widths=(2, 8))),
            np.random.default_rng(0),
        )
        assert curves.importance.values[:2].argmax(axis=1).tolist() == [0, 1]
        assert curves.importance.values.argmax(axis=0).tolist() == [0, 1]


class TestMoreCodesThanRows:
    """A few directions of large variance hold the factor, and hundreds of codes hold noise."""

    def world(self, *, named):
        rng = np.random.default_rng(0)
        hidden = rng.standard_normal((400, 3))
        codes = hidden @ rng.standard_normal((3, 500)) + rng.standard_normal((400, 500))
        values = hidden[:, 0] + 0.5 * rng.standard_normal(400)
        task = task_of(codes, {"v": np.where(values > 0, "high", "low")} if named else {"v": values})
        axes = whitening_axes(task.codes[task.split.train], 500)
        return replace(task, codes=task.codes @ axes), axes

    def errors(self, task, fit):
        (factor,), test = task.factors, task.split.test
        predicted = predict_linear(task.codes[test], fit, factor)
        if not factor.is_numeric:
            return float((predicted.argmax(axis=1) != factor.labels[test]).mean())
        return float(((predicted - factor.targets(test)) ** 2).mean() / factor.targets(test).var())

    @pytest.mark.parametrize(("named", "limit"), [(False, 0.35), (True, 0.25)])
    def test_the_linear_probe_does_not_learn_the_rows_by_heart(self, named, limit):
        task, axes = self.world(named=named)
        penalised = linear_start(task, task.factors[0], np.linalg.norm(axes, axis=0))
        (plain,) = starts_of(task)
        assert self.errors(task, penalised) < limit < self.errors(task, plain)

    def test_with_many_rows_nothing_is_chosen(self):
        axes = np.ones(XOR.codes.shape[1])
        for factor, start in zip(XOR.factors, starts_of(XOR), strict=True):
            np.testing.assert_array_equal(linear_start(XOR, factor, axes), start)

import numpy as np
import pytest
import torch

from helpers.dots import Dots
from unbraid.data import FactorTable, sprites_mini
from unbraid.models import code_rates, encode, load_models, train
from unbraid.models.ensemble import BatchSource, EnsembleEngine, Settings
from unbraid.models.ensemble.families.diva import PriorTable, soft_log_scale
from unbraid.models.ensemble.labels import chosen_blocks, chosen_labels, label_columns
from unbraid.models.ensemble.plan import OneFactorRows, plan_of
from unbraid.models.ensemble.settings import member_hyperparameters
from unbraid.models.objectives import UNKNOWN

SMALL = {"n_codes": 6, "width": 4, "batch_size": 16, "learning_rate": 1e-3}


class HalfKnown(Dots):
    """Dots whose row is not known where the column is odd."""

    def factors(self, index):
        found = super().factors(index)
        found[found[:, 1] % 2 == 1, 0] = -1
        return found


def table(n_rows=40):
    rng = np.random.default_rng(0)
    factors = np.stack([np.arange(n_rows) % 2, np.arange(n_rows) // 2 % 3], axis=1)
    return FactorTable(rng.standard_normal((n_rows, 5)), factors, names=("hired", "group"))


def test_labels_are_the_first_factors_in_the_order_of_their_roles():
    assert chosen_labels("diva", Dots(), ()) == (("y", "row", 7), ("d", "column", 7))
    assert chosen_labels("vfae", Dots(), {"s": "row", "y": "column"}) == (("y", "column", 7), ("s", "row", 7))
    assert chosen_labels("dc_ign", sprites_mini(), ())[0] == ("scale", "scale", 3)
    assert chosen_labels("dc_ign", Dots(), ("row",)) == (("row", "row", 7),)
    assert chosen_labels("beta_vae", Dots(), ()) == ()


def test_a_share_of_each_class_keeps_its_label():
    labels = chosen_labels("diva", Dots(), ())
    columns = label_columns("diva", Dots(), labels, 0.3)
    known = columns[:, 0] != UNKNOWN
    assert [(columns[known, 0] == value).sum() for value in range(7)] == [3] * 7  # 0.3 of 7, rounded up
    np.testing.assert_array_equal(columns[known, 0], Dots().factors(np.arange(49))[known, 0])
    np.testing.assert_array_equal(columns[:, 1], np.arange(49) % 7)
    np.testing.assert_array_equal(columns, label_columns("diva", Dots(), labels, 0.3))
    assert (label_columns("diva", HalfKnown(), labels, 1.0)[:, 0] == UNKNOWN).sum() == 21


def drawn(plan, rest=None, seeds=(0, 1, 2), n_steps=200, count=12):
    numbers = torch.tensor(list(seeds))
    weights = None if rest is None else torch.full((len(seeds),), rest)
    return [plan.draw(numbers, step, count, weights) for step in range(n_steps)]


def test_rows_of_a_batch_differ_in_one_factor_or_in_the_rest():
    data = sprites_mini()
    factors = data.factors(np.arange(len(data)))
    plan = OneFactorRows(factors, [1, 3], data.factor_names, device="cpu")
    assert plan.has_rest
    free = {0: {1}, 1: {3}, 2: {0, 2, 4}}
    seen = {0: set(), 1: set(), 2: set()}
    for rows, kinds in drawn(plan):
        for batch, kind in zip(factors[rows.numpy()], kinds.tolist(), strict=True):
            varies = {j for j in range(5) if len(set(batch[:, j])) > 1}
            assert varies <= free[kind]
            seen[kind] |= varies
    assert seen == free


@pytest.mark.slow
def test_kinds_of_batches_have_their_shares_and_members_draw_alone():
    plan = OneFactorRows(sprites_mini().factors(np.arange(4608)), [1, 3], "abcde", device="cpu")
    kinds = torch.stack([kind for _, kind in drawn(plan, rest=8.0, seeds=range(300), n_steps=10, count=1)]).flatten()
    shares = torch.bincount(kinds, minlength=3) / len(kinds)
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.1, 0.8]), atol=0.03, rtol=0)
    together, alone = drawn(plan, n_steps=5), drawn(plan, seeds=(1,), n_steps=5)
    for (rows, kind), (own, own_kind) in zip(together, alone, strict=True):
        assert torch.equal(rows[1:2], own)
        assert torch.equal(kind[1:2], own_kind)


def test_without_a_rest_no_batch_is_of_its_kind():
    plan = OneFactorRows(Dots().factors(np.arange(49)), [0, 1], ("row", "column"), device="cpu")
    assert not plan.has_rest
    assert {int(kind) for _, kinds in drawn(plan, rest=10.0) for kind in kinds} == {0, 1}


@pytest.mark.slow
def test_learned_priors_move_apart_and_other_models_have_none():
    before, after = (train("diva", Dots(), n_steps=n_steps, **SMALL).network.priors for n_steps in (1, 12))
    for role in ("y", "d"):
        assert (after[role].mean - before[role].mean).abs().max() > 1e-3
        assert (after[role].raw_scale - before[role].raw_scale).abs().max() > 1e-3
        assert after[role].mean.std(dim=1).min() > 1e-4
    assert not hasattr(train("vae", Dots(), n_steps=1, **SMALL).network, "priors")


def test_deviations_of_diva_start_at_one_and_stay_finite_however_large_the_outputs():
    mean, log_scale = PriorTable(2, 3, 4)()
    assert torch.equal(mean, torch.zeros(2, 1, 3, 4))
    torch.testing.assert_close(log_scale, torch.zeros(2, 1, 3, 4), rtol=0, atol=1e-6)
    least, most = soft_log_scale(torch.tensor([-1e4, 1e4])).exp().tolist()
    assert (least, most) == (pytest.approx(1e-7), pytest.approx(1e4))


@pytest.mark.slow
def test_blocks_of_codes_are_thirds_or_as_given():
    found = train("diva", Dots(), n_steps=1, **SMALL).settings
    assert found.block_columns() == {"z_d": [0, 1], "z_y": [2, 3], "z_x": [4, 5]}
    small = {name: value for name, value in SMALL.items() if name != "n_codes"}
    given = train("diva", Dots(), n_steps=1, blocks={"z_y": 1, "z_d": 2, "z_x": 4}, **small).settings
    assert given.block_columns() == {"z_d": [0, 1], "z_y": [2], "z_x": [3, 4, 5, 6]}
    clamped = train("dc_ign", Dots(), n_steps=1, **SMALL).settings
    assert clamped.block_columns() == {"column": [0], "rest": [1, 2, 3, 4, 5]}
    assert train("vae", Dots(), n_steps=1, **SMALL).settings.block_columns() == {}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["diva", "vfae", "dc_ign"])
def test_run_goes_on_bit_for_bit(tmp_path, model):
    options = {"labelled": 0.5} if model != "dc_ign" else {}
    whole = train(model, Dots(), seeds=[1, 2], n_steps=8, **SMALL, **options)
    train(model, Dots(), seeds=[1, 2], n_steps=3, out=tmp_path, **SMALL, **options)
    train(model, Dots(), seeds=[1, 2], n_steps=8, out=tmp_path, **SMALL, **options)
    loaded = load_models(tmp_path)
    assert loaded.settings == whole.settings
    pairs = zip(whole.network.parameters(), loaded.network.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["diva", "vfae", "dc_ign"])
def test_diverged_member_is_named_and_harms_no_other(model):
    strong = {"diva": {"beta": [1.0, float("inf")]}, "vfae": {"alpha": [1.0, float("inf")]}}
    given = strong.get(model, {"invariance": [1.0, float("inf")]})
    found = train(model, Dots(), seeds=[1, 1], n_steps=4, **SMALL, **given)
    assert found.diverged[0] is None
    assert found.diverged[1] is not None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated.*:DeprecationWarning")  # torch's own, of its tracer
@pytest.mark.parametrize("model", ["diva", "vfae", "dc_ign"])
def test_step_is_one_graph_for_the_compiler(model):
    read = chosen_labels(model, Dots(), ())
    blocks, _ = chosen_blocks(model, read, {}, 6, 6)
    numbers, columns = member_hyperparameters(model, {}, [1, 2])
    settings = Settings(
        model=model,
        data="dots",
        n_rows=49,
        shape=(1, 16, 16),
        seeds=numbers,
        hyperparameters=columns,
        labels=read,
        blocks=blocks,
        **SMALL,
    )
    plan = plan_of(Dots(), 49, ["column"] if model == "dc_ign" else [], device="cpu")
    source = BatchSource(Dots(), labels=label_columns(model, Dots(), read, 1.0), plan=plan)
    engine = EnsembleEngine(settings, source)
    inputs = engine._inputs()
    whole = torch.compile(engine.objective, backend="aot_eager", fullgraph=True, dynamic=False)
    for one, other in zip(whole(inputs), engine.objective(inputs), strict=True):
        torch.testing.assert_close(one, other)


def test_labels_that_change_are_another_run(tmp_path):
    train("diva", Dots(), n_steps=1, out=tmp_path, **SMALL)
    with pytest.raises(ValueError, match="holds a run with other settings"):
        train("diva", HalfKnown(), n_steps=2, out=tmp_path, **SMALL)


def test_fair_model_encodes_and_decodes_with_the_sensitive_value():
    data = table()
    model = train("vfae", data, n_steps=20, **SMALL)
    x, group = data.observations(np.arange(40)), data.factors(np.arange(40))[:, 1]
    codes = model.encode(x, context=group)
    np.testing.assert_allclose(encode(model, data).codes, codes[0], atol=1e-6)
    assert not np.allclose(codes, model.encode(x, context=(group + 1) % 3))
    assert not np.allclose(model.decode(codes, context=group), model.decode(codes, context=(group + 1) % 3))
    np.testing.assert_allclose(model.decode(codes)[0], model.decode(codes, context=0 * group)[0])
    np.testing.assert_allclose(model.decoder(torch.as_tensor(codes[0]).float()).detach(), model.decode(codes)[0])
    assert code_rates(model, data).shape == (1, 6)
    chances = model.classify(x, context=group)
    assert chances.shape == (1, 40, 2)
    np.testing.assert_allclose(chances.sum(axis=-1), 1.0)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (None, "vfae encodes a row with its value of 'group'; give context"),
        (np.zeros(3, dtype=int), r"context must be 40 whole numbers, one for each row, got shape \(3,\)"),
        (np.full(40, 3), "context must be from 0 to 2, got 3 to 3"),
    ],
)
def test_sensitive_values_that_do_not_fit(context, message):
    model = train("vfae", table(), n_steps=1, **SMALL)
    with pytest.raises(ValueError, match=message):
        model.encode(table().observations(np.arange(40)), context=context)


def test_classifiers_are_of_the_labels_that_a_model_predicts():
    pictures = Dots().observations(np.arange(49))
    model = train("diva", Dots(), n_steps=1, **SMALL)
    assert model.classify(pictures).shape == model.classify(pictures, label="d").shape == (1, 49, 7)
    with pytest.raises(ValueError, match="diva has no classifier of 's'"):
        model.classify(pictures, label="s")
    with pytest.raises(ValueError, match="dc_ign has no classifier of 'y'"):
        train("dc_ign", Dots(), n_steps=1, **SMALL).classify(pictures)


class OneColumn(Dots):
    """The dots of the first column."""

    def __len__(self):
        return 7

    def factors(self, index):
        return super().factors(7 * np.asarray(index))

    def observations(self, index):
        return super().observations(np.asarray(index))


class OneFactor(Dots):
    """Dots that know their row alone."""

    factor_names, factor_sizes = ("row",), (7,)

    def factors(self, index):
        return super().factors(index)[:, :1]


@pytest.mark.parametrize(
    ("model", "data", "options", "message"),
    [
        ("diva", np.zeros((9, 1, 8, 8)), {}, "data must be a data set with factors for diva, got an array"),
        ("diva", OneFactor(), {}, "a factor for each of the target and the domain of diva, got row only"),
        ("diva", Dots(), {"labels": {"y": "row"}}, "labels of diva must name a factor for y and d, such as y=NAME"),
        ("diva", Dots(), {"labels": {"y": "row", "d": "colum"}}, "did you mean 'column'"),
        ("diva", Dots(), {"labels": {"y": "row", "d": "row"}}, "must be different factors, got row, row"),
        ("diva", OneColumn(), {}, "the domain 'column' of diva must take two values or more in the data, got 0 only"),
        ("vfae", OneColumn(), {}, "the sensitive attribute 'column' of vfae must take two values or more"),
        ("vfae", HalfKnown(), {"labels": {"y": "column", "s": "row"}}, "must be known for every row, got none for row"),
        ("diva", Dots(), {"labelled": 0.0}, "labelled must be a share above 0 and at most 1, got 0"),
        ("dc_ign", Dots(), {"labelled": 0.5}, "labelled is for diva, vfae, got it for dc_ign"),
        ("vae", Dots(), {"labelled": 0.5}, "labelled is for diva, vfae, got it for vae"),
        ("vae", Dots(), {"labels": ["row"]}, "labels are for diva, vfae, dc_ign, got them for vae"),
        ("dc_ign", Dots(), {"labels": {"y": "row"}}, "labels of dc_ign must be a list of factors"),
        ("dc_ign", Dots(), {"labels": ["row", "column"]}, "n_codes must be 2 where dc_ign reserves a code for every"),
        ("dc_ign", sprites_mini(), {"n_codes": 4}, "n_codes must be at least 5, got 4"),
        ("dc_ign", OneColumn(), {"labels": ["row", "column"]}, "differ in factor 'column' alone .* got none"),
        ("diva", Dots(), {"n_codes": 2}, "n_codes must be at least 3, got 2"),
        ("diva", Dots(), {"blocks": {"z_y": 1}}, "blocks of diva must be z_d, z_y, z_x, got z_y"),
        ("diva", Dots(), {"blocks": {"z_y": 1, "z_d": 0, "z_x": 1}}, "size of block z_d must be at least 1, got 0"),
        ("diva", Dots(), {"blocks": {"z_y": 1, "z_d": 1, "z_x": 1}}, "blocks must add up to n_codes, 6, got z_d 1"),
        ("vfae", Dots(), {"blocks": {"z_y": 1}}, "blocks are for diva, got them for vfae"),
    ],
)
def test_bad_input(model, data, options, message):
    with pytest.raises(ValueError, match=message):
        train(model, data, n_steps=1, **SMALL | options)

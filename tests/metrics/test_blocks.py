"""The score of blocks: truths on paper, what it ignores and what it does not, and its way into panel and page."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression

import unbraid as ub
from unbraid.evidence.block_reading import BlockOptions, BlockReading, Reading, block_reading
from unbraid.evidence.subspaces.options import Subspaces
from unbraid.metrics import block_identifiability, block_leakage, blocks, dci_es, dependent, iwo, iwr
from unbraid.metrics.geometry.orthogonality import by_block, weighted_pairs
from unbraid.metrics.prediction.blocks import blocks_score, leakage_score, own_score
from unbraid.panel.saved import read_reports
from unbraid.report import render

THREE = {"z_y": [0, 1], "z_d": [2, 3], "z_x": [4]}


def world(n_rows=1500, seed=0):
    """A class in the first block, a curved number in the second, noise in the third."""
    rng = np.random.default_rng(seed)
    y, d = rng.integers(0, 4, n_rows), rng.uniform(-1, 1, n_rows)
    corners = np.array([[2, 0], [-2, 0], [0, 2], [0, -2]])
    z_y = corners[y] + 0.3 * rng.normal(size=(n_rows, 2))
    z_d = np.column_stack([np.cos(2.5 * d), np.sin(2.5 * d)])
    codes = np.column_stack([z_y, z_d, rng.normal(size=n_rows)])
    return ub.Representation(codes, {"y": y.astype(str), "d": d}, blocks=THREE)


WORLD = world()


def found(matrix, **extra):
    share = np.array(matrix, dtype=float)
    reading = Reading(share=share, error=np.full(share.shape, 0.1), chance=np.zeros(share.shape))
    names = tuple("abc"[: share.shape[1]]), tuple("uvw"[: len(share)])
    return BlockReading(
        blocks=names[0], factors=names[1], linear=reading, kernel=reading, in_accuracy=np.zeros(len(share)), **extra
    )


@pytest.fixture(scope="module")
def report():
    return ub.evaluate(WORLD, metrics="blocks", n_jobs=1, progress=False)


class TestOnPaper:
    def test_own_less_best_other_and_leakage(self):
        known = found([[0.9, 0.2, -0.3], [0.1, 0.7, 0.4]])
        assert blocks_score(known).per_factor == pytest.approx([0.7, 0.3])
        assert leakage_score(known).value == pytest.approx((0.2 + 0.4) / 2)
        assert own_score(known).value == pytest.approx((0.9 + 0.7) / 2)

    def test_a_declared_block_counts_even_where_another_knows_more(self):
        known = found([[0.9, 0.2], [0.1, 0.7]])
        assert blocks_score(known, own={"u": "b"}).per_factor == pytest.approx([0.0, 0.6])
        assert leakage_score(known, own="u=b, v=b").per_factor == pytest.approx([0.9, 0.1])
        assert own_score(known, own="u=b").per_factor == pytest.approx([0.2, 0.7])

    def test_worse_than_blind_is_blind(self):
        known = found([[-0.5, -0.1]])
        assert blocks_score(known).value == leakage_score(known).value == own_score(known).value == 0.0
        assert blocks_score(known).evidence["matrix"].min() == -0.5

    def test_the_interval_of_a_cell_is_two_errors_wide(self):
        score = blocks_score(found([[0.5, 0.0]]))
        assert score.evidence["high"] - score.evidence["low"] == pytest.approx(2 * 1.96 * 0.1, abs=1e-3)

    @pytest.mark.parametrize(
        ("own", "says"),
        [
            ("u=z", "own names the block 'z'"),
            ({"x": "a"}, "own names the factor 'x'"),
            ("u", "own must be factor=block"),
        ],
    )
    def test_names_that_are_not_there(self, own, says):
        with pytest.raises(ValueError, match=says):
            blocks_score(found([[0.5, 0.0]]), own=own)

    def test_linear_shares_are_squared_correlations(self):
        """With a number in one code, R² of its block is the squared correlation."""
        rng = np.random.default_rng(0)
        v = rng.normal(size=(20_000, 1))
        codes = np.column_stack([0.6 * v[:, 0] + 0.8 * rng.normal(size=20_000), rng.normal(size=20_000)])
        shares = blocks(codes, v, blocks="a=0,b=1", probe="linear").evidence["matrix"]
        assert shares == pytest.approx(np.array([[0.36, 0.0]]), abs=0.02)

    def test_shares_are_those_of_scikit_learn_on_the_same_folds(self):
        """Linear regression to the last digits; kernel ridge regression on all rows, which landmarks come close to."""
        rng = np.random.default_rng(3)
        v = rng.normal(size=600)
        codes = np.column_stack([v + 0.5 * rng.normal(size=600), v**2, rng.normal(size=600)])
        fold = np.random.default_rng(0).spawn(3)[0].permutation(600) % 3
        block = (codes - codes.mean(axis=0)) / codes.std(axis=0)
        for probe, model, tolerance in (
            ("linear", LinearRegression(), 1e-6),
            ("kernel", KernelRidge(kernel="rbf", gamma=0.5, alpha=0.05), 0.03),
        ):
            guess, blind = np.empty(600), np.empty(600)
            for test in (fold == k for k in range(3)):
                mean = v[~test].mean()
                guess[test] = model.fit(block[~test, :2], v[~test] - mean).predict(block[test, :2]) + mean
                blind[test] = mean
            theirs = 1 - ((v - guess) ** 2).sum() / ((v - blind) ** 2).sum()
            ours = blocks(codes, v[:, None], blocks="a=0-1,b=2", probe=probe, rng=0).evidence["matrix"][0, 0]
            assert ours == pytest.approx(theirs, abs=tolerance)

    def test_accuracy_counts_from_the_commonest_category(self):
        """A code that shows one of three equally common values removes half of a blind guess's errors."""
        y = np.arange(3000) % 3
        codes = np.column_stack([y == 0, np.random.default_rng(0).normal(size=3000)]).astype(float)
        shares = blocks(codes, y.astype(str), blocks="a=0,b=1").evidence["matrix"]
        assert shares[0, 0] == pytest.approx(0.5, abs=0.01)

    @pytest.mark.slow
    def test_errors_of_cells_are_those_of_other_draws(self):
        draws = [block_reading(world(400, seed), BlockOptions(), np.random.default_rng(0)).linear for seed in range(12)]
        scatter = np.std([draw.share for draw in draws], axis=0, ddof=1)
        stated = np.mean([draw.error for draw in draws], axis=0)
        assert 0.5 < scatter[1, 1] / stated[1, 1] < 2
        assert 0.5 < scatter[1, 0] / stated[1, 0] < 2


class TestWhatIsRead:
    @pytest.mark.slow
    def test_each_factor_from_its_own_block(self):
        score = blocks(WORLD)
        assert score.value > 0.95
        assert score.evidence["own_block"].tolist() == [0, 1]
        assert block_leakage(WORLD).value < 0.05
        assert block_identifiability(WORLD).value > 0.95
        assert np.abs(score.evidence["chance"]).max() < 0.1

    def test_a_kernel_reads_what_a_line_cannot(self):
        v = np.random.default_rng(0).normal(size=(1500, 2))
        codes = np.column_stack([v[:, 0] ** 2, v[:, 1], v[:, 1] ** 3])
        secret = block_leakage(codes, v[:, :1] ** 2, blocks="a=1-2,b=0", own="factor_0=a")
        assert secret.value > 0.95
        assert block_leakage(codes, np.abs(v[:, :1]), blocks="a=1-2,b=0", own="factor_0=a").value > 0.9

    def test_a_copy_in_another_block_leaks(self):
        leaking = np.column_stack([WORLD.codes[:, :4], WORLD.codes[:, 3] + 0.01 * WORLD.codes[:, 4]])
        assert block_leakage(ub.Representation(leaking, WORLD.factors, blocks=THREE)).per_factor[1] > 0.2

    def test_a_block_that_never_changes_knows_nothing(self):
        codes = np.column_stack([WORLD.codes[:, :4], np.full(WORLD.n_samples, 3.0)])
        score = blocks(ub.Representation(codes, WORLD.factors, blocks=THREE))
        assert score.evidence["matrix"][:, 2] == pytest.approx(0.0, abs=1e-9)

    def test_without_blocks_every_code_is_one(self):
        score = blocks(WORLD.with_blocks(None))
        assert score.evidence["matrix"].shape == (2, 5)
        assert any("every code is a block" in note for note in score.notes)

    def test_rows_without_a_label_are_passed_over(self):
        hidden = WORLD.factors[1].numbers.copy()
        hidden[::3] = np.nan
        score = blocks(WORLD.codes, {"d": hidden}, blocks=THREE)
        assert score.value > 0.95


@pytest.mark.slow
class TestInvariance:
    @pytest.mark.parametrize("probe", ["linear", "kernel"])
    def test_any_invertible_linear_map_within_a_block_changes_nothing(self, probe):
        within = np.zeros((5, 5))
        within[:2, :2], within[2:4, 2:4], within[4, 4] = [[1, 5], [0.2, -3]], [[100, 1], [99, 2]], -7
        mixed = ub.Representation(WORLD.codes @ within + 3, WORLD.factors, blocks=THREE)
        before, after = blocks(WORLD, probe=probe), blocks(mixed, probe=probe)
        assert after.evidence["matrix"] == pytest.approx(before.evidence["matrix"], abs=1e-6)

    @pytest.mark.parametrize("probe", ["linear", "kernel"])
    def test_a_map_between_blocks_does_change_it(self, probe):
        angle = 0.5
        turn = np.eye(5)
        turn[np.ix_([0, 2], [0, 2])] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        mixed = ub.Representation(WORLD.codes @ turn, WORLD.factors, blocks=THREE)
        assert blocks(mixed, probe=probe).value < blocks(WORLD, probe=probe).value - 0.05

    def test_order_of_blocks_and_of_their_columns(self):
        order = [4, 3, 2, 1, 0]
        other = ub.Representation(
            WORLD.codes[:, order], WORLD.factors, blocks={"z_x": [0], "z_d": [2, 1], "z_y": [3, 4]}
        )
        after = blocks(other, probe="linear").evidence["matrix"][:, ::-1]
        assert after == pytest.approx(blocks(WORLD, probe="linear").evidence["matrix"], abs=2e-3)


@pytest.mark.slow
class TestInThePanel:
    def test_the_default_panel_scores_blocks_only_where_there_are_some(self):
        from unbraid.panel import plan

        named = [metric.name for metric in plan.choose_metrics("default", WORLD)[0]]
        plain = [metric.name for metric in plan.choose_metrics("default", WORLD.with_blocks(None))[0]]
        assert [name for name in named if name not in plain] == ["blocks", "blocks.leakage", "blocks.own"]

    def test_intervals_and_chance(self, report):
        score = report["blocks"]
        assert score.low <= score.value <= score.high
        assert score.chance < 0.1 < score.low
        assert report["blocks.leakage"].high < 0.15

    def test_the_matrix_is_in_the_report_its_file_and_its_page(self, report, tmp_path):
        [record] = report.evidence_of(BlockReading)
        assert record.data.kernel.share == pytest.approx(report["blocks"].evidence["matrix"])
        report.to_json(tmp_path / "report.json")
        [again] = read_reports(tmp_path / "report.json").values()
        assert again.evidence_of(BlockReading)[0].data.kernel.share == pytest.approx(record.data.kernel.share)
        for page in (render(report), render(again)):
            assert 'id="map-blocks-kernel"' in page
            assert 'id="map-blocks-linear"' in page


class TestOtherMetrics:
    def test_iwo_counts_blocks_as_axes(self):
        """Two factors along the same diagonal of one block overlap; in two blocks they do not, whatever their angle."""
        basis = np.array([[0.6], [0.8], [0.0], [0.0]]), np.array([[0.0], [0.0], [1.0], [0.0]])
        known = Subspaces(
            subspaces=(), bases=basis, weights=(np.ones(1), np.ones(1)), n_codes=4, blocks=((0, 1), (2, 3))
        )
        collapsed = by_block(known)
        assert np.array(collapsed.weights) == pytest.approx(np.eye(2))
        assert weighted_pairs(collapsed).mean == 1.0
        other = by_block(replace(known, blocks=((0,), (1, 2))))
        # The first factor has 0.36 in code 0 and 0.64 beside the second, which has all of its weight there.
        assert np.array(other.weights) == pytest.approx(np.array([[0.36, 0.64, 0.0], [0.0, 1.0, 0.0]]))
        assert weighted_pairs(other).mean == pytest.approx(1 - 0.8)

    def test_mixing_within_a_block_is_no_matter_to_iwo_iwr_and_dci_es(self):
        rng = np.random.default_rng(0)
        v = rng.normal(size=(800, 3))
        codes = np.column_stack([v[:, :2] @ [[1, 1], [0, 1]], v[:, 2]])
        rep = ub.Representation(codes, v, blocks="a=0-1,b=2")
        assert iwo(rep, blocks=True).evidence["iwo"][0, 2] > 0.95 > 0.2 > iwo(rep, blocks=True).evidence["iwo"][0, 1]
        assert iwr(rep, blocks=True).value > 0.95
        single, grouped = dci_es(rep, ladder="linear"), dci_es(rep, ladder="linear", blocks=True)
        assert grouped.completeness.value > 0.95 > single.completeness.value
        assert grouped.size.value == 3 / 2
        assert grouped.disentanglement.per_code[0] == grouped.disentanglement.per_code[1]
        assert grouped.informativeness.value == single.informativeness.value

    @pytest.mark.slow
    def test_dependent_takes_blocks_for_codes(self):
        few = WORLD.take(np.arange(300))
        named = dependent(few, groups="blocks", n_trees=5)
        listed = dependent(few, groups=[[0, 1], [2, 3], [4]], n_trees=5)
        assert [score.value for score in named] == [score.value for score in listed]

    @pytest.mark.parametrize("metric", [iwo, iwr, partial(dci_es, ladder="linear")])
    def test_without_blocks_they_say_so(self, metric):
        with pytest.raises(ValueError, match="codes must be in at least two blocks for blocks=True, got 0"):
            metric(WORLD.with_blocks(None), blocks=True)
        with pytest.raises(ValueError, match="codes must be in at least two blocks for groups='blocks', got 0"):
            dependent(WORLD.with_blocks(None), groups="blocks")

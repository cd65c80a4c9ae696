"""Rows read in blocks: the scores of the files read as a whole, whoever reads the blocks and in whatever order."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

import unbraid as ub
from helpers.clusters import LosesANode, two_nodes
from unbraid._base.memory import TooMuchMemoryError
from unbraid.cli import main
from unbraid.evidence.information import cut_for, discretise
from unbraid.evidence.rows.blocks import merge_tree
from unbraid.panel.rows import BlockJob, scan
from unbraid.representation import row_blocks as blocks_module
from unbraid.study.engines import make_engine


def world(n_rows=4000):
    rng = np.random.default_rng(3)
    shape, size, angle = rng.integers(0, 3, n_rows), rng.normal(size=n_rows), rng.uniform(0, 360, n_rows)
    codes = {
        "code_0": shape + 0.1 * rng.normal(size=n_rows),
        "code_1": size + 0.3 * rng.normal(size=n_rows),
        "code_2": np.cos(np.deg2rad(angle)),
        "code_3": rng.normal(size=n_rows),
        "code_4": np.full(n_rows, 2.0),
    }
    partly = np.where(rng.random(n_rows) < 0.1, np.nan, size)
    names = np.array(["cube", "ball", "cone"])[shape]
    return pd.DataFrame({**codes, "factor_shape": names, "factor_size": partly, "factor_angle": angle})


KINDS = {"angle": "circular:360"}
NAMES = ["mig", "jemmig", "modularity", "mcc", "total_correlation", "sap", "r2"]


@pytest.fixture
def shards(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", 700)
    frame, folder = world(), tmp_path / "shards"
    folder.mkdir()
    for place, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(folder / f"part-{place}.parquet", index=False, row_group_size=300)
    return folder


def values(report):
    return {name: (score.value, score.low, score.null) for name, score in report.scores.items()}


@pytest.mark.slow
def test_scores_of_all_rows_are_those_of_the_file_read_as_a_whole(shards):
    rep = scan(f"{shards}/*.parquet", kinds=KINDS)
    found = ub.evaluate(rep, metrics=NAMES)
    wanted = ub.evaluate(ub.load(f"{shards}/*.parquet", kinds=KINDS), metrics=NAMES)
    assert list(found.scores) == list(wanted.scores)
    assert not found.failures
    for name, (value, low, null) in values(wanted).items():
        assert values(found)[name] == pytest.approx((value, low, null), abs=1e-9), name
    assert found.setup.n_samples == wanted.setup.n_samples == 4000


@pytest.mark.slow
def test_a_sample_serves_probes_while_counts_see_all_rows(shards):
    rep = scan(f"{shards}/*.parquet", kinds=KINDS, sample=1500)
    found = ub.evaluate(rep, metrics=["mig", "mcc", "r2"])
    wanted = ub.evaluate(ub.load(f"{shards}/*.parquet", kinds=KINDS), metrics=["mcc"])
    assert rep.n_samples == 1500
    assert found["mcc"].plain == pytest.approx(wanted["mcc"].plain, abs=1e-9)
    assert rep.whole.counted.n_rows == 4000
    assert int(rep.whole.counted.counts[0][0].sum()) == 4000
    assert any("All 4000 rows were counted for: mig, mcc." in note for note in found.notes)
    assert any("A sample of 1500 of 4000 rows was used for: r2," in note for note in found.notes)


def test_list_columns_and_float32_and_arrow_and_npy_and_zarr_give_the_same_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", 500)
    rng = np.random.default_rng(0)
    codes, labels = rng.normal(size=(1200, 4)).astype(np.float32), rng.integers(0, 3, (1200, 2)).astype(float)
    codes[:, 0] += labels[:, 0]
    table = pd.DataFrame({"embedding": list(codes), "a": labels[:, 0], "b": labels[:, 1]})
    table.to_parquet(tmp_path / "t.parquet", row_group_size=200)
    columns = {"code_columns": "embedding", "factor_columns": "a,b"}
    found = [scan(tmp_path / "t.parquet", **columns)]
    pa = pytest.importorskip("pyarrow")
    whole = pa.Table.from_pandas(table, preserve_index=False)
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_stream(file, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=130)
    found.append(scan(tmp_path / "t.arrow", **columns))
    np.save(tmp_path / "codes.npy", codes)
    np.save(tmp_path / "labels.npy", labels)
    found.append(scan(tmp_path / "codes.npy", tmp_path / "labels.npy"))
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "t.zarr"), mode="w")
    for name, array in (("codes", codes), ("factors", labels)):
        group.create_array(name, data=array, chunks=(100, array.shape[1]))
    found.append(scan(tmp_path / "t.zarr"))
    for rep in found[1:]:
        for one, other in zip(found[0].whole.counted.counts, rep.whole.counted.counts, strict=True):
            np.testing.assert_array_equal(one, other)
    assert found[0].code_names == ("embedding_0", "embedding_1", "embedding_2", "embedding_3")


def digits(rep):
    """All that was gathered, to the last digit."""
    return {name: array.tobytes() for name, array in rep.whole.counted.to_arrays().items()}


def test_work_that_was_broken_off_goes_on_where_it_stopped(shards, tmp_path, monkeypatch):
    done = []
    run = BlockJob.run

    def breaks_off(job):
        if len(done) == 9:
            raise KeyboardInterrupt
        done.append(job.key)
        run(job)

    monkeypatch.setattr(BlockJob, "run", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        scan(f"{shards}/*.parquet", kinds=KINDS, work=tmp_path / "work")
    read = []
    monkeypatch.setattr(BlockJob, "run", lambda job: (read.append(job.key), run(job)))
    rep = scan(f"{shards}/*.parquet", kinds=KINDS, work=tmp_path / "work")
    assert not set(read) & set(done)
    monkeypatch.setattr(BlockJob, "run", run)
    assert digits(rep) == digits(scan(f"{shards}/*.parquet", kinds=KINDS))
    with pytest.raises(ValueError, match="other files, columns or options"):
        scan(f"{shards}/*.parquet", kinds=KINDS, work=tmp_path / "work", seed=1)


@pytest.mark.slow
def test_one_process_and_two_give_the_same_digits(shards):
    wanted = digits(scan(f"{shards}/*.parquet", kinds=KINDS))
    with make_engine("local", workers=2) as engine:
        assert digits(scan(f"{shards}/*.parquet", kinds=KINDS, engine=engine)) == wanted


@pytest.fixture
def cluster(monkeypatch):
    yield from two_nodes(monkeypatch)


@pytest.mark.slow
# Ray leaves things to the garbage collector and announces changes.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:.*Ray will no longer override accelerator:FutureWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ray_with_a_lost_node_gives_the_same_digits(shards, cluster):
    wanted = digits(scan(f"{shards}/*.parquet", kinds=KINDS))
    with LosesANode(cluster.address) as engine:
        engine.cluster = cluster
        rep = scan(f"{shards}/*.parquet", kinds=KINDS, engine=engine)
    assert engine.is_lost
    assert digits(rep) == wanted


class DiesOnce(BlockJob):
    """A job whose worker is killed the first time that the job of block 2 is run."""

    __slots__ = ()

    def run(self):
        mark = f"{self.folder}/died"
        if self.block.index == 2 and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        super().run()


@pytest.mark.slow
def test_lost_workers_lose_no_block_and_count_none_twice(shards, tmp_path, monkeypatch):
    wanted = digits(scan(f"{shards}/*.parquet", kinds=KINDS))
    monkeypatch.setattr("unbraid.panel.rows.BlockJob", DiesOnce)
    with make_engine("local", workers=2) as engine:
        rep = scan(f"{shards}/*.parquet", kinds=KINDS, engine=engine, work=tmp_path / "work")
    assert (tmp_path / "work" / "died").exists()
    assert digits(rep) == wanted


def test_merging_is_a_tree_whose_shape_depends_on_the_number_of_parts_alone():
    merged = merge_tree(list("abcde"), lambda one, other: f"({one}{other})")
    assert merged == "(((ab)(cd))e)"


@pytest.mark.parametrize("binning", ["robust", "uniform", "quantile"])
def test_rows_cut_later_fall_into_the_bins_of_the_column(binning):
    rng = np.random.default_rng(0)
    for column in (rng.normal(size=900), rng.integers(0, 5, 900) + 0.0, np.maximum(rng.normal(size=900), 0)):
        cut = cut_for(column, 12, binning)
        bins, used = discretise(column, 12, binning)
        np.testing.assert_array_equal(np.concatenate([cut.bins(column[:300]), cut.bins(column[300:])]), bins)
        assert cut.n_bins == used


def broken(shards, how):
    """Damage the second shard in one way."""
    path = shards / "part-1.parquet"
    frame = pd.read_parquet(path)
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-200])
    elif how == "other columns":
        frame.rename(columns={"code_3": "code_9"}).to_parquet(path)
    elif how == "mixed types":
        frame.assign(code_1=frame["code_1"].astype(str)).to_parquet(path)
    elif how == "not finite":
        frame.loc[3, "code_2"] = np.inf
        frame.to_parquet(path)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("truncated", r"part-1.parquet' is damaged or not a file of parquet"),
        ("other columns", r"part-1.parquet' must have the columns of .*code_3"),
        ("mixed types", r"part-1.parquet' must have columns of the types .* got text in place of numbers in 'code_1'"),
        ("not finite", r"codes must be finite, got NaN or inf in 1 rows of .*part-1.parquet', in 'code_2'"),
    ],
)
def test_a_shard_that_does_not_fit_is_one_sentence(shards, how, sentence):
    broken(shards, how)
    with pytest.raises(ValueError, match=sentence):
        scan(f"{shards}/*.parquet", kinds=KINDS)


def command(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["score", *map(str, arguments)])
    return ended.value.code


@pytest.mark.slow
def test_the_command_keeps_the_evidence_of_blocks(shards, tmp_path, capsys):
    out = tmp_path / "out.json"
    given = [f"{shards}/*.parquet", "--metrics", "mig", "--kinds", "angle=circular:360", "--jobs", "1", "--json", out]
    assert command(*given, "--work", tmp_path / "work") == 0
    (blocks,) = ub.read_reports(out).values()
    whole = ub.evaluate(ub.load(f"{shards}/*.parquet", kinds=KINDS), metrics="mig")
    assert blocks["mig"].value == pytest.approx(whole["mig"].value, abs=1e-9)
    assert "All 4000 rows were counted for: mig." in capsys.readouterr().err


@pytest.mark.slow
def test_files_that_would_not_fit_into_memory_are_read_in_blocks(shards, monkeypatch, capsys):
    def is_too_much(*arguments, **options):
        raise TooMuchMemoryError

    given = ["--metrics", "mig", "--kinds", "angle=circular:360", "--jobs", 1]
    assert command(f"{shards}/*.parquet", *given) == 0
    assert "All 4000 rows" not in capsys.readouterr().err
    monkeypatch.setattr("unbraid.representation.files.check_memory", is_too_much)
    assert command(f"{shards}/*.parquet", *given) == 0
    assert "All 4000 rows were counted for: mig." in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--address", "auto"], ["--engine", "local", "--address", "auto"]])
def test_an_address_without_ray_is_refused(shards, options, capsys):
    assert command(f"{shards}/*.parquet", *options) == 2
    assert "of no use without --engine ray" in capsys.readouterr().err


def test_the_command_refuses_a_damaged_shard_with_nothing_half_written(shards, tmp_path, capsys):
    broken(shards, "truncated")
    out = tmp_path / "out.json"
    assert command(f"{shards}/*.parquet", "--work", tmp_path / "work", "--jobs", 1, "--json", out) == 2
    assert "part-1.parquet' is damaged" in capsys.readouterr().err
    assert not out.exists()
    assert not (tmp_path / "work").exists()

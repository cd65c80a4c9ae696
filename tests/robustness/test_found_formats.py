"""What fuzzing found in the formats of other tools, in shards, in rows read in blocks and in the explorer."""

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from fuzz.foreign import safetensors_bytes, zarr_files
from helpers.small import run_cli, small_world
from unbraid import Representation, evaluate, load, read_reports
from unbraid._base.memory import TooMuchMemoryError
from unbraid.data.array_files import open_member
from unbraid.explorer.opening import OpeningOptions, open_session
from unbraid.panel.rows import scan
from unbraid.representation.blocks import check_blocks
from unbraid.study import parse_study

CODES, FACTORS = small_world(24)
DATA = Path(__file__).parent / "data"
QUICK = {"metrics": "mig", "intervals": False, "nulls": False, "n_jobs": 1, "progress": False}


def frame(**factors):
    codes = {f"code_{j}": CODES[:, j] for j in range(CODES.shape[1])}
    return pd.DataFrame({**codes, **{f"factor_{name}": column for name, column in factors.items()}})


def write_shards(folder, table, kind="csv"):
    folder.mkdir()
    for number, part in enumerate((table[:10], table[10:])):
        getattr(part, f"to_{kind}")(folder / f"{number}.{kind}", index=False)
    return folder


def write_zarr(folder, **arrays):
    for name, content in zarr_files(arrays, version=2, n_chunk=1000).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


class TestShardsOfText:
    """Labels of shards were never read again as text: words for nothing were lost, or the pattern was opened."""

    WORDS = np.array(["NA", "None", "null", "red"])[np.arange(24) % 4]

    @pytest.mark.parametrize("place", ["in", "in/*.csv"])
    def test_words_for_nothing_are_names_in_a_folder_and_a_pattern(self, tmp_path, place):
        write_shards(tmp_path / "in", frame(a=self.WORDS))
        assert load(tmp_path / place).factors[0].levels == ("NA", "None", "null", "red")

    def test_whole_numbers_beyond_floats_stay_apart(self, tmp_path):
        numbers = [str(2**70 + k % 3) for k in range(24)]
        write_shards(tmp_path / "in", frame(a=numbers))
        assert len(load(tmp_path / "in", kinds={"a": "categorical"}).factors[0].levels) == 3

    def test_columns_may_stand_in_another_order(self, tmp_path):
        folder = write_shards(tmp_path / "in", frame(a=self.WORDS, b=FACTORS[:, 0]))
        second = pd.read_csv(folder / "1.csv", keep_default_na=False)
        second[second.columns[::-1]].to_csv(folder / "1.csv", index=False)
        rep = load(folder)
        assert rep.rows_key == Representation(CODES, {"a": self.WORDS, "b": FACTORS[:, 0]}).rows_key


class TestRowsInBlocks:
    """What is read in blocks is the representation that is read as a whole, or refused."""

    def test_a_factor_of_a_value_for_each_row_is_continuous_as_in_memory(self, tmp_path):
        frame(a=np.random.default_rng(0).normal(size=24), b=FACTORS[:, 0]).to_parquet(tmp_path / "a.parquet")
        in_blocks, whole = scan(tmp_path / "a.parquet", binning="uniform"), load(tmp_path / "a.parquet")
        assert [one.kind for one in in_blocks.factors] == [one.kind for one in whole.factors]
        found = [evaluate(rep, binning="uniform", **QUICK)["mig"].value for rep in (in_blocks, whole)]
        assert found[0] == pytest.approx(found[1], abs=1e-12)

    def test_whole_numbers_that_floats_merge_are_refused(self, tmp_path):
        frame(a=2**60 + FACTORS[:, 0]).to_parquet(tmp_path / "a.parquet")
        with pytest.raises(ValueError, match=r"factor 'a' must be whole numbers up to 2\*\*53"):
            scan(tmp_path / "a.parquet")

    def test_one_code_is_refused(self, tmp_path):
        frame(a=FACTORS[:, 0])[["code_0", "factor_a"]].to_parquet(tmp_path / "a.parquet")
        with pytest.raises(ValueError, match="at least two columns, got 1"):
            scan(tmp_path / "a.parquet")

    def test_lists_of_text_are_no_codes(self, tmp_path):
        lists = [[str(value) for value in row] for row in CODES]
        pd.DataFrame({"code_a": lists, "factor_a": FACTORS[:, 0]}).to_parquet(tmp_path / "a.parquet")
        with pytest.raises(ValueError, match="codes must be numbers, got lists of text"):
            scan(tmp_path / "a.parquet")

    def test_text_in_arrays_is_refused(self, tmp_path):
        np.save(tmp_path / "codes.npy", CODES)
        np.save(tmp_path / "labels.npy", FACTORS.astype(str))
        with pytest.raises(ValueError, match=r"labels\.npy' must hold numbers where rows are read in blocks"):
            scan(tmp_path / "codes.npy", tmp_path / "labels.npy")

    def test_factors_of_three_dimensions_are_refused(self, tmp_path):
        np.save(tmp_path / "codes.npy", CODES)
        np.save(tmp_path / "labels.npy", FACTORS[:, :, None].repeat(2, axis=2))
        with pytest.raises(ValueError, match=r"factors must have shape \(n_samples, n_factors\), got"):
            scan(tmp_path / "codes.npy", tmp_path / "labels.npy")

    @pytest.mark.filterwarnings("error")
    def test_a_folder_that_is_no_zarr_array_is_one_sentence(self, tmp_path):
        pytest.importorskip("zarr")
        folder = write_zarr(tmp_path / "a.zarr", factors=FACTORS)
        (folder / "codes").mkdir()
        (folder / "codes" / ".zarray").write_text("{")
        with pytest.raises(ValueError, match=r"a\.zarr'"):
            scan(folder)


def damaged_zip(content):
    """The second entry of an archive begins with other bytes."""
    at = content.index(b"PK\x03\x04", 4)
    return content[:at] + b"XX" + content[at + 2 :]


class TestDamage:
    """Each ended in a traceback, or in words of a library that are no sentence."""

    def test_a_sparse_matrix_of_a_damaged_archive(self, tmp_path):
        out = io.BytesIO()
        scipy.sparse.save_npz(out, scipy.sparse.csr_matrix(CODES))
        (tmp_path / "a.npz").write_bytes(damaged_zip(out.getvalue()))
        with pytest.raises(ValueError, match=r"a\.npz' is damaged or not a sparse matrix: .*\.$"):
            load(tmp_path / "a.npz")

    @pytest.mark.parametrize("offsets", [[0, 8, 0, 8], [0], "ab", None])
    def test_offsets_of_a_tensor_that_are_not_two(self, tmp_path, offsets):
        about = {"codes": {"dtype": "F64", "shape": [24, 2], "data_offsets": offsets}}
        text = json.dumps(about).encode()
        (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(384))
        with pytest.raises(ValueError, match=r"a\.safetensors' is damaged or not a safetensors file: .*\.$"):
            load(tmp_path / "a.safetensors")

    def test_a_torch_file_whose_text_is_none(self, tmp_path):
        torch = pytest.importorskip("torch")
        out = io.BytesIO()
        torch.save({"codes": torch.from_numpy(CODES), "factors": torch.from_numpy(FACTORS)}, out)
        (tmp_path / "a.pt").write_bytes(out.getvalue().replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00c\xffu"))
        with pytest.raises(ValueError, match=r"a\.pt' is damaged or not a file of plain tensors: .*\.$"):
            load(tmp_path / "a.pt")

    def test_tensors_that_numpy_does_not_have(self, tmp_path):
        torch = pytest.importorskip("torch")
        packed = torch.from_numpy(CODES).to(torch.float8_e4m3fn)
        torch.save({"codes": packed}, tmp_path / "a.pt")
        with pytest.raises(ValueError, match=r"a\.pt' is damaged or not a file of plain tensors: .*\.$"):
            load(tmp_path / "a.pt")

    def test_text_of_arrow_that_lies_outside_of_the_file(self):
        """Arrow ended the process."""
        with pytest.raises(ValueError, match=r"text_outside\.arrow' is damaged or not an Arrow file: .*\.$"):
            load(DATA / "text_outside.arrow")

    def test_rows_of_a_sparse_matrix_that_end_elsewhere(self):
        """SciPy wrote outside of its memory."""
        pytest.importorskip("h5py")
        with pytest.raises(ValueError, match="codes must have stored values one after the other"):
            load(DATA / "row_ends.h5ad", "obs:a,b")

    def test_a_part_of_an_archive_that_is_no_array(self, tmp_path):
        np.savez(tmp_path / "whole.npz", codes=CODES, factors=FACTORS)
        with (
            zipfile.ZipFile(tmp_path / "whole.npz") as whole,
            zipfile.ZipFile(tmp_path / "a.npz", "w") as archive,
        ):
            for name in whole.namelist():
                archive.writestr(name, whole.read(name))
            archive.writestr("factor_names.npy", b"abc")
        with pytest.raises(ValueError, match="its part 'factor_names' is no array"):
            load(tmp_path / "a.npz")

    def test_an_archive_of_a_data_set_whose_names_are_no_text(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("ü.npy", b"")
        content = (tmp_path / "a.npz").read_bytes()
        (tmp_path / "a.npz").write_bytes(content.replace("ü".encode(), b"\xa5\xa5"))
        with pytest.raises(ValueError, match=r"is damaged, cut short or not an \.npz archive"):
            open_member(tmp_path / "a.npz", "imgs")

    def test_pictures_of_a_damaged_archive(self, tmp_path):
        np.savez(tmp_path / "whole.npz", codes=CODES, factors=FACTORS)
        with (
            zipfile.ZipFile(tmp_path / "whole.npz") as whole,
            zipfile.ZipFile(tmp_path / "a.npz", "w") as archive,
        ):
            for name in whole.namelist():
                archive.writestr(name, whole.read(name))
            archive.writestr("pictures.npy", b"\x93NUMPY")
        with pytest.raises(ValueError, match=r"a\.npz' is damaged or not a NumPy file"):
            open_session([str(tmp_path / "a.npz")], OpeningOptions())

    @pytest.mark.parametrize("scores", [[0], {"mig": [1]}, {"mig": None}, "mig"])
    def test_a_report_whose_scores_are_none(self, tmp_path, scores):
        report = json.loads(evaluate(CODES, FACTORS, **QUICK).to_json())
        (tmp_path / "a.json").write_text(json.dumps(report | {"scores": scores}))
        with pytest.raises(ValueError, match=r"a\.json is a damaged report: its scores must be an object"):
            read_reports(tmp_path / "a.json")

    def test_a_report_with_more_levels_than_factors(self, tmp_path):
        report = json.loads(evaluate(CODES, FACTORS, **QUICK).to_json())
        report["meta"]["factor_levels"] *= 2
        (tmp_path / "a.json").write_text(json.dumps(report))
        with pytest.raises(ValueError, match=r"a\.json is a damaged report: its names, kinds and levels"):
            read_reports(tmp_path / "a.json")

    @pytest.mark.parametrize("output", ["z[0]", "z.sum(1)"])
    def test_a_decoder_of_one_dimension_says_how_to_wrap_it(self, tmp_path, capsys, output):
        pytest.importorskip("torch")
        (tmp_path / "model.py").write_text(f"def decoder(z):\n    return {output}\n")
        command = ("manifold", f"{tmp_path / 'model.py'}:decoder", "--latent-dim", 3, "--samples", 4)
        code, out, err = run_cli(capsys, *command)
        assert (code, out) == (2, "")
        assert "decoder must return numbers for each row, got one dimension" in err

    @pytest.mark.parametrize("precision", ["half", "bfloat16"])
    def test_a_decoder_in_half_precision_says_how_to_wrap_it(self, tmp_path, capsys, precision):
        pytest.importorskip("torch")
        (tmp_path / "model.py").write_text(f"def decoder(z):\n    return z.{precision}()\n")
        command = ("manifold", f"{tmp_path / 'model.py'}:decoder", "--latent-dim", 3, "--samples", 4)
        code, out, err = run_cli(capsys, *command)
        assert (code, out) == (2, "")
        assert "decoder must return float32 or float64" in err

    def test_a_name_that_is_too_long_is_a_sentence(self, capsys):
        code, out, err = run_cli(capsys, "explore", "x" * 300, "--no-browser")
        assert (code, out) == (2, "")
        assert err.startswith("unbraid: ")
        assert err.endswith(".\n")


def test_weights_of_a_module_are_codes(tmp_path):
    torch = pytest.importorskip("torch")
    weights = torch.nn.Parameter(torch.from_numpy(CODES))
    torch.save({"codes": weights, "factors": torch.from_numpy(FACTORS)}, tmp_path / "a.pt")
    assert np.array_equal(load(tmp_path / "a.pt").codes, CODES)


@pytest.mark.filterwarnings("error")
def test_a_nan_that_signals_is_refused_without_a_warning():
    codes = CODES.astype(np.float32)
    codes[3, 1] = np.array([0x7FA00000], dtype=np.uint32).view(np.float32)[0]
    with pytest.raises(ValueError, match="codes must be finite"):
        Representation(codes, FACTORS)


@pytest.mark.parametrize("columns", ["9" * 5000, "0-" + "9" * 5000])
def test_blocks_of_thousands_of_digits_are_refused(columns):
    with pytest.raises(ValueError, match="which is no code"):
        check_blocks(f"a={columns}", ["x", "y"])


SMALL = "name: a\ndata: [sprites_mini]\nmodels: [{family: beta_vae}]\nrows: 400\n"


@pytest.mark.parametrize(
    "line",
    [
        "scores: {metrics: [mig], rows: [.inf]}",
        "scores: {metrics: [mig], rows: [.nan]}",
        "scores: {metrics: [mig], options: {mig: {n_bins: .inf}}}",
        "scores: {metrics: [mig]}\ntraining: {learning_rate: .nan}",
    ],
)
def test_a_study_holds_finite_numbers_only(line):
    with pytest.raises(
        ValueError,
        match=r"got (inf|nan)",
    ):
        parse_study(f"{SMALL}{line}\n")


def test_a_study_is_shown_without_what_steers_a_terminal(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text(f"\ufeff{SMALL}about: a\u202eb\nscores: {{metrics: [mig]}}\n", encoding="utf-8")
    code, out, _ = run_cli(capsys, "study", "show", tmp_path / "a.yaml")
    assert code == 0
    assert out.startswith("name: a\n")
    assert "about: a\\u202eb\n" in out


class TestStatedSizes:
    """Sizes that a file states and does not hold are refused before memory is taken."""

    HUGE = 10**12

    def test_zarr(self, tmp_path):
        pytest.importorskip("zarr")
        folder = write_zarr(tmp_path / "a.zarr", codes=CODES, factors=FACTORS)
        about = folder / "codes" / ".zarray"
        about.write_text(json.dumps(json.loads(about.read_text()) | {"shape": [self.HUGE, 3]}))
        with pytest.raises(TooMuchMemoryError, match="--memory"):
            load(folder)

    def test_h5ad(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "a.h5ad", "w") as file:
            file.create_group("obs")
            file.create_dataset("X", shape=(self.HUGE, 3), chunks=(1000, 3), dtype="f8")
        with pytest.raises(TooMuchMemoryError, match="--memory"):
            load(tmp_path / "a.h5ad")

    def test_a_column_of_h5ad(self, tmp_path):
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "a.h5ad", "w") as file:
            file["X"] = CODES
            file.create_group("obs").create_dataset("a", shape=(self.HUGE,), chunks=(1000,), dtype="f8")
        with pytest.raises(TooMuchMemoryError, match="obs/a"):
            load(tmp_path / "a.h5ad", "obs:a")

    def test_a_tensor_that_repeats_one_number(self, tmp_path):
        torch = pytest.importorskip("torch")
        torch.save({"codes": torch.zeros(1, 1).expand(self.HUGE, 3)}, tmp_path / "a.pt")
        with pytest.raises(TooMuchMemoryError, match="--memory"):
            load(tmp_path / "a.pt")

    @pytest.mark.parametrize("shape", [(HUGE, 3), (24, HUGE)])
    def test_a_sparse_matrix(self, tmp_path, shape):
        scipy.sparse.save_npz(tmp_path / "a.npz", scipy.sparse.coo_matrix(([1.0], ([0], [0])), shape=shape))
        with pytest.raises(ValueError, match="codes must not be 0 nearly everywhere"):
            load(tmp_path / "a.npz")

    def test_places_of_activations(self, tmp_path):
        places = np.array([[0, 0], [self.HUGE, 1]])
        content = safetensors_bytes({"locations": places, "activations": np.ones(2, dtype=np.float32)})
        (tmp_path / "a.safetensors").write_bytes(content)
        with pytest.raises(ValueError, match="codes must not be 0 nearly everywhere"):
            load(tmp_path / "a.safetensors")

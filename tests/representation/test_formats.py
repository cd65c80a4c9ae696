"""Files of other tools: AnnData, safetensors, torch, zarr, sparse matrices, Arrow, and tables in shards.

``foreign_files`` was written by anndata 0.12.19, safetensors 0.8.0 and datasets 5.2.0 from one table of 40 rows;
``layers_zarr.zip`` holds the zarr folder that anndata wrote of ``layers.h5ad``.
"""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from unbraid import load
from unbraid.cli import main
from unbraid.panel.rows import scan
from unbraid.representation.formats.hugging_face import class_names

FILES = Path(__file__).parent / "foreign_files"
TRUTH = dict(np.load(FILES / "cells_truth.npz"))


def words(factor):
    return ["" if label < 0 else factor.levels[label] for label in factor.labels]


def table(**columns):
    codes = {f"code_{j}": TRUTH["codes"][:, j] for j in range(4)}
    return pd.DataFrame({**codes, "factor_batch": TRUTH["batch"], **columns})


def fails(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["score", *map(str, arguments)])
    return ended.value.code == 2


def as_parquet(folder, path, *, names=None):
    """Write the shards of a Hugging Face data set as one Parquet file, with other names of classes."""
    parts = [pa.ipc.open_stream(str(file)).read_all() for file in sorted(folder.glob("*.arrow"))]
    whole = pa.concat_tables(parts)
    features = json.loads(whole.schema.metadata[b"huggingface"])
    if names is not None:
        features["info"]["features"]["animal"]["names"] = names
    pq.write_table(whole.replace_schema_metadata({b"huggingface": json.dumps(features).encode()}), path)


class TestAnnData:
    def test_sparse_codes_and_columns_of_obs(self):
        rep = load(FILES / "cells.h5ad", "obs:cell_type,batch,depth")
        assert np.array_equal(rep.codes, TRUTH["codes"].astype(np.float64))
        assert list(rep.code_names) == list("wxyz")
        assert words(rep.factors[0]) == TRUTH["cell"].tolist()
        assert np.array_equal(rep.factors[1].numbers, TRUTH["batch"])
        assert np.array_equal(rep.factors[2].numbers, TRUTH["depth"])

    def test_codes_of_obsm_and_truth_values_with_gaps(self):
        rep = load(FILES / "cells.h5ad", "obs:flag,batch", codes="obsm:X_pca", only=["batch"])
        assert np.array_equal(rep.codes, TRUTH["codes"][:, :2].astype(np.float64))

    def test_without_factors_a_note_names_the_columns(self):
        rep = load(FILES / "cells.h5ad")
        assert not rep.factors
        assert any("cell_type" in note for note in rep.notes)

    def test_labels_of_another_file_take_the_place_of_obs(self, tmp_path):
        table()[["factor_batch"]].to_csv(tmp_path / "labels.csv", index=False)
        rep = load(FILES / "cells.h5ad", tmp_path / "labels.csv")
        assert list(rep.factor_names) == ["batch"]
        assert np.array_equal(rep.factors[0].numbers, TRUTH["batch"])

    @pytest.mark.parametrize(
        ("options", "named"),
        [
            ({"factors": "obs:celltype"}, "cell_type"),
            ({"factors": "obs:cell_type", "codes": "obsm:X_umap"}, "obsm:X_pca"),
            ({"factors": "obs:cell_type", "codes": "layers"}, "obsm:X_pca"),
        ],
    )
    def test_a_wrong_name_lists_those_there(self, options, named):
        with pytest.raises(ValueError, match=named):
            load(FILES / "cells.h5ad", **options)

    @pytest.fixture(params=["layers.h5ad", "layers.zarr"])
    def with_layers(self, request, tmp_path):
        if request.param == "layers.h5ad":
            return FILES / request.param
        shutil.unpack_archive(FILES / "layers_zarr.zip", tmp_path)
        return tmp_path / request.param

    def test_layers_raw_and_named_columns_of_a_file_or_a_zarr_folder(self, with_layers):
        expected = {
            "X": (TRUTH["codes"][:, :3], "wxy"),
            "layers:counts": (2 * TRUTH["codes"][:, :3], "wxy"),
            "raw:X": (TRUTH["codes"], "wxyz"),
            "obsm:X_named": (TRUTH["codes"][:, 2:], ("first", "second")),
            "obsm:X_pca": (TRUTH["codes"][:, :2], ("code_0", "code_1")),
        }
        for codes, (values, names) in expected.items():
            rep = load(with_layers, "obs:cell_type,stage", codes=codes)
            np.testing.assert_array_equal(rep.codes, values.astype(np.float64))
            assert rep.code_names == tuple(names)
            assert words(rep.factors[0]) == TRUTH["cell"].tolist()
            stages = [np.nan if i % 9 == 0 else i % 3 for i in range(40)]
            np.testing.assert_array_equal(rep.factors[1].numbers, stages)

    def test_a_metric_of_factors_without_any_names_the_columns(self, with_layers, capsys):
        assert fails(with_layers, "--metrics", "mig")
        assert "as in --factors obs:NAME, among cell_type, batch and stage" in capsys.readouterr().err

    def test_columns_of_obs_need_anndata(self, tmp_path, capsys):
        np.savez(tmp_path / "codes.npz", codes=TRUTH["codes"])
        assert fails(tmp_path / "codes.npz", "--factors", "obs:batch")
        assert "columns of obs are read of AnnData alone" in capsys.readouterr().err

    def test_the_command(self, tmp_path, capsys):
        out, source, factors = tmp_path / "out.json", str(FILES / "cells.h5ad"), "obs:cell_type,batch"
        with pytest.raises(SystemExit) as ended:
            main(["score", source, "--codes", "X", "--factors", factors, "--metrics", "mig", "--json", str(out)])
        assert ended.value.code == 0
        assert json.loads(out.read_text())["meta"]["factor_names"] == ["cell_type", "batch"]

    def test_damage_is_refused(self, tmp_path, capsys):
        whole = (FILES / "cells.h5ad").read_bytes()
        for name, data in {"short": whole[: len(whole) // 2], "none": b"not a file at all" * 9}.items():
            (tmp_path / f"{name}.h5ad").write_bytes(data)
            assert fails(tmp_path / f"{name}.h5ad", "--factors", "obs:cell_type")

    def test_an_index_beyond_the_codes_is_refused(self, tmp_path):
        import h5py

        broken = tmp_path / "broken.h5ad"
        shutil.copy(FILES / "cells.h5ad", broken)
        with h5py.File(broken, "a") as file:
            file["X"]["indices"][0] = 99
        with pytest.raises(ValueError, match="damaged"):
            load(broken, "obs:batch")


class TestTensors:
    def test_half_precision_safetensors(self):
        rep = load(FILES / "codes.safetensors")
        assert np.array_equal(rep.codes, TRUTH["codes"].astype(np.float16).astype(np.float64))
        assert np.array_equal(rep.factors[1].numbers, TRUTH["batch"])

    def test_bfloat16_is_the_upper_half_of_a_float(self, tmp_path):
        numbers = np.array([[1.0, -2.5], [0.15625, 3e28]], dtype=np.float32).repeat(10, axis=0)
        half = (numbers.view(np.uint32) >> 16).astype("<u2")
        save_tensors(tmp_path / "b.safetensors", codes=("BF16", half))
        rep = load(tmp_path / "b.safetensors")
        assert np.allclose(rep.codes, numbers, rtol=2**-7)
        assert rep.codes[0].tolist() == [1.0, -2.5]

    @pytest.mark.parametrize("positions", [False, True])
    def test_locations_and_activations_are_a_sparse_matrix(self, tmp_path, positions):
        rows, columns = np.nonzero(TRUTH["codes"])
        values = TRUTH["codes"][rows, columns].astype("<f2")
        places = [rows // 5, rows % 5, columns] if positions else [rows, columns]
        tensors = {"locations": ("U16", np.stack(places, axis=1).astype("<u2")), "activations": ("F16", values)}
        if positions:
            tensors["tokens"] = ("I64", np.zeros((8, 5), dtype="<i8"))
        save_tensors(tmp_path / "s.safetensors", **tensors)
        np.save(tmp_path / "l.npy", TRUTH["batch"][:, None])
        rep = load(tmp_path / "s.safetensors", tmp_path / "l.npy")
        assert np.array_equal(rep.codes, TRUTH["codes"].astype(np.float16).astype(np.float64))

    @pytest.mark.parametrize(
        "change",
        [
            lambda data: data[:40],
            lambda data: struct.pack("<Q", 2**60) + data[8:],
            lambda data: data.replace(b"[40,4]", b"[40,9]"),
            lambda data: data.replace(b'"F16"', b'"F99"'),
            lambda data: data[:-50],
            lambda data: data.replace(b"codes", b"cedos"),
        ],
    )
    def test_damaged_safetensors_are_refused(self, tmp_path, change, capsys):
        broken = tmp_path / "b.safetensors"
        broken.write_bytes(change((FILES / "codes.safetensors").read_bytes()))
        assert fails(broken)

    def test_sparse_matrix_of_scipy_with_labels_in_a_table(self, tmp_path):
        for make in (scipy.sparse.csr_matrix, scipy.sparse.csc_matrix, scipy.sparse.coo_matrix):
            scipy.sparse.save_npz(tmp_path / "codes.npz", make(TRUTH["codes"]))
            pd.DataFrame({"batch": TRUTH["batch"]}).to_csv(tmp_path / "labels.csv", index=False)
            rep = load(tmp_path / "codes.npz", tmp_path / "labels.csv")
            assert np.array_equal(rep.codes, TRUTH["codes"].astype(np.float64))
            assert list(rep.factor_names) == ["batch"]

    def test_sparse_codes_that_would_not_fit_stay_sparse(self, tmp_path):
        wide = scipy.sparse.eye(100_000, 50_000, format="csr", dtype=np.float32)
        scipy.sparse.save_npz(tmp_path / "wide.npz", wide)
        np.save(tmp_path / "l.npy", np.arange(100_000)[:, None] % 3)
        rep = load(tmp_path / "wide.npz", tmp_path / "l.npy")
        assert rep.n_stored == 50_000
        assert rep.by_row.dtype == np.float32
        with pytest.raises(ValueError, match="too many to be made dense"):
            _ = rep.codes

    def test_a_place_outside_a_sparse_matrix_is_refused(self, tmp_path, capsys):
        matrix = scipy.sparse.csr_matrix(TRUTH["codes"])
        np.save(tmp_path / "l.npy", TRUTH["batch"][:, None])
        parts = {"indices": matrix.indices.copy(), "indptr": matrix.indptr, "data": matrix.data}
        parts["indices"][3] = 77
        np.savez(tmp_path / "codes.npz", format=b"csr", shape=matrix.shape, **parts)
        assert fails(tmp_path / "codes.npz", "--factors", tmp_path / "l.npy", "--json", tmp_path / "out.json")
        assert not (tmp_path / "out.json").exists()

    def test_shards_of_locations_named_by_their_codes_are_one_matrix(self, tmp_path):
        truth = TRUTH["codes"].astype(np.float16)
        for first, last in ((0, 1), (2, 3)):
            rows, columns = np.nonzero(truth[:, first : last + 1])
            places = np.stack([rows // 5, rows % 5, columns], axis=1).astype("<u2")
            values = truth[:, first : last + 1][rows, columns].astype("<f2")
            tokens = ("I64", np.zeros((8, 5), dtype="<i8"))
            name = f"{first}_{last}.safetensors"
            save_tensors(tmp_path / name, locations=("U16", places), activations=("F16", values), tokens=tokens)
        np.save(tmp_path / "l.npy", TRUTH["batch"][:, None])
        for path in (f"{tmp_path}/*.safetensors", tmp_path):
            rep = load(path, tmp_path / "l.npy")
            assert np.array_equal(rep.by_row.toarray(), truth.astype(np.float64))

    def test_safetensors_below_each_other_are_rows(self, tmp_path):
        codes, labels = TRUTH["codes"].astype("<f4"), TRUTH["batch"].astype("<f4")[:, None]
        for place, rows in enumerate((slice(0, 15), slice(15, 40))):
            tensors = {"codes": ("F32", codes[rows]), "factors": ("F32", labels[rows])}
            save_tensors(tmp_path / f"part-{place}.safetensors", **tensors)
        assert np.array_equal(load(tmp_path).codes, codes.astype(np.float64))

    def test_torch_files_of_tensors_only(self, tmp_path, capsys):
        torch = pytest.importorskip("torch")
        codes = torch.from_numpy(TRUTH["codes"]).bfloat16()
        torch.save({"codes": codes, "factors": torch.from_numpy(TRUTH["batch"])[:, None]}, tmp_path / "a.pt")
        rep = load(tmp_path / "a.pt")
        assert np.array_equal(rep.codes, codes.float().numpy().astype(np.float64))
        torch.save({"codes": Path("x")}, tmp_path / "b.pt")
        assert fails(tmp_path / "b.pt")

    def test_zarr_array_and_group(self, tmp_path):
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
        group.create_array("codes", data=TRUTH["codes"])
        group.create_array("factors", data=TRUTH["batch"][:, None])
        rep = load(tmp_path / "a.zarr")
        assert np.array_equal(rep.codes, TRUTH["codes"].astype(np.float64))
        with pytest.raises(ValueError, match="factors"):
            load(tmp_path / "a.zarr", codes="code")


class TestTables:
    def test_a_hugging_face_data_set_with_a_column_of_lists(self):
        rep = load(FILES / "hf_dataset", code_columns="embedding", factor_columns="label")
        assert np.allclose(rep.codes, TRUTH["codes"])
        assert rep.code_names[0] == "embedding_0"
        assert np.array_equal(rep.factors[0].numbers, TRUTH["batch"])

    def test_numbers_of_classes_are_their_names(self, tmp_path):
        names = np.array(["ape", "bee", "cat", ""])
        animals = np.where(np.arange(40) == 5, 3, np.arange(40) % 3)
        given = {"code_columns": "embedding", "factor_columns": "animal"}
        as_parquet(FILES / "hf_classes", tmp_path / "a.parquet")
        for path in (FILES / "hf_classes", tmp_path / "a.parquet"):
            rep = load(path, **given)
            assert rep.factors[0].kind == "categorical"
            assert words(rep.factors[0]) == names[animals].tolist()
            in_blocks = scan(path, **given, progress=False).factors[0]
            assert in_blocks.kind == "categorical"
            assert words(in_blocks) == names[animals].tolist()

    def test_numbers_of_classes_stay_numbers_where_they_are_declared_so(self):
        kinds = {"animal": "ordinal"}
        for read in (load, scan):
            rep = read(FILES / "hf_classes", code_columns="embedding", factor_columns="animal", kinds=kinds)
            factor = rep.factors[0]
            assert factor.kind == "ordinal"
            assert sorted(set(factor.numbers)) == [-1, 0, 1, 2]

    @pytest.mark.parametrize("read", [load, scan])
    def test_shards_that_name_classes_otherwise_are_refused(self, tmp_path, read):
        for place, names in enumerate((["ape", "bee", "cat"], ["bee", "ape", "cat"])):
            as_parquet(FILES / "hf_classes", tmp_path / f"{place}.parquet", names=names)
        with pytest.raises(ValueError, match=r"1\.parquet' must name classes as .*0\.parquet' does.* in animal"):
            read(tmp_path, code_columns="embedding", factor_columns="animal")

    def test_a_number_without_a_class_is_refused(self, tmp_path):
        as_parquet(FILES / "hf_classes", tmp_path / "a.parquet", names=["ape", "bee"])
        with pytest.raises(ValueError, match="'animal' must be numbers of its 2 classes, got -1 to 2"):
            load(tmp_path / "a.parquet", code_columns="embedding", factor_columns="animal")

    @pytest.mark.parametrize("metadata", [b"{", b"3", b'{"info": {"features": {"animal": {"names": 3}}}}'])
    def test_features_that_are_none_name_no_class(self, metadata):
        assert class_names({b"huggingface": metadata}) == {}

    def test_folders_in_a_folder_are_named(self, tmp_path, capsys):
        for split in ("test", "train"):
            shutil.copytree(FILES / "hf_classes", tmp_path / "splits" / split)
        assert fails(tmp_path / "splits")
        assert "is a folder of data sets; give one of them: " in (said := capsys.readouterr().err)
        assert "splits/test and " in said
        assert fails(tmp_path)
        assert "is a folder without .parquet, .arrow, .csv, .tsv, .safetensors files" in capsys.readouterr().err

    def test_packed_files_are_to_be_unpacked(self, tmp_path, capsys):
        (tmp_path / "table.csv.gz").write_bytes(b"anything")
        assert fails(tmp_path / "table.csv.gz")
        assert "got '.gz'; unpack it first." in capsys.readouterr().err
        np.save(tmp_path / "codes.npy", TRUTH["codes"])
        assert fails(tmp_path / "codes.npy", "--factors", tmp_path / "table.csv.gz")
        assert "must end in .npy, .csv, .tsv, .parquet or .arrow, got '.gz'" in capsys.readouterr().err

    @pytest.mark.parametrize("index", [range(40), range(1, 41), [f"cell{i}" for i in range(40)]])
    @pytest.mark.parametrize("ending", [".csv", ".tsv"])
    def test_the_index_that_pandas_writes_is_no_factor(self, tmp_path, index, ending):
        frame = table(factor_word=pd.Series(["NA", "x"] * 20)).set_index(pd.Index(index))
        frame.to_csv(tmp_path / f"a{ending}", sep="\t" if ending == ".tsv" else ",")
        rep = load(tmp_path / f"a{ending}", code_columns="code_*", factor_columns="*")
        assert rep.factor_names == ("batch", "word")
        np.testing.assert_allclose(rep.codes, TRUTH["codes"].astype(np.float64))
        assert rep.factors[1].levels == ("NA", "x")

    @pytest.mark.parametrize("column", [np.arange(40) % 4, np.arange(40)[::-1], ["x", "y"] * 20])
    def test_a_column_without_a_name_that_tells_more_is_kept(self, tmp_path, column):
        frame = table()
        frame.insert(0, "", column)
        frame.to_csv(tmp_path / "a.csv", index=False)
        assert len(load(tmp_path / "a.csv", code_columns="code_*", factor_columns="*").factors) == 2

    def test_a_tab_is_what_stands_between_columns_of_a_tsv_file(self, tmp_path):
        frame = table().rename(columns={"factor_batch": "factor_a, b"})
        frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
        assert load(tmp_path / "a.tsv").factor_names == ("a, b",)

    def test_shards_by_pattern_and_by_folder_are_one_table(self, tmp_path):
        whole = table()
        for place, part in enumerate((whole[:11], whole[11:30], whole[30:])):
            part.to_parquet(tmp_path / f"part_{place}.parquet")
        for path in (f"{tmp_path}/part_*.parquet", tmp_path):
            rep = load(path)
            assert np.array_equal(rep.codes, TRUTH["codes"].astype(np.float64))
            assert np.array_equal(rep.factors[0].numbers, TRUTH["batch"])

    def test_lists_of_one_column_of_parquet(self, tmp_path):
        frame = pd.DataFrame({"embedding": TRUTH["codes"].tolist(), "batch": TRUTH["batch"]})
        frame.to_parquet(tmp_path / "a.parquet")
        rep = load(tmp_path / "a.parquet", code_columns="embedding", factor_columns="batch")
        assert np.array_equal(rep.codes, TRUTH["codes"].astype(np.float64))

    def test_bad_tables_are_refused(self, tmp_path, capsys):
        lists = TRUTH["codes"].tolist()
        lists[7] = lists[7][:2]
        pd.DataFrame({"embedding": lists, "batch": TRUTH["batch"]}).to_parquet(tmp_path / "ragged.parquet")
        assert fails(tmp_path / "ragged.parquet", "--code-columns", "embedding", "--factor-columns", "batch")
        shards = tmp_path / "shards"
        shards.mkdir()
        assert fails(shards)
        table().to_parquet(shards / "a.parquet")
        table().rename(columns={"code_0": "other"}).to_parquet(shards / "b.parquet")
        assert fails(shards)
        assert "other" in capsys.readouterr().err
        table(code_1=[f"{value}" for value in TRUTH["codes"][:, 1]]).to_parquet(shards / "b.parquet")
        assert fails(shards)
        assert "got text in place of numbers in 'code_1'" in capsys.readouterr().err
        (shards / "b.parquet").write_bytes((shards / "a.parquet").read_bytes()[:200])
        assert fails(shards)
        assert fails(f"{shards}/*.txt")
        assert fails(shards / "a.parquet", "--codes", "X")


def save_tensors(path, **tensors):
    """Write a safetensors file: the length of a JSON header, the header, the bytes."""
    header, blob = {}, b""
    for name, (dtype, array) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [len(blob), len(blob) + array.nbytes],
        }
        blob += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)

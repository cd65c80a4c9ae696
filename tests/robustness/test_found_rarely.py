"""What ten thousand inputs of each format found, once or a few times each."""

import io
import json
import logging
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pytest
import torch
from pandas import DataFrame

from helpers.official import write_dsprites, write_emnist, write_shapes3d
from helpers.small import run_cli
from unbraid import Representation, compare, evaluate, save
from unbraid._base.arrays import AnyArray
from unbraid.data import applicants, load_dataset
from unbraid.data.official import read_matrix
from unbraid.explorer.decoding import make_decoder
from unbraid.models import load_models, train
from unbraid.panel.rows import scan
from unbraid.panel.saved import reports_in
from unbraid.representation.formats.zarr_module import load_zarr
from unbraid.representation.row_blocks import plan_blocks
from unbraid.study import run_study

#: More than any machine holds, and a product with itself that is zero in 64 bits.
ABSURD = 2**32
SMALL = {"n_steps": 1, "n_codes": 2, "width": 1, "batch_size": 2, "progress": False}


def pictures() -> AnyArray:
    return np.random.default_rng(0).integers(256, size=(8, 1, 8, 8), dtype=np.uint8)


@pytest.mark.slow
def test_a_study_of_a_store_that_is_no_text_is_called_damaged(tmp_path, capsys):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (60, 2))
    (tmp_path / "given").mkdir()
    save(Representation(factors + 0.1 * rng.normal(size=(60, 2)), factors), tmp_path / "given" / "a.npz")
    study = tmp_path / "small.yaml"
    study.write_text(f"name: small\nrepresentations: {{folder: {tmp_path}/given}}\nscores: {{metrics: [mig]}}\n")
    run_study(study, tmp_path / "store", workers=1, progress=False)
    kept = tmp_path / "store" / "studies" / "small.yaml"
    kept.write_bytes(b"\xff" + kept.read_bytes())
    code, _, err = run_cli(capsys, "study", "status", "--store", str(tmp_path / "store"))
    assert code == 2
    assert "has a study 'small' that is damaged" in err
    assert run_study(study, tmp_path / "store", workers=1, progress=False).is_complete
    assert run_cli(capsys, "study", "status", "--store", str(tmp_path / "store"))[0] == 0


def test_a_type_of_hdf5_that_numpy_lacks_is_damage(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "3dshapes.h5"
    write_shapes3d(path, (2, 1, 1, 1, 2, 1), side=4)
    odd = h5py.h5t.IEEE_F64LE.copy()
    odd.set_ebias(10**6)
    with h5py.File(path, "a") as file:
        shape = file["labels"].shape
        del file["labels"]
        h5py.h5d.create(file.id, b"labels", odd, h5py.h5s.create_simple(shape))
    with pytest.raises(ValueError, match="is damaged, cut short or not HDF5"):
        load_dataset("shapes3d", tmp_path)


def test_an_archive_with_names_in_no_encoding_is_damaged(tmp_path):
    path = tmp_path / "gzip.zip"
    write_emnist(path, n_samples=10)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 8 : at + 10] = (0x800).to_bytes(2, "little")  # the name is said to be UTF-8
    content[at + 46] = 0x8B
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is damaged, cut short or not a \.zip"):
        load_dataset("emnist", tmp_path)


@pytest.mark.slow
def test_a_checkpoint_with_steps_in_a_table_does_not_fit(tmp_path):
    train("vae", pictures(), seeds=[0, 1], out=tmp_path, **SMALL)
    content = torch.load(tmp_path / "ensemble.pt", weights_only=True)
    content["diverged"] = content["diverged"][:, None]
    torch.save(content, tmp_path / "ensemble.pt")
    with pytest.raises(ValueError, match="do not fit their own settings"):
        load_models(tmp_path)


@pytest.mark.slow
def test_members_that_do_not_fit_are_refused_though_they_are_asked_for():
    with pytest.raises(ValueError, match="may be taken on 'cpu'"):
        train("vae", pictures(), at_once=1, **SMALL | {"batch_size": 10**12})


@pytest.mark.slow
def test_more_pairs_of_rows_than_can_be_counted_are_refused():
    with pytest.raises(ValueError, match="may be taken on 'cpu'; try batch_size="):
        train("vfae", applicants(), **SMALL | {"batch_size": 10**12})


@pytest.mark.slow
def test_another_run_is_refused_before_its_networks_are_made(tmp_path):
    train("vae", pictures(), out=tmp_path, **SMALL)
    with pytest.raises(ValueError, match="holds a run with other settings"):
        train("vae", pictures(), out=tmp_path, **SMALL | {"n_codes": 10**9})


@pytest.mark.parametrize("output", [lambda z: z * 1j, lambda z: z[:, :0]], ids=["complex", "empty"])
@pytest.mark.filterwarnings("error")
def test_a_decoder_without_real_numbers_is_not_explored(output):
    with pytest.raises(ValueError, match="must return a row of finite numbers"):
        make_decoder(output, n_codes=2)


@pytest.mark.filterwarnings("error")
def test_codes_next_to_zero_are_cut_into_bins():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (60, 2))
    codes = np.stack([factors[:, 0] * 5e-324, factors[:, 1] + 0.1 * rng.normal(size=60)], axis=1)
    plain = np.stack([factors[:, 0], codes[:, 1]], axis=1)
    how = {"metrics": "mig", "intervals": False, "nulls": False, "binning": "uniform", "n_jobs": 1, "progress": False}
    assert evaluate(codes, factors, **how)["mig"].value == evaluate(plain, factors, **how)["mig"].value


def test_reports_of_one_name_do_not_replace_each_other():
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (40, 2))
    report = evaluate(factors + 0.1, factors, metrics="mig", nulls=False, name="same", n_jobs=1, progress=False)
    data = json.loads(report.to_json())
    with pytest.raises(ValueError, match="must hold reports of different names"):
        reports_in({"reports": {"": data, "same": data}}, "a.json")


def test_errors_of_tasks_of_zarr_stay_off_the_terminal(caplog):
    zarr = pytest.importorskip("zarr")
    load_zarr()
    told = logging.getLogger("asyncio")
    with caplog.at_level(logging.ERROR, logger="asyncio"):
        try:
            zarr.open("nowhere.zarr", mode="r")
        except Exception:
            told.exception("a task of zarr")
        try:
            zipfile.ZipFile(io.BytesIO(b""))
        except zipfile.BadZipFile:
            told.exception("another task")
    assert [record.message for record in caplog.records] == ["another task"]


def test_a_matrix_of_smallnorb_that_ends_within_its_axes(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(struct.pack("<Ii", 0x1E3D4C55, 4) + bytes(14))
    with pytest.raises(ValueError, match="ends within its header, after 22 bytes"):
        read_matrix(path)


def test_an_arrow_file_with_a_column_name_that_is_no_text_is_called_damaged(tmp_path):
    table = pa.table({"code_a": np.arange(20.0), "factor_zzzz": np.arange(20) % 3})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    path = tmp_path / "a.arrow"
    path.write_bytes(sink.getvalue().replace(b"factor_zzzz", b"factor_\xe4\xe4zz"))
    with pytest.raises(ValueError, match="damaged or not a file of"):
        plan_blocks(path)


def test_reports_with_absurd_replicates_are_compared_without_a_warning():
    factors = np.random.default_rng(0).integers(0, 3, (60, 2))
    clean = evaluate(factors + 0.0, factors, metrics="mig", name="a")
    data = json.loads(clean.to_json())
    data["scores"]["mig"]["replicates"][:2] = [1e308, 1e308]
    (absurd,) = reports_in(data, "a.json").values()
    assert compare({"a": clean, "b": absurd}).differences


def headers_only(path, *shapes):
    """Write .npy files that state shapes and hold no numbers."""
    places = [path / f"{number}.npy" for number in range(len(shapes))]
    for place, shape in zip(places, shapes, strict=True):
        with place.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return places


@pytest.mark.parametrize(("codes", "factors"), [((0, 4), (0, 2**63)), ((0, 2**63), (0, 4))])
def test_columns_without_rows_are_not_counted(tmp_path, codes, factors):
    with pytest.raises(ValueError, match="has no rows"):
        plan_blocks(*headers_only(tmp_path, codes, factors))


def test_a_size_that_overflows_is_no_size_of_zero(tmp_path):
    with pytest.raises(ValueError, match=f"ends before its {ABSURD} rows"):
        plan_blocks(*headers_only(tmp_path, (ABSURD, ABSURD), (ABSURD, 1)))


@pytest.mark.parametrize(
    ("codes", "factors"), [((24, 10**15), (24, 1)), ((24, 2), (24, 10**15)), ((10**18, 2), (10**18, 1))]
)
def test_a_zarr_group_that_states_more_than_can_be_counted_is_refused(tmp_path, codes, factors):
    pytest.importorskip("zarr")
    about = {"zarr_format": 2, "chunks": [24, 4], "dtype": "<f8", "compressor": None, "fill_value": 0.0}
    about |= {"order": "C", "filters": None}
    group = tmp_path / "a.zarr"
    for name, shape in {"codes": codes, "factors": factors}.items():
        (group / name).mkdir(parents=True)
        (group / name / ".zarray").write_text(json.dumps(about | {"shape": shape}))
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    with pytest.raises(ValueError, match="counted in memory"):
        plan_blocks(group)


@pytest.mark.slow
def test_a_run_that_is_done_leaves_no_empty_board(tmp_path):
    pytest.importorskip("tensorboard")
    train("vae", pictures(), out=tmp_path / "run", **SMALL)
    train("vae", pictures(), out=tmp_path / "run", tensorboard=tmp_path / "board", **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_absurdly_many_codes_in_blocks_are_refused_without_counting_them(tmp_path):
    labels = {"d": "shape", "y": "scale"}
    write_dsprites(tmp_path / "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz", (1, 2, 2, 2, 2, 2), side=8)
    data = load_dataset("dsprites", folder=tmp_path)
    with pytest.raises(ValueError, match="TiB to train"):
        train("diva", data, labels=labels, **SMALL | {"n_codes": 10**12})


@pytest.mark.skipif(np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="no wider numbers here")
@pytest.mark.parametrize("which", [0, 1])
def test_numbers_beyond_64_bits_are_not_finite(tmp_path, which, recwarn):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(60, 2)), rng.integers(0, 3, (60, 2))]
    arrays[which] = arrays[which].astype(np.longdouble)
    arrays[which][7, 1] = np.longdouble("1e4000")
    places = [str(tmp_path / f"{number}.npy") for number in range(2)]
    for place, array in zip(places, arrays, strict=True):
        np.save(place, array)
    for read in (
        lambda: scan(*places),
        lambda: Representation(*arrays),
        lambda: Representation(*map(DataFrame, arrays)),
    ):
        with pytest.raises(ValueError, match="must be finite"):
            read()
    assert not recwarn.list

"""Official files are read as published, put in the order of their grid, and refused in a sentence when damaged."""

import gzip
import io
import struct
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy.io import savemat

from helpers.idx import random_digits, write_part
from helpers.official import (
    car_pictures,
    mat_bytes,
    matrix_bytes,
    write_cars3d,
    write_dsprites,
    write_emnist,
    write_shapes3d,
    write_smallnorb,
    write_tar,
)
from unbraid._base.memory import TooMuchMemoryError
from unbraid.data import load_dataset
from unbraid.data.dataset import grid_order, shrink
from unbraid.data.mnist import read_idx
from unbraid.data.official import PARTS, read_matrix

DSPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
CARS = "nips2015-analogy-data.tar.gz"


def everything(data):
    return data.observations(np.arange(len(data)))


def test_dsprites_is_read_and_its_pickle_is_not(tmp_path):
    imgs = write_dsprites(tmp_path / "dsprites" / DSPRITES)
    data = load_dataset("dsprites", tmp_path)
    assert data.factor_names == ("shape", "scale", "orientation", "x", "y")
    assert data.factor_sizes == (3, 2, 5, 2, 2)
    assert data.factor_kinds == ("categorical", "ordinal", "circular:4", "ordinal", "ordinal")
    assert data.observation_shape == (1, 16, 16)
    assert np.array_equal(everything(data)[:, 0], imgs)


def test_dsprites_with_pictures_whose_pixels_fill_no_byte_and_rows_in_any_order(tmp_path):
    sizes = (1, 2, 2, 2, 2, 2)
    order = np.random.default_rng(0).permutation(32)
    classes = np.stack(np.unravel_index(order, sizes), axis=1)
    imgs = write_dsprites(tmp_path / DSPRITES, sizes, side=5, latents_classes=classes)
    assert np.array_equal(everything(load_dataset("dsprites", tmp_path))[order, 0], imgs)


def test_shapes3d(tmp_path):
    images = write_shapes3d(tmp_path / "3dshapes.h5")
    data = load_dataset("shapes3d", tmp_path)
    assert data.factor_names == ("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation")
    assert data.factor_sizes == (2, 2, 3, 2, 2, 3)
    assert data.factor_kinds[2:] == ("circular:3", "ordinal", "categorical", "ordinal")
    expected = images.transpose(0, 3, 1, 2) / 255
    np.testing.assert_allclose(everything(data), expected, rtol=1e-6)
    write_shapes3d(tmp_path / "3dshapes.h5", shuffle=True)
    np.testing.assert_allclose(everything(load_dataset("shapes3d", tmp_path)), expected, rtol=1e-6)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_mpi3d_stored_and_compressed(tmp_path, save):
    images = np.random.default_rng(0).integers(256, size=(460_800, 1, 1, 3), dtype=np.uint8)
    save(tmp_path / "real3d_complicated_shapes_ordered.npz", images=images)
    data = load_dataset("mpi3d_complex", tmp_path)
    assert data.factor_sizes == (4, 4, 2, 3, 3, 40, 40)
    assert data.factor_names[0] == "colour"
    assert isinstance(data.images, np.memmap) == (save is np.savez)
    rows = np.array([0, 1, 40, 1600, 460_799])
    assert data.factors(rows)[:, -3:].tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [2, 39, 39]]
    np.testing.assert_allclose(data.observations(rows)[:, :, 0, 0] * 255, images[rows, 0, 0], atol=1e-4)


@pytest.mark.parametrize("name", ["mpi3d", "mpi3d_toy", "mpi3d_realistic"])
def test_the_other_versions_of_mpi3d_have_six_colours_and_shapes(tmp_path, name):
    file = {"mpi3d": "mpi3d_real.npz"}.get(name, f"{name}.npz")
    np.savez(tmp_path / file, images=np.zeros((1_036_800, 1, 1, 3), dtype=np.uint8))
    assert load_dataset(name, tmp_path).factor_sizes == (6, 6, 2, 3, 3, 40, 40)


@pytest.mark.parametrize("unpacked", [False, True])
def test_cars3d_from_the_archive_or_unpacked(tmp_path, unpacked):
    cars = car_pictures()
    if unpacked:
        (tmp_path / "data" / "cars").mkdir(parents=True)
        for k, car in enumerate(cars):
            (tmp_path / "data" / "cars" / f"car_{k:03}_mesh.mat").write_bytes(mat_bytes(car))
    else:
        write_cars3d(tmp_path / "cars3d" / CARS, cars)
    before = sorted(tmp_path.rglob("*"))
    data = load_dataset("cars3d", tmp_path)
    assert sorted(tmp_path.rglob("*")) == before  # nothing is unpacked
    assert data.factor_names == ("elevation", "azimuth", "car")
    assert data.factor_sizes == (2, 6, 3)
    assert data.factor_kinds == ("ordinal", "circular:6", "categorical")
    halved = cars.reshape(3, 64, 2, 64, 2, 3, 6, 2).mean(axis=(2, 4))
    for row in (0, 7, 20, 35):
        elevation, azimuth, car = data.factors(np.array([row]))[0]
        expected = halved[car, :, :, :, azimuth, elevation].transpose(2, 0, 1)
        np.testing.assert_allclose(data.observations(np.array([row]))[0] * 255, expected, atol=0.51)


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.5, 0.9])
def test_a_car_cut_short_is_refused(tmp_path, share):
    content = mat_bytes(car_pictures(1, side=8)[0])
    (tmp_path / "cars").mkdir()
    (tmp_path / "cars" / "car_000_mesh.mat").write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"car 'car_000_mesh\.mat' is damaged or not a MATLAB file"):
        load_dataset("cars3d", tmp_path)


def test_an_archive_cannot_write_outside_or_have_links_followed(tmp_path):
    import io
    import tarfile

    path = write_tar(tmp_path / "safe" / CARS, {"../cars/escaped.mat": mat_bytes(car_pictures(1)[0])})
    with tarfile.open(tmp_path / "safe" / "more.tar", "w") as archive:
        link = tarfile.TarInfo("data/cars/link.mat")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("/cars/._hidden.mat"), io.BytesIO())
    assert load_dataset("cars3d", path.parent).factor_sizes == (2, 6, 1)
    path.write_bytes((path.parent / "more.tar").read_bytes())
    with pytest.raises(ValueError, match=r"has no cars/\*.mat in it; fetch it again"):
        load_dataset("cars3d", path.parent)
    assert sorted(found.name for found in tmp_path.rglob("*")) == ["more.tar", CARS, "safe"]


@pytest.mark.parametrize("compress", [True, False])
def test_smallnorb_is_put_in_order_and_parts_are_joined(tmp_path, compress):
    folder = tmp_path / "smallnorb"
    first, _ = write_smallnorb(folder, PARTS[0], (4, 6), compress=compress)
    alone = load_dataset("smallnorb", tmp_path)
    assert alone.factor_names == ("category", "instance", "elevation", "azimuth", "lighting")
    assert alone.factor_sizes == (5, 2, 2, 3, 2)
    assert alone.factor_kinds[3] == "circular:3"
    np.testing.assert_allclose(everything(alone)[:, 0] * 255, shrink(first), atol=1e-4)
    write_smallnorb(folder, PARTS[1], (0, 5), compress=compress, seed=1)
    both = load_dataset("smallnorb", tmp_path)
    assert both.factor_sizes == (5, 4, 2, 3, 2)
    of_instance_4 = everything(both).reshape(5, 4, 12, 64, 64)[:, 1]  # instances 0, 4, 5, 6
    expected = everything(alone).reshape(5, 2, 12, 64, 64)[:, 0]
    assert np.array_equal(of_instance_4, expected)


def test_mnist_and_emnist(tmp_path):
    images, labels = random_digits(50)
    write_part(tmp_path, "train", images, labels, compress=True)
    mnist = load_dataset("mnist", tmp_path)
    assert (mnist.factor_names, mnist.factor_sizes, mnist.factor_kinds) == (("digit",), (10,), ("categorical",))
    assert np.array_equal(mnist.factors(np.arange(50))[:, 0], labels)
    np.testing.assert_allclose(everything(mnist)[:, 0], images / 255, rtol=1e-6)

    images, labels = write_emnist(tmp_path / "emnist" / "gzip.zip", "letters", first_label=1)
    letters = load_dataset("emnist_letters", tmp_path)
    assert np.array_equal(letters.factors(np.arange(30))[:, 0], labels)  # counted from 0
    np.testing.assert_allclose(everything(letters)[:, 0], images.transpose(0, 2, 1) / 255, rtol=1e-6)
    with pytest.raises(ValueError, match=r"gzip.zip' has no emnist-digits-train images and labels; fetch it again"):
        load_dataset("emnist", tmp_path)

    folder = tmp_path / "unpacked"
    folder.mkdir()
    write_part(folder, "emnist-digits-train", images, labels)
    digits = load_dataset("emnist", folder)
    np.testing.assert_allclose(everything(digits)[:, 0], images.transpose(0, 2, 1) / 255, rtol=1e-6)


@pytest.mark.parametrize(("size", "weights"), [(128, [(0, 0.5), (1, 0.5)]), (96, [(0, 2 / 3), (1, 1 / 3)])])
def test_shrinking_takes_the_mean_of_what_a_pixel_covers(size, weights):
    images = np.random.default_rng(0).integers(256, size=(2, size, size), dtype=np.uint8)
    corner = sum(a * b * images[0, i, j].astype(float) for i, a in weights for j, b in weights)
    assert shrink(images)[0, 0, 0] == pytest.approx(corner, abs=0.51)
    flat = np.full((1, size, size, 3), 77, dtype=np.uint8)
    assert (shrink(flat) == 77).all()
    assert shrink(images).mean() == pytest.approx(images.mean(), abs=0.1)


def test_a_grid_has_each_combination_once():
    order, sizes = grid_order(np.array([[9, 1], [2, 1], [9, 0], [2, 0]]), "it")
    assert (order.tolist(), sizes) == ([3, 1, 2, 0], (2, 2))
    with pytest.raises(ValueError, match="it must have each of the 4 combinations of factor values once, got 4 rows"):
        grid_order(np.array([[0, 0], [1, 1], [0, 1], [0, 1]]), "it")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_files_cut_short_are_refused(tmp_path):
    write_dsprites(tmp_path / DSPRITES)
    write_shapes3d(tmp_path / "3dshapes.h5", side=32)
    write_cars3d(tmp_path / CARS, car_pictures())
    write_smallnorb(tmp_path, PARTS[0], (4,))
    write_emnist(tmp_path / "gzip.zip")
    for path in sorted(tmp_path.iterdir()):
        cut(path)
    for name, message in {
        "dsprites": "is damaged, cut short or not an .npz archive; fetch it again.",
        "shapes3d": "is damaged, cut short or not HDF5; fetch it again.",
        "cars3d": "is damaged, cut short or not a .tar.gz; fetch it again.",
        "smallnorb": "is compressed but cut short or damaged; fetch it again.",
        "emnist": "is damaged, cut short or not a .zip; fetch it again.",
    }.items():
        with pytest.raises(ValueError, match=message):
            load_dataset(name, tmp_path)


def save_dsprites(**arrays):
    return lambda folder: write_dsprites(folder / DSPRITES, **arrays)


def save_npz(**arrays):
    return lambda folder: np.savez(folder / "mpi3d_toy.npz", **arrays)


def save_car(content):
    return lambda folder: write_tar(folder / CARS, {"data/cars/car_000_mesh.mat": content})


def save_two_cars(folder):
    cars = {f"cars/{k}.mat": mat_bytes(car_pictures(1, n_azimuths=k)[0]) for k in (2, 3)}
    write_tar(folder / CARS, cars)


def save_norb(**changed):
    def save(folder):
        write_smallnorb(folder, PARTS[0], (4,), compress=False)
        for content, data in changed.items():
            path = folder / f"{PARTS[0]}-{content}.mat"
            path.unlink() if data is None else path.write_bytes(data)

    return save


WRONG = {
    "pictures that are not 0 or 1": (
        "dsprites",
        save_dsprites(imgs=np.full((120, 4, 4), 2, dtype=np.uint8)),
        "array 'imgs' of .* must be 0 or 1 everywhere, got 2.",
    ),
    "pictures in colour": (
        "dsprites",
        save_dsprites(imgs=np.zeros((120, 4, 4, 3), dtype=np.uint8)),
        r"must be bytes of shape \(n, height, width\), got uint8 of shape \(120, 4, 4, 3\)",
    ),
    "a picture too few": (
        "dsprites",
        save_dsprites(imgs=np.zeros((119, 4, 4), dtype=np.uint8)),
        r"array 'latents_classes' of .* must be \(119, 6\), got \(120, 6\)",
    ),
    "a combination twice": (
        "dsprites",
        save_dsprites(latents_classes=np.zeros((120, 6), dtype=int)),
        "must have each of the 1 combinations of factor values once, got 120 rows",
    ),
    "pictures that are a pickle": (
        "dsprites",
        save_dsprites(imgs=np.array([{}], dtype=object)),
        r"array 'imgs' of .* holds Python objects \(a pickle\), which are never loaded.",
    ),
    "no pictures": ("mpi3d_toy", save_npz(pictures=np.zeros(3)), "must hold an array 'images', got pictures."),
    "an MPI3D too small": (
        "mpi3d_toy",
        save_npz(images=np.zeros((5, 2, 2, 3), dtype=np.uint8)),
        r"must be bytes of shape \(1036800, height, width, 3\), got uint8 of shape \(5, 2, 2, 3\)",
    ),
    "a car that is none": (
        "cars3d",
        save_car(b"hello" * 100),
        "car 'car_000_mesh.mat' is damaged or not a MATLAB file",
    ),
    "a car of no pictures": ("cars3d", save_car(mat_bytes(np.zeros(3), key="x")), "got no 'im'."),
    "a car in grey": (
        "cars3d",
        save_car(mat_bytes(np.zeros((4, 4, 1, 2, 2), dtype=np.uint8))),
        r"must hold bytes 'im' of shape .* got uint8 of shape \(4, 4, 1, 2, 2\)",
    ),
    "cars of different sides": ("cars3d", save_two_cars, "must all have as many sides and heights"),
    "a missing matrix": (
        "smallnorb",
        save_norb(info=None),
        "has no smallnorb-5x46789x9x18x6x2x96x96-training-info.mat",
    ),
    "too few categories": (
        "smallnorb",
        save_norb(cat=matrix_bytes(np.zeros(3, dtype=np.int32))),
        r"categories \(n,\) and info \(n, 4\), got \(60, 2, 96, 96\), \(3,\) and \(60, 4\)",
    ),
}


@pytest.mark.parametrize(("name", "save", "message"), WRONG.values(), ids=WRONG.keys())
def test_files_of_another_shape_are_refused(tmp_path, name, save, message):
    save(tmp_path)
    with pytest.raises(ValueError, match=message):
        load_dataset(name, tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"abc", "ends within its header, after 3 bytes"),
        (b"\0" * 40, "must be a binary matrix of bytes or integers, got first bytes 00 00"),
        (
            matrix_bytes(np.zeros((2, 3), dtype=np.uint8))[:-1],
            r"must have 26 bytes for an array of shape \(2, 3\), got 25",
        ),
        (matrix_bytes(np.zeros((2, 3), dtype=np.uint8)) + b"x", "must have 26 bytes"),
    ],
)
def test_matrices_that_are_none(tmp_path, data, message):
    (tmp_path / "x.mat").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_matrix(tmp_path / "x.mat")


def test_a_shapes3d_file_without_labels(tmp_path):
    import h5py

    with h5py.File(tmp_path / "3dshapes.h5", "w") as file:
        file.create_dataset("images", data=np.zeros((4, 2, 2, 3), dtype=np.uint8))
    with pytest.raises(ValueError, match=r"must hold 'images' and 'labels', got images."):
        load_dataset("shapes3d", tmp_path)
    with h5py.File(tmp_path / "3dshapes.h5", "a") as file:
        file.create_dataset("labels", data=np.zeros((4, 5)))
    with pytest.raises(ValueError, match=r"labels of shape \(n, 6\), got uint8 of shape \(4, 2, 2, 3\) and \(4, 5\)"):
        load_dataset("shapes3d", tmp_path)


def test_shapes3d_without_h5py_says_what_to_install(tmp_path, monkeypatch):
    write_shapes3d(tmp_path / "3dshapes.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ValueError, match=r"needs h5py, .*\[train\]"):
        load_dataset("shapes3d", tmp_path)


def test_an_absent_or_unknown_set_says_what_to_do(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="got 'dsprite'; did you mean 'dsprites'"):
        load_dataset("dsprite")
    monkeypatch.setenv("UNBRAID_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="is not in the data folder") as caught:
        load_dataset("shapes3d")
    assert str(caught.value) == (
        "shapes3d is not in the data folder; run `unbraid data fetch shapes3d`, or put into "
        f"{str(tmp_path / 'shapes3d')!r}: 3dshapes.h5 from https://storage.googleapis.com/3d-shapes/3dshapes.h5."
    )
    write_shapes3d(tmp_path / "3dshapes.h5")
    assert len(load_dataset("shapes3d")) == 144


def npy_header(shape, dtype="|u1"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue()


def absurd_npz(path, **shapes):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, shape in shapes.items():
            archive.writestr(f"{name}.npy", npy_header(shape) + bytes(100))


def bomb(head):
    """A header, and zeros that unpack to far more than the header says."""
    return gzip.compress(head + bytes(64 * 2**20))


def sparse_file(path, n_bytes):
    """A file that states a length, and takes no room."""
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(n_bytes)


def absurd_shapes3d(path, n_rows=10**9):
    import h5py

    with h5py.File(path, "w") as file:
        for name, shape, kind in (("images", (64, 64, 3), "u1"), ("labels", (6,), "f8")):
            file.create_dataset(name, (n_rows, *shape), kind, chunks=(1, *shape), maxshape=(None, *shape))


NORB = f"{PARTS[0]}-dat.mat.gz"
ABSURD = {
    "dsprites of many pictures": (
        lambda folder: absurd_npz(folder / DSPRITES, imgs=(10**9, 64, 64), latents_classes=(10**9, 6)),
        lambda folder: load_dataset("dsprites", folder),
        "must have at most 16 GiB, got the shape",
    ),
    "dsprites of a negative length": (
        lambda folder: absurd_npz(folder / DSPRITES, imgs=(-1, 64, 64), latents_classes=(10, 6)),
        lambda folder: load_dataset("dsprites", folder),
        "must have at most 16 GiB, got the shape",
    ),
    "dsprites that says more than it has": (
        lambda folder: absurd_npz(folder / DSPRITES, imgs=(10**5, 64, 64), latents_classes=(10**5, 6)),
        lambda folder: load_dataset("dsprites", folder),
        "is damaged, cut short",
    ),
    "shapes3d": (
        lambda folder: absurd_shapes3d(folder / "3dshapes.h5"),
        lambda folder: load_dataset("shapes3d", folder),
        "must have at most 16 GiB, got the shape",
    ),
    "shapes3d of no picture": (
        lambda folder: absurd_shapes3d(folder / "3dshapes.h5", n_rows=0),
        lambda folder: load_dataset("shapes3d", folder),
        "must not be empty, got the shape",
    ),
    "pictures of no pixel": (
        lambda folder: (folder / "x").write_bytes(b"\0\0\x08\x03\0\0\0\x05" + bytes(8)),
        lambda folder: read_idx(folder / "x"),
        r"must not be empty, got the shape \(5, 0, 0\)",
    ),
    "digits of many axes": (
        lambda folder: (folder / "x").write_bytes(b"\0\0\x08\xff" + b"\0\0\0\x01" * 255 + b"\0"),
        lambda folder: read_idx(folder / "x"),
        "must have 3 axes at most, got 255",
    ),
    "a file of many bytes": (
        lambda folder: sparse_file(folder / "x", 3 * 2**30),
        lambda folder: read_idx(folder / "x"),
        "must have at most 2 GiB",
    ),
    "a car of many bytes": (
        lambda folder: sparse_file(folder / "cars" / "a.mat", 2**30),
        lambda folder: load_dataset("cars3d", folder),
        "must have at most 0.25 GiB",
    ),
    "a matrix of many rows": (
        lambda folder: (folder / NORB).write_bytes(gzip.compress(struct.pack("<Ii3i", 0x1E3D4C55, 3, *[2**30] * 3))),
        lambda folder: read_matrix(folder / NORB),
        "must have at most 2 GiB, got the shape",
    ),
    "a matrix that unpacks to more": (
        lambda folder: (folder / NORB).write_bytes(bomb(struct.pack("<Ii3i", 0x1E3D4C55, 3, 2, 3, 1))),
        lambda folder: read_matrix(folder / NORB),
        r"must have 26 bytes for an array of shape \(2, 3, 1\), got more",
    ),
    "digits of many rows": (
        lambda folder: (folder / "x").write_bytes(gzip.compress(b"\0\0\x08\x03" + b"\x7f" * 12)),
        lambda folder: read_idx(folder / "x"),
        "must have at most 2 GiB, got the shape",
    ),
    "digits that unpack to more": (
        lambda folder: (folder / "x").write_bytes(bomb(b"\0\0\x08\x01\0\0\0\x05")),
        lambda folder: read_idx(folder / "x"),
        r"must have 13 bytes for an array of shape \(5,\), got more",
    ),
}


@pytest.mark.parametrize("name", ABSURD)
def test_sizes_are_refused_from_headers(tmp_path, name):
    write, read, message = ABSURD[name]
    write(tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            read(tmp_path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 20 * 2**20


@pytest.mark.slow
def test_a_car_of_many_pictures_is_refused_before_it_is_unpacked(tmp_path):
    many = io.BytesIO()
    savemat(many, {"im": np.zeros((512, 512, 3, 100, 4), dtype=np.uint8)}, do_compression=True)
    write_tar(tmp_path / CARS, {"data/cars/car_000_mesh.mat": many.getvalue()})
    with pytest.raises(ValueError, match=r"car 'car_000_mesh.mat' must have at most 0.25 GiB, got the shape \(512"):
        load_dataset("cars3d", tmp_path)


@pytest.mark.parametrize("name", ["shapes3d", "mpi3d", "cars3d", "dsprites", "smallnorb", "mnist", "emnist"])
def test_data_that_would_not_fit_are_refused_before_they_are_read(tmp_path, name, monkeypatch):
    """Headers only: a reader that went on would fail in another way."""
    write = {
        "shapes3d": lambda: absurd_shapes3d(tmp_path / "3dshapes.h5", n_rows=480_000),
        "mpi3d": lambda: absurd_npz(tmp_path / "mpi3d_real.npz", images=(1_036_800, 64, 64, 3)),
        "dsprites": lambda: absurd_npz(tmp_path / DSPRITES, imgs=(737_280, 64, 64), latents_classes=(737_280, 6)),
        "cars3d": lambda: sparse_file(tmp_path / "cars" / "a.mat", 1),
        "smallnorb": lambda: sparse_file(tmp_path / NORB, 1),
        "mnist": lambda: sparse_file(tmp_path / "train-images-idx3-ubyte", 1),
        "emnist": lambda: sparse_file(tmp_path / "gzip.zip", 1),
    }
    write[name]()
    monkeypatch.setattr("unbraid.data.array_files._check_whole", lambda member, n_bytes: None)
    with pytest.raises(
        TooMuchMemoryError, match=r"than the 1 MiB it may take; .*raise the limit with --memory \d+[MG]"
    ):
        load_dataset(name, tmp_path, memory="1M")

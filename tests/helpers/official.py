"""Writing small data sets in the formats of the official files, to test that they are read."""

import gzip
import io
import struct
import tarfile
import zipfile

import numpy as np
from scipy.io import savemat

from helpers.idx import idx_bytes, random_digits


def write_dsprites(path, sizes=(1, 3, 2, 5, 2, 2), *, side=16, seed=0, **arrays):
    """Write random binary pictures with classes in the order of the grid, and metadata that is a pickle."""
    n_rows = int(np.prod(sizes))
    imgs = np.random.default_rng(seed).integers(2, size=(n_rows, side, side), dtype=np.uint8)
    classes = np.stack(np.unravel_index(np.arange(n_rows), sizes), axis=1)
    content = {"imgs": imgs, "latents_classes": classes, "latents_values": classes * 1.0}
    metadata = np.array({"author": "nobody"}, dtype=object)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **(content | arrays), metadata=metadata)
    return imgs


def write_shapes3d(path, sizes=(2, 2, 3, 2, 2, 3), *, side=8, shuffle=False):
    import h5py

    n_rows = int(np.prod(sizes))
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(n_rows, side, side, 3), dtype=np.uint8)
    labels = np.stack(np.unravel_index(np.arange(n_rows), sizes), axis=1) * 7.5 - 30
    order = rng.permutation(n_rows) if shuffle else np.arange(n_rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=images[order], compression="gzip")
        file.create_dataset("labels", data=labels[order])
    return images


def mat_bytes(pictures, key="im"):
    file = io.BytesIO()
    savemat(file, {key: pictures, "mask": np.zeros(3)})
    return file.getvalue()


def car_pictures(n_cars=3, *, n_azimuths=6, n_elevations=2, side=128, seed=0):
    shape = (n_cars, side, side, 3, n_azimuths, n_elevations)
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


def write_tar(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def write_cars3d(path, cars):
    members = {f"data/cars/car_{k:03}_mesh.mat": mat_bytes(car) for k, car in enumerate(cars)}
    return write_tar(path, {"data/cars/list.txt": b"car_000_mesh\n", **members, "data/shapes48.mat": b"not a car"})


def matrix_bytes(array):
    """The binary matrix format of NORB: at least three lengths, whatever the number of axes."""
    kind = {"uint8": 0x1E3D4C55, "int32": 0x1E3D4C54}[str(array.dtype)]
    lengths = (*array.shape, 1, 1, 1)[: max(3, array.ndim)]
    return struct.pack(f"<Ii{len(lengths)}i", kind, array.ndim, *lengths) + array.tobytes()


def write_smallnorb(folder, part, instances, *, side=96, compress=True, seed=0):
    """Write one part in random order; return pictures in the order of the grid, and that order."""
    rng = np.random.default_rng(seed)
    values = [range(5), instances, range(2), range(0, 6, 2), range(2)]
    labels = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, 5).astype(np.int32)
    pairs = rng.integers(256, size=(len(labels), 2, side, side), dtype=np.uint8)
    order = rng.permutation(len(labels))
    folder.mkdir(parents=True, exist_ok=True)
    content = {"dat": pairs[order], "cat": labels[order, 0], "info": np.ascontiguousarray(labels[order, 1:])}
    for name, array in content.items():
        data = matrix_bytes(array)
        path = folder / (f"{part}-{name}.mat" + (".gz" if compress else ""))
        path.write_bytes(gzip.compress(data, 1) if compress else data)
    return pairs[:, 0], labels


def write_emnist(path, split="digits", *, n_samples=30, first_label=0):
    images, labels = random_digits(n_samples)
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for content, array in (("images", images), ("labels", labels + first_label)):
            name = f"gzip/emnist-{split}-train-{content}-idx{np.ndim(array)}-ubyte.gz"
            archive.writestr(name, gzip.compress(idx_bytes(array)))
    return images, labels

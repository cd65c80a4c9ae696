"""Codes and factors in the formats of other tools: AnnData, safetensors, torch, zarr, Arrow, sparse matrices."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable, Sequence
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import scipy.sparse
import torch
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.contract import Format, Input
from fuzz.documents import pruned
from fuzz.mutate import mutated, mutated_within
from fuzz.tables import N_ROWS, Arrays, drawn_array, is_plain, npy_bytes, same_arrays, same_numbers, scored, worlds

LABELS = "labels.npy"
#: Kinds of sparse matrices that ``scipy.sparse`` writes.
SPARSE = ("csr", "csr", "csc", "coo", "bsr", "dia")


def drawn_pair(draw: DrawFn) -> tuple[Any, Any]:
    """Return codes and factors, mostly matrices with the same rows."""
    n_rows = draw(st.sampled_from(N_ROWS))
    return drawn_array(draw, n_rows=n_rows, is_codes=True), drawn_array(draw, n_rows=n_rows, is_codes=False)


def thinned(draw: DrawFn, codes: Any) -> Any:
    """Return codes as a sparse matrix, with some of them 0."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    kept = rng.random(codes.shape) < draw(st.sampled_from([0.5, 0.9, 0.0]))
    kind = draw(st.sampled_from(SPARSE))
    matrix: Any = scipy.sparse.coo_matrix(np.where(kept, codes, np.zeros((), codes.dtype)))
    return matrix.asformat(kind)


def _can_be_sparse(codes: Any) -> bool:
    return codes.ndim == 2 and codes.dtype.kind in "fiub" and codes.dtype.isnative and codes.dtype not in ("f2", "g")


@st.composite
def _sparse_inputs(draw: DrawFn) -> Input:
    codes, factors = drawn_pair(draw)
    if not _can_be_sparse(codes):
        codes = np.zeros((24, 2))
    matrix = thinned(draw, codes)
    out = io.BytesIO()
    scipy.sparse.save_npz(out, matrix, compressed=draw(st.booleans()))
    content, arrays = out.getvalue(), Arrays(codes=matrix, factors=factors) if is_plain(factors) else None
    if draw(st.booleans()):
        content, arrays = draw(mutated(content) | mutated_within(content)), None
    files = {"codes.npz": content, LABELS: npy_bytes(factors)}
    return scored("codes.npz", files, arrays, "--factors", LABELS)


#: Types of tensors, and how NumPy has them.
TENSORS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
    "U64": "<u8",
}
NAMED = {np.dtype(kind): name for name, kind in TENSORS.items()}


def safetensors_bytes(tensors: dict[str, Any], **more: Any) -> bytes:
    """Return arrays as a file of tensors; ``more`` are entries of its header."""
    header: dict[str, Any] = dict(more)
    data = b""
    for name, array in tensors.items():
        content = np.ascontiguousarray(array).tobytes()
        about = {"dtype": NAMED.get(array.dtype, "F8_E4M3"), "shape": array.shape}
        header[name] = about | {"data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@st.composite
def _other_header(draw: DrawFn, content: bytes) -> bytes:
    """Return a file of tensors whose header is JSON with other parts."""
    (length,) = struct.unpack("<Q", content[:8])
    text = json.dumps(draw(pruned(content[8 : 8 + length].decode()))).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


@st.composite
def _safetensors_inputs(draw: DrawFn) -> Input:
    codes, factors = drawn_pair(draw)
    more: tuple[str, ...] = ()
    files: dict[str, bytes] = {}
    arrays = Arrays(codes=codes, factors=factors) if {codes.dtype, factors.dtype} <= set(NAMED) else None
    if draw(st.integers(0, 3)) == 3 and _can_be_sparse(codes):
        matrix = scipy.sparse.coo_matrix(thinned(draw, codes.astype(np.float32)))
        places = np.stack([matrix.row, matrix.col], axis=1).astype(np.int64)
        if draw(st.integers(0, 9)) == 9:
            places = places + draw(st.sampled_from([-1, 1, 2**31, 2**40, 2**62]))
        tensors = {"locations": places, "activations": matrix.data}
        files[LABELS], more = npy_bytes(factors), ("--factors", LABELS)
        arrays = None  # rows and codes without activations at the end are not in the file
    else:
        name = draw(st.sampled_from(["codes"] * 5 + ["z", "a/b"]))
        tensors = {name: codes, "factors": factors}
        more = () if name == "codes" else ("--codes", name)
    extra = {"__metadata__": {"format": "pt"}} if draw(st.booleans()) else {}
    content = safetensors_bytes(tensors, **extra)
    if draw(st.booleans()):
        content, arrays = draw(mutated(content) | _other_header(content)), None
    return scored("codes.safetensors", {"codes.safetensors": content, **files}, arrays, *more)


#: What a ``.pt`` file may hold in place of tensors.
OTHERS: tuple[Callable[[Any], Any], ...] = (
    lambda codes: codes,
    lambda codes: [codes],
    lambda codes: {"z": codes},
    lambda codes: {"codes": codes, "factors": None},
    lambda codes: {"codes": 1, "factors": codes},
    lambda codes: {1: codes, "codes": codes},
    lambda codes: {"codes": codes.to("meta")},
    lambda codes: {"codes": codes.to_sparse()},
    lambda codes: {"codes": torch.nn.Parameter(codes.double())},
    lambda codes: {"codes": codes.to(torch.bfloat16)},
    lambda codes: {"codes": torch.quantize_per_tensor(codes.float(), 0.1, 0, torch.qint8)},
    lambda codes: {"codes": codes.T.unsqueeze(0)},
    lambda codes: {"codes": codes.to_sparse(), "factors": codes.to_sparse()},
    lambda codes: torch.nn.Linear(2, 2),
)


@st.composite
def _torch_inputs(draw: DrawFn) -> Input:
    codes, factors = drawn_pair(draw)
    arrays: Arrays | None = Arrays(codes=codes, factors=factors)
    try:
        tensors = {name: torch.from_numpy(np.ascontiguousarray(one)) for name, one in (("c", codes), ("f", factors))}
    except (TypeError, ValueError):  # types and orders of bytes that torch does not have
        tensors, arrays = {"c": torch.zeros(24, 2), "f": torch.zeros(24, 1)}, None
    content: Any = {"codes": tensors["c"], "factors": tensors["f"]}
    if draw(st.integers(0, 4)) == 4 and tensors["c"].dtype.is_floating_point:
        content, arrays = draw(st.sampled_from(OTHERS))(tensors["c"]), None
    out = io.BytesIO()
    torch.save(content, out)
    file = out.getvalue()
    if draw(st.booleans()):
        file, arrays = draw(mutated(file) | mutated_within(file)), None
    return scored("codes.pt", {"codes.pt": file}, arrays)


def zarr_files(arrays: dict[str, Any], *, version: int, n_chunk: int) -> dict[str, bytes]:
    """Return the files of a zarr group of arrays, by path; chunks are bytes as they are."""
    files: dict[str, bytes] = {}
    about: dict[str, Any] = {"zarr_format": version}
    if version == 2:
        files[".zgroup"] = json.dumps(about).encode()
    else:
        files["zarr.json"] = json.dumps(about | {"node_type": "group", "attributes": {}}).encode()
    for name, array in arrays.items():
        chunk = [max(1, min(n_chunk, array.shape[0])), *array.shape[1:]] if array.ndim else []
        files[f"{name}/{'.zarray' if version == 2 else 'zarr.json'}"] = _array_about(array, chunk, version)
        for number in range(-(-array.shape[0] // chunk[0]) if chunk else 0):
            part = array[number * chunk[0] : (number + 1) * chunk[0]]
            whole = np.zeros(chunk, array.dtype)
            whole[: len(part)] = part
            place = ".".join([str(number), *"0" * (array.ndim - 1)])
            files[f"{name}/{place if version == 2 else 'c/' + place.replace('.', '/')}"] = whole.tobytes()
    return files


def _array_about(array: Any, chunk: list[int], version: int) -> bytes:
    if version == 2:
        about: dict[str, Any] = {"chunks": chunk, "dtype": array.dtype.str, "compressor": None, "order": "C"}
        return json.dumps(
            about | {"zarr_format": 2, "shape": array.shape, "fill_value": None, "filters": None}
        ).encode()
    about = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": array.shape,
        "data_type": array.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": False if array.dtype.kind == "b" else 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
    }
    return json.dumps(about).encode()


@st.composite
def zarr_folders(draw: DrawFn, codes: Any, factors: Any) -> tuple[dict[str, bytes], bool]:
    """Return the files of a zarr folder of codes and factors, and whether it is whole."""
    files = zarr_files(
        {"codes": codes, "factors": factors},
        version=draw(st.sampled_from([2, 3])),
        n_chunk=draw(st.sampled_from([1000, 10])),
    )
    if draw(st.booleans()):
        return files, codes.size > 0 and factors.size > 0
    chosen = draw(st.sampled_from(sorted(files)))
    content = files.pop(chosen)
    if chosen.rpartition("/")[2] in (".zarray", ".zgroup", "zarr.json") and draw(st.booleans()):
        files[chosen] = json.dumps(draw(pruned(content.decode()))).encode()
    elif draw(st.integers(0, 5)):
        files[chosen] = draw(mutated(content, list(files.values())))
    return files, False


@st.composite
def _zarr_inputs(draw: DrawFn) -> Input:
    codes, factors = drawn_pair(draw)
    if not {codes.dtype, factors.dtype} <= set(NAMED) or not codes.ndim or not factors.ndim:
        codes, factors = np.zeros((24, 2)), np.arange(24)[:, None]
    files, is_whole = draw(zarr_folders(codes, factors))
    arrays = Arrays(codes=codes, factors=factors) if is_whole else None
    return scored("codes.zarr", {f"codes.zarr/{name}": content for name, content in files.items()}, arrays)


def arrow_bytes(columns: dict[str, Any], *, stream: bool, metadata: dict[bytes, bytes] | None = None) -> bytes:
    """Return a table as Arrow has it, with an index at its end or as a stream."""
    table = pa.table(columns).replace_schema_metadata(metadata)
    out = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    return out.getvalue()


def listed(draw: DrawFn, codes: dict[str, Any]) -> tuple[Any, Any]:
    """Return columns of codes as one column of lists, and the matrix, or ``None`` where the lists are none."""
    matrix = np.stack([np.asarray(column, dtype=np.float64) for column in codes.values()], axis=1)
    rows: list[Any] = matrix.tolist()
    twist = draw(st.sampled_from(["", "", "", "short", "none", "nested", "text", "empty", "fixed"]))
    if not rows or not twist:
        return pa.array(rows, pa.list_(pa.float64())), matrix
    if twist == "fixed":
        return pa.array(rows, pa.list_(pa.float64(), matrix.shape[1])), matrix
    odd = {"short": rows[0][:-1], "none": None, "empty": []}
    if twist in odd:
        return pa.array([*rows[:-1], odd[twist]], pa.list_(pa.float64())), None
    return pa.array([[[value] if twist == "nested" else str(value) for value in row] for row in rows]), None


def class_features(draw: DrawFn, names: Sequence[str]) -> dict[bytes, bytes]:
    """Return features as Hugging Face writes them, by which columns are numbers of classes; some of them are none."""
    labels: Any = draw(st.sampled_from([["a", "b"], [f"class {i}" for i in range(12)], [], ["a", 3], "ab", None]))
    kind = draw(st.sampled_from(["ClassLabel", "ClassLabel", "Value", 3]))
    features: Any = {name: {"names": labels, "_type": kind} for name in names}
    whole = draw(st.sampled_from([{"info": {"features": features}}, {"info": features}, [], None]))
    return {b"huggingface": json.dumps(whole).encode()}


@st.composite
def _arrow_inputs(draw: DrawFn) -> Input:
    codes, factors = draw(worlds())
    arrays: Arrays | None = same_arrays(codes, factors)
    columns: dict[str, Any] = {name: pa.array(values) for name, values in codes.items()}
    more: tuple[str, ...] = ()
    if codes and draw(st.integers(0, 2)) == 2:
        column, matrix = listed(draw, codes)
        columns, more = {"emb": column}, ("--code-columns", "emb")
        arrays = None if matrix is None else Arrays(codes=matrix, factors=same_arrays(codes, factors).factors)
    for name, values in factors.items():
        large = isinstance(values[0] if len(values) else 0, int) and values.dtype == object
        columns[name] = pa.array(map(float, values) if large else values)
        arrays = None if large else arrays
    metadata = None
    if draw(st.integers(0, 3)) == 3:
        metadata, arrays = class_features(draw, list(factors)), None
    content = arrow_bytes(columns, stream=draw(st.booleans()), metadata=metadata)
    if draw(st.booleans()):
        content, arrays = draw(mutated(content)), None
    return scored("table.arrow", {"table.arrow": content}, arrays, *more)


#: Names of columns of obs: no commas, which part them.
OBS_NAMES = ("a", "b", "cell type", "ü", "<b>", "=1+1")


def _obs_column(draw: DrawFn, group: Any, name: str, values: Any) -> bool:
    """Write a column of obs in one of the ways of AnnData; returns whether it is the same in Python."""
    if values.dtype == object and any(isinstance(value, int) for value in values):
        values = np.array([float(value) for value in values])
    if values.dtype == object or draw(st.integers(0, 3)) == 3:
        labels, codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
        item = group.create_group(name)
        item.attrs["encoding-type"] = "categorical"
        item["codes"] = codes.astype(np.int8)
        item["categories"] = labels.astype(h5py.string_dtype()) if labels.dtype.kind == "U" else labels
        return not (values.dtype.kind == "f" and np.isnan(values).any())
    if draw(st.integers(0, 5)) == 5:
        item = group.create_group(name)
        item["values"], item["mask"] = values, np.arange(len(values)) % 5 == 0
        return False
    group[name] = values
    return True


@st.composite
def _h5ad_inputs(draw: DrawFn) -> Input:
    table, factors = draw(worlds())
    codes = np.stack([np.asarray(one, dtype=np.float64) for one in table.values()], axis=1) if table else np.zeros(0)
    names = OBS_NAMES[: len(factors)]
    out = io.BytesIO()
    with h5py.File(out, "w") as file:
        obs = file.create_group("obs")
        same = [_obs_column(draw, obs, name, one) for name, one in zip(names, factors.values(), strict=True)]
        obs.attrs["_index"], obs.attrs["column-order"] = "_index", list(names)
        place = draw(st.sampled_from(["X", "X", "obsm:X_pca", "layers:X_pca", "raw:X", "obsm:nosuch"]))
        holder = file if place == "X" else file.create_group(place.partition(":")[0])
        arrays = Arrays(codes=codes, factors=dict(zip(names, factors.values(), strict=True)))
        if place == "X" and codes.ndim == 2 and draw(st.booleans()):
            matrix = scipy.sparse.csr_matrix(thinned(draw, codes))
            item = file.create_group("X")
            item.attrs["encoding-type"], item.attrs["shape"] = "csr_matrix", matrix.shape
            item["data"], item["indices"], item["indptr"] = matrix.data, matrix.indices, matrix.indptr
            arrays = Arrays(codes=matrix, factors=arrays.factors)
        else:
            holder["X" if place in ("X", "raw:X") else "X_pca"] = codes
        if draw(st.integers(0, 4)) == 4:
            var = file.create_group("var")
            var["_index"] = np.array([f"gene {j % 3}" for j in range(codes.shape[-1])], dtype=h5py.string_dtype())
            same.append(codes.shape[-1] <= 3)
    content = out.getvalue()
    known: Arrays | None = arrays if all(same) and factors and place != "obsm:nosuch" else None
    if draw(st.booleans()):
        content, known = draw(mutated(content)), None
    more = ("--codes", place, "--factors", f"obs:{','.join(names) or 'a'}")
    return scored("cells.h5ad", {"cells.h5ad": content}, known, *more)


def _format(name: str, inputs: st.SearchStrategy[Input]) -> Format:
    return Format(name=name, inputs=inputs, check=same_numbers)


FORMATS = (
    _format("sparse", _sparse_inputs()),
    _format("safetensors", _safetensors_inputs()),
    _format("torch", _torch_inputs()),
    _format("zarr", _zarr_inputs()),
    _format("arrow", _arrow_inputs()),
    _format("h5ad", _h5ad_inputs()),
)

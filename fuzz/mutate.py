"""Changes of bytes: cut, turned, spliced, with numbers and words where a reader may not expect them."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Sequence
from enum import Enum, auto

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

#: Words with a meaning in one format or another.
WORDS = (
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9", b"\n", b"\r", b"\r\n", b",", b";", b"\t", b'"', b"'", b"\\", b"#"),
    *(b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"-1", b"0x10", b"1_000", b"null", b"true", b"NA", b"=1+1", b"<b>"),
    *(b"\x1b[31m", b"{", b"}", b"[", b"]", b"[" * 3000, b"&a", b"*a", b"!!python/none", b": ", b"- ", b"(", b")"),
    *("\u202e".encode(), "\u2028".encode(), b"\x85", b"PK\x03\x04", b"\x93NUMPY", b"PAR1", b"\x89HDF", b"\x1f\x8b"),
)
NUMBERS = (b"0", b"1", b"-1", b"2", b"255", b"65536", b"2147483648", b"9223372036854775808", b"1e308", b"9" * 30)
LITTLE = (b"\0", b"\xff", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\x01\0\0\0")
NUMBER = re.compile(rb"\d+")
#: Bytes at the start and at the end in which headers and footers are.
HEADER = 256


class Change(Enum):
    """What is done to bytes."""

    CUT = auto()
    TURN = auto()
    OVERWRITE = auto()
    INSERT = auto()
    DELETE = auto()
    REPEAT = auto()
    SPLICE = auto()
    RENUMBER = auto()


@st.composite
def mutated(draw: DrawFn, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of a valid file after one to four changes.

    Args:
        draw: Given by Hypothesis.
        content: The file.
        others: Files of the same format, to splice in.
    """
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 4]))):
        content = _changed(draw, content, others)
    return content


def _changed(draw: DrawFn, content: bytes, others: Sequence[bytes]) -> bytes:
    change = draw(st.sampled_from(Change))
    at = draw(_places(len(content)))
    if change is Change.CUT:
        return content[:at]
    if change is Change.TURN:
        return (
            content[:at]
            + bytes(byte ^ (1 << draw(st.integers(0, 7))) for byte in content[at : at + 1])
            + content[at + 1 :]
        )
    if change is Change.OVERWRITE:
        new = draw(st.sampled_from(LITTLE))
        return content[:at] + new + content[at + len(new) :]
    if change is Change.INSERT:
        return content[:at] + draw(st.sampled_from(WORDS) | st.binary(max_size=4)) + content[at:]
    end = at + draw(st.integers(1, 64))
    if change is Change.DELETE:
        return content[:at] + content[end:]
    if change is Change.REPEAT:
        return content[:end] + content[at:end] * draw(st.integers(1, 20)) + content[end:]
    if change is Change.SPLICE:
        other = draw(st.sampled_from(others)) if others else content
        return content[:at] + other[draw(_places(len(other))) :]
    return _renumbered(draw, content, at)


def _places(n_bytes: int) -> SearchStrategy[int]:
    """Any place, and often one where headers or footers are."""
    return (
        st.integers(0, n_bytes) | st.integers(0, min(n_bytes, HEADER)) | st.integers(max(0, n_bytes - HEADER), n_bytes)
    )


def _renumbered(draw: DrawFn, content: bytes, at: int) -> bytes:
    """Write another number in place of one that stands there in digits."""
    found = NUMBER.search(content, at) or NUMBER.search(content)
    if found is None:
        return content
    return content[: found.start()] + draw(st.sampled_from(NUMBERS)) + content[found.end() :]


@st.composite
def mutated_within(draw: DrawFn, content: bytes) -> bytes:
    """Return a ``.zip`` or ``.gz`` with changes inside, and checksums that are right: the reader gets to see them."""
    if not content.startswith(b"PK"):
        return gzip.compress(draw(mutated(gzip.decompress(content))), 1)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: (info.compress_type, archive.read(info)) for info in archive.infolist()}
    chosen = draw(st.sampled_from(sorted(members)))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, (packing, inner) in members.items():
            new = inner
            if name == chosen:
                is_packed = inner.startswith(b"\x1f\x8b") and draw(st.booleans())
                new = draw(mutated_within(inner) if is_packed else mutated(inner))
            archive.writestr(zipfile.ZipInfo(name), new, compress_type=packing)
    return out.getvalue()

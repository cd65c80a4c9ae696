"""What fuzzing found, each as the smallest file that showed it."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers.small import run_cli, small_world
from unbraid import Representation, compare, evaluate, load, read_reports
from unbraid.comparison.differences import Comparability
from unbraid.data.array_files import open_member
from unbraid.representation.files import read_npy
from unbraid.study import parse_study

CODES, FACTORS = small_world(24)
WORDS = np.array(["red", "green", "blue"])[FACTORS[:, 0]]


def table(tmp_path, header, rows):
    path = tmp_path / "table.csv"
    path.write_text("\n".join([header, *rows]), encoding="utf-8")
    return path


class TestRowNumbersWithoutAName:
    """Rows with one field more than names: where text was read again, the column before was taken for the factor."""

    HEADER = "code_a,code_b,factor_size,factor_hue"

    @pytest.mark.parametrize("first", [0, 1])
    def test_a_factor_of_text_is_that_factor(self, tmp_path, first):
        rows = [f"{first + k},{CODES[k, 0]},{CODES[k, 1]},{FACTORS[k, 1]},{WORDS[k]}" for k in range(24)]
        rep = load(table(tmp_path, self.HEADER, rows))
        expected = Representation(CODES[:, :2], {"size": FACTORS[:, 1], "hue": WORDS})
        assert rep.rows_key == expected.rows_key
        assert np.array_equal(rep.codes, expected.codes)

    def test_a_last_factor_without_labels_is_refused_and_codes_do_not_shift(self, tmp_path):
        rows = [f"{k},{CODES[k, 0]},{CODES[k, 1]},{FACTORS[k, 1]}," for k in range(24)]
        with pytest.raises(ValueError, match="factor 'hue' has no labelled row"):
            load(table(tmp_path, self.HEADER, rows))


def test_decimal_commas_in_quotes_are_decimal_commas(tmp_path):
    lines = [";".join(f'"{str(value).replace(".", ",")}"' for value in row) for row in CODES]
    path = table(tmp_path, '"code_a";"code_b";"factor_c"', lines)
    assert np.array_equal(load(path).codes, CODES[:, :2])


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


#: Headers that NumPy cannot parse, or parses with a warning of its own.
HEADERS = {
    "not closed": (b"), }", b"(, }"),
    "not indented": (b"{'descr'", b"\n  1\n 2"),
    "beyond 64 bits": (b"(24, 3), }" + b" " * 20, b"(99999999999999999999, 3), }  "),
}


@pytest.mark.parametrize("change", HEADERS)
def test_a_damaged_header_is_called_that(tmp_path, change):
    before, after = HEADERS[change]
    content = npy(CODES)
    assert before in content
    (tmp_path / "codes.npy").write_bytes(content.replace(before, after.ljust(len(before))))
    with pytest.raises(ValueError, match=r"codes.npy' (is damaged or not a NumPy file|does not fit into memory): "):
        read_npy(tmp_path / "codes.npy")


def test_a_damaged_header_in_a_data_set_is_called_that(tmp_path):
    with zipfile.ZipFile(tmp_path / "images.npz", "w") as archive:
        archive.writestr("images.npy", npy(CODES).replace(b"), }", b"(, }"))
    with pytest.raises(ValueError, match=r"is damaged, cut short or not an \.npz archive"):
        open_member(tmp_path / "images.npz", "images")


def test_a_header_as_python_2_wrote_it_is_read_without_a_warning(tmp_path):
    content = npy(CODES).replace(b"(24, 3), } ", b"(24L, 3), }")
    (tmp_path / "codes.npy").write_bytes(content)
    assert np.array_equal(read_npy(tmp_path / "codes.npy"), CODES)


@pytest.mark.parametrize("letter", [0x110000, 0xD800])
def test_text_that_is_none_is_called_damaged(tmp_path, letter):
    letters = np.full((24, 1), 65, dtype=np.uint32)
    letters[3] = letter
    np.save(tmp_path / "labels.npy", letters.view("U1"))
    with pytest.raises(ValueError, match=r"labels\.npy' is damaged or not a NumPy file: it holds characters"):
        read_npy(tmp_path / "labels.npy")


def test_names_in_bytes_that_are_not_utf_8_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", codes=CODES, factors=FACTORS, factor_names=np.array([b"a", b"\x93", b"c"]))
    with pytest.raises(ValueError, match="names and labels must be text in UTF-8, got byte 0x93"):
        load(tmp_path / "a.npz")


@pytest.mark.parametrize("dtype", ["V4", "i4,f8"])
def test_factors_of_no_type_are_refused(dtype):
    with pytest.raises(ValueError, match="a factor must hold numbers or text, got"):
        Representation(CODES, np.zeros((24, 2), dtype))


def test_a_study_with_half_a_character_is_refused():
    with pytest.raises(ValueError, match=r"study, line 2: text must be characters, got '\\ud800'"):
        parse_study('name: a\nabout: "\\ud800"\n')


def test_a_report_with_an_integer_too_large_for_its_evidence_is_called_damaged(tmp_path):
    report = json.loads(evaluate(CODES, FACTORS, metrics="mig", intervals=False, nulls=False, n_jobs=1).to_json())
    counts = report["evidence"][0]["data"]
    key = next(key for key, value in counts.items() if isinstance(value, list) and isinstance(value[0], int))
    counts[key][0] = 10**30
    (tmp_path / "a.json").write_text(json.dumps(report))
    with pytest.raises(ValueError, match=r"a\.json is a damaged report"):
        read_reports(tmp_path / "a.json")


def test_reports_with_other_numbers_of_replicates_are_compared_unpaired():
    first, second = (evaluate(CODES, FACTORS, metrics="mig", nulls=False, n_jobs=1, name=name) for name in "ab")
    score = second["mig"]
    cut = replace(second, scores={"mig": replace(score, replicates=score.replicates[:-1])})
    (difference,) = compare({"a": first, "b": cut}).differences
    assert difference.status is Comparability.OTHER_VERSIONS
    (paired,) = compare({"a": first, "b": second}).differences
    assert paired.status is Comparability.PAIRED


DECODERS = {
    "torch.nn.Linear(3, 5, device='meta')": "must have its weights loaded",
    "lambda z: z.to_sparse()": r"must return a dense tensor",
    "lambda z: z[:, :0]": "must return numbers, got an empty output",
}


@pytest.mark.parametrize("source", DECODERS)
def test_decoders_without_numbers_are_refused(tmp_path, capsys, source):
    pytest.importorskip("torch")
    (tmp_path / "model.py").write_text(f"import torch\ndecoder = {source}\n")
    command = ("manifold", f"{tmp_path / 'model.py'}:decoder", "--latent-dim", 3, "--samples", 4)
    code, out, err = run_cli(capsys, *command)
    assert (code, out) == (2, "")
    assert pd.Series([err]).str.contains(DECODERS[source]).all()


def test_a_prior_of_complex_numbers_is_refused(tmp_path, capsys):
    pytest.importorskip("torch")
    np.save(tmp_path / "prior.npy", np.ones((4, 3), complex))
    (tmp_path / "model.py").write_text("decoder = lambda z: z\n")
    code, _, err = run_cli(capsys, "manifold", f"{tmp_path / 'model.py'}:decoder", "--prior", tmp_path / "prior.npy")
    assert code == 2
    assert "prior must be real numbers, got complex128." in err


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A small checkpoint, as bytes."""
    pytest.importorskip("torch")
    from unbraid.models import train

    folder = tmp_path_factory.mktemp("checkpoint")
    pictures = np.zeros((4, 1, 8, 8), dtype=np.uint8)
    train("vae", pictures, n_steps=1, n_codes=2, width=1, batch_size=2, out=folder, progress=False)
    return (folder / "ensemble.pt").read_bytes()


@pytest.mark.slow
def test_a_checkpoint_without_one_of_its_weights_is_refused(checkpoint, tmp_path):
    import torch

    from unbraid.models import load_models

    content = torch.load(io.BytesIO(checkpoint), weights_only=True)
    del content["network"][next(iter(content["network"]))]
    torch.save(content, tmp_path / "ensemble.pt")
    with pytest.raises(ValueError, match="holds weights that do not fit their own settings"):
        load_models(tmp_path)


@pytest.mark.slow
def test_a_checkpoint_with_one_bit_changed_is_called_damaged(checkpoint, tmp_path):
    """Torch does not look at checksums: weights were silently others."""
    from unbraid.models import load_models

    with zipfile.ZipFile(io.BytesIO(checkpoint)) as archive:
        weights = archive.read(next(name for name in archive.namelist() if "/data/" in name))
    at = checkpoint.index(weights)
    changed = bytearray(checkpoint)
    changed[at] ^= 64
    (tmp_path / "ensemble.pt").write_bytes(changed)
    with pytest.raises(ValueError, match="is not a checkpoint, or is damaged"):
        load_models(tmp_path)

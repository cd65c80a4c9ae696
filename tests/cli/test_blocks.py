"""Blocks of codes on the command line: named for a file, scored, and refused in one sentence."""

import json

import numpy as np
import pytest

import unbraid as ub
from helpers.small import run_cli


@pytest.fixture
def codes(tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(120, 2))
    ub.save(ub.Representation(np.column_stack([factors, factors[:, ::-1] ** 2]), factors), tmp_path / "codes.npz")
    return tmp_path / "codes.npz"


def test_blocks_are_scored(capsys, codes):
    code, out, _ = run_cli(
        capsys, "score", codes, "--blocks", "z_y=0-1,z_d=2-3", "--metrics", "blocks", "--no-nulls", "--json", "-"
    )
    report = json.loads(out)
    assert code == 0
    assert report["meta"]["blocks"] == {"z_y": [0, 1], "z_d": [2, 3]}
    assert report["scores"]["blocks.own"]["value"] > 0.9
    [record] = [one for one in report["evidence"] if one["type"] == "BlockReading"]
    assert np.shape(record["data"]["kernel"]["share"]) == (2, 2)


@pytest.mark.parametrize(
    ("blocks", "says"),
    [
        ("z_y=0-1,z_d=1-3", "blocks must not overlap"),
        ("z_y=0-9", "blocks must have columns from 0 to 3, got 4"),
        ("z_y=zy_0", "blocks names 'zy_0' in 'z_y', which is no code"),
        ("0-1", "blocks must be name=columns"),
    ],
)
def test_bad_blocks_end_with_one_sentence(capsys, codes, blocks, says):
    code, out, err = run_cli(capsys, "score", codes, "--blocks", blocks)
    assert (code, out) == (2, "")
    assert says in err
    assert err.strip().count("\n") == 0


def test_an_unknown_block_of_a_factor_is_refused(capsys, codes):
    code, _, err = run_cli(
        capsys, "score", codes, "--blocks", "a=0,b=1", "--metrics", "blocks", "--option", "blocks.own=factor_0=c"
    )
    assert code == 2
    assert "own names the block 'c'" in err

"""The truth that findings are held to: what counts as true, false and missed is itself checked by hand."""

import sys
from pathlib import Path

import numpy as np
import pytest

from unbraid import Finding, FindingKind

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def structures(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("blocks", "structures"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import structures

    yield structures
    for name in ("blocks", "structures"):
        sys.modules.pop(name, None)


def test_findings_are_taken_apart_into_claims(structures):
    findings = (
        Finding(kind=FindingKind.OWN, sentence="", factors=("a", "b"), codes=("x", "y")),
        Finding(kind=FindingKind.EMPTY, sentence="", codes=("z", "w")),
        Finding(kind=FindingKind.ROTATED, sentence="", factors=("c", "d"), codes=("u", "v")),
    )
    claims = structures.claims_of(findings)
    assert [(str(one.kind), sorted(one.factors), sorted(one.codes)) for one in claims] == [
        ("own code", ["a"], ["x"]),
        ("own code", ["b"], ["y"]),
        ("empty code", [], ["z"]),
        ("empty code", [], ["w"]),
        ("rotated", ["c", "d"], ["u", "v"]),
    ]


def test_codes_must_be_the_same_but_for_mixtures_and_parts(structures):
    claim, kind = structures.claim, FindingKind
    assert not claim(kind.COPIED, "a", "x y").within(claim(kind.COPIED, "a", "x y z"))
    assert claim(kind.MIXED, "a b", "x").within(claim(kind.MIXED, "a b c", "x y"))
    assert not claim(kind.MIXED, "a d", "x").within(claim(kind.MIXED, "a b c", "x y"))
    assert claim(kind.PARTLY, "a").within(claim(kind.PARTLY, "a", "x"))
    assert not claim(kind.LOST, "a").within(claim(kind.PARTLY, "a"))


def test_same_seed_same_world_with_its_truth(structures):
    for seed in range(40):
        one, two = structures.make(seed), structures.make(seed)
        np.testing.assert_array_equal(one.rep.codes, two.rep.codes)
        assert one.must == two.must
        names = {*one.rep.factor_names, *one.rep.code_names}
        assert {name for known in (*one.must, *one.may) for name in (*known.factors, *known.codes)} <= names
        assert not one.must or one.rep.n_samples >= structures.ENOUGH
        assert all(one.is_true(known) for known in one.must)
        assert all(one.is_made(known, list(one.must)) for known in one.must)


def test_every_structure_is_drawn(structures):
    drawn = {name for seed in range(300) for name in structures.make(seed).structures}
    wanted = [
        "rotated",
        "mixed",
        "copied",
        "spread",
        "folded",
        "packed",
        "partly",
        "empty",
        "dead",
        "weak",
        "lost",
        "own",
        "faded",
    ]
    assert {*wanted, "few rows", "dependent pair", "dependent xor", "rotated and copied"} <= drawn

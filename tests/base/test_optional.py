"""The guard for optional packages, and the command that adds them."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from unbraid._base import optional
from unbraid._base.optional import MissingPackageError, is_installed, pip_install, require

ROOT = Path(__file__).parents[2]


def test_in_a_clone_it_is_the_clone():
    assert shlex.split(pip_install("train")) == ["pip", "install", "-e", f"{ROOT}[train]"]


def test_elsewhere_it_is_the_name(monkeypatch, tmp_path):
    monkeypatch.setattr(optional, "CLONE", tmp_path)
    assert pip_install("ray") == "pip install 'unbraid[ray]'"


def test_what_is_there_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "this", raising=False)
    assert is_installed("this")
    require("a poem", "this", extra="torch")
    assert "this" not in sys.modules


@pytest.mark.parametrize("package", ["nowhere_to_be_found", "nowhere_to_be_found.inside", "blocked"])
def test_what_is_missing_is_named_with_the_command(monkeypatch, package):
    monkeypatch.setitem(sys.modules, "blocked", None)
    with pytest.raises(MissingPackageError) as caught:
        require("a thing", "json", package, extra="torch", otherwise="do without")
    command = pip_install("torch")
    assert str(caught.value) == f"a thing needs {package}, which is not installed; run {command}, or do without."
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ImportError)


def test_every_extra_that_is_asked_for_is_there_and_only_the_guard_says_pip():
    extras = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE))
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "optional.py":
            assert "pip install" not in text, path
        assert set(re.findall(r"pip_install\(['\"](\w+)['\"]\)|\bextra=\"(\w+)\"", text)) <= {
            pair for extra in extras for pair in ((extra, ""), ("", extra))
        }, path

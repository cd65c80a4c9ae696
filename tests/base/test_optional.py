"""The command in messages is the one that works here."""

import json
import re
import shlex
from pathlib import Path

import pytest

from unbraid._base import optional as _install
from unbraid._base.optional import pip_install

ROOT = Path(__file__).parents[2]


class Origin:
    """A distribution that came from somewhere."""

    def __init__(self, text):
        self.text = text

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.text


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Pretend that the package lies in site-packages, and say where it came from."""
    monkeypatch.setattr(_install, "CLONE", tmp_path / "lib")

    def come_from(origin):
        monkeypatch.setattr(_install, "distribution", lambda name: Origin(origin and json.dumps(origin)))

    return come_from


def test_in_a_clone_it_is_the_clone():
    assert shlex.split(pip_install("train")) == ["pip", "install", "-e", f"{ROOT}[train]"]


def test_from_an_index_it_is_the_name(installed):
    installed(None)
    assert pip_install("train") == "pip install 'unbraid[train]'"


def test_where_nobody_knows_it_is_the_name(monkeypatch, tmp_path):
    def missing(name):
        raise _install.PackageNotFoundError(name)

    monkeypatch.setattr(_install, "CLONE", tmp_path)
    monkeypatch.setattr(_install, "distribution", missing)
    assert pip_install("ray") == "pip install 'unbraid[ray]'"


def test_from_a_folder_it_is_the_folder_while_that_is_there(installed, tmp_path):
    clone = tmp_path / "my clone"
    installed({"url": clone.as_uri(), "dir_info": {}})
    assert pip_install("torch") == "pip install 'unbraid[torch]'"
    clone.mkdir()
    assert shlex.split(pip_install("torch")) == ["pip", "install", f"{clone}[torch]"]


def test_from_a_repository_or_a_wheel_it_is_that(installed, tmp_path):
    installed({"url": "https://example.org/u.git", "vcs_info": {"vcs": "git", "requested_revision": "v1"}})
    assert pip_install("ray") == "pip install 'unbraid[ray] @ git+https://example.org/u.git@v1'"
    wheel = tmp_path / "unbraid.whl"
    wheel.touch()
    installed({"url": wheel.as_uri(), "archive_info": {}})
    assert pip_install("ray") == f"pip install 'unbraid[ray] @ {wheel.as_uri()}'"


def test_every_message_asks_for_the_command_and_names_an_extra_that_is_there():
    extras = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE))
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "optional.py":
            assert "pip install" not in text, path
        assert set(re.findall(r"pip_install\(\"(\w+)\"\)", text)) <= extras

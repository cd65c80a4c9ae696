"""One loader for FILE.py:NAME, whoever asks."""

import sys

import pytest

from unbraid._base.user_code import load_object


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("NUMBER = 3\n")
    (tmp_path / "mine.py").write_text(
        "import beside\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Made:\n    number: int = beside.NUMBER\n"
        "def later():\n    import other\n    return other.NUMBER\n"
        "def needs(argument):\n    return argument\n"
        "def stops():\n    raise SystemExit(0)\n"
    )
    (tmp_path / "other.py").write_text("NUMBER = 4\n")
    yield tmp_path
    for name in ("beside", "other", "_unbraid_user_mine"):
        sys.modules.pop(name, None)


def test_a_file_imports_from_its_own_folder_and_the_path_is_left_as_it_was(folder):
    before = list(sys.path)
    name, made = load_object("decoder", "mine.py:Made", make=True)
    assert (name, made.number) == ("Made", 3)
    assert load_object("decoder", "mine.py:later", make=True) == ("later", 4)
    assert sys.path == before


def test_only_what_needs_no_argument_is_called_and_only_where_asked(folder):
    assert load_object("decoder", "mine.py:needs", make=True)[1](5) == 5
    assert callable(load_object("plugin", "mine.py:later")[1])


def test_the_default_name_is_taken_where_there_is_none(folder):
    assert load_object("plugin", "mine.py", default="needs")[0] == "needs"
    with pytest.raises(ValueError, match=r"^decoder must be FILE\.py:NAME, got 'mine\.py'\.$"):
        load_object("decoder", "mine.py")


@pytest.mark.parametrize("argument", ["decoder", "plugin"])
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0."),
        ("raise KeyError('x')", "KeyError: 'x'."),
        ("1 +", "SyntaxError: invalid syntax"),
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'."),
    ],
)
def test_whatever_a_file_raises_is_one_sentence(folder, argument, source, reason):
    (folder / "bad.py").write_text(source)
    before = list(sys.path)
    with pytest.raises(ValueError, match=rf"^{argument} 'bad\.py:it' cannot be loaded: ") as caught:
        load_object(argument, "bad.py:it")
    assert reason in str(caught.value)
    assert sys.path == before


def test_a_function_that_exits_is_one_sentence(folder):
    with pytest.raises(ValueError, match=r"cannot be loaded: SystemExit: 0\.$"):
        load_object("decoder", "mine.py:stops", make=True)


def test_a_name_that_is_not_there_gets_the_nearest_one(folder):
    with pytest.raises(ValueError, match=r"mine\.py has no 'need'; did you mean 'needs'\.$"):
        load_object("decoder", "mine.py:need")

"""Reading study files: YAML in, a checked study out, and what is wrong with its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import yaml

from unbraid._validation import did_you_mean
from unbraid.study._check import check_study
from unbraid.study._spec import Study

#: Where the studies that come with the package are.
READY = files("unbraid.study") / "ready"
#: What msgspec calls kinds of values, and what people do.
KINDS_IN_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "keys with values",
}


def ready_studies() -> list[str]:
    """Return the names of the studies that come with the package."""
    return sorted(Path(item.name).stem for item in READY.iterdir() if item.name.endswith(".yaml"))


def study_text(study: str | Path) -> str:
    """Return the text of a study file, or of one that comes with the package.

    Raises:
        ValueError: Neither a file nor a name.
    """
    name = str(study)
    if name in ready_studies():
        return (READY / f"{name}.yaml").read_text()
    path = Path(study)
    if not path.is_file():
        raise ValueError(
            f"study must be a file, or one of {', '.join(ready_studies())}, got {name!r}"
            f"{did_you_mean(name, ready_studies())}."
        )
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"study {name!r} cannot be read: {error}.") from error


def load_study(study: str | Path) -> Study:
    """Return a study from its file, or one that comes with the package, checked.

    Raises:
        ValueError: Not a study, with the line and the cure.

    Example:
        >>> load_study("mini").name
        'mini'
    """
    return parse_study(study_text(study), source=str(study))


def parse_study(text: str, *, source: str = "study") -> Study:
    """Return a study from the text of its file, checked.

    Numbers such as ``1e-3``, which YAML 1.1 takes for text, are numbers here.

    Raises:
        ValueError: Not YAML or not a study, with the line and the cure.
    """
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        plain = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{_place(source, getattr(error, 'problem_mark', None))}: {_problem(error)}.") from error
    if tree is None or not isinstance(plain, dict):
        raise ValueError(
            f"{source} is not a study: it must have `name:`, `scores:` and so on; see `unbraid study show`."
        )
    _check_twice(tree, source)

    def at(path: str) -> str:
        return _place(source, _node(tree, path).start_mark)

    try:
        study = msgspec.convert(plain, Study, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), at)) from error
    check_study(study, at)
    return study


def _explained(message: str, at: Callable[[str], str]) -> str:
    """Return msgspec's message with the line, and with the nearest key for one that is unknown."""
    words, _, path = message.partition(" - at `$")
    path = path.rstrip("`")
    unknown = re.search(r"unknown field `(.+)`", words)
    if unknown:
        key = unknown.group(1)
        keys = _keys_at(path)
        return f"{at(f'{path}.{key}')}: unknown key {key!r}{did_you_mean(key, keys)}; known are {', '.join(keys)}."
    missing = re.search(r"missing required field `(.+)`", words)
    if missing:
        return f"{at(path)}: {missing.group(1)} is missing."
    named = path.lstrip(".").replace("[...]", "") or "the file"
    return f"{at(path)}: {named} has the wrong type: {_in_words(words)}."


def _in_words(types: str) -> str:
    """Return msgspec's words on types in those of people who write YAML, with how to write a list.

    Example:
        >>> _in_words("Expected `array`, got `str`")
        'expected a list, got text; write lists in brackets, [a, b], also of one'
    """
    got = re.sub(r"`([^`]+)`", lambda found: " or ".join(map(_kind, found.group(1).split(" | "))), types)
    cure = "; write lists in brackets, [a, b], also of one" if "a list, got" in got else ""
    return got.replace("Expected", "expected") + cure


def _kind(name: str) -> str:
    return KINDS_IN_WORDS.get(name, name)


def _keys_at(path: str) -> list[str]:
    """Return the keys of the part of a study that a path leads to."""
    kind: Any = Study
    for step in re.findall(r"\.(\w+)", path):
        field = next(item for item in msgspec.structs.fields(kind) if item.name == step)
        kind = next(one for one in _structs(field.type))
    return [item.name for item in msgspec.structs.fields(kind)]


def _structs(kind: Any) -> list[Any]:
    inner = getattr(kind, "__args__", ())
    own = [kind] if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else []
    return own + [one for part in inner for one in _structs(part)]


def _node(tree: yaml.Node, path: str) -> yaml.Node:
    """Return the node that a path such as ``.models[0].family`` leads to, or as far as there is one."""
    node = tree
    for name, number in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path):
        if name and isinstance(node, yaml.MappingNode):
            found = [value for key, value in node.value if key.value == name]
            keys = [key for key, _ in node.value if key.value == name]
            if not found:
                return node
            node = found[0] if isinstance(found[0], yaml.CollectionNode) else keys[0]
        elif number and isinstance(node, yaml.SequenceNode) and int(number) < len(node.value):
            node = node.value[int(number)]
    return node


def _check_twice(node: yaml.Node, source: str) -> None:
    """Raise on a key that is given twice: YAML would silently take the last."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if key.value in seen:
                raise ValueError(f"{_place(source, key.start_mark)}: {key.value!r} is given twice; keep one.")
            seen.add(key.value)
            _check_twice(value, source)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_twice(value, source)


def _problem(error: yaml.YAMLError) -> str:
    problem = str(getattr(error, "problem", None) or error).rstrip(".")
    return f"{problem}; indent with spaces" if r"'\t'" in problem else problem


def _place(source: str, mark: Any) -> str:
    return source if mark is None else f"{source}, line {mark.line + 1}"

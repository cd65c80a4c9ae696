"""Study files: YAML to typed data, with line numbers in messages."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import msgspec
import yaml

from unbraid._base.checks import check_choice, did_you_mean
from unbraid.data import DATASETS, load_dataset
from unbraid.downstream import SplitKind, check_predictor, check_task
from unbraid.models.families import ENCODERS, HYPERPARAMETERS, LABEL_ROLES, TAKEN_BY, check_taken
from unbraid.panel.plan import metric_options
from unbraid.probes.splits import MIN_ROWS, TEST_SHARE
from unbraid.study.spec import ALIASES, RENAMED, Family, Study, Tasks, Training

#: Names that a study can have; its store has a file of that name.
NAME = re.compile(r"\w[\w .-]*")
#: Beginning of the name of a task that predicts one factor.
FACTOR_TASK = "factor:"
#: Models that a study can have, and the largest seed that every random generator takes.
MOST_MODELS, MOST_SEED = 1_000_000, 2**32 - 1
#: Parts that a study file can have, with parts that an alias repeats counted each time; and how deep they can be.
MOST_PARTS, MOST_DEPTH = 100_000, 50
#: Returns the file and line of a part of the file.
At = Callable[[str], str]


def check_study(study: Study, at: At) -> None:
    """Raise on the first part of a study that cannot be run.

    Raises:
        ValueError: With the line and the cure.
    """
    if not NAME.fullmatch(study.name):
        raise ValueError(
            f"{at('.name')}: name must be of letters, digits, spaces and . _ -, as it names a file, got {study.name!r}."
        )
    _check_source(study, at)
    for number, name in enumerate(study.data):
        _within(at, f".data[{number}]", partial(check_choice, "data", name, DATASETS))
    for number, name in enumerate(study.also):
        _within(at, f".also[{number}]", partial(_check_also, study, name))
    for number, family in enumerate(study.models):
        _within(at, f".models[{number}]", partial(_check_family, family))
    _check_numbers(study, at)
    _within(at, ".scores.metrics", partial(metric_options, study.scores.metrics))
    if study.scores.options:
        _within(at, ".scores.options", partial(metric_options, study.scores.metrics, options=study.scores.options))
    for number, group in enumerate(study.tasks):
        for name in group.tasks:
            _within(at, f".tasks[{number}].tasks", partial(check_task, name))
        for name in group.predictors:
            _within(at, f".tasks[{number}].predictors", partial(check_predictor, name))
        _within(at, f".tasks[{number}].split", partial(check_choice, "split", group.split, get_args(SplitKind)))
        for size in group.train:
            _within(at, f".tasks[{number}].train", partial(_check_train, study, size))
        for name in group.only if study.data else ():
            _within(at, f".tasks[{number}].only", partial(check_choice, "only", name, (*study.data, *study.also)))
        _within(at, f".tasks[{number}].tasks", partial(_check_factors, study, group))
    if study.agreement is not None:
        for name in study.agreement.methods:
            _within(at, ".agreement", partial(check_choice, "methods", name, ("lasso", "spearman")))
        variants = ("published", "thesis")
        variant = study.agreement.variant
        _within(at, ".agreement", partial(check_choice, "variant", variant, variants))


def _check_source(study: Study, at: At) -> None:
    if study.representations is not None:
        if study.data or study.models:
            raise ValueError(f"{at('.representations')}: give representations, or data and models, not both.")
        if not study.folder.is_dir():
            raise ValueError(f"{at('.representations.folder')}: folder {str(study.folder)!r} is not there.")
        return
    for key, value in (("data", study.data), ("models", study.models)):
        if not value:
            raise ValueError(f"{at('')}: {key} is missing; a study has data and models, or representations.")
        twice = [one for number, one in enumerate(value) if one in value[:number]]
        if twice:
            raise ValueError(f"{at(f'.{key}')}: {key} has the same entry twice; keep one.")


def _check_also(study: Study, name: str) -> None:
    """Raise on a data set whose pictures have another shape than those that models are trained on."""
    check_choice("also", name, DATASETS)
    if len(study.data) != 1:
        raise ValueError(f"also needs models that are trained on one data set, got {len(study.data)}.")
    if name in study.data or study.also.count(name) > 1:
        raise ValueError(f"also must name data sets once, and none of data, got {name!r} again.")
    shapes = {one: load_dataset(one).observation_shape for one in (name, *study.data) if not DATASETS[one].files}
    for one, shape in shapes.items():
        if name in shapes and shape != shapes[name]:
            raise ValueError(
                f"also must have pictures of the shape that models are trained on: {name} has {shapes[name]}, and "
                f"{one} has {shape}."
            )


def _check_family(family: Family) -> None:
    check_choice("family", family.family, HYPERPARAMETERS)
    known = HYPERPARAMETERS[family.family]
    for name in family.hyperparameters:
        if name not in known:
            raise ValueError(f"{family.family} has no hyperparameter {name!r}; it has {', '.join(known) or 'none'}.")
    for name, value in family.hyperparameters.items():
        for one in value if isinstance(value, tuple) else (value,):
            if not 0 <= one < math.inf:
                raise ValueError(f"{name} of {family.family} must be 0 or more, got {one:g}.")
    _check_labels(family)
    lists = {name: len(value) for name, value in family.hyperparameters.items() if isinstance(value, tuple)}
    if len(set(lists.values())) > 1 or 0 in lists.values():
        raise ValueError(f"hyperparameters of {family.family} must be lists of equal length, got {lists}.")


def _check_labels(family: Family) -> None:
    """Raise on labels that the family does not read; whether the data have these factors is seen when they are open."""
    roles = LABEL_ROLES.get(family.family, ())
    check_taken(family.family, ["labels"] if family.labels else [])
    if family.labels and roles and (not isinstance(family.labels, dict) or set(family.labels) != set(roles)):
        raise ValueError(f"labels of {family.family} must name a factor for {' and '.join(roles)}.")
    if not 0 < family.labelled <= 1:
        raise ValueError(f"labelled must be a share above 0 and at most 1, got {family.labelled:g}.")
    check_taken(family.family, ["labelled"] if family.labelled < 1 else [])


def _check_train(study: Study, size: float) -> None:
    """Raise unless a task can be trained on so many rows; the number of rows in files is not known yet."""
    _check_sample_size("train", size)
    most = study.rows - round(TEST_SHARE * study.rows)
    if size > most and size > 1 and study.representations is None:
        raise ValueError(
            f"train must be at most {most}, the rows outside the test set of {study.rows} rows, got {size:g}."
        )


def _check_sample_size(name: str, size: float) -> None:
    if not 0 < size < math.inf or (size > 1 and size != int(size)):
        raise ValueError(f"{name} must be whole numbers of rows or shares up to 1, got {size:g}.")


def _check_factors(study: Study, group: Tasks) -> None:
    """Raise on a task of a factor that a data set lacks; data sets in files are not opened."""
    asked = [name.removeprefix(FACTOR_TASK) for name in group.tasks if name.startswith(FACTOR_TASK)]
    for dataset in (group.only or study.data) if asked else ():
        if not DATASETS[dataset].files:
            for name in asked:
                check_choice(f"factor of {dataset}", name, load_dataset(dataset).factor_names)


def _check_generator(study: Study, at: At) -> None:
    """Raise unless the codes of models with a generator fit into the columns of the codes."""
    training = study.training
    _at_least("training.noise_dim", training.noise_dim, 0, at, ".training.noise_dim")
    for size in training.categories:
        _at_least("training.categories", size, 2, at, ".training.categories")
    n_values = sum(training.categories)
    if n_values > training.n_codes:
        raise ValueError(
            f"{at('.training.categories')}: training.categories must have at most as many values as n_codes, "
            f"{training.n_codes}, got {n_values}."
        )


def _check_numbers(study: Study, at: At) -> None:
    _at_least("rows", study.rows, MIN_ROWS, at, ".rows")
    _at_least("seed", study.seed, 0, at, ".seed")
    _at_most("seed", study.seed, MOST_SEED, at, ".seed")
    if study.agreement is not None:
        _at_least("agreement.rows", study.agreement.rows, MIN_ROWS, at, ".agreement.rows")
    for name in (
        "n_steps",
        "n_codes",
        "width",
        "discriminator_width",
        "batch",
        "learning_rate",
        "ensemble_size",
        "gpus",
    ):
        _positive(f"training.{name}", getattr(study.training, name), at, f".training.{name}")
    _check_generator(study, at)
    _within(at, ".training.encoder", partial(check_choice, "encoder", study.training.encoder, ENCODERS))
    if not study.training.device.startswith(("cpu", "cuda")):
        raise ValueError(f"{at('.training.device')}: device must be cpu or cuda, got {study.training.device!r}.")
    _check_n_models(study, at)
    if not study.seed_list or len(set(study.seed_list)) < len(study.seed_list) or min(study.seed_list) < 0:
        raise ValueError(f"{at('.seeds')}: seeds must be a number above 0, or different numbers, got {study.seeds!r}.")
    for size in study.scores.rows:
        _within(at, ".scores.rows", partial(_check_sample_size, "scores.rows", size))
        _at_least("scores.rows", size if size > 1 else size * study.rows, MIN_ROWS, at, ".scores.rows")
        if study.representations is None and size > study.rows:
            raise ValueError(f"{at('.scores.rows')}: scores.rows must be at most rows, {study.rows}, got {size:g}.")
    for share in study.scores.convergence:
        path, name = ".scores.convergence", "scores.convergence"
        if not 0 < share < 1:
            raise ValueError(f"{at(path)}: {name} must be shares between 0 and 1 of the largest size, got {share:g}.")
        largest = max(size if size > 1 else size * study.rows for size in study.score_rows)
        for n_rows in (largest, study.agreement.rows if study.agreement else largest):
            _at_least(f"rows of {name}", share * n_rows, MIN_ROWS, at, path)


def _positive(name: str, value: float, at: At, path: str) -> None:
    if not value > 0:
        raise ValueError(f"{at(path)}: {name} must be above 0, got {value}.")


def _at_least(name: str, value: float, least: float, at: At, path: str) -> None:
    if not value >= least:
        raise ValueError(f"{at(path)}: {name} must be at least {least}, got {value}.")


def _at_most(name: str, value: float, most: float, at: At, path: str) -> None:
    if not value <= most:
        raise ValueError(f"{at(path)}: {name} must be at most {most}, got {value}.")


def _check_n_models(study: Study, at: At) -> None:
    """Raise on more models than can be planned, before they are listed."""
    n_seeds = study.seeds if isinstance(study.seeds, int) else len(study.seeds)
    n_settings = sum(family.n_settings for family in study.models) * len(study.data)
    n_models = n_seeds * max(1, n_settings)
    if n_models > MOST_MODELS:
        raise ValueError(
            f"{at('.seeds')}: a study can have {MOST_MODELS} models at most, got {n_models}; give fewer seeds."
        )
    if not isinstance(study.seeds, int) and study.seeds:
        _at_most("seeds", max(study.seeds), MOST_SEED, at, ".seeds")


def _within(at: At, path: str, check: Callable[[], object]) -> None:
    try:
        check()
    except (ValueError, TypeError) as error:
        raise ValueError(f"{at(path)}: {error}") from error


#: Where the studies that come with the package are.
READY = files("unbraid.study") / "ready"
#: Types of values as msgspec names them, and in plain words.
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

    Numbers such as ``1e-3``, which YAML 1.1 takes for text, are numbers here. Keys of earlier versions are read with a
    :class:`DeprecationWarning`.

    Raises:
        ValueError: Not YAML or not a study, with the line and the cure.
    """
    study, renamed = read_study(text, source)
    if renamed:
        words = f"{source}: {', '.join(renamed)}; rename, as the next release reads the new names only."
        warnings.warn(words, DeprecationWarning, stacklevel=2)
    return study


def read_study(text: str, source: str, *, is_kept: bool = False) -> tuple[Study, list[str]]:
    """Return a study from the text of its file, checked, and in words the keys of earlier versions in it.

    Args:
        text: Of the file.
        source: Name of the file, for messages.
        is_kept: Whether a store kept it: earlier versions kept options that none of the models takes.
    """
    try:
        loader = yaml.SafeLoader(text)
        tree = loader.get_single_node()
        if tree is not None:
            _check_size(tree, source)
        renamed = list(dict.fromkeys(_rename_keys(tree)))
        _check_twice(tree, source)
        plain = None if tree is None else loader.construct_document(tree)
    except RecursionError as error:
        raise ValueError(f"{source}: parts must be at most {MOST_DEPTH} deep; write it with fewer brackets.") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{_place(source, getattr(error, 'problem_mark', None))}: {_problem(error)}.") from error
    if tree is None or not isinstance(plain, dict):
        raise ValueError(
            f"{source} is not a study: it must have `name:`, `scores:` and so on; see `unbraid study show`."
        )

    def at(path: str) -> str:
        return _place(source, _node(tree, path).start_mark)

    try:
        study = msgspec.convert(plain, Study, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), at)) from error
    check_study(study, at)
    if not is_kept:
        _check_used(study, at)
    _check_finite(msgspec.to_builtins(study), source)
    return study, renamed


def _check_used(study: Study, at: At) -> None:
    """Raise on options of training that no model of a study takes, as they would change nothing."""
    default = Training()
    given = [name for name in Training.__struct_fields__ if getattr(study.training, name) != getattr(default, name)]
    if given and study.representations is not None:
        place = at(f".training.{given[0]}")
        raise ValueError(f"{place}: training.{given[0]} is for models that are trained, and these are in files.")
    for name in given:
        takers = TAKEN_BY.get(name)
        if takers is not None and not any(family.family in takers for family in study.models):
            place = at(f".training.{name}")
            raise ValueError(f"{place}: training.{name} is for {', '.join(takers)}, which is not among the models.")


def _check_finite(part: Any, source: str, name: str = "") -> None:
    """Raise on a number that is infinite or none: nothing in a study may be, and keys of results cannot hold it."""
    if isinstance(part, float) and not math.isfinite(part):
        raise ValueError(f"{source}: numbers must be finite, got {part:g} in {name}.")
    steps = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list | tuple) else ()
    for key, value in steps:
        _check_finite(value, source, f"{name}.{key}" if name else str(key))


def _rename_keys(tree: yaml.Node | None) -> Iterator[str]:
    """Give keys their names, in place, and yield each change of a key of an earlier version in words."""
    for key, value in tree.value if isinstance(tree, yaml.MappingNode) else ():
        parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
        earlier, other = (table.get(str(key.value), {}) for table in (RENAMED, ALIASES))
        for part in parts:
            for name, _ in part.value if (earlier or other) and isinstance(part, yaml.MappingNode) else ():
                if str(name.value) in earlier:
                    yield f"{name.value} is now called {earlier[name.value]}"
                name.value = {**earlier, **other}.get(name.value, name.value)


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
            # What a merge key (<<) brings stands before the keys that override it.
            node = found[-1] if isinstance(found[-1], yaml.CollectionNode) else keys[-1]
        elif number and isinstance(node, yaml.SequenceNode) and int(number) < len(node.value):
            node = node.value[int(number)]
    return node


def _check_size(tree: yaml.Node, source: str) -> None:
    """Raise on aliases that repeat too much, or that contain themselves, before anything is built from them."""
    sizes: dict[int, int] = {}

    def size(node: yaml.Node, above: tuple[int, ...]) -> int:
        if id(node) in above:
            raise ValueError(
                f"{_place(source, node.start_mark)}: an alias stands within what it repeats; write it out."
            )
        if len(above) > MOST_DEPTH:
            raise RecursionError
        if id(node) not in sizes:
            _check_letters(node, source)
            parts = node.value if isinstance(node, yaml.CollectionNode) else ()
            inner = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
            sizes[id(node)] = 1 + sum(size(one, (*above, id(node))) for one in inner)
        if sizes[id(node)] > MOST_PARTS:
            raise ValueError(
                f"{_place(source, node.start_mark)}: a study file can have {MOST_PARTS} parts at most, with aliases "
                "written out; repeat less."
            )
        return sizes[id(node)]

    size(tree, ())


def _check_letters(node: yaml.Node, source: str) -> None:
    """Raise on halves of characters, which YAML can write and no file can hold."""
    try:
        node.value.encode() if isinstance(node, yaml.ScalarNode) else None
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{_place(source, node.start_mark)}: text must be characters, got {error.object[error.start]!a}; write "
            "the character itself."
        ) from error


def _check_twice(node: yaml.Node | None, source: str) -> None:
    """Raise on a key that is given twice: YAML would silently take the last."""
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            if isinstance(key, yaml.CollectionNode):
                continue
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

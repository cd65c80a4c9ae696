"""What moves the correlations of the two published studies: other seeds, fewer training steps, other data.

    python benchmarks/study_causes.py --store DIR                   # ten minutes a variant on two cores; goes on
    python benchmarks/study_causes.py --store DIR --variants steps  # one variant, the others in the file kept

The studies in small, 72 models of small sprites, are run as they are and with one thing changed, and every correlation
that the papers print a number for is read off each. The mean distance of a variant's correlations from those of the
study as it is says how far that change alone moves a correlation. Distances of two runs that differ in their seeds
alone are what the allowed distances on the status page are made of.
"""

import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from measure import keep, machine, options, parse
from unbraid.reproduce.iwo_tables import iwo_tables
from unbraid.reproduce.studies import scaled
from unbraid.reproduce.thesis.tables import thesis_tables
from unbraid.study import load_study, run_study

#: The scale for one GPU has a sixth or a thirtieth of the published training steps; here a third of the steps is left.
SHARE_OF_STEPS = 1 / 3
STUDIES = {"thesis": thesis_tables, "iwo": iwo_tables}
AS_IT_IS = "as it is"
MEANS = ", means over families"


def fewer_steps(study):
    """Train for fewer steps; capacities rise over the same share of them."""
    families = [
        replace(family, hyperparameters=family.hyperparameters | {name: round(SHARE_OF_STEPS * steps)})
        if isinstance(steps := family.hyperparameters.get(name := "capacity_steps"), float | int)
        else family
        for family in study.models
    ]
    n_steps = max(1, round(SHARE_OF_STEPS * study.training.n_steps))
    return replace(study, models=tuple(families), training=replace(study.training, n_steps=n_steps))


def other_seeds(study):
    """Train as many models with the next seeds."""
    n_seeds = len(study.seed_list)
    return replace(study, seeds=tuple(range(n_seeds, 2 * n_seeds)))


def other_data(study):
    """Train on sprites with a grey square, which is one factor of position more that models may encode."""
    tasks = tuple(group for group in study.tasks if not group.only)
    return replace(study, data=("sprites_mini_square",), also=(), tasks=tasks)


VARIANTS = {AS_IT_IS: lambda study: study, "seeds": other_seeds, "steps": fewer_steps, "data": other_data}


def smaller(study):
    """Return a study of two families and settings, trained for a moment."""
    families = [
        replace(
            family,
            hyperparameters={
                name: value[:3] if isinstance(value, list | tuple) else value
                for name, value in family.hyperparameters.items()
            },
        )
        for family in study.models
        if family.family in ("beta_vae", "beta_tcvae")
    ]
    scores = replace(study.scores, metrics=("mig", "modularity", "sap"), rows=(1.0,), options={}, convergence=())
    training = replace(study.training, n_steps=10)
    return replace(
        study, models=tuple(families), rows=400, seeds=1, training=training, scores=scores, tasks=(), agreement=None
    )


def read_off(name, variant, store, *, tiny):
    """Run one study in a variant, and return its correlations by table, group, task and score."""
    study = scaled(load_study(name), "mini")
    changed = VARIANTS[variant](smaller(study) if tiny else study)
    state = run_study(changed, Path(store) / variant.replace(" ", "_"))
    return {
        (one.table, one.group, one.task, one.score): one.number.ours
        for one in STUDIES[name](state, "mini").correlations
        if one.number.ours is not None
    }


def distances(found, base, *, over_families):
    """Mean distance of correlations, and how many turn their sign, for each table, and for means over families."""
    both = {key: (found[key], base[key]) for key in base if key in found and np.isfinite([found[key], base[key]]).all()}
    pairs = {}
    for (table, group, task, score), pair in both.items():
        pairs.setdefault(table, {})[group, task, score] = pair
        if over_families:
            pairs.setdefault(table + MEANS, {}).setdefault((task, score), []).append(pair)
    lines = {}
    for table, found_here in pairs.items():
        own = np.array([np.mean(np.atleast_2d(pair), axis=0) for pair in found_here.values()])
        lines[table] = {
            "correlations": len(own),
            "mean_distance": float(np.abs(own[:, 0] - own[:, 1]).mean()),
            "share_of_other_sign": float((own.prod(axis=1) < 0).mean()),
        }
    return lines


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--store", help="folder for models and numbers; needed but with --tiny")
    parser.add_argument("--variants", default=",".join(list(VARIANTS)[1:]), help="some of seeds, steps and data")
    parser.add_argument("--studies", default=",".join(STUDIES), help="thesis, iwo or both")
    given = parse(parser, __file__, arguments, variants="seeds", studies="thesis")
    if given.store is None and not given.tiny:
        parser.error("--store is needed: a folder where a run that was stopped goes on")
    found = {}
    place = tempfile.TemporaryDirectory() if given.store is None else nullcontext(given.store)
    with place as store:
        for name in given.studies.split(","):
            base = read_off(name, AS_IT_IS, store, tiny=given.tiny)
            print(f"{name}: {len(base)} correlations", flush=True)
            for variant in given.variants.split(","):
                varied = read_off(name, variant, store, tiny=given.tiny)
                lines = distances(varied, base, over_families=name == "iwo")
                found[f"{name}, other {variant}"] = lines
                for table, line in lines.items():
                    print(
                        f"  other {variant:6s} {table:40s}{line['correlations']:5d} correlations move by "
                        f"{line['mean_distance']:.2f}, {line['share_of_other_sign']:.0%} change sign",
                        flush=True,
                    )
                keep(given.output, {"machine": machine(), **found}, beside_others=True)


if __name__ == "__main__":
    main()

"""What the blocks of DIVA know of rotated digits, by their size and the weights of the classifiers: why blocks leak.

    python benchmarks/diva_blocks.py --data MNIST     # a quarter of an hour on one core
    python benchmarks/diva_blocks.py                  # scikit-learn's digits

The first line is a ceiling: angle and digit of unseen pictures read from their pixels, by the same forest and by a
network, fitted on the pictures that DIVA learns from. The others train small DIVAs and have, beside what a forest reads
from draws of each block, the nats of each block: an angle takes log 6 = 1.79, and what is left describes the picture.
"""

import json
from dataclasses import replace
from itertools import product

import numpy as np

from measure import keep, machine, options, parse


def pictures_of(given):
    """Return rotated pictures to learn from, and of digits never seen."""
    from unbraid.data.mnist import bundled_digits, mnist_digits
    from unbraid.data.rotated import rotated_digits
    from unbraid.reproduce.labelled.diva import _parted

    digits = bundled_digits() if given.data is None else mnist_digits(given.data)[0]
    return [rotated_digits(part, n_per_digit=None) for part in _parted(digits, given.per_digit)]


def ceiling(known, new):
    """Accuracy of digit and angle read from pixels of unseen pictures."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    def pixels(data):
        return np.asarray(data.observations(np.arange(len(data)))).reshape(len(data), -1)

    (x, z), (a, b) = map(pixels, (known, new)), (data.factors(np.arange(len(data))) for data in (known, new))
    found = {}
    for name, make in (
        ("forest", lambda: RandomForestClassifier(100, random_state=0)),
        ("network", lambda: MLPClassifier((128,), random_state=0, early_stopping=True)),
    ):
        for k, label in enumerate(known.factor_names):
            found[f"{label} from pixels, {name}"] = float(make().fit(x, a[:, k]).score(z, b[:, k]))
    return found


def lines_of(known, new, given):
    """A line for each size of a block and share of the published weights."""
    from unbraid.models.families import loss_parts
    from unbraid.reproduce.labelled.diva import QUICK, _blocks_read, _trained

    for share, block_size in product(given.shares, given.blocks):
        settings = replace(
            QUICK, block_size=block_size, n_epochs=given.epochs, alpha_y=3500.0 * share, alpha_d=2000.0 * share
        )
        model = _trained(known, [np.arange(len(known))], settings, 1, "cpu", None, False)
        read = _blocks_read(model[0], known, new, seed=0)
        last = dict(zip(loss_parts("diva"), model.history[-1, :, 0].tolist(), strict=True))
        nats = {f"nats of z_{block}": last[f"rate_{block}"] for block in "dyx"}
        yield (
            {"block_size": block_size, "share_of_weights": share}
            | nats
            | {f"{label} from {block}": one.forest for key, one in read.items() for block, label in [key.split("|")]}
        )


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--data", help="an MNIST folder; scikit-learn's digits without one")
    parser.add_argument("--per-digit", type=int, default=80)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--blocks", type=int, nargs="+", default=[6, 64], help="codes of a block")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.1, 1.0], help="of the published weights")
    given = parse(parser, __file__, arguments, per_digit=10, epochs=1, blocks=[6], shares=[1.0])
    known, new = pictures_of(given)
    found = {"machine": machine(), "epochs": given.epochs, "ceiling": ceiling(known, new), "lines": []}
    print(json.dumps(found["ceiling"]), flush=True)
    for line in lines_of(known, new, given):
        print(json.dumps(line), flush=True)
        found["lines"].append(line)
    keep(given.output, {"MNIST" if given.data else "small digits": found}, beside_others=True)


if __name__ == "__main__":
    main()

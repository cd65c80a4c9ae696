"""What the accuracy of an InfoGAN's categorical code depends on: its continuous codes, their deviation, its networks.

    python benchmarks/info_gan_codes.py --data MNIST --device cuda   # ten minutes each on an H200
    python benchmarks/info_gan_codes.py --seeds 1 --steps 300        # scikit-learn's digits, to see that it runs

Each variant changes one setting of the full reproduction, ``unbraid reproduce info-gan``, which has the weights of the
authors' code: 1 for all codes, and a deviation of 1 of q for continuous codes.
"""

import json
from dataclasses import replace

from measure import keep, machine, options, parse

#: For each variant, the settings that differ from the full ones.
VARIANTS = {
    "continuous codes have no weight": {"continuous_share": 0.0},
    "learned deviations, a tenth of the weight": {"continuous_share": 0.1, "deviation": 0.0},
    "narrow networks": {"width": 64, "channels": ()},
}


def line_of(given, changes):
    """Bound and matched accuracy of InfoGANs, and of plain GANs beside them, by seed."""
    from unbraid.reproduce import info_gan
    from unbraid.reproduce.gans_of_digits import FULL

    settings = replace(FULL, n_steps=given.steps, **changes)
    found = info_gan(given.data, settings=settings, n_seeds=given.seeds, device=given.device, progress="lines")
    return {
        "steps": given.steps,
        "seconds": found.seconds,
        "changes": {name: list(value) if isinstance(value, tuple) else value for name, value in changes.items()},
    } | {
        one.name: {
            "information": list(one.information.seeds),
            "continuous_information": list(one.continuous_information.seeds),
            "accuracy": list(one.accuracy.seeds),
        }
        for one in found.models
    }


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--data", help="an MNIST folder; scikit-learn's digits without one")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=tuple(VARIANTS), help="one variant only")
    given = parse(parser, __file__, arguments, steps=1, seeds=1, only="narrow networks")
    for name, changes in VARIANTS.items():
        if given.only in (None, name):
            line = line_of(given, changes)
            print(json.dumps({name: line}), flush=True)
            keep(given.output, {name: {"machine": machine(), **line}}, beside_others=True)


if __name__ == "__main__":
    main()

"""Pictures drawn in a second, on one thread, by batch size.

    python benchmarks/sprites.py

Rows are random; times are of the processor. A batch of ``Sprites.masks`` is bytes, of ``observations`` 32-bit numbers.
"""

import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from measure import keep, machine, options, parse
from unbraid.data import load_dataset, sprites

NAMES = ("sprites", "sprites_colour", "sprites_noisy", "sprites_scream", "sprites_square", "sprites_mini")
BATCHES = (64, 1024)


def rate(draw, n_rows, batch, seconds):
    """Pictures in a second of processor time."""
    index = np.random.default_rng(0).integers(n_rows, size=batch)
    draw(index)
    started, n_drawn = time.process_time(), 0
    while time.process_time() - started < seconds:
        draw(index)
        n_drawn += batch
    return round(n_drawn / (time.process_time() - started))


def main(arguments=None):
    parser = options(__doc__, __file__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each data set and batch")
    given = parse(parser, __file__, arguments, seconds=0.01)
    work = {name: load_dataset(name) for name in NAMES}
    rates = {
        name: {batch: rate(data.observations, len(data), batch, given.seconds) for batch in BATCHES}
        for name, data in work.items()
    }
    plain = sprites()
    rates["sprites, as bytes"] = {batch: rate(plain.masks, len(plain), batch, given.seconds) for batch in BATCHES}
    print(f"{'pictures in a second':24}" + "".join(f"{f'batch {batch}':>14}" for batch in BATCHES))
    for name, of_batch in rates.items():
        print(f"{name:24}" + "".join(f"{n:14,}" for n in of_batch.values()))
    keep(given.output, {"machine": machine(), "pictures_per_second": rates})


if __name__ == "__main__":
    main()

"""Seconds of a training step of the flows of digits, eager and recorded as a CUDA graph, and how far their losses part.

python benchmarks/flow_training.py --device cuda --data MNIST   # the four flows of 28 by 28 pixels, on a GPU
python benchmarks/flow_training.py                              # those of 8 by 8 pixels, eager, on this processor
"""

import json
import time

import numpy as np

from measure import keep, machine, options, parse


def time_flow(flow, x, labels, given, settings, noise, *, recorded):
    """Seconds of a step after the first ones, and the losses."""
    import torch

    from unbraid.models.flows.loop import FlowLearner, FlowRun
    from unbraid.models.flows.training import initialise, negative_log_likelihood

    run = FlowRun(
        n_steps=3000,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        noise=noise,
        seed=0,
        check_every=1,
    )
    flow.to(given.device).train()
    x, labels = torch.as_tensor(x, dtype=torch.float32).to(given.device), torch.as_tensor(labels).to(given.device)
    initialise(flow, x, labels, noise=noise, seed=0)
    started = time.perf_counter()
    learner = FlowLearner(flow, x, labels, negative_log_likelihood, run, recorded=recorded)
    learner.advance()
    float(learner.losses[-1])
    start_up = time.perf_counter() - started
    started = time.perf_counter()
    for _ in range(given.steps):
        learner.advance()
    losses = torch.stack(learner.losses).tolist()
    return (time.perf_counter() - started) / given.steps, start_up, losses


def main(arguments=None):
    from unbraid.reproduce.digit_flows.flows import FULL, QUICK, SMALL_NOISE, make_flows, normalised, read_digits

    parser = options(__doc__, __file__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--data", help="an MNIST folder; scikit-learn's digits without one")
    parser.add_argument("--steps", type=int, default=40)
    given = parse(parser, __file__, arguments, steps=1)
    settings = QUICK if given.data is None else FULL
    noise = SMALL_NOISE if given.data is None else settings.noise
    images, labels = read_digits(given.data)
    x, labels = normalised(images[:20_000]), np.asarray(labels[:20_000], dtype=np.int64)
    where = machine()
    if given.device == "cuda":
        import torch

        where |= {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    for name in make_flows(images.shape[1], settings, 0):
        line = {"side": images.shape[1], "batch": settings.batch_size, "steps": given.steps}
        eager, _, losses = time_flow(
            make_flows(images.shape[1], settings, 0)[name], x, labels, given, settings, noise, recorded=False
        )
        line |= {"eager_seconds_per_step": eager, "eager_loss": losses[-1]}
        if given.device == "cuda":
            recorded, start_up, again = time_flow(
                make_flows(images.shape[1], settings, 0)[name], x, labels, given, settings, noise, recorded=True
            )
            apart = float(np.abs(np.array(again) / np.array(losses) - 1).max())
            line |= {
                "recorded_seconds_per_step": recorded,
                "times_faster": eager / recorded,
                "start_up_seconds": start_up,
            }
            line |= {"recorded_loss": again[-1], "largest_relative_difference_of_a_loss": apart}
        print(json.dumps({name: line}), flush=True)
        keep(given.output, {f"{given.device}, {name}": {"machine": where, **line}}, beside_others=True)


if __name__ == "__main__":
    main()

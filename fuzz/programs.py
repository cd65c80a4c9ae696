"""Decoders in Python files, and command lines."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fuzz.contract import Format, Input
from fuzz.documents import reports
from fuzz.mutate import mutated

HEAD = "import numpy, torch\nW = torch.linspace(-1, 1, 15).reshape(3, 5)\n"
#: Numbers that a decoder, which may take what it likes, would take as much memory for.
LARGE = re.compile(rb"\d{6,}")
#: What a decoder of latents ``z`` may return.
RETURNS = (
    *("z @ W", "z @ W", "torch.tanh(z @ W)", "z", "z * 0", "z * float('nan')", "z / 0", "torch.zeros(0)", "z[:, :0]"),
    *("None", "1.0", "'text'", "[z]", "(z, z)", "{'x': z}", "z.detach()", "z.detach().numpy()", "z.numpy()", "z.int()"),
    *("z > 0", "z.double()", "z.half()", "z.to(torch.bfloat16)", "z * 1j", "z.sum()", "z.sum(0)", "z[0]", "z[:1]"),
    *("z @ W.double()", "z @ W[:2]", "torch.zeros(7, 5)", "z.to_sparse()", "z.to('meta')", "z - z.mean(0)"),
    *("z.unsqueeze(-1).expand(-1, -1, 4)", "torch.where(z[:, :1] > 0, z @ W, float('nan'))", "z @ W + torch.rand(1)"),
    *("z.mul_(2)", "z.requires_grad_(False)", "torch.round(z)", "torch.linalg.inv(z @ z.T)", "1 / 0", "undefined"),
    *(
        "z.reshape(3, -1)",
        "iter(z)",
        "z.view(-1)",
        "numpy.asarray(z.detach()) * 2.0",
        "(lambda f: f(f))(lambda f: f(f))",
    ),
    *("exit()", "print('x') or z @ W", "(_ for _ in ()).throw(MemoryError('no'))"),
    *("torch.stack([z, z.flip(0)])", "z @ W * 1e38 * 1e38", "(z @ W).reshape(-1, 1, 5, 1)", "W.expand(len(z), 3, 5)"),
)
#: How a file offers a decoder of some body.
OFFERS = (
    "def decoder(z):\n    return {body}\n",
    "def decoder(z):\n    return {body}\n",
    "decoder = lambda z: {body}\n",
    "class D(torch.nn.Module):\n    def forward(self, z):\n        return {body}\ndecoder = D()\n",
    "class decoder(torch.nn.Module):\n    def forward(self, z):\n        return {body}\n",
    "class M:\n    def decode(self, z):\n        return {body}\ndecoder = M()\n",
    "def decoder():\n    return lambda z: {body}\n",
    "def decoder(z, y):\n    return {body}\n",
    "def decoder(*z):\n    return {body}\n",
    "def decoder(z):\n    yield {body}\n",
    "z = torch.zeros(2, 3)\ndecoder = {body}\n",
    "import nowhere\ndecoder = None\n",
    "class D:\n    __call__ = property(lambda self: 1 / 0)\ndecoder = D()\n",
    "decoder = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 5))\n",
    "decoder = torch.nn.Linear(3, 5, device='meta')\n",
    "decoder = torch.nn.Embedding(3, 5)\n",
    "decoder = torch.nn.Dropout(0.5)\n",
    "class decoder:\n    def __init__(self):\n        raise OSError(2, 'x')\n",
    "other = 1\n",
)


@st.composite
def _decoder_inputs(draw: DrawFn) -> Input:
    source = (HEAD + draw(st.sampled_from(OFFERS)).format(body=draw(st.sampled_from(RETURNS)))).encode()
    if draw(st.integers(0, 2)) == 0:
        source = LARGE.sub(b"7", draw(mutated(source)))
    command = ["manifold", "model.py:decoder", "--samples", draw(st.sampled_from(["2", "6", "6", "1", "0"]))]
    width = draw(st.sampled_from([("--latent-dim", "3")] * 5 + [("--latent-dim", "2"), ("--latent-dim", "0"), ()]))
    files = {"model.py": source}
    if draw(st.integers(0, 5)) == 0:
        files["prior.npy"] = draw(
            mutated(_npy(np.zeros((4, 3))))
            | st.just(_npy(np.ones((4, 3), draw(st.sampled_from(["f4", "i8", "c8", "U1"])))))
        )
        width = ("--prior", "prior.npy")
    page = ("--report", "result.html") if draw(st.integers(0, 9)) == 0 else ()
    return Input(
        files=files,
        command=(*command, *width, *page, "--json", "result.json"),
        outputs=("result.json", "result.html"),
        prints=True,
    )


def _npy(array: object) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(array))
    return out.getvalue()


@cache
def _files() -> dict[str, bytes]:
    """Return small files for command lines to name."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (24, 2))
    out = io.BytesIO()
    np.savez(out, codes=factors + 0.1 * rng.normal(size=(24, 2)), factors=factors)
    return {
        "a.npz": out.getvalue(),
        "b.npz": out.getvalue(),
        "c.npy": _npy(factors + 0.5),
        "l.npy": _npy(factors),
        "t.csv": b"code_0,code_1,factor_a\n" + b"".join(b"%d,%d,%d\n" % (k % 5, k % 3, k % 2) for k in range(24)),
        "r.json": reports()[0].encode(),
        "s.json": reports()[1].encode(),
        "m.py": (HEAD + "def decoder(z):\n    return z @ W\n").encode(),
        "s.yaml": b"name: tiny\ndata: [sprites_mini]\nmodels: [{family: vae}]\nscores: {metrics: [mig]}\n",
        "dir/x.txt": b"x",
        "dir/a.npz": out.getvalue(),
    }


PATHS = ("a.npz", "b.npz", "c.npy", "l.npy", "t.csv", "r.json", "s.json", "m.py", "s.yaml", "dir", "dir/a.npz")
ODD = ("", " ", "-", "--", "-1", "0", "1", "2", "5", "x", ",", "=", "a=b", "nan", "1e9", "99999999999999999999", "none")
ODD_PATHS = (
    "missing.npz",
    "/",
    "..",
    "~",
    "a.npz/x",
    "\udcff.npz",
    "a\nb.npz",
    "x" * 300,
    "/dev/null",
    "http://x/a.npz",
)
#: Values of options, by what they are for; each option also gets values that are meant for others.
VALUES: dict[str, tuple[str, ...]] = {
    "--metrics": ("mig", "sap", "r2", "mig,sap", "mig,mig", "total_correlation", "mig,", "migg", "udr"),
    "--factors": ("l.npy", "c.npy"),
    "--only": ("factor_0", "factor_1", "factor_0,factor_1", "factor_9"),
    "--kinds": ("factor_0=ordinal", "factor_0=circular:3", "factor_0=circular:x", "factor_0=odd", "x=ordinal"),
    "--seed": ("0", "3", "-1", "4294967296"),
    "--jobs": ("1", "0", "-2", "1.5"),
    "--bins": ("2", "20", "1", "-3", "1000000"),
    "--binning": ("robust", "uniform", "quantile"),
    "--option": ("mig.n_bins=5", "mig.n_bins=x", "mig.x=1", "sap.n_bins=", "mig", "=", "mig.n_bins=-1"),
    "--code-columns": ("code_*", "code_0,code_1", "*", "z*", "[", "factor_*"),
    "--factor-columns": ("factor_*", "factor_a", "*", "code_0"),
    "--blocks": ("a=0,b=1", "a=0-1", "a=code_*", "a=9", "a", "a=0,b=0", ""),
    "--codes": ("codes", "X", "obsm:X", "nosuch"),
    "--time": ("10m", "1s", "2h", "0", "-1m", "1e9h", "soon"),
    "--sample": ("100", "1000", "0", "-1"),
    "--decoder": ("m.py:decoder", "m.py:W", "m.py", "nosuch.py:x"),
    "--engine": ("local", "none", "LOCAL"),
    "--address": ("auto", "127.0.0.1:1", "x"),
    "--work": ("work", "dir", "a.npz", "nowhere/work"),
    "--json": ("o.json", "-", "dir", "a.npz", "nowhere/o.json"),
    "--csv": ("o.csv", "dir", "nowhere/o.csv"),
    "--report": ("o.html", "o.pdf", "dir", "nowhere/o.html"),
    "--against": ("r", "s", "first"),
    "--measures": ("cka", "cka,cca", "procrustes", "rsa", "dictionaries", "nosuch", ""),
    "--untrained": ("c.npy", "a.npz", "t.csv", "nosuch.npz"),
    "--latent-dim": ("3", "2", "-1", "1000000"),
    "--samples": ("4", "0", "-1"),
    "--partition": ("a=0,b=1-2", "a=0-1,rest=2", "a=2-1", "a=0,a=0", "0-2", "a=0-99"),
    "--prior": ("c.npy", "l.npy", "a.npz"),
    "--image": ("5", "1x5", "5x1x1", "2x2", "0x0", "-1x-5", "x"),
    "--top": ("1", "0", "-5", "100"),
    "--mode": ("auto", "forward", "reverse"),
    "--dtype": ("float32", "float64", "float16"),
    "--device": ("cpu", "cuda", "tpu", "meta", "cuda:9"),
    "--memory": ("2GiB", "1MiB", "1", "-1GiB", "1XB"),
    "--store": ("dir", "store", "~/nowhere", "memory://x", "nosuch://x", "a.npz"),
    "--study": ("s.yaml", "mini", "tiny", "dir"),
    "--out": ("o.html", "o.pdf", "dir"),
    "--tables": ("a.npz", ""),
    "--folder": ("dir", "a.npz", "store"),
    "--family": ("mig", "dci"),
    "--nosuch": ("1",),
}
FLAGS = (
    "--no-intervals",
    "--no-nulls",
    "--pivot",
    "--wide",
    "--help",
    "--version",
    "--intervals=maybe",
    "-h",
    "--yes=x",
)
#: Options that name a file to write.
OUTPUTS = ("--json", "--csv", "--report", "--out")
#: Commands, what they are given first, and their options; none of them trains or fetches for long.
COMMANDS: dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {
    ("score",): (
        ("a.npz", "b.npz", "c.npy", "t.csv", "dir/a.npz"),
        tuple(VALUES)[: tuple(VALUES).index("--against")],
    ),
    ("compare",): (("r.json", "s.json"), ("--against", "--json", "--csv", "--report")),
    ("compare", "--similarity"): (
        ("a.npz", "b.npz", "t.csv"),
        ("--json", "--csv", "--report", "--seed", "--measures", "--untrained"),
    ),
    ("manifold",): (
        ("m.py:decoder", "m.py:decoder", "m.py:W", "m.py:nosuch", "m.py", "a.npz:decoder", ":decoder", "m.py:"),
        (
            *tuple(VALUES)[tuple(VALUES).index("--latent-dim") : tuple(VALUES).index("--store")],
            "--seed",
            "--json",
            "--report",
        ),
    ),
    ("metrics",): (("mig", "dci", "migg"), ("--family", "--json")),
    ("data", "list"): ((), ("--folder",)),
    ("data", "check"): (("mnist", "sprites", "dsprites", "nosuch"), ("--folder",)),
    ("study", "list"): ((), ()),
    ("study", "tasks"): ((), ()),
    ("study", "show"): (("mini", "s.yaml", "nosuch"), ()),
    ("study", "status"): ((), ("--store", "--study", "--json")),
    ("study", "table"): ((), ("--store", "--study", "--csv")),
    ("study", "report"): ((), ("--store", "--study", "--out", "--tables")),
    ("study", "clean"): ((), ("--store",)),
    ("study",): ((), ()),
    ("data",): ((), ()),
    ("nosuch",): (("a.npz",), ("--json",)),
    (): ((), ()),
}


@st.composite
def _command_inputs(draw: DrawFn) -> Input:
    name = draw(st.sampled_from(sorted(COMMANDS)) | st.sampled_from([("score",), ("manifold",), ("compare",)]))
    first, options = COMMANDS[name]
    words = [*name]
    strange = st.sampled_from(ODD) | st.sampled_from(PATHS) | st.sampled_from(ODD_PATHS)
    least = 2 if name[:1] == ("compare",) else 1
    chance = draw(st.integers(0, 9))
    for number in range(least + chance // 9 if first else chance // 8):
        is_usual = draw(st.integers(0, 9)) > 0
        words.append(first[number % len(first)] if first and is_usual else draw(strange))
    for _ in range(draw(st.integers(0, 3))):
        is_usual = draw(st.integers(0, 19)) > 0
        known = options if options and is_usual else tuple(VALUES)
        option = draw(st.sampled_from(known))
        usual = VALUES[option][0] if draw(st.booleans()) else draw(st.sampled_from(VALUES[option]))
        value = usual if draw(st.integers(0, 9)) else draw(strange)
        words += draw(st.sampled_from([[option, value]] * 8 + [[f"{option}={value}"], [option]]))
    if draw(st.integers(0, 9)) == 0:
        words.insert(draw(st.integers(0, len(words))), draw(st.sampled_from(FLAGS)))
    if name == ("manifold",) and "--latent-dim" not in words:
        words += ["--latent-dim", "3"]
    if name[:1] == ("study",) and "--store" in options and "--store" not in words:
        words += ["--store", "dir"]
    if name == ("score",):
        words += ["--no-intervals", "--no-nulls"] + ([] if "--metrics" in " ".join(words) else ["--metrics", "mig"])
    return Input(files=_files(), command=tuple(words), outputs=_outputs(words), prints="score" not in words)


def _outputs(words: Sequence[str]) -> tuple[str, ...]:
    """Return what a command line names as its outputs, whatever it is, and the names by default."""
    split = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    named = [value for option, value in pairwise(split) if option in OUTPUTS]
    return ("o.json", "o.csv", "o.html", "report.html", "work/", *named)


FORMATS = (
    Format(name="decoder", inputs=_decoder_inputs()),
    Format(name="command", inputs=_command_inputs()),
)

import json

import numpy as np
import pytest

from helpers.small import run_cli
from unbraid._base.optional import pip_install

SOURCE = """
import torch

weights = torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.0]))[:, :3].T.contiguous()
frozen = torch.nn.Linear(3, 4, bias=False)
frozen.weight.data = torch.tensor([[3.0, 0, 0], [0, 2, 0], [0, 0, 1], [0, 0, 0]])


def decoder(z):
    return z @ frozen.weight.T


def load():
    return frozen


def images(z):
    return (z @ frozen.weight.T).reshape(-1, 2, 2)


def broken():
    raise RuntimeError("no weights")


def pair(z):
    return z, z


def picky(z):
    raise RuntimeError("never")


number = 3
"""


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(SOURCE)
    return path


def run(capsys, module, name, *arguments):
    return run_cli(capsys, "manifold", f"{module}:{name}", *arguments)


@pytest.mark.parametrize("name", ["decoder", "load", "frozen"])
def test_table(capsys, module, name):
    code, out, err = run(capsys, module, name, "--latent-dim", 3, "--samples", 10)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["latent", "entropy", "shares", "most", "with", "mutual", "information"]
    entropy = 0.5 * (1 + np.log(2 * np.pi))
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["z0", f"{entropy + np.log(3):.3f}"],
        ["z1", f"{entropy + np.log(2):.3f}"],
        ["z2", f"{entropy:.3f}"],
    ]
    assert "total correlation             0.0000 ± 0.0000 nats" in out
    assert "3 of 3" in out


def test_json_and_partition(capsys, module):
    code, out, err = run(
        capsys, module, "decoder", "--latent-dim", 3, "--samples", 10, "--partition", "core=0,2,rest=1", "--json", "-"
    )
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["sets"] == {"core": [0, 2], "rest": [1]}
    assert data["meta"]["n_samples"] == 10
    code, out, _ = run(capsys, module, "decoder", "--latent-dim", 3, "--samples", 9, "--partition", "core=0-1,rest=2")
    assert code == 0
    assert "core" in out


def test_report_with_pictures_and_json_file(capsys, module, tmp_path):
    target, page = tmp_path / "out.json", tmp_path / "out.html"
    code, _, err = run(
        capsys, module, "images", "--latent-dim", 3, "--samples", 5, "--json", target, "--report", page, "--top", 1
    )
    assert code == 0
    assert err == f"wrote {target}\nwrote {page}\n"
    assert json.loads(target.read_text())["n_active"] == 3
    assert "Mean Jacobian of z0" in page.read_text(encoding="utf-8")


def test_flat_images_and_prior_file(capsys, module, tmp_path):
    np.save(tmp_path / "z.npy", np.random.default_rng(0).standard_normal((6, 3)))
    page = tmp_path / "out.html"
    code, _, _ = run(capsys, module, "decoder", "--prior", tmp_path / "z.npy", "--image", "2x2", "--report", page)
    assert code == 0
    assert "samples given" in page.read_text(encoding="utf-8")
    assert "Images along z0" in page.read_text(encoding="utf-8")


def test_words_of_the_table_are_explained(capsys, module):
    out = run(capsys, module, "decoder", "--latent-dim", 3, "--samples", 10)[1]
    assert "Active: moves the data, however little, at every sample. Effective dimension: the number of" in out


def test_only_the_top_is_printed(capsys, module):
    _, out, _ = run(capsys, module, "decoder", "--latent-dim", 3, "--samples", 5, "--top", 1)
    assert "... and 2 more" in out
    assert "z1" not in out.splitlines()[2]


def test_help_teaches(capsys):
    code, out, err = run_cli(capsys, "manifold", "--help")
    assert (code, err) == (0, "")
    assert all(
        option in out for option in ("--latent-dim", "--samples", "--partition", "--report", "--json", "--device")
    )
    assert "unbraid manifold vae.py:decoder --latent-dim 10" in out


BAD = [
    (
        ("decoder",),
        "latent_dim must be given (--latent-dim), or a prior that determines it: samples of latents (--prior), or a "
        "mixture.",
    ),
    (
        ("decoder", "--latent-dim", 5),
        "It accepts 3 latents: is latent_dim (--latent-dim, or the columns of --prior) 3?",
    ),
    (("frozen", "--latent-dim", 2), "It accepts 3 latents"),
    (("picky", "--latent-dim", 3), "RuntimeError: never. Wrap it, for example as"),
    (("decodr", "--latent-dim", 3), "has no 'decodr'; did you mean 'decoder'."),
    (("broken", "--latent-dim", 3), "cannot be loaded: RuntimeError: no weights."),
    (("pair", "--latent-dim", 3), "decoder must return one tensor, got a tuple of 2; wrap it"),
    (("number", "--latent-dim", 3), "decoder must be a torch module or function from latents to data, got 3."),
    (("decoder", "--latent-dim", 5), "decoder must accept a batch of latents of shape (3, 5), but it failed"),
    (("decoder", "--latent-dim", 3, "--samples", 1), "n_samples must be at least 2, got 1."),
    (
        ("decoder", "--latent-dim", 3, "--partition", "0-2"),
        "partition must be sets such as core=0-9,rest=10-19, got '0-2'.",
    ),
    (("decoder", "--latent-dim", 3, "--partition", "a=0-x"), "partition must be sets such as"),
    (("decoder", "--latent-dim", 3, "--partition", "a=0-1"), "partition must have every latent in a set, but [2]"),
    (
        ("decoder", "--latent-dim", 3, "--image", "axb", "--report", "out.html"),
        "image must be a shape such as 28x28 or 3x64x64, got 'axb'.",
    ),
    (("decoder", "--latent-dim", 3, "--memory", "much"), "memory must be a size such as '2GiB'"),
    (("decoder", "--latent-dim", 3, "--report", "nowhere/out.html"), "there is no folder 'nowhere'; make it first."),
    (("decoder", "--latent-dim", 3, "--prior", "z.npy"), "prior must be a .npy file, but there is no file 'z.npy'."),
    (
        ("decoder", "--latent-dim", 3, "--json", "a.html", "--report", "a.html"),
        "json 'a.html' would overwrite the input or another output",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_input_exits_with_a_sentence(capsys, module, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    code, out, err = run(capsys, module, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("unbraid: ")
    assert message in err
    assert len(err.splitlines()) == 1
    assert sorted(path for path in tmp_path.iterdir() if path.name != "__pycache__") == before


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("model.py", "decoder must be FILE.py:NAME, got 'model.py'."),
        ("missing.py:decoder", "there is no file 'missing.py'."),
        ("bad.py:decoder", "cannot be loaded: SyntaxError: "),
        ("notorch.py:decoder", f"Run {pip_install('torch')}."),
        ("text.txt:decoder", "'text.txt' is not a Python file, which ends in .py."),
    ],
)
def test_bad_modules(capsys, tmp_path, monkeypatch, address, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text("def decoder(:\n")
    (tmp_path / "notorch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')\n")
    (tmp_path / "text.txt").write_text("decoder = 1\n")
    code, out, err = run_cli(capsys, "manifold", address, "--latent-dim", 3)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_some_latents_a_knee_and_a_bottleneck(capsys, tmp_path):
    file = tmp_path / "model.py"
    file.write_text(SOURCE, encoding="utf-8")
    model = ["manifold", f"{file}:load", "--latent-dim", "3", "--samples", "300", "--dtype", "float64"]
    code, out, err = run_cli(capsys, *model, "--latents", "0,2", "--bottleneck", "1,3")
    assert code == 0, err
    assert "2 of 2" in out
    assert "after 1 latents, a fall of 1.10 nats" in out  # lengths 3 and 1
    kept = [line.split() for line in out[out.index("latents kept") :].splitlines()[1:3]]
    assert [line[0] for line in kept] == ["1", "3"]
    assert float(kept[0][1]) == pytest.approx(0.5 * (1 + np.log(2 * np.pi)) + np.log(3), abs=1e-3)
    assert float(kept[0][-1]) == pytest.approx(2**2 + 1, rel=0.3)
    code, out, err = run_cli(capsys, *model, "--bottleneck", "1,3", "--json", "-")
    assert code == 0, err
    assert json.loads(out)["bottleneck"]["n_kept"] == [1, 3]
    for bad in (["--latents", "3"], ["--latents", "a"], ["--bottleneck", "4"]):
        assert run_cli(capsys, *model, *bad)[0] == 2


SHEARED = """
import torch

columns = torch.tensor([[1.0, 0.6, 0.0], [0.0, 0.8, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)


def decoder(z):
    return z @ columns.T
"""


def test_sets_of_sets(capsys, tmp_path):
    file, target = tmp_path / "sheared.py", tmp_path / "found.json"
    file.write_text(SHEARED, encoding="utf-8")
    model = ["manifold", f"{file}:decoder", "--latent-dim", "3", "--samples", "5", "--dtype", "float64"]
    code, out, err = run_cli(capsys, *model, "--partition", "core/a=0,core/b=1,rest/c=2", "--json", str(target))
    assert code == 0, err
    rows = {line[:12].strip(): line[12:].split()[0] for line in out[out.index("between") :].splitlines()}
    angle = -np.log(0.8)  # the sine of the angle between the first two columns
    assert float(rows["between"]) == pytest.approx(0, abs=1e-9)
    assert float(rows["within core"]) == pytest.approx(angle, abs=1e-4)
    assert json.loads(target.read_text())["hierarchy"]["total"]["value"] == pytest.approx(angle)
    for bad in ("core/a=0,core/b=1,rest=2", "/a=0-2"):
        code, _, err = run_cli(capsys, *model, "--partition", bad)
        assert code == 2
        assert "partition must have sets of sets by names such as" in err
    assert run_cli(capsys, *model, "--partition", "a/b=0-2", "--latents", "0")[0] == 2


TWO = """
import torch

first = torch.eye(4)[:, :2]
angle = torch.tensor(0.4)
second = torch.stack([angle.cos() * first[:, 0] + angle.sin() * first[:, 1], torch.eye(4)[:, 3]], dim=1)


def a(z):
    return z @ first.T


def b(z):
    return z @ second.T


def encode(x):
    return x @ second
"""


def test_two_decoders_are_compared(capsys, tmp_path):
    file, page = tmp_path / "two.py", tmp_path / "two.html"
    file.write_text(TWO, encoding="utf-8")
    model = ["manifold", f"{file}:a", "--with", f"{file}:b", "--latent-dim", "2", "--samples", "10"]
    code, out, err = run_cli(capsys, *model, "--partition", "x=0,y=1", "--with-partition", "u=0-1")
    assert code == 0, err
    first = next(line.split() for line in out.splitlines() if line.startswith("z0"))
    assert first[2] == "z0"
    assert float(first[3]) == pytest.approx(-np.log(np.sin(0.4)), abs=1e-3)
    sets = {line.split()[0]: float(line.split()[1]) for line in out.splitlines() if line[:1] in ("x", "y")}
    assert sets["x"] == pytest.approx(-np.log(np.sin(0.4)), abs=2e-3)
    code, out, err = run_cli(capsys, *model, "--encoder", f"{file}:encode", "--json", "-", "--report", str(page))
    assert code == 0, err
    assert json.loads(out)["meta"]["at"] == "data"
    assert "Cross mutual information" in page.read_text(encoding="utf-8")
    for bad in (["--latents", "0"], ["--bottleneck", "1"]):
        assert run_cli(capsys, *model, *bad)[0] == 2
    assert run_cli(capsys, "manifold", f"{file}:a", "--latent-dim", "2", "--encoder", f"{file}:encode")[0] == 2


CLASSES = """
def by_class(z, labels):
    return z * (1.0 + labels[:, None])


def plain(z):
    return z


def images(z):
    return z.repeat(1, 2).reshape(-1, 2, 2)
"""


def test_classes_and_mixtures(capsys, tmp_path):
    file, mixture = tmp_path / "classes.py", tmp_path / "mixture.npz"
    file.write_text(CLASSES, encoding="utf-8")
    options = ["--latent-dim", "2", "--samples", "5"]
    code, out, err = run_cli(capsys, "manifold", f"{file}:by_class", *options, "--classes", "3")
    assert code == 0, err
    totals = [float(line.split()[2]) for line in out.splitlines()[1:4]]
    unit = 0.5 * (1 + np.log(2 * np.pi))
    assert totals == pytest.approx([2 * (unit + np.log(k)) for k in (1, 2, 3)], abs=1e-3)
    np.savez(mixture, means=np.zeros((2, 2)), deviations=np.array([[1.0, 1.0], [4.0, 4.0]]), weights=np.array([3, 1]))
    model = ["manifold", f"{file}:plain", *options, "--mixture", str(mixture)]
    code, out, err = run_cli(capsys, *model, "--json", "-")
    assert code == 0, err
    found = json.loads(out)
    assert found["shares"] == {"0": 0.75, "1": 0.25}
    assert found["total_entropy"] == pytest.approx(2 * (unit + 0.25 * np.log(4)), abs=1e-5)
    np.savez(tmp_path / "bad.npz", means=np.zeros((2, 2)))
    (tmp_path / "broken.npz").write_bytes(b"PK not this")
    for bad in (["--mixture", str(tmp_path / name)] for name in ("bad.npz", "broken.npz", "none.npz")):
        assert run_cli(capsys, "manifold", f"{file}:plain", *options, *bad)[0] == 2
    assert run_cli(capsys, *model, "--bottleneck", "1")[0] == 2


def test_pages_of_classes_and_mixtures_have_pictures_of_each(capsys, tmp_path):
    file, mixture, page = tmp_path / "classes.py", tmp_path / "mixture.npz", tmp_path / "page.html"
    file.write_text(CLASSES, encoding="utf-8")
    options = ["--latent-dim", "2", "--samples", "5", "--report", str(page)]
    code, _, err = run_cli(capsys, "manifold", f"{file}:by_class", *options, "--classes", "3")
    assert code == 0, err
    assert "Pictures" not in page.read_text(encoding="utf-8")
    np.savez(mixture, means=np.zeros((2, 2)), deviations=np.ones((2, 2)))
    code, _, err = run_cli(capsys, "manifold", f"{file}:images", *options, "--mixture", str(mixture))
    assert code == 0, err
    text = page.read_text(encoding="utf-8")
    assert all(f'alt="Images along z{latent} at {name}"' in text for latent in (0, 1) for name in ("0", "1"))
    assert all(f'alt="Mean Jacobian of z{latent} at {name}"' in text for latent in (0, 1) for name in ("0", "1"))

"""What the repository promises about itself, and a wheel that works where the repository is not."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from unbraid import __version__

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_citation_file_is_valid_and_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(cited)
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == __version__
    assert cited["license"] == PROJECT["project"]["license"]
    assert cited["type"] == "software"
    assert all("name" in author or {"family-names", "given-names"} <= set(author) for author in cited["authors"])


def test_licence_is_the_one_that_is_named():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["project"]["license"] == "Apache-2.0"
    assert "Apache License" in text
    assert "Version 2.0" in text


def test_everything_pinned_is_pinned_once():
    pins = [line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()]
    assert len(pins) == len(set(pins))


def test_contributing_points_to_what_a_contributor_needs():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for part in ("make test", "docs/architecture.md", "docs/adding_a_metric.md", "CHANGELOG.md"):
        assert part in text


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy, so that nothing is left in the repository."""
    place = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(
        [
            "git",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "src",
            "pyproject.toml",
            "README.md",
            "LICENSE",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    for name in tracked:
        if (ROOT / name).is_file():
            copy = place / "source" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())
    if find_spec("setuptools") is None:
        pytest.fail("The wheel test needs setuptools: run `pip install setuptools`.")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", "."]
    done = subprocess.run([*command, "./source"], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = place.glob("*.whl")
    return found


@pytest.mark.slow
def test_wheel_holds_what_the_package_reads(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert wheel.name == f"unbraid-{__version__}-py3-none-any.whl"
    package = ROOT / "src" / "unbraid"
    wanted = {
        f"unbraid/{path.relative_to(package)}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"unbraid/py.typed", "unbraid/report/templates/frame.html"} <= wanted
    assert wanted <= names, sorted(wanted - names)
    assert not any(name.startswith(("tests/", "examples/", "benchmarks/")) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.fixture(scope="module")
def clean(wheel, tmp_path_factory):
    """A new environment with the wheel, and the dependencies of this one behind it; nothing is downloaded."""
    place = tmp_path_factory.mktemp("clean")
    venv.create(place, with_pip=False)
    site = next(place.glob("lib/python*/site-packages"))
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    command = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python"), *install]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # Only the dependencies: what is installed in development, such as this repository itself, stays out.
    (site / "dependencies.pth").write_text(
        f"import sys; sys.path.append({sysconfig.get_paths()['purelib']!r})\n", encoding="utf-8"
    )
    return place / "bin"


def run(*command, cwd):
    """Run as a newcomer would: in a folder of their own, with nothing that points to the repository."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=cwd, env=surroundings, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_installed_wheel_scores_the_example_far_from_the_repository(clean, tmp_path):
    where = run(clean / "python", "-c", "import unbraid; print(unbraid.__file__, unbraid.__version__)", cwd=tmp_path)
    file, version = where.stdout.split()
    assert Path(file).is_relative_to(clean.parent), where.stdout
    assert version == __version__
    done = run(clean / "unbraid", "demo", "--report", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^mig +0\.\d+", done.stdout, flags=re.MULTILINE)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "</html>" in page
    assert json.loads(page.split('id="data">')[1].split("</script>")[0])["meta"]["unbraid"] == __version__


@pytest.mark.slow
def test_installed_wheel_says_what_every_extra_needs(wheel):
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(f"unbraid-{__version__}.dist-info/METADATA").decode()
    extras = set(re.findall(r"^Provides-Extra: (.+)$", metadata, flags=re.MULTILINE))
    assert extras == set(PROJECT["project"]["optional-dependencies"])
    entries = archive.read(f"unbraid-{__version__}.dist-info/entry_points.txt").decode()
    assert "unbraid = unbraid.__main__:start" in entries

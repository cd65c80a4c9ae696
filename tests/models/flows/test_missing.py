import subprocess
import sys

import pytest

from helpers.small import run_cli
from unbraid._base.optional import pip_install
from unbraid.reproduce import digits_flows, moons, torus


@pytest.mark.parametrize("run", [digits_flows, moons, torus])
@pytest.mark.parametrize("missing", ["torch", "zuko"])
def test_what_is_missing_and_how_to_get_it(monkeypatch, run, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    # the extra that brings both, so that the next run does not miss the other
    with pytest.raises(ValueError, match=rf"needs {missing}, .*\[train\]"):
        run()


def test_the_command_line_says_so_too(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "zuko", None)
    code, out, err = run_cli(capsys, "reproduce", "torus", "--figure", tmp_path / "torus.html")
    assert (code, out) == (2, "")
    assert err.startswith("unbraid: unbraid reproduce torus needs zuko,")
    assert err.endswith(f"run {pip_install('train')}.\n")


@pytest.mark.slow
def test_importing_flows_without_zuko_says_so():
    code = "import sys; sys.modules['zuko'] = None; import unbraid.models.flows"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "unbraid.models.flows needs zuko" in done.stderr

"""Jacobians from elsewhere need no torch; a decoder does, and the sentence says so."""

import subprocess
import sys

import pytest

from unbraid._base.optional import pip_install

pytestmark = pytest.mark.slow

CODE = """
import sys


class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NoTorch())
import numpy as np
from unbraid import manifold

found = manifold.analyze(jacobians=np.stack([np.eye(3)] * 2), partition=[[0, 1], [2]])
found.to_html(sys.argv[1])
print(found.total_correlation)
manifold.compare(np.stack([np.eye(3)] * 2), np.stack([np.eye(3)] * 2))
for call in (manifold.analyze, lambda decoder, latent_dim: manifold.compare(decoder, decoder, latent_dim=latent_dim)):
    try:
        call(lambda z: z, latent_dim=3)
    except ValueError as error:
        print(error)
"""


def test_without_torch(tmp_path):
    command = [sys.executable, "-c", CODE, str(tmp_path / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sentence = f"a decoder needs torch, which is not installed; run {pip_install('torch')}, or give its Jacobians."
    assert done.stdout.splitlines() == ["0.0", sentence, sentence]

"""Commands that are watched in the explorer while they run."""

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest


class Watched:
    """A command that is watched, and what its explorer answers."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "unbraid", *map(str, arguments), "--watch", "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stderr if line.startswith("watch at "))
        self.base, self.token = re.fullmatch(r"watch at (http://127\.0\.0\.1:\d+)/\?token=(\S+)\n", line).groups()

    def ask(self, path):
        with urllib.request.urlopen(f"{self.base}/api/{path}{'&' if '?' in path else '?'}token={self.token}") as answer:
            return answer.read()

    def wait_for(self, path, there):
        """Ask until an answer is as it should be, or the command has ended."""
        while self.process.poll() is None:
            try:
                found = self.ask(path)
            except urllib.error.URLError:
                time.sleep(0.1)
                continue
            if there(found):
                return found
            time.sleep(0.2)
        pytest.fail(f"the command ended before {path} was there")

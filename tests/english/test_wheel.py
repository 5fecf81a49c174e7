"""Installed from a built wheel into an empty environment, with no network, the model parses a paragraph."""

import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("spacy")
pytest.importorskip("setuptools", minversion="77")

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, socket

class NoNetwork(socket.socket):
    def connect(self, *_):
        raise AssertionError("the network was used")

    connect_ex = connect

socket.socket = NoNetwork
import howsure
made = howsure.parse([("p", "The envoy left the capital. Talks failed, and rebels ATTACKED the base.")], cache=False)
print(json.dumps({"file": howsure.__file__, "sentences": made.n_sentences, "lemma": made[0].column("lemma")}))
"""


def test_a_wheel_parses_a_paragraph(tmp_path, shipped):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    # Built from a copy of what is packaged: a build leaves folders behind.
    source = tmp_path / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("howsure-*.whl")
    assert wheel.stat().st_size < 15_000_000
    home = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    (packages,) = home.glob("lib/python*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(packages)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    # The dependencies, which pip would fetch: those of the environment the tests run in, behind the wheel's own folder.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    done = subprocess.run([str(python), "-I", "-c", SCRIPT], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert Path(said["file"]).is_relative_to(packages)
    assert said["sentences"] == 2
    assert {"leave", "talk", "attack"} <= set(said["lemma"])

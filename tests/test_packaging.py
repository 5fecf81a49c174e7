"""Ready to publish: sdist, wheel built from it, installed into an empty environment, where it works without a network."""

import email
import json
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")
pytest.importorskip("build")

ROOT = Path(__file__).parents[1]
NO_NETWORK = """
import socket, sys

class NoNetwork(socket.socket):
    def connect(self, *_):
        raise AssertionError("the network was used")

    connect_ex = connect

socket.socket = NoNetwork
from howsure.cli import main
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of what git would publish, and the wheel made from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    ).stdout
    if not listed:
        pytest.skip("not a checkout of git")
    for name in listed.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    done = subprocess.run(build, capture_output=True, text=True)  # sdist, then the wheel from the unpacked sdist
    assert done.returncode == 0, done.stderr[-2000:]
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def home(built, tmp_path_factory):
    """An empty environment with the wheel; dependencies, which pip would fetch, come from the one the tests run in."""
    home = tmp_path_factory.mktemp("empty") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(packages)]
    subprocess.run([*pip, str(built[1])], check=True, capture_output=True)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def howsure(home, *arguments):
    python = home / "bin" / "python"
    return subprocess.run(
        [str(python), "-I", "-c", NO_NETWORK, *arguments], cwd=home, capture_output=True, text=True, timeout=120
    )


def test_what_is_packed(built):
    sdist, wheel = built
    assert wheel.stat().st_size < 20_000_000
    assert sdist.stat().st_size < 30_000_000
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "py.typed",
        "__init__.pyi",
        "data/tags.csv.gz",
        "data/words.csv",
        "data/vectors.npz",
        "data/stories.conllu",
        "report/templates/base.html",
        "english/model/weights.npz",
    ):
        assert f"howsure/{name}" in names
    assert not [n for n in names if n.split("/")[0] not in {"howsure"} and ".dist-info/" not in n]
    assert not [n for n in names if n.endswith((".pyc", ".nbi", ".nbc"))]
    sources = {p.relative_to(ROOT / "src").as_posix() for p in (ROOT / "src").rglob("*.py")}
    assert sources <= set(names)
    with tarfile.open(sdist) as packed:
        inside = {n.split("/", 1)[1] for n in packed.getnames() if "/" in n}
    assert {"README.md", "LICENSE", "pyproject.toml", "CITATION.cff", "src/howsure/py.typed"} <= inside
    assert {n.split("/")[0] for n in inside} <= {*(p.name for p in ROOT.iterdir()), "PKG-INFO", "setup.cfg"} - {"tests"}


def test_metadata_says_what_it_is(built):
    import tomllib

    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = [n for n in wheel.namelist() if n.endswith(".dist-info/METADATA")]
        said = email.message_from_string(wheel.read(name).decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert said["Name"] == "howsure"
    assert said["License-Expression"] == "MIT"
    assert said["Requires-Python"] == ">=3.11"
    assert set(said.get_all("Provides-Extra")) == set(project["optional-dependencies"])
    assert "Typing :: Typed" in said.get_all("Classifier")
    assert said["Description-Content-Type"] == "text/markdown"
    assert said.get_payload().replace("\r\n", "\n").strip() == (ROOT / "README.md").read_text().strip()


def test_the_description_is_markdown_that_renders():
    markdown = pytest.importorskip("markdown_it")
    html = markdown.MarkdownIt("gfm-like", {"linkify": False}).render((ROOT / "README.md").read_text())
    assert html.count("<h2>") == 5
    assert "<img" in html
    assert html.count("<pre>") == (ROOT / "README.md").read_text().count("```") // 2 + 1
    assert "](" not in html


def test_version(home):
    import howsure as here

    done = howsure(home, "--version")
    assert (done.returncode, done.stdout) == (0, f"howsure {here.__version__}\n")


def test_the_demo(home):
    done = howsure(home, "check", "--demo", "--html", "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Not calibrated")
    assert (home / "report.html").stat().st_size > 100_000


def test_the_doctor(home):
    done = howsure(home, "doctor", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0, said["verdict"]
    assert said["is_well"]
    assert {p["name"] for p in said["base"]} >= {"numpy", "numba", "duckdb", "rich"}
    assert {e["name"] for e in said["extras"]} >= {"plot", "models", "text"}
    assert str(home) in json.dumps(said["folders"])


def test_the_stories(home):
    done = howsure(home, "explore", "--every", "year")
    assert done.returncode == 0, done.stderr
    assert "60 documents" in done.stdout


def test_a_paragraph_is_parsed(home, tmp_path):
    pytest.importorskip("spacy")
    text = tmp_path / "p.txt"
    text.write_text("The envoy left the capital. Talks failed, and rebels ATTACKED the base.")
    done = howsure(home, "parse", str(text), "--no-cache")
    assert done.returncode == 0, done.stderr
    assert {"leave", "talk", "attack"} <= {line.split("\t")[2] for line in done.stdout.splitlines() if "\t" in line}

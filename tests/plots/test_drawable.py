"""Pictures of any text: a character that the renderer cannot take would end the process."""

import json
import subprocess
import sys

import numpy as np
import pytest

from howsure.plots.panels import error_scatter
from howsure.plots.vega import drawable, rendered

RENDER = """
import random, sys
from howsure.plots.vega import SCHEMA, rendered
odd = [chr(c) for c in [*range(32), 0x7F, 0x85, 0xAD, 0x2028, 0xD800, 0xDFFF, 0xFDD0, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF]]
for suffix, seed in zip(sys.argv[1::2], sys.argv[2::2]):
    rng = random.Random(int(seed))
    texts = ["x" + c + "y" for c in odd] + ["<&>]]>'", "&#0;", "&#x1;", "\\\\u0001", "", " ", "{0}", "a" * (500 if int(seed) else 2000)]
    texts += ["".join(chr(rng.randrange(0x110000)) for _ in range(rng.randrange(1, 12))) for _ in range(60)]
    values = [{"name": t, t: 1, "n": i, "odd": float("nan")} for i, t in enumerate(texts)]
    spec = {
        "$schema": SCHEMA, "title": texts[1] + texts[0], "data": {"values": values}, "mark": {"type": "bar", "tooltip": True},
        "encoding": {"y": {"field": "name", "type": "nominal", "title": "".join(odd) + "\\\\"}, "x": {"field": "n", "type": "quantitative"},
                     "color": {"field": "name", "type": "nominal", "scale": {"domain": texts}}},
    }
    made = rendered(spec, suffix)
    assert len(made) > 1000
    print(suffix)
"""


def alone(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def test_any_text_is_drawn():
    done = alone("-c", RENDER, ".svg", "0", ".svg", "1", ".png", "2", ".pdf", "3")
    assert done.returncode == 0, done.stdout + done.stderr[-500:]
    assert done.stdout.split() == [".svg", ".svg", ".png", ".pdf"]


def test_labels_with_control_characters(tmp_path):
    commands = []
    for i, control in enumerate(["\x01", "\ufffe"]):
        rng = np.random.default_rng(0)
        labels = [f"yes{control}", f"{control}no"]
        with open(tmp_path / f"{i}.jsonl", "w") as file:
            for _ in range(100):
                row = {"y": labels[rng.integers(2)], "pred": labels[rng.integers(2)], "q": rng.random()}
                file.write(json.dumps(row) + "\n")
        for command in (
            ["score", "--true", "y", "--pred", "pred"],
            ["check", "--prob", "q", "--true", "y", "--positive", labels[0]],
        ):
            pages = ["--plot", str(tmp_path / "a.svg"), "--html", str(tmp_path / "a.html")]
            commands.append([command[0], str(tmp_path / f"{i}.jsonl"), *command[1:], *pages])
    program = (
        "import json, sys; from howsure.cli.application import run; print([run(c) for c in json.loads(sys.argv[1])])"
    )
    done = alone("-c", program, json.dumps(commands))
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0]", done.stderr[-500:]


@pytest.mark.parametrize("name", ["a\nb", "a\\", 'a"b', "a\u2028", "a'b\\u0001", "\x01"])
def test_names_in_titles(name):
    records = [{"first": 0.1, "second": 0.2, "low": -0.1, "high": 0.1, "side": name, "name": name}]
    assert b"</svg>" in rendered(error_scatter(records, title=name, models=(name, "b")), ".svg")


def test_texts_stay_apart_and_plain_ones_as_they_are():
    odd = [chr(c) for c in [*range(32), 0xD800, 0xDC00, 0xFFFE, 0xFFFF]]
    made = drawable({"a": odd})["a"]
    assert len(set(made)) == len(odd)
    plain = {"text": "Añ 漢字 😀 \t\n", "n": 1.5, "list": [True, None, 3], "none": None}
    assert drawable(plain) == plain
    assert drawable([float("inf"), float("nan")]) == [None, None]

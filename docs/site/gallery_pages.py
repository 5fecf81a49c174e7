"""The gallery: each script of examples/ is run, and shown with what it prints and draws."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

PICTURES = (".svg", ".png")


def pages(examples: Path, source: Path) -> dict[str, str]:
    """Name of page -> Markdown; pictures go to `source`/gallery."""
    made, entries = {}, []
    for script in sorted(examples.glob("*.py"), key=lambda p: (not p.stem.startswith("for_"), p.stem)):
        name = script.stem
        folder = source / "gallery" / name
        folder.mkdir(parents=True)
        said = output(script, folder)
        title, text, code = parted(script.read_text(encoding="utf-8"))
        pictures = sorted(p.name for p in folder.iterdir() if p.suffix in PICTURES)
        for left in folder.iterdir():  # other files that it wrote are not shown
            if left.name not in pictures and left.is_file():
                left.unlink()
        lines = [f"# {title}", "", text, ""]
        lines += [f"![{title}]({name}/{picture})\n" for picture in pictures]
        lines += ["## What it prints", "", "```text", said.rstrip(), "```", ""]
        lines += ["## The code", "", f"`examples/{script.name}`", "", "```python", code.strip(), "```", ""]
        made[f"gallery/{name}"] = "\n".join(lines)
        paragraphs = [p for p in text.split("\n\n") if not p.startswith(" ")]  # but the command that runs it
        entry = f"## {title}\n\n{paragraphs[0] if paragraphs else ''}\n\n[Code and output]({name}.md)\n"
        if pictures:
            entry += f"\n[![{title}]({name}/{pictures[0]}){{.thumbnail}}]({name}.md)\n"
        entries.append(entry)
    names = "\n".join(n.removeprefix("gallery/") for n in made)
    index = (
        "# Gallery\n\nScripts of `examples/`, with data that ships or is made up, as this page's build ran them.\n\n"
    )
    index += "\n".join(entries) + f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return made | {"gallery/index": index}


def output(script: Path, folder: Path) -> str:
    """What a script prints, run in a folder of its own."""
    environment = os.environ | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=folder, capture_output=True, text=True, env=environment, timeout=300
    )
    if done.returncode:
        raise SystemExit(f"make docs: {script.name} fails:\n{done.stderr}")
    return done.stdout


def parted(text: str) -> tuple[str, str, str]:
    """Title and text of a script's docstring, and the code below it."""
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree) or ""
    title, _, rest = docstring.partition("\n")
    end = tree.body[0].end_lineno or 0
    return title.strip().rstrip("."), rest.strip("\n"), "\n".join(text.splitlines()[end:])

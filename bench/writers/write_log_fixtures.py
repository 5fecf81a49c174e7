"""Write the logs that the tests read: small tasks of our own, run by the real tools on models that need no network.

    python bench/writers/write_log_fixtures.py FOLDER [--environments ENVIRONMENTS]

Each tool gets an environment of its own in ENVIRONMENTS (FOLDER/environments by default; what is there is used again): inspect_ai
and lm-eval with pip, promptfoo with npm. Their logs are copied to tests/engines/log_files with plain names; paths of this machine
are replaced. VERSIONS.json names the versions. OpenAI's format needs a server: openai.jsonl is written here, as documented.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "log_tasks"
TESTS = Path(__file__).parents[2] / "tests" / "engines" / "log_files"
PYTHON_TOOLS = {"inspect": ("inspect_ai", "inspect_tasks.py"), "lm-eval": ("lm-eval", "lm_eval_tasks.py")}


def environment(folder: Path, package: str) -> Path:
    """A virtual environment with a package; its interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", package], check=True)
    return python


def version(python: Path, package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([str(python), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def keep(source: Path, target: Path, machine: list[str]) -> None:
    """Copy a log; text without the paths of this machine, JSON without its indentation."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".eval":
        target.write_bytes(source.read_bytes())
        return
    text = source.read_text()
    for path in machine:
        text = text.replace(path, "/tasks")
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/tmp\w+", "/tasks", text)
    if source.suffix == ".json":
        text = json.dumps(json.loads(text), ensure_ascii=False)
    target.write_text(text)


def openai_record(i: int) -> dict:
    """A line of a batch's output, with the answer's log-probabilities and, in `metadata`, whether it is right."""
    right = i % 3 > 0
    tokens = [
        {"token": t, "logprob": p, "bytes": None, "top_logprobs": []} for t, p in (("The", -0.02), (str(i), -0.4))
    ]
    message = {"role": "assistant", "content": f"{2 * i + (not right)}", "refusal": None}
    body = {
        "id": f"chatcmpl-{i}",
        "object": "chat.completion",
        "model": "a-model",
        "choices": [{"index": 0, "message": message, "logprobs": {"content": tokens}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
        "metadata": {"target": str(2 * i)},
    }
    return {
        "id": f"batch_{i}",
        "custom_id": f"double-{i}",
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--environments", type=Path)
    given = parser.parse_args()
    folder, environments = given.folder.resolve(), (given.environments or given.folder / "environments").resolve()
    machine = [str(folder), str(environments), str(Path.home()), str(HERE)]
    versions = {}
    for tool, (package, script) in PYTHON_TOOLS.items():
        python = environment(environments / tool, package)
        versions[package] = version(python, package)
        subprocess.run([str(python), str(HERE / script), str(folder / tool)], check=True, cwd=folder)
        for path in sorted((folder / tool).rglob("*")):
            if path.is_file():
                name = path.name if tool == "lm-eval" else f"{path.name.split('_')[1]}{path.suffix}"
                keep(path, TESTS / tool / ("dummy" if tool == "lm-eval" else "") / name, machine)
    npm = environments / "promptfoo"
    if not (npm / "node_modules").exists():
        npm.mkdir(parents=True)
        subprocess.run(["npm", "install", "--no-fund", "--no-audit", "promptfoo"], check=True, cwd=npm)
    versions["promptfoo"] = json.loads((npm / "node_modules/promptfoo/package.json").read_text())["version"]
    quiet = {f"PROMPTFOO_DISABLE_{what}": "1" for what in ("TELEMETRY", "UPDATE", "REMOTE_GENERATION")}
    command = [str(npm / "node_modules/.bin/promptfoo"), "eval", "-c", str(HERE / "promptfoo_tasks.json")]
    outputs = [folder / "promptfoo.json", folder / "promptfoo.jsonl"]
    command += [*(x for o in outputs for x in ("-o", str(o))), "--no-cache", "--no-table", "--repeat", "2"]
    surroundings = os.environ | quiet | {"PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo-settings")}
    subprocess.run(command, cwd=folder, env=surroundings, check=False)  # failed assertions are an exit status of 100
    for path in outputs:
        keep(
            path, TESTS / ("promptfoo" if path.suffix == ".json" else "promptfoo-lines") / f"sums{path.suffix}", machine
        )
    (TESTS / "openai").mkdir(parents=True, exist_ok=True)
    (TESTS / "openai" / "batch.jsonl").write_text("".join(json.dumps(openai_record(i)) + "\n" for i in range(6)))
    (TESTS / "VERSIONS.json").write_text(json.dumps(versions, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The folder of an exploration's results: what identifies a run, and whether the folder holds it already."""

from __future__ import annotations

import atexit
import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from howsure._version import __version__
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.storage import FORMAT, read_manifest, read_part, write_manifest
from howsure.exploring.blocks import Work, coref_version
from howsure.exploring.corpus import Census, Corpus


def temporary_folder() -> Path:
    """A folder that is there until the program ends."""
    made = tempfile.TemporaryDirectory(prefix="howsure-explore-")
    atexit.register(made.cleanup)
    return Path(made.name)


def new_manifest(corpus: Corpus, found: Census, work: Work, every: str, lexicon: str) -> dict[str, Any]:
    words = json.dumps(work.actors).encode()
    model = work.model
    if found.parsed < found.n:
        from howsure.english.shipped import model_version

        model = model_version(work.model)
    return {
        "format": FORMAT,
        "version": __version__,
        "complete": False,
        "corpus": corpus.name,
        "settings": {
            "actors": lexicon,
            "lexicon": hashlib.blake2b(words, digest_size=8).hexdigest(),
            "verbs": list(work.verbs),
            "rules": work.rules,
            "samples": work.samples,
            "seed": work.seed,
            "temperature": work.temperature,
            "model": model,
            "coref": coref_version(work.coref),
            "every": every,
        },
        "fingerprint": hashlib.blake2b("\n".join(found.parts).encode(), digest_size=16).hexdigest(),
        "n_documents": found.n,
        "n_undated": sum(found.undated.values()),
        "undated": dict(sorted(found.undated.items())),
        "n_future": found.future,
        "n_html": found.html,
        "first": str(min(found.days)) if found.days else None,
        "last": str(max(found.days)) if found.days else None,
        "actors": [{"code": code, "name": name} for code, name, _ in work.actors],
    }


def finished_results(folder: Path, manifest: dict[str, Any], again: bool) -> Exploration | None:
    """The results that are there already, if they are these; an error if they are others; None if there is work."""
    kept = read_manifest(folder)
    if kept is None:
        others = [p.name for p in folder.iterdir() if not p.name.startswith(".")]
        if others:
            raise InputError(f"{folder} is not empty (it holds {others[0]}); choose a new folder for the results.")
    elif again:
        shutil.rmtree(folder / "parts", ignore_errors=True)
    else:
        if kept.get("version") != manifest["version"]:
            raise InputError(
                f"{folder} holds results of howsure {kept.get('version')}, and this is {manifest['version']}: "
                "choose another --out, or run it again from the start with --again."
            )
        old, new = dict(kept["settings"]), dict(manifest["settings"])
        if kept.get("complete"):
            old["every"] = new["every"]  # periods are made from the tables
        differ = [k for k in new if old.get(k) != new[k]]
        if differ:
            raise InputError(
                f"{folder} holds a run with other settings ({differ[0]}: {old.get(differ[0])}, not {new[differ[0]]}): "
                "choose another --out, or run it again from the start with --again."
            )
        if kept.get("complete") and kept["fingerprint"] == manifest["fingerprint"]:
            if kept["settings"]["every"] != manifest["settings"]["every"]:
                kept["settings"]["every"] = manifest["settings"]["every"]
                write_manifest(folder, kept)
            return Exploration(folder, kept)
    write_manifest(folder, manifest)
    return None


def failures(folder: Path, found: Census) -> dict[str, Any]:
    """Why documents failed, and how many: known only when all blocks are done."""
    reasons: dict[str, int] = {}
    for name in found.parts:
        for reason in read_part(folder, name, "documents", ["failure"])["failure"].to_pylist():
            if reason:
                reasons[reason] = reasons.get(reason, 0) + 1
    kinds = sorted(reasons.items(), key=lambda r: (-r[1], r[0]))
    return {"n_failed": sum(reasons.values()), "failures": dict(kinds[:20])}

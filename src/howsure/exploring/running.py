"""A run: what identifies it, whether its folder holds it already, and its blocks done in this process, in others, or on Spark."""

import atexit
import hashlib
import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howsure._version import __version__
from howsure.corpora.dated import DatedText
from howsure.engines.engine import Engine
from howsure.engines.spark.session import check_spark
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.lexicons import Lexicon
from howsure.events.roles import words
from howsure.events.storage import FORMAT, has_part, part_files, read_manifest, read_part, write_manifest, write_part
from howsure.exploring.blocks import Question, Seconds, block_rows, coref_version, packed, unpacked
from howsure.exploring.corpus import BLOCK, Census, Corpus, blocks
from howsure.exploring.spark import OnSpark
from howsure.kernels.threads import cores
from howsure.processes import Here, Pool, Progress


def temporary_folder() -> Path:
    """A folder that is there until the program ends."""
    made = tempfile.TemporaryDirectory(prefix="howsure-explore-")
    atexit.register(made.cleanup)
    return Path(made.name)


def new_manifest(corpus: Corpus, found: Census, work: Question, every: str, lexicon: Lexicon) -> dict[str, Any]:
    listed = json.dumps(work.actors).encode()
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
            "actors": lexicon.name,
            "lexicon": hashlib.blake2b(listed, digest_size=8).hexdigest(),
            "verbs": list(work.verbs),
            "rules": work.rules,
            **({"patients": True} if work.patients else {}),
            **{k: getattr(work, k) for k in ("samples", "seed", "temperature")},
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
        "shared": [list(s) for s in lexicon.shared],
        "ambiguous": sorted({a.code for a in lexicon.actors if {w.lower() for w in a.words} & words("ambiguous")}),
        "actors": [{"code": code, "name": name} for code, name, *_ in work.actors],
    }


def finished_results(folder: Path, manifest: dict[str, Any], again: bool) -> Exploration | None:
    """The results that are there already, if they are these; an error if they are others; None if there is work."""
    kept = read_manifest(folder)
    if kept is None:
        for other in (p.name for p in folder.iterdir() if not p.name.startswith(".")):
            raise InputError(f"{folder} is not empty (it holds {other}); choose a new folder for the results.")
    elif again:
        shutil.rmtree(folder / "parts", ignore_errors=True)
    else:
        instead = "choose another `out=`, or run it again from the start with `again=True`."
        if kept.get("version") != manifest["version"]:
            versions = f"howsure {kept.get('version')}, and this is {manifest['version']}"
            raise InputError(f"{folder} holds results of {versions}: {instead}")
        old, new = dict(kept["settings"]), dict(manifest["settings"])
        if kept.get("complete"):
            old["every"] = new["every"]  # periods are made from the tables
        for k in (k for k in new if old.get(k) != new[k]):
            what = f"{k}: {old.get(k)}, not {new[k]}"
            raise InputError(f"{folder} holds a run with other settings ({what}): {instead}")
        if kept.get("complete") and kept["fingerprint"] == manifest["fingerprint"]:
            now = {k: v for k, v in kept.items() if k != "shown"} | {"settings": old}
            now |= {"shown": manifest["shown"]} if "shown" in manifest else {}
            if now != kept:
                write_manifest(folder, now)
            return Exploration(folder, now)
    write_manifest(folder, manifest)
    return None


def failures(folder: Path, found: Census) -> dict[str, Any]:
    """Why documents failed, and how many: known only when all blocks are done."""
    parts = (read_part(folder, name, "documents", ["failure"])["failure"] for name in found.parts)
    reasons = Counter(reason for part in parts for reason in part.to_pylist() if reason)
    kinds = sorted(reasons.items(), key=lambda r: (-r[1], r[0]))
    return {"n_failed": sum(reasons.values()), "failures": dict(kinds[:20])}


FEW = 4  # blocks that are done before another process is up
LOST = (
    "a process ended before its work was done (out of memory?). Run the same command again: it goes on "
    "where it stopped; fewer `jobs=` may help."
)


@dataclass(frozen=True, slots=True)
class Place:
    """What to do with each block, where to write its part, and which engine runs it."""

    folder: Path
    work: Question
    jobs: int | None
    on_spark: bool
    master: str | None
    manifest: dict[str, Any]
    parses: bool

    def runner(self, n_missing: int) -> Here | Pool | OnSpark:
        """What does the blocks that are missing."""
        if self.on_spark and n_missing:
            return OnSpark(self.folder, self.work, self.master, self.manifest, self.parses)
        n = self.jobs or (1 if n_missing <= FEW else cores())
        if n == 1:
            return Here(lambda block: write_block(self.folder, self.work, *block))
        setup = {"folder": str(self.folder), "work": self.work.to_dict()}
        entry = "howsure.exploring.running:block_writer"
        return Pool(entry, setup, n, packed=lambda block: [block[0], [packed(t) for t in block[1]]], lost=LOST)


def check_engine(engine: Engine, jobs: int | None) -> bool:
    """Whether the work goes to Spark."""
    if not engine.is_spark:
        return False
    if jobs is not None:
        raise InputError("`jobs=` is for the processes of this machine; with Spark, `master=` says how many.")
    check_spark(engine.master)
    return True


def write_block(folder: Path, work: Question, name: str, texts: list[DatedText]) -> Seconds:
    """Writes the part of one block; returns where the time went."""
    block = block_rows(texts, work)
    write_part(folder, name, part_files(block.rows))
    return block.seconds


def block_writer(setup: dict[str, Any]) -> Callable[[tuple[str, list[dict[str, Any]]]], Seconds]:
    """What a worker process does with a block."""
    folder, work = Path(setup["folder"]), Question.from_dict(setup["work"])
    return lambda task: write_block(folder, work, task[0], [unpacked(t) for t in task[1]])


def run_blocks(place: Place, corpus: Corpus, found: Census, progress: Progress | None) -> dict[str, float]:
    """Does the blocks whose parts are missing; returns where the time went."""
    began = time.perf_counter()
    missing = {i for i, name in enumerate(found.parts) if not has_part(place.folder, name)}
    runner = place.runner(len(missing))
    spent: dict[str, float] = {"parsing": 0.0, "resolving": 0.0, "asking": 0.0}
    flying: dict[Future[Seconds], int] = {}
    kept = done = found.n - sum(min(BLOCK, found.n - BLOCK * i) for i in missing)
    tell = progress or (lambda done, total: None)

    def landed(until: int) -> int:
        count = 0
        while len(flying) > until:
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                count += flying.pop(future)
                for key, value in future.result().items():
                    spent[key] += value
        return count

    try:
        tell(done, found.n)
        for i, block in enumerate(blocks(corpus)):
            if i in missing:
                flying[runner.submit((found.parts[i], block))] = len(block)
                done += landed(runner.in_flight)
                tell(done, found.n)
        runner.flush()
        done += landed(0)
        tell(done, found.n)
    finally:
        runner.close()
    return spent | {"total": time.perf_counter() - began, "documents": float(done - kept)}

"""Blocks of documents on Spark's executors. They come back as the files of their parts, and the driver writes these.

Blocks go out in waves, a job each: as many blocks as the cluster has slots, a task for each block. Several waves are
under way, so that the slots that a wave leaves free are taken by the next. A task that is lost is done again by Spark;
only its result counts, and a part is written once.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure._version import __version__
from howsure.corpora.dated import DatedText
from howsure.engines.spark.session import Jobs, in_thread, map_in_arrow, session
from howsure.errors import HowsureError, InputError
from howsure.events.storage import SCHEMAS, part_files, write_part
from howsure.exploring.blocks import Question, Seconds, block_rows, coref_version, packed, unpacked
from howsure.exploring.corpus import Corpus, DocumentColumns, document_of_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAVES = 3  # under way at once
ANSWER = "name string, error string, seconds string, " + ", ".join(f"{table} binary" for table in SCHEMAS)


@dataclass(frozen=True, slots=True)
class Blocks:
    """What a task does: rows with a block in, rows with the files of its part out."""

    work: str  # as JSON
    version: str
    model: str | None  # None: nothing is parsed
    coref: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for name, texts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                answer = {"name": name, "error": None, "seconds": None, **dict.fromkeys(SCHEMAS)}
                try:
                    answer |= self._answer(texts)
                except HowsureError as error:  # returned, not raised: another attempt would end the same
                    answer["error"] = str(error)
                types = [pa.string()] * 3 + [pa.binary()] * len(SCHEMAS)
                columns = [pa.array([value], kind) for value, kind in zip(answer.values(), types, strict=True)]
                yield pa.RecordBatch.from_arrays(columns, list(answer))

    def _answer(self, texts: bytes) -> dict[str, Any]:
        work = Question.from_dict(json.loads(self.work))
        _check_same(self, work.model, work.coref)
        block = block_rows([unpacked(t) for t in json.loads(zlib.decompress(texts))], work)
        return {"seconds": json.dumps(block.seconds), **dict(part_files(block.rows))}


@cache
def _check_same(expected: Blocks, model: str | None, coref: str | None) -> None:
    """Complains if an executor would compute something else than the driver: other code, other models."""
    try:
        found = {"howsure": __version__, "`coref=`": coref_version(coref)}
        if expected.model is not None:
            from howsure.english.shipped import model_version

            found["`model=`"] = model_version(model)
    except HowsureError as error:
        raise InputError(f"on an executor of Spark: {error}") from None
    wanted = {"howsure": expected.version, "`coref=`": expected.coref, "`model=`": expected.model}
    for what, value in found.items():
        if value != wanted[what]:
            raise InputError(f"an executor of Spark has another {what} ({value}, not {wanted[what]}).")


class OnSpark:
    """Does blocks on Spark."""

    def __init__(
        self, folder: Path, work: Question, master: str | None, manifest: dict[str, Any], parses: bool
    ) -> None:
        self.folder = folder
        settings = manifest["settings"]
        of = manifest["version"], settings["model"] if parses else None, settings["coref"]
        self.task = Blocks(json.dumps(_absolute(work).to_dict()), *of)
        self.ending = ExitStack()
        self.spark = self.ending.enter_context(session(master))
        self.jobs = self.ending.enter_context(Jobs(self.spark, WAVES))
        self.waiting: list[tuple[str, bytes, Future[Seconds]]] = []
        in_thread(self._measure, lambda _: None)

    def _measure(self) -> None:
        """How many blocks a wave has: as many as there are slots now, since executors come and go."""
        self.wave = max(1, self.spark.sparkContext.defaultParallelism)
        self.in_flight = WAVES * self.wave

    def submit(self, block: tuple[str, list[DatedText]]) -> Future[Seconds]:
        """The result of a named block, in the future."""
        name, texts = block
        made: Future[Seconds] = Future()
        self.waiting.append((name, zlib.compress(json.dumps([packed(t) for t in texts]).encode(), 1), made))
        if len(self.waiting) >= self.wave:
            self.flush()
        return made

    def flush(self) -> None:
        """Sends what waits for its wave to be full."""
        wave, self.waiting = self.waiting, []
        if wave:
            self.jobs.submit(lambda: self._do(wave)).add_done_callback(lambda job: _settle(wave, job))

    def _do(self, wave: list[tuple[str, bytes, Future[Seconds]]]) -> None:
        """Runs a wave, writes its parts. A block that cannot be done does not keep the others from being kept."""
        import pyarrow as pa

        self._measure()
        table = pa.table({"name": [name for name, _, _ in wave], "texts": [texts for _, texts, _ in wave]})
        answers = map_in_arrow(self.spark.createDataFrame(table), self.task, ANSWER).toArrow()
        asked = {name: made for name, _, made in wave}
        for answer in (row for batch in answers.to_batches(max_chunksize=1) for row in batch.to_pylist()):
            made = asked[answer["name"]]
            if answer["error"] is not None:
                made.set_exception(InputError(answer["error"]))
            else:
                write_part(self.folder, answer["name"], ((table, answer[table]) for table in SCHEMAS))
                made.set_result({str(k): float(v) for k, v in json.loads(answer["seconds"]).items()})

    def close(self) -> None:
        """Cancels what runs; ends the session if it was made here."""
        self.ending.close()


def _settle(wave: list[tuple[str, bytes, Future[Seconds]]], job: Future[None]) -> None:
    """Whatever a job did not answer has failed with it."""
    error = None if job.cancelled() else job.exception()
    for name, _, made in wave:
        if not made.done():
            made.set_exception(error or InputError(f"Spark has lost the block {name}."))


def _absolute(work: Question) -> Question:
    """Executors have other current folders; they see the same files only under their whole names."""

    def whole(name: str | None) -> str | None:
        return str(Path(name).resolve()) if name is not None and Path(name).exists() else name

    cache = str(Path(work.cache).resolve()) if isinstance(work.cache, str) else work.cache
    return replace(work, model=whole(work.model), coref=whole(work.coref), cache=cache)


PREFETCH = 10_000  # rows that a step of the stream brings


def spark_corpus(spark: SparkSession, address: str, columns: DocumentColumns) -> Corpus:
    """The documents of `address`.

    They come ordered by id: Spark reads files in an order that depends on the cluster, and what is done already is
    only found again if blocks are the same.
    """
    import pyarrow as pa

    from howsure.engines.spark.rows import kept_rows
    from howsure.engines.spark.table import empty_frame
    from howsure.engines.tables import Table

    def chosen() -> tuple[DataFrame, list[str]]:
        frame = spark.read.parquet(address)
        named = pa.table({name: pa.array([], pa.string()) for name in frame.columns})
        with Table(named) as table:
            table.name = address
            names = columns.found(table)
        if "id" not in names:
            raise InputError(f"{address}: documents that Spark reads need ids. Name their column with `id=`.")
        if columns.where is not None:
            with Table(empty_frame(frame)) as table:  # complains here, not on the executors
                table.name = address
                list(table.batches(["1"], columns.where))
            frame = kept_rows(frame, columns.where)
        quoted = {role: "`" + name.replace("`", "``") + "`" for role, name in names.items()}
        strings = [frame[name].cast("string").alias(role) for role, name in quoted.items()]
        return frame.select(*strings).orderBy("id", "date", "text"), list(names)

    with Jobs(spark) as jobs:
        frame, roles = jobs.result(chosen)
    return Corpus(address.rstrip("/").rpartition("/")[2].partition(".")[0], lambda: _documents(spark, frame, roles))


def _documents(spark: SparkSession, frame: DataFrame, roles: list[str]) -> Iterator[DatedText]:
    with Jobs(spark) as jobs:
        rows: Iterator[Any] = jobs.result(partial(frame.toLocalIterator, True))
        number = count(1)
        while some := jobs.result(lambda: list(islice(rows, PREFETCH))):
            for row in some:
                yield document_of_row(dict(zip(roles, row, strict=True)), f"row-{next(number)}")

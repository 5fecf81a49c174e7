"""Documents of a Parquet table that Spark reads, wherever it lies: they stream through the driver, ordered by id."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from howsure.corpora.news.dated import DatedText
from howsure.engines.spark_jobs import Jobs
from howsure.errors import InputError
from howsure.verbs.explore_corpus import Corpus, document_columns, document_of_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFETCH = 10_000  # rows that a step of the stream brings


def spark_corpus(
    spark: SparkSession,
    address: str,
    *,
    text: str | None = None,
    date: str | None = None,
    id: str | None = None,
    title: str | None = None,
    where: str | None = None,
) -> Corpus:
    """The documents of `address`.

    They come ordered by id: Spark reads files in an order that depends on the cluster, and what is done already is
    only found again if blocks are the same.
    """
    import pyarrow as pa

    from howsure.engines.tables import Table

    def chosen() -> tuple[DataFrame, list[str]]:
        frame = spark.read.parquet(address)
        named = pa.table({name: pa.array([], pa.string()) for name in frame.columns})
        with Table(named) as table:
            table.name = address
            names = document_columns(table, text, date, id, title)
        if "id" not in names:
            raise InputError(f"{address}: documents that Spark reads need ids. Name their column with --id.")
        if where is not None:
            frame = frame.where(where)
        columns = [
            frame["`" + name.replace("`", "``") + "`"].cast("string").alias(role) for role, name in names.items()
        ]
        return frame.select(*columns).orderBy("id", "date", "text"), list(names)

    with Jobs(spark) as jobs:
        frame, roles = jobs.result(chosen)
    return Corpus(address.rstrip("/").rpartition("/")[2].partition(".")[0], lambda: _documents(spark, frame, roles))


def _documents(spark: SparkSession, frame: DataFrame, roles: list[str]) -> Iterator[DatedText]:
    with Jobs(spark) as jobs:
        rows: Iterator[Any] = jobs.result(partial(frame.toLocalIterator, True))
        number = 0
        while some := jobs.result(partial(_some, rows)):
            for row in some:
                number += 1
                yield document_of_row(dict(zip(roles, row, strict=True)), f"row-{number}")


def _some(rows: Iterator[Any]) -> list[Any]:
    """The next rows, fewer at the end."""
    return [row for _, row in zip(range(PREFETCH), rows, strict=False)]

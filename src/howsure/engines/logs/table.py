"""A log as a table: its records become rows of a Parquet file, a batch at a time, and what was skipped is said."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.engines.logs.answers import READERS, SOURCES, Answer, clipped
from howsure.engines.logs.records import Place, Skipped, log_files, records, task_of
from howsure.errors import InputError

BATCH = 10_000
MOST_FIELDS = 100  # of the questions
SPILL = 100 * 10**6  # bytes that the table may take in memory while it is made
# Columns by kind, and those of them that are an answer's fields
TEXTS, WHOLES = ("task", "model", "run", "item", "answer", "expected"), ("sample", "tokens", "same", "others", "row")
OWN = ("task", "model", "run", "sample", "tokens", "value", "correct")
# Columns besides an answer's fields
OTHERS = ("correct", "bare", "same", "others", "row", "question", "key", "samples")
SAMENESS = ("normalised", "exact")


@dataclass(frozen=True, slots=True)
class Log:
    """Logs of an evaluation of language models, for every verb that reads a table.

    Parameters
    ----------
    path : str
        A file, a folder (with those inside it) or a glob.
    kind : {"lm-eval", "inspect", "openai", "promptfoo", "llm"} or None
        Which tool wrote them; None recognises it by what is in the files.
    stated : mapping of words to probabilities, number or str
        The scale of confidences that the model states: words (``{"likely": 0.8}`` or ``"likely=0.8,certain=0.95"``), or the number
        that means certain: 1, 10 or 100. By default that follows from the largest number in the log.
    same : str
        When two samples of an item agree: "normalised" (but for case and punctuation), "exact", or a column that
        numbers the meanings.

    Examples
    --------
    >>> import howsure
    >>> howsure.Log("runs/a", "lm-eval")  # howsure.check(howsure.Log("runs/a", "lm-eval"), by="task")
    Log(path='runs/a', kind='lm-eval', stated=None, same='normalised')
    """

    path: str | Path
    kind: str | None = None
    stated: Mapping[str, float] | float | str | None = None
    same: str = "normalised"

    def scale(self) -> tuple[dict[str, float], float | None]:
        """Words with their probabilities, and the number that means certain."""
        given = self.stated
        rule = "`stated=` must be 1, 10, 100 or words with probabilities, such as certain=0.95,likely=0.8"
        if given is None:
            return {}, None
        if not isinstance(given, Mapping):
            if str(given) in ("1", "1.0", "10", "10.0", "100", "100.0"):
                return {}, float(given)
            pairs = [part.rpartition("=") for part in str(given).split(",")]
            given = {word.strip(): number for word, _, number in pairs}  # type: ignore[misc]
        try:
            made = {str(word).lower(): float(p) for word, p in given.items()}
        except ValueError:
            raise InputError(f"{rule}; got {self.stated!r}.") from None
        if "" in made or not all(0.0 <= p <= 1.0 for p in made.values()):
            raise InputError(f"{rule}; got {self.stated!r}.")
        return made, None


@dataclass(slots=True)
class Tally:
    """What was read, and what was not."""

    read: int = 0
    compared: int = 0  # answers that are right or wrong as their text is the gold answer's or not
    alike: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    versions: set[str] = field(default_factory=set)
    unfinished: int = 0
    of_files: dict[str, set[str]] = field(default_factory=dict)  # tasks that are names of files, and their models
    of_records: bool = False  # whether records name their tasks

    def add(self, made: Answer) -> None:
        """One more answer."""
        self.read += 1
        self.compared += made.compared
        self.alike += made.compared and made.value == 1.0
        if made.of_file:
            self.of_files.setdefault(made.task, set()).add(made.model)
        else:
            self.of_records = True

    @property
    def is_one_task(self) -> bool:
        """Whether names of files tell no tasks apart: there is one file, or each is of a model of its own that its records name."""
        models = [next(iter(m)) for name, m in self.of_files.items() if len(m) == 1 and name not in m]
        alone = len(self.of_files) == 1 or len(set(models)) == len(models) == len(self.of_files)
        return alone and not self.of_records

    def count(self, where: Counter[str], reason: str, place: Place) -> None:
        """One more, and where the first was."""
        where[reason] += 1
        self.first.setdefault(reason, ", ".join(p for p in (Path(place.path).name, place.at) if p))

    def told(self, where: Counter[str]) -> str:
        """The reasons, the most frequent first."""
        return "; ".join(f"{n:,} × {reason} (first: {self.first[reason]})" for reason, n in where.most_common(5))

    def of_file(self, about: dict[str, Any]) -> None:
        """What a file says of itself."""
        packages = (about.get("eval") or {}).get("packages") or {}
        found = packages.get("inspect_ai") or (about.get("metadata") or {}).get("promptfooVersion")
        self.versions |= {str(found)} if found else set()
        self.unfinished += about.get("status") in ("error", "cancelled", "started")


@dataclass(frozen=True, slots=True)
class LogTable:
    """The table of a log: its file, how many rows have each source of confidence, and what to say of it."""

    path: Path
    sources: dict[str, int]
    repeated: bool  # several samples of an item
    notes: tuple[str, ...]
    of_confidence: tuple[str, ...]  # notes on the sources

    def groups(self, given: str | None) -> str | None:
        """Samples of one question are dependent: they are groups unless others are named."""
        return "question" if given is None and self.repeated else given


def log_table(log: Log, folder: Path) -> LogTable:
    """Read the log and write its table to the folder, in constant memory."""
    words, top = log.scale()
    files, others = log_files(str(log.path), log.kind)
    tally, parts = Tally(), _Parts(folder)
    for path, kind in files:
        about: dict[str, Any] = {}
        for place, record in records(path, kind):
            about = place.about
            try:
                if isinstance(record, Skipped):
                    raise record
                for made in READERS[kind](record, place, words):
                    parts.add(made)
                    tally.add(made)
                    for reason in made.lost:
                        tally.count(tally.lost, reason, place)
            except Skipped as reason:
                tally.count(tally.skipped, str(reason), place)
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                detail = f"not a record of the {kind} format ({type(error).__name__})"
                tally.count(tally.skipped, detail, place)
        tally.of_file(about)
    if not tally.read:
        why = tally.told(tally.skipped)
        raise InputError(f"{log.path} holds no records that can be used{': ' + why if why else ''}.")
    parts.flush()
    return _Finish(log, folder, parts, tally).table(top, others, len(files))


class _Parts:
    """Rows that wait for their batch to be full; each batch becomes a file."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._rows, self.n = folder, list[dict[str, Any]](), 0
        self.fields: dict[str, str] = {}  # of the questions, by their names in lower case
        self.paths: list[Path] = []

    def add(self, made: Answer) -> None:
        row: dict[str, Any] = {name: getattr(made, name) for name in OWN}
        row |= {"row": self.n, "item": str(self.n) if made.item is None else made.item, **made.confidences}
        row |= {"answer": clipped(made.answer), "expected": clipped(made.expected)}
        row["same"], row["others"] = made.agreeing or (None, None)
        for key, value in made.more.items():
            if isinstance(value, str | int | float) and key:
                name = self.fields.get(key.lower()) or self._named(key)
                if name:
                    row[name] = clipped(str(value))
        self._rows.append(row)
        self.n += 1
        if len(self._rows) >= BATCH:
            self.flush()

    def _named(self, key: str) -> str:
        from howsure.engines.columns import PROB_NAMES, TRUE_NAMES

        if len(self.fields) >= MOST_FIELDS:
            return ""
        taken = {*OTHERS, *SOURCES, *PROB_NAMES, *TRUE_NAMES, *(f.name for f in fields(Answer))}
        clash = key.lower() in taken or re.sub(r"[^a-z0-9]", "", key.lower()) in taken
        self.fields[key.lower()] = f"item_{key}" if clash else key
        return self.fields[key.lower()]

    def flush(self) -> None:
        """Write what waits."""
        if not self._rows:
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = dict.fromkeys(TEXTS, pa.string()) | dict.fromkeys(WHOLES, pa.int64())
        kinds |= dict.fromkeys(("value", "correct", "bare", *SOURCES), pa.float64())
        kinds |= {name: pa.string() for row in self._rows for name in row if name not in kinds}
        self.paths.append(self._folder / f"part-{len(self.paths)}.parquet")
        pq.write_table(pa.Table.from_pylist(self._rows, pa.schema(kinds.items())), self.paths[-1])
        self._rows = []


class _Finish:
    """The parts as one table, with what only all rows can tell: the scale of stated confidences, and agreement."""

    def __init__(self, log: Log, folder: Path, parts: _Parts, tally: Tally) -> None:
        self._log, self._folder, self._parts, self._tally = log, folder, parts, tally
        self._notes: list[str] = []
        self._of_confidence: list[str] = []

    def table(self, top: float | None, others: int, n_files: int) -> LogTable:
        """Write the table."""
        import pyarrow as pa

        from howsure.engines.connection import connect, literal
        from howsure.engines.tables import quoted

        listed = ", ".join(literal(str(p)) for p in self._parts.paths)
        self._sql = f"read_parquet([{listed}], union_by_name=true)"
        path = self._folder / "log.parquet"
        with connect(folder=self._folder, memory=SPILL, threads=1) as connection:
            self._connection = connection
            self._say_what_was_read(others, n_files)
            top = self._top(top)
            repeated = self._row(f"SELECT count(*) > count(DISTINCT hash(model, run, task, item)) FROM {self._sql}")[0]
            inner = f"(SELECT * REPLACE (coalesce(sample, 1) AS sample), 1 AS samples FROM {self._sql})"
            inner = self._samples() if repeated else inner
            has_agreement = repeated or self._row(f"SELECT count(others) FROM {self._sql}")[0] > 0
            shrunk = self._shrunk(inner) if has_agreement else "NULL"
            stated = f"coalesce(stated, CASE WHEN bare <= {top} THEN bare / {top} END)"
            made = {s: quoted(s) for s in SOURCES} | {"stated": stated, "agreement": shrunk}
            counts = self._row(f"SELECT {', '.join(f'count({e})' for e in made.values())} FROM {inner}")
            sources = {s: int(n) for s, n in zip(SOURCES, counts, strict=True) if n}
            one, several = self._tally.is_one_task, len(self._tally.of_files) > 1
            question = "item" if one else "task || '/' || item"
            task = f"{literal(task_of(str(self._log.path)))} AS task" if one and several else "task"
            columns = [task, "model, run, item"]
            columns += [f"{question} AS question, question || '/' || sample AS key"]
            columns += ["sample, samples, correct, value, answer, expected"]
            columns += ["tokens"] * any(s in sources for s in ("sequence", "per_token", "first_token"))
            columns += [f"{made[s]} AS {s}" for s in sources]
            if len(sources) == 1:
                columns.append(f"{made[next(iter(sources))]} AS confidence")
            columns += [quoted(name) for name in self._parts.fields.values()]
            self._connection.execute(
                f"COPY (SELECT {', '.join(columns)} FROM {inner} ORDER BY row) TO {literal(str(path))} (FORMAT parquet)"
            )
            self._say_sources(sources)
        for part in self._parts.paths:
            part.unlink()
        pa.default_memory_pool().release_unused()  # before the table is read
        return LogTable(path, sources, repeated, tuple(self._notes), tuple(self._of_confidence))

    def _row(self, sql: str) -> Any:
        return self._connection.execute(sql).fetchone()

    def _say_what_was_read(self, others: int, n_files: int) -> None:
        t = self._tally
        skipped = sum(t.skipped.values())
        unknown, graded = self._row(f"SELECT count(*) - count(value), count(value) - count(correct) FROM {self._sql}")
        if graded:
            told = "graded, neither right nor wrong: `howsure score` takes their mean"
            self._of_confidence.append(f"{graded:,} of {t.read:,} answers are {told}.")
        doubtful, first = self._row(
            f"SELECT count(*), min(task || '/' || item) FROM (SELECT task, item FROM {self._sql} "
            "GROUP BY task, item HAVING count(DISTINCT expected) > 1)"
        )
        many, are = ("item stands" if doubtful == 1 else "items stand"), ("file is" if others == 1 else "files are")
        unfinished = f"{t.unfinished:,} of {n_files:,} logs did not end with success: only the samples they hold count."
        notes = [
            (skipped, f"{skipped:,} of {t.read + skipped:,} records skipped: {t.told(t.skipped)}."),
            (
                t.compared,
                f"{t.compared:,} answers are marked by comparing their text with the gold answer: {t.alike:,} are alike.",
            ),
            (t.lost, f"Confidences left out: {t.told(t.lost)}."),
            (others, f"{others:,} other {are} no log of this format."),
            (len(t.versions) > 1, f"The logs are of several versions: {', '.join(sorted(t.versions))}."),
            (t.unfinished, unfinished),
            (unknown, f"{unknown:,} of {t.read:,} answers are not marked as right or wrong."),
            (doubtful, f"{doubtful:,} {many} in several records with different gold (first: {first})."),
        ]
        self._notes += [said for there, said in notes if there]

    def _top(self, given: float | None) -> float:
        """The number that means certain, where a stated confidence has no percent sign."""
        n, high = self._row(f"SELECT count(bare), max(bare) FILTER (bare <= {given or 100.0}) FROM {self._sql}")
        if not n:
            return 1.0
        top = given or (1.0 if high is None or high <= 1.0 else 10.0 if high <= 10.0 else 100.0)
        if top > 1.0 and given is None:
            self._of_confidence.append(
                f"Stated confidences run up to {high:g}: read as 0 to {top:g} (`stated={top:g}`)."
            )
        beyond = self._row(f"SELECT count(*) FROM {self._sql} WHERE bare > {top}")[0]
        if beyond:
            self._of_confidence.append(f"{beyond:,} stated confidences are above {top:g} and left out.")
        return top

    def _samples(self) -> str:
        """The rows with the number of samples of their item, and how many of the others agree."""
        same = self._log.same
        answer = {
            "exact": "answer",
            "normalised": r"trim(regexp_replace(lower(answer), '[\p{P}\p{S}\s]+', ' ', 'g'))",
        }.get(same)
        if answer is None:
            name = self._parts.fields.get(same.lower())
            if name is None:
                valid = [*SAMENESS, *self._parts.fields]
                raise InputError(
                    f"`same=` must be a column of the log, or normalised or exact.{_validate.nearest(same, valid)}"
                )
            answer = '"' + name.replace('"', '""') + '"'
        item = "model, run, task, item"
        once = self._row(f"SELECT count(*) FROM (SELECT 1 FROM {self._sql} GROUP BY {item} HAVING count(*) = 1)")[0]
        if once:
            self._of_confidence.append(f"{once:,} items have one sample only, and so no agreement.")
        # Windows hold all that they read, so they read little: a number for the item, one for the answer.
        few = f"SELECT row, sample, same, others, hash({item}) AS i, CASE WHEN {answer} IS NOT NULL THEN hash({answer}) END AS a"
        self._connection.execute(
            "CREATE TEMP TABLE sampled AS SELECT row, count(*) OVER (PARTITION BY i) AS samples, "
            "coalesce(sample, row_number() OVER (PARTITION BY i ORDER BY row)) AS sample, "
            "coalesce(same, CASE WHEN a IS NOT NULL THEN count(*) OVER (PARTITION BY i, a) - 1 END) AS same, "
            "coalesce(others, nullif(count(*) OVER (PARTITION BY i) - 1, 0)) AS others "
            f"FROM ({few} FROM {self._sql})"
        )
        return f"(SELECT * FROM (SELECT * EXCLUDE (sample, same, others) FROM {self._sql}) JOIN sampled USING (row))"

    def _shrunk(self, inner: str) -> str:
        """SQL of the agreement, shrunk."""
        import numpy as np

        from howsure.calibration.estimation.agreement import shrinkage

        found = self._connection.execute(
            f"SELECT same, others, count(*) FROM {inner} WHERE same IS NOT NULL AND others > 0 GROUP BY ALL ORDER BY ALL"
        ).fetchall()
        if not found:
            return "NULL"
        m, k, n = np.array(found, np.int64).T
        made = shrinkage(m, k, n)
        top = int(k.max())
        others = f"{top} other {'sample' if top == 1 else 'samples'}"
        said = f"Agreement is with the {others}" + ("" if k.min() == top else f" ({k.min()} to {top})")
        shrunk = made(m, k)
        if made.law is None:
            said += ", as it is: two samples an item do not tell how noisy it is."
        else:
            said += f", shrunk (mean {made.mean:.2f}): {m[-1]} of {k[-1]} counts as {shrunk[-1]:.3f}."
        self._of_confidence.append(said)
        cases = " ".join(
            f"WHEN same = {a} AND others = {b} THEN {p!r}" for (a, b, _), p in zip(found, shrunk.tolist(), strict=True)
        )
        return f"CAST(CASE {cases} END AS DOUBLE)"

    def _say_sources(self, sources: Mapping[str, int]) -> None:
        if "sequence" in sources:
            few, mean, many = self._row(f"SELECT min(tokens), avg(tokens), max(tokens) FROM {self._sql}")
            length = (
                f"{few:,} to {many:,} tokens, {mean:.1f} on average"
                if few != many
                else f"{few:,} token{'s' * (few != 1)}"
            )
            self._of_confidence.append(f"Answers with log-probabilities have {length}; `sequence` falls with length.")
        if len(sources) > 1:
            listed = ", ".join(f"`{s}` ({n:,})" for s, n in sources.items())
            self._of_confidence.append(f"Confidence has several sources, each a column: {listed}.")

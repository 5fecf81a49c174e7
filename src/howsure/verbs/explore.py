"""`howsure explore`: how many documents per period describe an actor's attack, and how sure is that number?"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.engines.engine import Engine, engine_of
from howsure.engines.spark.session import session
from howsure.errors import InputError
from howsure.events import lexicons
from howsure.events.exploration import Exploration
from howsure.events.lexicons import Lexicon
from howsure.events.rules import rule_set
from howsure.events.storage import join_parts, read_manifest
from howsure.events.timeline import all_periods, check_period
from howsure.exploring.blocks import Question
from howsure.exploring.corpus import DocumentColumns, census, is_address, open_corpus, with_parses
from howsure.exploring.running import (
    Place,
    check_engine,
    failures,
    finished_results,
    new_manifest,
    run_blocks,
    temporary_folder,
)
from howsure.exploring.spark import spark_corpus
from howsure.files import check_output_folder, make_folder, only_run, remove_leftovers
from howsure.processes import Progress


def explore(
    source: Any = None,
    *,
    actors: str | Sequence[str] | Lexicon | None = None,
    patients: bool = False,
    only: Sequence[str] = (),
    actor: Sequence[str] = (),
    verbs: str | Sequence[str] = "attack",
    every: str = "quarter",
    out: str | Path | None = None,
    rules: str = "roles",
    samples: int = 400,
    rng: int = 0,
    temperature: float = 1.0,
    model: str | None = None,
    coref: str | None = None,
    parses: str | Path | None = None,
    text: str | None = None,
    date: str | None = None,
    id: str | None = None,
    title: str | None = None,
    where: str | None = None,
    metadata: str | None = None,
    encoding: str = "utf-8",
    format: str | None = None,
    jobs: int | None = None,
    engine: Engine | str | None = None,
    cache: bool | str = True,
    again: bool = False,
    progress: Progress | None = None,
) -> Exploration:
    """Count, per period, the documents that describe an entity of an actor as the agent of a verb.

    Parameters
    ----------
    source : path, data frame or None
        A folder of text files, a table, a Reuters, MUC or CoNLL-U folder or file; None is the corpus that ships.
        With Spark also the address of a Parquet table ("hdfs://…", "s3a://…"); its documents come ordered by id.
    actors : str, sequence of str, or Lexicon
        Lexicons that are added up: of the package ("countries,organisations", "muc-organisations") or CSV files with code, name and
        words, and perhaps seats (of a government: they stand for it as subjects and objects).
    patients : bool
        Count the documents in which it is done to the actor, instead of those in which the actor does it.
    only : sequence of str
        Keep these actors alone. Words of the others are not looked for.
    actor : sequence of str
        Speak of these first, here and on the page: the verdict is about them, and two are compared. All are counted.
    verbs : str or sequence of str
        Lemmas ("attack,bomb"), a lexicon of the package ("violence") or a CSV file with a column lemma.
    every : str
        day, week, month, quarter or year.
    out : path or None
        The folder of the results, made if need be. A run that was interrupted goes on there. By default a temporary
        one.
    rules : str
        "roles" (everything that can be read off a parse, of events that are asserted), "paper" (subjects and agents of verbs) or
        "wide" (also shared, controlled and participles' subjects).
    samples : int
        Clusterings drawn per document. With 400, a count's Monte Carlo error is 5% of its posterior sd.
    rng : int
        The seed. A document's draws depend on it and on the document's id alone.
    temperature : float
        Flattens (above 1) or sharpens (below 1) the coreference posterior.
    model, coref : str or None
        Another English pipeline, another coreference model; "none" and "simple" are baselines (see docs/guides/explore.md).
        `coref` may be a file of another system's scores (`.jsonl`; docs/guides/bring-your-own.md).
    parses : path or None
        Parses of the documents in CoNLL-U, found by `# newdoc id`; without a source, the documents are those of this file.
    text, date, id, title, where
        Columns of a table, and an SQL condition.
    metadata, encoding, format
        For folders of text: a CSV file with file and date, the encoding; what the source is, where that is not plain.
    jobs : int or None
        Processes; by default one for each core, and this one alone for little work. Results do not depend on it.
    engine : Engine or str
        "spark" does the work on Spark: in the session that runs, or on the engine's master ("local[2]", "spark://host:7077",
        "yarn"; by default all cores of this machine). All others are processes of this machine.
    cache : bool or str
        Whether (or where) parses are kept for the next run.
    again : bool
        Do everything again, even where `out` holds the results.
    progress : callable or None
        Called with the number of documents done and of all.

    Returns
    -------
    Exploration
        `.timeline(actor)`, `.compare(a, b)`, `.totals()`; the tables are in `.folder`.

    Examples
    --------
    >>> import howsure
    >>> found = howsure.explore()
    >>> found.timeline(found.totals()[0][0])[0].n_documents > 0
    True
    """
    if source is None and parses is not None:
        source, parses = parses, None
    lexicon = actor_lexicon(actors, source)
    lexicon = lexicon.only(only) if only else lexicon
    shown = list(dict.fromkeys(lexicon.actors[lexicon.number(a)].code for a in actor))
    rule_set(rules)
    if isinstance(rng, bool) or not isinstance(rng, int) or rng < 0:
        raise InputError(f"`rng=` must be a seed of 0 or more; got {rng!r}.")
    work = Question(
        tuple((a.code, a.name, a.words, a.seats) for a in lexicon.actors),
        lexicons.verbs(verbs),
        rules,
        _validate.count(samples, "samples"),
        rng,
        _validate.temperature(temperature),
        model,
        coref,
        cache,
        patients,
    )
    chosen = engine_of(engine)
    n_jobs = None if jobs is None else _validate.count(jobs, "jobs")
    on_spark = check_engine(chosen, n_jobs)
    period = check_period(every)
    columns = DocumentColumns(text, date, id, title, where)
    with ExitStack() as ending:
        if on_spark and is_address(source):
            if metadata is not None:
                raise InputError("`metadata=` goes with a folder of text files.")
            if format not in (None, "table"):
                raise InputError(f"`format='{format}'`: from an address, Spark reads tables (Parquet) alone.")
            corpus = spark_corpus(ending.enter_context(session(chosen.master)), source, columns)
        else:
            corpus = open_corpus(source, columns, metadata=metadata, encoding=encoding, format=format)
            corpus = corpus if parses is None else with_parses(corpus, Path(parses))
        found = census(corpus)
        all_periods(found.days, period)  # raises where the span of dates is too long to be meant
        if out is not None:
            check_output_folder(str(out), inputs=[source, *lexicon.paths, verbs, metadata, model, coref, parses])
        folder = temporary_folder() if out is None else make_folder(str(out))
        ending.enter_context(only_run(folder))
        manifest = new_manifest(corpus, found, work, period, lexicon) | ({"shown": shown} if shown else {})
        for written in (folder, folder / "parts"):
            remove_leftovers(written)
        done = finished_results(folder, manifest, again)
        if done is not None:
            return done
        place = Place(folder, work, n_jobs, on_spark, chosen.master, manifest, found.parsed < found.n)
        timing = run_blocks(place, corpus, found, progress)
        join_parts(folder, found.parts, manifest | {"complete": True} | failures(folder, found))
    return Exploration(folder, read_manifest(folder) or {}, timing)


def actor_lexicon(actors: str | Sequence[str] | Lexicon | None, source: Any) -> Lexicon:
    """The lexicon of that name, by default the one of the source."""
    if isinstance(actors, Lexicon):
        return actors
    return lexicons.actors(actors or ("stories" if source is None else "countries"))

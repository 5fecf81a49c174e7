"""`howsure coref train | resolve | score | check`."""

import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, called, in_shell, progress
from howsure.cli.parser import argument, command, family, option
from howsure.errors import InputError


def _files(source: str) -> Iterable[object]:
    return called("coref.source_files", source)


DOCUMENTS = argument(
    "documents", "A file (.conllu, .conll, .jsonl), a folder of them, or gum:dev, ontogum:dev.", reads=_files
)
MODEL = argument(
    "model", "The model that `howsure coref train` wrote; left out, the one that ships.", required=False, reads=_files
)
PARSE = option("parse", "Parse documents that bring no parse (English).", False)
SCORES = option("scores", "Another system's logits or clusters instead of a model (.jsonl).", reads=True)


def _chosen(model: str | None, documents: str | None, scores: str | None) -> tuple[str | None, str | None]:
    """The model or the scores, and the documents: an argument alone is these."""
    if documents is None:
        model, documents = None, model
    if scores is not None and model is not None:
        raise InputError("give a model or --scores, not both.")
    return scores or model, documents


@command(
    DOCUMENTS,
    options.MODEL_OUT,
    option("dev", "Documents to fit the temperature on, and to score.", reads=_files),
    option("mentions", "gold, or predicted from the parses.", "gold"),
    option("objective", "Fit the temperature for likelihood or brier.", "likelihood"),
    option("costs", "Train with error costs (worse calibrated).", False),
    option("epochs", "Passes over the documents.", 4),
    option("without", "Feature templates to leave out, comma-separated."),
    options.seed("the order of documents"),
    *options.PRINTED,
)
def train(deliver: Delivery, documents: str, out: str, without: str | None, **given: Any) -> int:
    """Train a mention-ranking model on documents with gold entities.

    Examples:
      howsure coref train train/ --dev dev/ --mentions gold -o coref.npz
      howsure coref train ontogum:train --dev ontogum:dev --mentions predicted -o coref.npz
    """
    left_out = options.listed(without)
    made = called("coref.train_coref", documents, doing="training", without=left_out, **given)
    made.model.save(out)
    return deliver(made)


@command(
    replace(options.MODEL_OUT, help="Write here: .jsonl, or .conll for CoNLL-2012."),
    MODEL,
    replace(DOCUMENTS, required=False),
    SCORES,
    option("raw", "Raw English instead of documents: a text file, a folder of them, or - for stdin.", reads="deep"),
    option("mentions", "gold or predicted; by default as trained, or found if none are given."),
    PARSE,
    option("samples", "Sampled clusterings to add to each document.", 0),
    option("decoder", "fitted (on dev), minimum-risk or best (best antecedents).", "fitted"),
    options.seed("the samples, with each document's name"),
    replace(options.JSON, help="Print what was done as JSON."),
)
def resolve(
    deliver: Delivery,
    out: str,
    model: str | None,
    documents: str | None,
    scores: str | None,
    raw: str | None,
    mentions: str | None,
    **given: Any,
) -> int:
    """Find the entities of documents, with the probability of every link.

    One file alone is the documents. A document that cannot be read is named and left out, the others are written, and the exit status is 2.

    Examples:
      howsure coref resolve --raw news.txt -o resolved.jsonl
      howsure coref resolve unparsed.conll --parse -o resolved.jsonl
      howsure coref resolve coref.npz parsed.conllu --samples 100 -o resolved.jsonl
      howsure coref resolve coref.npz parsed/ --mentions predicted -o system.conll
      howsure coref resolve --scores fastcoref.jsonl parsed.conllu -o resolved.jsonl
    """
    from howsure.verbs.coref import resolve as run_resolve
    from howsure.verbs.coref import write_resolved

    if raw is None or documents is not None:
        model, documents = _chosen(model, documents, scores)
    if (documents is None) == (raw is None) or (raw is not None and scores):
        raise InputError("give documents, with a model or --scores of another system, or raw text with --raw.")
    failures: list[InputError] = []
    read: Any = documents
    if raw is not None:
        from howsure.verbs.parse import parsed

        with progress("parsing") as moved:
            read = list(parsed(raw, progress=moved))
        mentions = mentions or "predicted"
    made = run_resolve(model, read, mentions=mentions, failures=failures, **given)
    write_resolved(made, out)
    n_mentions = sum(len(r.mentions) for r in made)
    expected = sum(float(r.posterior.new.sum()) for r in made)
    said = (
        f"{len(made):,} document{'' if len(made) == 1 else 's'}, {n_mentions:,} mentions, {expected:,.1f} entities expected, "
        f"one mention each included. Written: {out}"
    )
    done = {"documents": len(made), "mentions": n_mentions, "expected_entities": expected}
    wrapped = textwrap.fill(said, 80, break_long_words=False, break_on_hyphens=False)
    deliver.say(wrapped, done | {"failed": [str(e) for e in failures]})
    for error in failures:
        print("howsure: left out: " + " ".join(in_shell(str(error)).split()), file=sys.stderr)
    return 2 if failures else 0


@command(
    replace(DOCUMENTS, name="gold"),
    argument("system", "The same documents with predicted entities."),
    option("samples", "Resamples of documents for the intervals.", 1000),
    options.CONFIDENCE,
    options.seed("the bootstrap"),
    *options.PRINTED,
)
def score(deliver: Delivery, gold: str, system: str, **given: Any) -> int:
    """Score predicted against gold entities.

    MUC, B³, CEAF, BLANC, LEA, pairs and the CoNLL average.

    Examples:
      howsure coref score gold.conll system.conll
      howsure coref score gold.conll system.conll --json
    """
    return deliver(called("coref.score_coref", gold, system, **given))


@command(
    MODEL,
    replace(DOCUMENTS, required=False),
    SCORES,
    option("by", "Compare pairs by mention-type or distance."),
    option("mentions", "gold or predicted; by default as trained."),
    PARSE,
    option("sample_sizes", "Numbers of samples to compare with the exact answers.", "10,100,1000"),
    options.PREDICTIVE,
    options.CONFIDENCE,
    options.seed("the samples"),
    *options.DELIVERY,
)
def check(
    deliver: Delivery, model: str | None, documents: str | None, scores: str | None, sample_sizes: str, **given: Any
) -> int:
    """Are its probabilities of "same entity" and "new entity" right?

    One file or folder alone is the documents; the model is then the one that ships.

    Examples:
      howsure coref check test.conll --parse
      howsure coref check coref.npz test/ --by mention-type --html report.html
      howsure coref check coref.npz ontogum:test --by distance --json
      howsure coref check --scores fastcoref.jsonl gold.conllu
    """
    used, read = _chosen(model, documents, scores)
    if read is None:
        raise InputError("give documents with gold entities.")
    sizes = options.listed(sample_sizes)
    if not all(t.isdecimal() and int(t) > 0 for t in sizes):
        raise InputError(f"--sample-sizes lists whole numbers with commas between; got {sample_sizes!r}.")
    return deliver(called("coref.check_coref", used, read, sample_sizes=[int(t) for t in sizes], **given))


coref = family("Coreference: train, resolve, score, check.", *(train, resolve, score, check))

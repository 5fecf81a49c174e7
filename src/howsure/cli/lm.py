"""`howsure lm train`, `study`, `perplexity`, `prob`, `next`, `compare`, `generate`, `correct`, `rank` and `check`."""

from __future__ import annotations

import inspect
import json
import sys
from typing import Annotated

import typer

from howsure._result import printable
from howsure.cli import options
from howsure.cli.delivery import Delivery, progress, say, say_data

lm = typer.Typer(
    help="N-gram language models: train, evaluate, use, and check their probabilities.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Saved = Annotated[str, typer.Argument(help="A model: .npz or .arpa.")]
Text = Annotated[str, typer.Argument(help="UTF-8 text, a sentence a line; .gz; - for stdin.")]


def train(
    text: Annotated[list[str], typer.Argument(help="UTF-8 text, a sentence a line; .gz; - for stdin.")],
    out: Annotated[str, typer.Option("--out", "-o", help="Save the model here: .npz (mapped) or .arpa.")],
    order: Annotated[int, typer.Option(help="n: a word depends on the n-1 before it.")] = 3,
    smoothing: Annotated[
        str,
        typer.Option(
            help="mle, laplace, lidstone, good-turing, simple-good-turing, interpolated, katz, witten-bell, "
            "absolute-discounting, kneser-ney or modified-kneser-ney."
        ),
    ] = "modified-kneser-ney",
    units: Annotated[str, typer.Option(help="words, punctuation (marks apart) or characters.")] = "words",
    no_sentences: Annotated[bool, typer.Option("--no-sentences", help="One long text: lines mean nothing.")] = False,
    padding: Annotated[str, typer.Option(help="<s> before a sentence: one, or full (n-1).")] = "one",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Read the text in lower case.")] = False,
    min_count: Annotated[int, typer.Option(help="Words seen less often become <UNK>.")] = 1,
    vocabulary_size: Annotated[int | None, typer.Option(help="Number of most frequent words that are known.")] = None,
    vocabulary: Annotated[str | None, typer.Option(help="A file of the words known, a line each.")] = None,
    closed: Annotated[bool, typer.Option("--closed", help="No <UNK>: other words cannot occur.")] = False,
    dev: Annotated[str | None, typer.Option(help="Text to tune on (lidstone, interpolated).")] = None,
    alpha: Annotated[float | None, typer.Option(help="Lidstone's alpha; tuned by default.")] = None,
    cut_off: Annotated[int | None, typer.Option(help="Largest count that good-turing and katz discount (5).")] = None,
    memory: Annotated[float, typer.Option(help="Gigabytes of keys to hold; the rest is spilled to disk.")] = 2.0,
    as_json: options.Json = False,
) -> int:
    """Learn a model from text.

    Examples:

      howsure lm train train.txt --order 3 --smoothing modified-kneser-ney --min-count 2 -o lm.npz

      howsure lm train train.txt --smoothing lidstone --dev dev.txt -o lm.npz
    """
    from pathlib import Path

    from howsure.errors import InputError
    from howsure.verbs import lm as verbs

    delivery = Delivery(as_json, outputs=(out,), inputs=(*text, vocabulary, dev))
    if not out.endswith((".npz", ".arpa")):
        raise InputError(f"a model is saved as .npz or .arpa; got {out}.")
    if not memory > 0:
        raise InputError(f"--memory must be above 0; got {memory:g}.")
    with progress("training") as moved:
        model = verbs.train(
            text[0] if len(text) == 1 else [Path(t) for t in text],
            order=order,
            smoothing=smoothing,
            units=units,
            sentences=not no_sentences,
            padding=padding,
            lowercase=lowercase,
            min_count=min_count,
            vocabulary_size=vocabulary_size,
            vocabulary=vocabulary,
            closed=closed,
            dev=dev,
            alpha=alpha,
            cut_off=cut_off,
            memory=int(memory * (1 << 30)),
            progress=lambda what, share: moved(float(share), 1.0, what),
        )
        verbs.save(model, out)
    return delivery.deliver(verbs.trained(model, out))


def study(
    text: Text,
    dev: Annotated[
        str | None, typer.Option(help="Text to tune and choose on; by default the last tenth but one.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Text to report on; by default the last tenth.")] = None,
    order: Annotated[int, typer.Option(help="Highest order.")] = 4,
    smoothings: Annotated[str | None, typer.Option(help="Comma-separated; all by default.")] = None,
    min_count: Annotated[int, typer.Option(help="Words seen less often become <UNK>.")] = 2,
    units: Annotated[str, typer.Option(help="words, punctuation (marks apart) or characters.")] = "words",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Read the text in lower case.")] = False,
    confidence: options.Confidence = 0.95,
    html: options.Html = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """The perplexity of every smoothing at every order, in one table.

    Examples:

      howsure lm study text.txt --html study.html

      howsure lm study train.txt --dev dev.txt --test test.txt --order 5 --markdown
    """
    from howsure.verbs import lm as verbs

    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(text, dev, test))
    with progress("training") as moved:
        made = verbs.study(
            text,
            dev=dev,
            test=test,
            order=order,
            smoothings=options.listed(smoothings) or None,
            min_count=min_count,
            units=units,
            lowercase=lowercase,
            confidence_level=confidence,
            progress=moved,
        )
    return delivery.deliver(made)


def prob(
    model: Saved,
    sentences: Annotated[list[str] | None, typer.Argument(help="Sentences in quotes; lines of stdin if none.")] = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """How probable is a sentence, word by word?

    Examples:

      howsure lm prob lm.npz "i want chinese food"

      howsure lm prob lm.npz --json < sentences.txt
    """
    from howsure.verbs import lm as verbs

    given = sentences or [line for line in sys.stdin.read().splitlines() if line.strip()]
    return Delivery(as_json, markdown, latex).deliver(verbs.prob(model, given))


def next_(
    model: Saved,
    history: Annotated[str, typer.Argument(help="The words before, in quotes.")] = "",
    n: Annotated[int, typer.Option("--words", help="How many words to show.")] = 10,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Which words are likeliest to come next?

    Examples:

      howsure lm next lm.npz "i want"
    """
    from howsure.verbs import lm as verbs

    return Delivery(as_json, markdown, latex).deliver(verbs.next(model, history, n=n))


def rank(
    model: Saved,
    file: Annotated[str, typer.Argument(help="A table of hypotheses: " + options.TABLE)],
    text: Annotated[str | None, typer.Option(help="Column of texts.")] = None,
    channel: Annotated[
        str | None, typer.Option(help="Column of log p(signal | text), from an acoustic or translation model.")
    ] = None,
    key: Annotated[str | None, typer.Option(help="Column of what the hypotheses are of (utterance).")] = None,
    weight: Annotated[float, typer.Option(help="Power of the language model's probability.")] = 1.0,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Which transcript or translation is likeliest, by a noisy channel?

    Examples:

      howsure lm rank lm.npz hypotheses.tsv --channel acoustic --key utterance
    """
    from howsure.verbs import lm as verbs

    made = verbs.rank(model, file, text=text, channel=channel, keys=key, weight=weight)
    return Delivery(as_json, markdown, latex).deliver(made)


def perplexity(
    model: Saved,
    text: Text,
    confidence: options.Confidence = 0.95,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """How well does a model predict a text?

    Examples:

      howsure lm perplexity lm.npz test.txt --json
    """
    from howsure.verbs import lm as verbs

    made = verbs.perplexity(model, text, confidence_level=confidence)
    return Delivery(as_json, markdown, latex).deliver(made)


def compare(
    a: Saved,
    b: Saved,
    text: Text,
    confidence: Annotated[float, typer.Option(help="Confidence level of the interval.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the test.")] = 0,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Which of two models predicts a text better?

    Examples:

      howsure lm compare a.npz b.npz test.txt
    """
    from howsure.verbs import lm as verbs

    made = verbs.compare(a, b, text, confidence_level=confidence, rng=rng)
    return Delivery(as_json, markdown, latex).deliver(made)


def generate(
    model: Saved,
    words: Annotated[int, typer.Option(help="How many words.")] = 50,
    temperature: Annotated[float, typer.Option(help="Below 1 sharper, above 1 flatter.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Number of likeliest words to draw from.")] = None,
    history: Annotated[str, typer.Option(help="Words to go on from.")] = "",
    rng: Annotated[int | None, typer.Option(help="Seed.")] = None,
    as_json: options.Json = False,
) -> int:
    """Draw text from a model.

    Examples:

      howsure lm generate lm.npz --words 50 --rng 1
    """
    from howsure.verbs import lm as verbs

    made = verbs.generate(model, words=words, temperature=temperature, top_k=top_k, history=history, rng=rng)
    lines = [printable(line) for line in made.split("\n")]
    return say_data({"sentences": lines, "rng": rng}, as_json, "\n".join(lines))


def correct(
    model: Saved,
    errors: Annotated[str, typer.Option(help="Pairs to learn from: misspelling TAB word, a line each.")],
    text: Annotated[str, typer.Argument(help="Text to correct; - for stdin.")] = "-",
    error_rate: Annotated[float, typer.Option(help="Share of words that are mistyped.")] = 0.05,
    as_json: options.Json = False,
) -> int:
    """Correct spelling: the likeliest word given what was typed and the words around it.

    Examples:

      howsure lm correct lm.npz --errors pairs.tsv < typed.txt
    """
    from howsure.verbs import lm as verbs

    lines = verbs.corrected(model, text, errors, error_rate=error_rate)
    if as_json:
        say(json.dumps([{"text": t, "corrections": [c.to_dict() for c in cs]} for t, cs in lines], ensure_ascii=False))
    else:
        say("\n".join(t for t, _ in lines))
    return 0


def check(
    model: Saved,
    text: Text,
    bins: Annotated[str | None, typer.Option(help="Bins to draw, as in howsure check.")] = None,
    confidence: options.Confidence = 0.95,
    events: Annotated[int, typer.Option(help="How many (place, word) events to check all words on.")] = 5_000_000,
    rng: Annotated[int, typer.Option(help="Seed of the sample and the band.")] = 0,
    html: options.Html = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Are a model's probabilities of the next word right?

    Examples:

      howsure lm check lm.npz test.txt --html report.html
    """
    from howsure.verbs import lm as verbs

    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(model, text))
    return delivery.deliver(verbs.check(model, text, bins=bins, confidence_level=confidence, events=events, rng=rng))


for _command in (train, study, perplexity, prob, next_, compare, generate, correct, rank, check):
    _command.__doc__ = inspect.cleandoc(_command.__doc__ or "")
    lm.command(_command.__name__.rstrip("_"))(_command)

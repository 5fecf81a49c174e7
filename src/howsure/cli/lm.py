"""`howsure lm train`, `study`, `perplexity`, `prob`, `next`, `compare`, `generate`, `correct`, `rank` and `check`."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from howsure._result import printable
from howsure.cli import options
from howsure.cli.delivery import Delivery, called, say
from howsure.cli.parser import argument, command, family, option
from howsure.errors import InputError

MODEL = argument("model", "A model: .npz or .arpa.", reads=True)
TEXT = argument("text", "UTF-8 text, a sentence a line; .gz; - for stdin.", reads=True)
UNITS = option(
    "units",
    "words, punctuation (marks apart) or characters; by default punctuation where most marks touch a word (words for .arpa, which cannot say it).",
)
LOWERCASE = option("lowercase", "Read the text in lower case.", False)


@command(
    replace(TEXT, many=True),
    replace(options.MODEL_OUT, help="Save the model here: .npz (mapped) or .arpa."),
    option("order", "n: a word depends on the n-1 before it.", 3),
    option(
        "smoothing",
        "mle, laplace, lidstone, good-turing, simple-good-turing, interpolated, katz, witten-bell, "
        "absolute-discounting, kneser-ney or modified-kneser-ney.",
        "modified-kneser-ney",
    ),
    UNITS,
    option("sentences", "A line is a sentence; if not, the text is one long stretch.", True),
    option("padding", "<s> before a sentence: one, or full (n-1).", "one"),
    LOWERCASE,
    option("min_count", "Words seen less often become <UNK>.", 1),
    option("vocabulary_size", "Number of most frequent words that are known.", kind=int),
    option("vocabulary", "A file of the words known, a line each.", reads=True),
    option("closed", "No <UNK>: other words cannot occur.", False),
    option("dev", "Text to tune on (lidstone, interpolated).", reads=True),
    option("alpha", "Lidstone's alpha; tuned by default.", kind=float),
    option("cut_off", "Largest count that good-turing and katz discount (5).", kind=int),
    options.MEMORY,
    *options.PRINTED,
)
def train(deliver: Delivery, text: list[str], out: str, **given: Any) -> int:
    """Learn a model from text.

    Examples:
      howsure lm train train.txt --order 3 --smoothing modified-kneser-ney --min-count 2 -o lm.npz
      howsure lm train train.txt --smoothing lidstone --dev dev.txt -o lm.npz
    """
    if not out.endswith((".npz", ".arpa")):
        raise InputError(f"a model is saved as .npz or .arpa; got {out}.")
    if out.endswith(".arpa") and given["units"] is None:
        given["units"] = "words"
    source = text[0] if len(text) == 1 else [Path(t) for t in text]
    made = called("lm.train", source, doing="training", **given)
    made.save(out)
    return deliver(made)


@command(
    TEXT,
    option("dev", "Text to tune and choose on; by default the last tenth but one.", reads=True),
    option("test", "Text to report on; by default the last tenth.", reads=True),
    option("order", "Highest order.", 4),
    option("smoothings", "Comma-separated; all by default."),
    option("min_count", "Words seen less often become <UNK>.", 2),
    UNITS,
    LOWERCASE,
    *options.CHECKED,
)
def study(deliver: Delivery, text: str, smoothings: str | None, **given: Any) -> int:
    """The perplexity of every smoothing at every order, in one table.

    Examples:
      howsure lm study text.txt --html study.html
      howsure lm study train.txt --dev dev.txt --test test.txt --order 5 --markdown
    """
    chosen = options.listed(smoothings) or None
    return deliver(called("lm.study", text, doing="training", smoothings=chosen, **given))


@command(
    MODEL,
    argument("sentences", "Sentences in quotes; lines of stdin if none.", required=False, many=True),
    *options.PRINTED,
)
def prob(deliver: Delivery, model: str, sentences: list[str] | None) -> int:
    """How probable is a sentence, word by word?

    Examples:
      howsure lm prob lm.npz "i want chinese food"
      howsure lm prob lm.npz --json < sentences.txt
    """
    given = sentences or [line for line in sys.stdin.read().splitlines() if line.strip()]
    return deliver(called("lm.prob", model, given))


@command(
    MODEL,
    argument("history", "The words before, in quotes.", "", required=False),
    option("words", "How many words.", 10),
    *options.PRINTED,
)
def next_(deliver: Delivery, model: str, history: str, words: int) -> int:
    """Which words are likeliest to come next?

    Examples:
      howsure lm next lm.npz "i want"
    """
    return deliver(called("lm.next", model, history, words=words))


@command(
    MODEL,
    replace(options.TABLE, help=f"A table of hypotheses: {options.TABLE.help}"),
    option("text", "Column of texts."),
    option("channel", "Column of log p(signal | text), from an acoustic or translation model."),
    option("key", "Column that identifies the item (utterance) that hypotheses are of."),
    option("weight", "Power of the language model's probability.", 1.0, "--lm-weight"),
    *options.PRINTED,
)
def rank(deliver: Delivery, model: str, file: str, **given: Any) -> int:
    """Which transcript or translation is likeliest, by a noisy channel?

    Examples:
      howsure lm rank lm.npz hypotheses.tsv --channel acoustic --key utterance
    """
    return deliver(called("lm.rank", model, file, **given))


@command(MODEL, TEXT, options.CONFIDENCE, *options.PRINTED)
def perplexity(deliver: Delivery, model: str, text: str, **given: Any) -> int:
    """How well does a model predict a text?

    Examples:
      howsure lm perplexity lm.npz test.txt --json
    """
    return deliver(called("lm.perplexity", model, text, **given))


@command(
    replace(MODEL, name="a"),
    replace(MODEL, name="b"),
    TEXT,
    options.CONFIDENCE,
    options.seed("the test"),
    *options.PRINTED,
)
def compare(deliver: Delivery, a: str, b: str, text: str, **given: Any) -> int:
    """Which of two models predicts a text better?

    Examples:
      howsure lm compare a.npz b.npz test.txt
    """
    return deliver(called("lm.compare", a, b, text, **given))


@command(
    MODEL,
    option("words", "How many words.", 50),
    option("temperature", "Below 1 sharper, above 1 flatter.", 1.0),
    option("top_k", "Number of likeliest words to draw from.", kind=int),
    option("history", "Words to go on from.", ""),
    options.seed("the words; another each time by default", None),
    options.JSON,
)
def generate(deliver: Delivery, model: str, **given: Any) -> int:
    """Draw text from a model.

    Examples:
      howsure lm generate lm.npz --words 50 --seed 1
    """
    lines = [printable(line) for line in called("lm.generate", model, **given).split("\n")]
    return deliver.say("\n".join(lines), {"sentences": lines, "seed": given["rng"]})


@command(
    MODEL,
    argument("text", "Text to correct; - for stdin.", "-"),
    option("errors", "Pairs to learn from: misspelling TAB word, a line each; counts of edits ship."),
    option("error_rate", "Share of words that are mistyped.", 0.05),
    option(
        "weight", "Power of the language model's probability; 1 unless --dev chooses it.", None, "--lm-weight", float
    ),
    option("dev", "Lines with errors to choose the weight on: typed TAB meant."),
    options.JSON,
)
def correct(deliver: Delivery, model: str, text: str, **given: Any) -> int:
    """Correct spelling: the likeliest sentence given what was typed.

    Examples:
      echo "i wood like chinise fod" | howsure lm correct lm.npz
      howsure lm correct lm.npz typed.txt --errors pairs.tsv
      howsure lm correct lm.npz typed.txt --dev lines.tsv
    """
    channel = called("lm.corrector", model, **given)
    if given["dev"] is not None:
        print(f"howsure: the best weight on {given['dev']} is {channel.weight:g}.", file=sys.stderr)
    lines = called("lm.corrected", channel, text)
    if deliver.as_json:
        say(json.dumps([{"text": t, "corrections": [c.to_dict() for c in cs]} for t, cs in lines], ensure_ascii=False))
    else:
        say("\n".join(t for t, _ in lines))
    return 0


@command(
    MODEL,
    TEXT,
    option("bins", "Bins to draw, as in howsure check."),
    options.CONFIDENCE,
    option("events", "How many (place, word) events to check all words on.", 5_000_000),
    options.seed("the sample and the band"),
    *options.DELIVERY,
)
def check(deliver: Delivery, model: str, text: str, **given: Any) -> int:
    """Are a model's probabilities of the next word right?

    Examples:
      howsure lm check lm.npz test.txt --html report.html
    """
    return deliver(called("lm.check", model, text, **given))


lm = family(
    "N-gram language models: train, evaluate, use, check.",
    *(train, study, perplexity, prob, next_, compare, generate, correct, rank, check),
)

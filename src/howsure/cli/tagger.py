"""`howsure tagger train|cv|check|apply`."""

from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, called
from howsure.cli.parser import argument, command, family, option
from howsure.errors import InputError

FORMATS = "CoNLL-U, columns (word, tag) or Penn .pos."
COLUMN = option(
    "column", "What to read as tags: xpos (default; upos if there is none), upos, entity of CoNLL-U; a column's number."
)
MODEL = argument("model", "The .npz file that `howsure tagger train` wrote.", reads=True)
METHOD = argument("method", "hmm or crf.")
FEATURES = option("features", "CRF: basic, advanced, or templates (advanced,vectors; advanced-shape).", "advanced")
BY = ("tag", "pair", "span")


@command(
    METHOD,
    argument("files", f"Training text: {FORMATS}", many=True, reads=True),
    options.MODEL_OUT,
    option("dev", "Held-out text, to choose --l2 or --pseudocount on.", reads=True),
    COLUMN,
    FEATURES,
    option("lexicon", "CRF: other tagged text, any tags, whose tags of a word become features.", reads=options.listed),
    option("l2", "CRF: regulariser; chosen on --dev if not given.", kind=float),
    option("pseudocount", "HMM: pseudocount; 0 is maximum likelihood; chosen on --dev if not given.", kind=float),
    option("rare", "HMM: words seen this often or less count by shape and ending.", 1),
    option("optimiser", "CRF: lbfgs or adagrad (batches of 100).", "lbfgs"),
    option("max_iterations", "CRF: passes over the text at most.", 150, "--iterations"),
    option("fit_temperature", "Fit a temperature on --dev and keep it.", False),
    *options.PRINTED,
)
def train(deliver: Delivery, files: list[str], out: str, lexicon: str | None, **given: Any) -> int:
    """Train a hidden Markov model or a conditional random field.

    Examples:
      howsure tagger train crf train.conllu --dev dev.conllu -o crf.npz
      howsure tagger train crf tweets.txt --dev dev.txt --features advanced,vectors --lexicon train.conllu -o crf.npz
      howsure tagger train hmm train.pos --dev dev.pos -o hmm.npz
      howsure tagger train crf chunks.txt --column 3 --l2 0.1 -o chunker.npz
    """
    other = options.listed(lexicon) or None
    made = called("tagger.train_tagger", files, doing="training", lexicon=other, **given)
    made.save(out)
    return deliver(made, data=made.to_dict() | {"written": out})


@command(
    METHOD,
    argument("files", f"Tagged text: {FORMATS}", many=True, reads=True),
    option("folds", "Number of folds.", 10),
    COLUMN,
    FEATURES,
    option("l2", "CRF: regulariser.", 0.1),
    option("pseudocount", "HMM: pseudocount.", 0.1),
    option("groups", "What stays in one fold: sentence or document; documents where there are enough."),
    option("second", "What to read as a second annotator's tags, as --column: the ceiling."),
    *options.CHECKED,
)
def cv(deliver: Delivery, files: list[str], **given: Any) -> int:
    """Cross-validate: accuracy, baselines, ceiling and calibration.

    Examples:
      howsure tagger cv hmm text.conllu --folds 10
      howsure tagger cv crf text.conllu --folds 5 --groups document --html cv.html
      howsure tagger cv hmm columns.txt --column 2 --second 3
    """
    return deliver(called("tagger.cv_tagger", files, doing="cross-validating", **given))


@command(
    MODEL,
    argument("file", f"Tagged text: {FORMATS}", reads=True),
    option("by", "The table shown: tag, pair or span.", "tag"),
    COLUMN,
    option("groups", "What is independent: sentence or document; documents where `# newdoc` marks several."),
    option("pairs", "How many of the commonest tag pairs.", 100),
    options.PREDICTIVE,
    *options.CHECKED,
)
def check(deliver: Delivery, model: str, file: str, by: str, **given: Any) -> int:
    """Is the tagger right to be as sure as it is?

    Examples:
      howsure tagger check crf.npz test.conllu --by tag --html report.html
      howsure tagger check crf.npz test.conllu --by pair --groups document --json
    """
    if by not in BY:
        raise InputError(f"--by knows {', '.join(BY)}; got {by!r}.")
    made = called("tagger.check_tagger", model, file, **given)
    if by == "span" and not made.per_span:
        raise InputError("the model has no spans: its tags are not of the form B-kind, I-kind.")
    return deliver(made, text=made.to_text(by))


@command(
    MODEL,
    argument("file", f"Text, tagged or not: {FORMATS}", reads=True),
    replace(options.OUT, help="Write everything, with each tag's probability at each token, to this .parquet file."),
    option("best", "Number of best tag sequences per sentence.", 1),
    option("samples", "Number of exact samples of tags per sentence.", 0),
    COLUMN,
    options.seed("the samples"),
    *options.PRINTED,
)
def apply(deliver: Delivery, model: str, file: str, out: str | None, best: int, samples: int, **given: Any) -> int:
    """Tag text: each word's most probable tag, and how probable.

    With -o, all tags' probabilities go to a Parquet file.

    Examples:
      howsure tagger apply crf.npz new.conllu
      howsure tagger apply crf.npz new.conllu --best 5 --samples 10 -o out.parquet
    """
    made = called("tagger.apply_tagger", model, file, out, best=best, samples=samples, **given)
    more = [f"best_{k + 1}" for k in range(best) if best > 1] + [f"sample_{k + 1}" for k in range(samples)]
    return deliver.sentences(made, ["word", "predicted", "prob", *more])


tagger = family("Taggers (HMM, CRF): train, cross-validate, check, apply.", train, cv, check, apply)

"""`howsure parser train|check|apply`."""

from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, called
from howsure.cli.parser import argument, command, family, option

MODEL = argument("model", "The .npz file that `howsure parser train` wrote; english is the one that ships.", reads=True)


@command(
    argument("files", "Trees: CoNLL-U (dependencies) or bracketed files (constituents).", many=True, reads=True),
    options.MODEL_OUT,
    option("dev", "Held-out trees, to fit the temperatures on.", reads=True),
    option("projective", "Dependencies: arcs do not cross.", True),
    option("epochs", "Dependencies: passes over the sentences.", 6),
    option("horizontal", "Constituents: parts of a long rule that each step remembers.", 1),
    option("parents", "Constituents: split labels by their parent's.", True),
    options.seed("the order of sentences"),
    *options.PRINTED,
)
def train(deliver: Delivery, files: list[str], out: str, **given: Any) -> int:
    """Train a parser that says how sure it is.

    CoNLL-U gives an arc-factored log-linear parser, bracketed files a grammar.

    Examples:
      howsure parser train train.conllu --dev dev.conllu -o arcs.npz
      howsure parser train wsj_0*.mrg --dev wsj_0150.mrg -o grammar.npz
    """
    made = called("parser.train_parser", files, doing="training", **given)
    made.save(out)
    return deliver(made, data=made.to_dict() | {"written": out})


@command(
    MODEL,
    argument("files", "Trees: CoNLL-U or bracketed files, as the parser was trained on.", many=True, reads=True),
    option("groups", "What is independent: document (of brackets: a file) or sentence.", "document"),
    options.PREDICTIVE,
    *options.CHECKED,
)
def check(deliver: Delivery, model: str, files: list[str], **given: Any) -> int:
    """Is the parser right to be as sure as it is?

    Arcs, labels or spans, and whole trees.

    Examples:
      howsure parser check arcs.npz test.conllu --html report.html
      howsure parser check grammar.npz wsj_018*.mrg --groups sentence --json
    """
    read = files[0] if len(files) == 1 else files
    return deliver(called("parser.check_parser", model, read, doing="checking", **given))


@command(
    MODEL,
    argument("file", "Text in sentences: CoNLL-U, columns, Penn .pos, or (a grammar) bracketed trees.", reads=True),
    replace(options.OUT, help="Write a table (.parquet), or the text with its trees (.conllu, .mrg)."),
    option("best", "Number of best trees per sentence.", 1),
    option("samples", "Number of exact samples of trees per sentence.", 0),
    options.seed("the samples"),
    *options.PRINTED,
)
def apply(deliver: Delivery, model: str, file: str, out: str | None, **given: Any) -> int:
    """Parse text: each word's head or each span, and how probable.

    Examples:
      howsure parser apply arcs.npz new.conllu
      howsure parser apply arcs.npz new.conllu --samples 10 -o out.parquet
      howsure parser apply grammar.npz new.pos -o new.mrg
    """
    made = called("parser.apply_parser", model, file, out, **given)
    return deliver.sentences(made, [c for c in made.columns if c not in ("document", "sentence", "tree_prob")])


parser = family("Parsers of dependencies and constituents: train, check, apply.", train, check, apply)

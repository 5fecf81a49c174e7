"""`howsure count` and `howsure label`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from howsure._result import printable
from howsure.cli import options
from howsure.cli.delivery import Delivery, say, served
from howsure.cli.parser import argument, command, option
from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.verbs.label import Labelling

BATCH = 100  # labels to draw at once with --until: the next batch follows what this one says


@command(
    options.TABLE,
    option("prob", "Column of the model's probabilities."),
    option("true", "Column of labels, empty where an item has none; with --labels, in that file."),
    options.POSITIVE,
    option("labels", "A file of labels; --key says which items they belong to.", reads=True),
    option("key", "Column that identifies an item, here and in --labels."),
    option("design", "How labelled items were chosen: random, or the column of their inclusion probabilities."),
    option("date", "Column of dates: count in each period."),
    option("every", "The period: day, week, month, quarter or year.", "month"),
    option("by", "Count in each value of this column."),
    option("formula", 'Regression of the label on columns, such as "y ~ month + team".'),
    option("groups", "Column of what was drawn whole (documents), all its items labelled."),
    option("until", "How many more labels for an interval of ± this (0.02 is two points).", kind=float),
    option("to_label", "Draw this many items to label, those that tell most, to the file -o.", kind=int),
    option("out", "Table to write drawn items to; with --until, the next batch.", None, "--out -o", writes=True),
    options.WHERE,
    *options.SCALE,
    options.CONFIDENCE,
    options.seed("what is drawn"),
    *options.OF_TABLES,
)
def count(deliver: Delivery, file: str, to_label: int | None, out: str | None, **given: Any) -> int:
    """How many items are positive, by probabilities and a few labels?

    The sum of probabilities is wrong wherever the model is. A few labels, drawn by design, correct it and tell how sure
    the number is: in all, in each period and in each group.

    Examples:
      howsure count posts.parquet --prob p --to-label 200 -o to-label.csv
      howsure count posts.parquet --prob p --true hateful --design random
      howsure count posts.parquet --prob p --labels labels.csv --key id --date day --every month --html counts.html
      howsure count judged.parquet --prob p --labels labels.csv --key id --by model --until 0.02
    """
    from howsure import _validate
    from howsure.verbs.count import count as run_count
    from howsure.verbs.to_label import to_label as draw

    if (to_label is not None and out is None) or (out is not None and to_label is None and given["until"] is None):
        raise InputError("--to-label says how many items to draw, and -o where to write them: give both.")
    if to_label is not None:
        _validate.count(to_label, "to_label")
    drawing = {k: v for k, v in given.items() if k not in ("design", "formula", "until", "confidence_level")}
    if to_label is not None:
        deliver.refuse("--until --design --formula --html --plot", "--to-label")
        return deliver(draw(file, to_label, out=out, **drawing))
    made = run_count(file, **given)
    if out is not None and made.need is not None:
        if not made.need.more:
            return replace(deliver, outputs=())(made)
        draw(file, min(made.need.more, BATCH), out=out, **drawing)
    return deliver(made)


@command(
    argument("file", "A table to label, or a folder that howsure explore has written.", reads=True),
    option("text", "Column of the text to read."),
    option("key", "Column that identifies an item."),
    option("show", "Comma-separated columns to show beside the text."),
    option("out", "The file to keep the answers in (CSV), taken up again where it stands.", None, "--out -o"),
    option("annotator", "Whose answers these are; several people may share a file.", "1"),
    option("question", "What to ask of each item."),
    option("web", "Label on a page in the browser, served to this machine alone.", False),
    option("port", "With --web: the port on 127.0.0.1; 0 takes any that is free.", 8016),
    option("actor", "Of an exploration: whose events; by default the most frequent actor's."),
    options.limit("Of an exploration: how many documents to label.", 40),
    options.seed("an exploration's sample"),
    option("report", "Ask nothing: only show what the answers so far say.", False),
    *options.PRINTED,
)
def label(deliver: Delivery, file: str, show: str | None, web: bool, port: int, report: bool, **given: Any) -> int:
    """Label drawn items: y, n, u to undo, s to skip, q to stop.

    Answers are kept at once; the same command goes on where you stopped. howsure count reads the file with --labels. Of a
    folder that howsure explore has written, documents are drawn, and the answers say how many describe an event.

    Examples:
      howsure label to-label.csv --text answer -o labels.csv
      howsure label to-label.csv --text answer -o labels.csv --annotator mia --web
      howsure label results/ --actor IRQ -n 40
    """
    from howsure.verbs.label import Labelling, label_page

    Delivery(outputs=(given["out"],), inputs=(file,))  # checks that the answers do not replace the items
    session = Labelling(file, show=options.listed(show), **given)
    if web and not report:
        server = label_page(session, port=port)
        served(server, f"Open {server.address} in a browser. Ctrl-C ends it; the answers are kept.")
    elif not report:
        _ask(session)
    if not session.answers.everyone():
        say("Nothing is labelled yet.")
        return 0
    return deliver(session.result())


def _ask(session: Labelling) -> None:
    skipped: set[str] = set()
    while (item := session.next_item(skipped)) is not None:
        print(session.shown(item), file=sys.stderr)
        print("\n" + printable(f"{session.question} [y/n/u/s/q] "), end="", file=sys.stderr, flush=True)
        reply = _reply()
        if reply in ("y", "n"):
            session.answers.answer(item, reply == "y")
        elif reply == "u":
            if session.answers.undo() is None:
                print("There is nothing to undo.", file=sys.stderr)
        elif reply == "s":
            skipped.add(item.key)
        elif reply == "q":
            print("", file=sys.stderr)
            return
        else:
            print("Answer y, n, u (undo), s (skip) or q (stop).", file=sys.stderr)


def _reply() -> str:
    """One key of a terminal, or the first letter of a line; q where there is no more."""
    if not sys.stdin.isatty() or sys.platform == "win32":
        line = sys.stdin.readline()
        return line.strip().lower()[:1] if line else "q"
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        key = sys.stdin.read(1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
    print(key, file=sys.stderr)
    return key.lower() if key else "q"

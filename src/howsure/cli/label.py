"""`howsure label RESULTS`."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from howsure.events.exploration import Exploration
    from howsure.events.labelling import Answers, Labelled, Question

LONGEST = 2_000  # characters of a document that are shown at once


def label(
    results: Annotated[str, typer.Argument(help="A folder that howsure explore has written.")],
    actor: Annotated[Optional[str], typer.Option(help="Whose events; by default the most frequent actor's.")] = None,  # noqa: UP045
    n: Annotated[int, typer.Option("-n", help="How many documents to label.")] = 40,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    report: Annotated[
        bool, typer.Option("--report", help="Ask nothing: only say what the answers so far tell.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the answers tell as JSON.")] = False,
) -> int:
    """Are the probabilities right? Label a stratified sample of documents: y, n, u to undo, s to skip, q to stop.

    Answers are kept in the results folder; the same command goes on where you stopped.

    Examples:

      howsure label results/ --actor IRQ -n 40

      howsure label results/ --actor IRQ --report --json
    """
    from howsure import _validate
    from howsure.cli.output import say
    from howsure.errors import InputError
    from howsure.events.exploration import Exploration
    from howsure.events.labelling import Answers, calibration_of, draw

    found = Exploration.open(results)
    if not found.totals():
        raise InputError(f"{results} has no events: there is nothing to label.")
    code = found.code(actor) if actor else found.totals()[0][0]
    questions = draw(found, code, _validate.count(n, "n"), seed)
    kept = "".join(c if c.isalnum() else "-" for c in code)
    answers = Answers(Path(results) / f"labels-{kept}-{seed}.jsonl", questions)
    if not report:
        _ask(found, code, answers)
    if not answers.pairs():
        say("Nothing is labelled yet.")
        return 0
    made = calibration_of(found, code, answers.pairs())
    say(json.dumps(made.to_dict(), indent=2, allow_nan=False) if as_json else labelled_text(made, found.name(code)))
    return 0


def _ask(found: Exploration, code: str, answers: Answers) -> None:
    from howsure.cli.text import printable
    from howsure.events.storage import read_table

    wanted = {q.id for q in answers.questions}
    documents = {d["id"]: d for d in read_table(found.folder, "documents") if d["id"] in wanted}
    verbs = found.manifest["settings"]["verbs"]
    action = verbs[0] if len(verbs) == 1 else "one of: " + ", ".join(verbs)
    skipped: set[str] = set()
    while (question := _next(answers, skipped)) is not None:
        d = documents[question.id]
        text = d["text"] if len(d["text"]) <= LONGEST else d["text"][:LONGEST] + " …"
        paragraphs = [textwrap.fill(printable(p), 80) for p in text.split("\n\n")]
        print(
            f"\n[{len(answers) + 1} of {len(answers.questions)}]  {printable(d['title'] or question.id)}\n",
            file=sys.stderr,
        )
        print("\n\n".join(paragraphs), file=sys.stderr)
        asked = f"\nDoes this say that {found.name(code)} (its forces, its people) did {action}? [y/n/u/s/q] "
        print(printable(asked), end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        reply = line.strip().lower()[:1] if line else "q"
        if reply in ("y", "n"):
            answers.answer(question, reply == "y")
        elif reply == "u":
            if answers.undo() is None:
                print("There is nothing to undo.", file=sys.stderr)
        elif reply == "s":
            skipped.add(question.id)
        elif reply == "q":
            print("", file=sys.stderr)
            return
        else:
            print("Answer y, n, u (undo), s (skip) or q (stop).", file=sys.stderr)


def _next(answers: Answers, skipped: set[str]) -> Question | None:
    return next((q for q in answers.questions if q.id not in answers.given and q.id not in skipped), None)


def labelled_text(made: Labelled, name: str) -> str:
    """Verdict first, then the strata."""
    lines = [
        textwrap.fill(f"{name}: {made.verdict}", 80),
        "",
        f"mean q - mean y   {made.gap:+.4f}  [{made.low:+.4f}, {made.high:+.4f}]   RMS over strata {made.rms_error:.3f}",
        f"{made.n_labelled} of {made.n_documents:,} documents labelled, weighted by the strata they were drawn from",
        "",
        f"  {'probability':<14} {'documents':>9} {'labelled':>9} {'mean q':>8} {'yes':>6}",
    ]
    for s in made.strata:
        span = "nothing found" if s["to"] == 0 else f"{s['from']:.2f} to {s['to']:.2f}"
        lines.append(f"  {span:<14} {s['documents']:>9,} {s['labelled']:>9} {s['mean_q']:>8.3f} {s['share_yes']:>6.2f}")
    return "\n".join(lines)

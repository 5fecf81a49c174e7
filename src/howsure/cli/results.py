"""`howsure top`, `label`, `page` and `serve`: commands that read what `howsure explore` has written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, say, say_data

if TYPE_CHECKING:
    from howsure.verbs.label import Labelling


def top(
    results: options.Results,
    actor: Annotated[str | None, typer.Option(help="Only this actor.")] = None,
    uncertain: Annotated[
        bool, typer.Option("--uncertain", help="The least certain first: nearest to one half.")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many documents.")] = 10,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Documents by probability or uncertainty, with the sentences and the links behind them.

    Examples:

      howsure top results/

      howsure top results/ --actor IRQ --uncertain
    """
    from howsure.verbs.top import top as ranked

    return Delivery(as_json, markdown, latex).deliver(ranked(results, actor=actor, uncertain=uncertain, limit=limit))


def label(
    results: options.Results,
    actor: Annotated[str | None, typer.Option(help="Whose events; by default the most frequent actor's.")] = None,
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
    from howsure.verbs.label import Labelling

    session = Labelling(results, actor=actor, n=n, seed=seed)
    if not report:
        _ask(session)
    if not session.answers.pairs():
        say("Nothing is labelled yet.")
        return 0
    return Delivery(as_json).deliver(session.result())


def _ask(session: Labelling) -> None:
    skipped: set[str] = set()
    while (question := session.next_question(skipped)) is not None:
        print(session.shown(question), file=sys.stderr)
        print(session.asked(), end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        reply = line.strip().lower()[:1] if line else "q"
        if reply in ("y", "n"):
            session.answers.answer(question, reply == "y")
        elif reply == "u":
            if session.answers.undo() is None:
                print("There is nothing to undo.", file=sys.stderr)
        elif reply == "s":
            skipped.add(question.id)
        elif reply == "q":
            print("", file=sys.stderr)
            return
        else:
            print("Answer y, n, u (undo), s (skip) or q (stop).", file=sys.stderr)


def page(
    results: options.Results,
    out: Annotated[str, typer.Option("-o", "--out", help="The file to write.")] = "events.html",
    actor: Annotated[str | None, typer.Option(help="Comma-separated actors to include.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> int:
    """One file with the counts, their bands and the documents behind them, to open in a browser.

    Examples:

      howsure page results/ -o events.html

      howsure page results/ --actor IRN,IRQ
    """
    from howsure.verbs.page import page as made_page

    made = made_page(results, out, actors=options.listed(actor))
    text = f"Written: {out} ({len(made) / 1e6:.1f} MB); open it in a browser."
    return say_data({"written": out, "bytes": len(made)}, as_json, text)


def serve(
    results: options.Results,
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1; 0 takes any that is free.")] = 8015,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> int:
    """The page of howsure page from a server on this machine, for results of any size. Ctrl-C ends it.

    Examples:

      howsure serve results/

      howsure serve results/ --port 0
    """
    from howsure.verbs.serve import serve as made_server

    server = made_server(results, port=port)
    try:
        said = (
            f'{{"address": "{server.address}"}}' if as_json else f"Open {server.address} in a browser. Ctrl-C ends it."
        )
        say(said)
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0

"""`howsure label`: people's answers about drawn items, in the terminal or on a page of this machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.counting.answers import Answers, Item
from howsure.counting.result import Labelled
from howsure.engines.coded import ITEM_NAMES
from howsure.engines.columns import guessed_column, text_column
from howsure.engines.tables import Table, quoted
from howsure.errors import InputError
from howsure.report.text.layout import filled, printable

LONGEST = 2_000  # characters of a text that are shown at once
MOST_ITEMS = 20_000


class Labelling:
    """Items to label and one person's answers so far.

    Parameters
    ----------
    source : path or data frame
        A table, drawn by `howsure.to_label` or made in any other way; or a folder that `howsure explore` has written, of
        which n documents are drawn.
    text, key : str
        Columns of the text to read and of what identifies an item; found by name where that is clear.
    show : sequence of str
        Columns to show beside the text. The model's probability is not shown: it would sway the answer.
    out : path
        The CSV file of answers, taken up again where it stands; `howsure.count` reads it as `labels`. An exploration keeps
        its answers in its own folder.
    annotator : str
        Whose answers these are; several people may share a file.
    question : str
        What to ask of each item.
    actor, limit, rng
        Of an exploration: whose events, how many documents, and the seed of the sample.
    """

    def __init__(
        self,
        source: Any,
        *,
        text: str | None = None,
        key: str | None = None,
        show: Sequence[str] = (),
        out: str | Path | None = None,
        annotator: str = "1",
        question: str | None = None,
        actor: str | None = None,
        limit: int = 40,
        rng: int = 0,
    ) -> None:
        if not annotator.strip() or not annotator.isprintable():
            raise InputError(f"`annotator=` must be a name; got {annotator!r}.")
        self._documents: Any = None
        if isinstance(source, str | Path) and (Path(source) / "manifest.json").is_file():
            self._open_results(source, actor, _validate.count(limit, "limit"), rng, out, annotator)
        else:
            if actor is not None:
                raise InputError(f"`actor=` belongs to a folder that howsure explore has written; {source} is none.")
            pattern = not isinstance(source, str | Path) or any(c in str(source) for c in "*?[")
            if not pattern and not Path(source).exists():
                raise InputError(f"there is no file and no results folder {source}.")
            if out is None:
                raise InputError("name the file to keep the answers in with -o.")
            name, items = table_items(source, key, text, show)
            self.answers = Answers(out, name, items, annotator)
            self.question = "Is this positive?"
        self.question = self.question if question is None else question

    def _open_results(
        self, source: str | Path, actor: str | None, n: int, seed: int, out: str | Path | None, annotator: str
    ) -> None:
        from howsure.events.exploration import Exploration
        from howsure.events.storage import read_table
        from howsure.exploring.labelling import KEY, Documents, answers_file

        found = Exploration.open(source)
        if not found.reported().totals:
            raise InputError(f"{source} names no actor: there is nothing to label.")
        code = found.code(actor) if actor else next(iter(found.reported().totals))
        self._documents = Documents(found, code)
        wanted = {item.key for item in self._documents.items(n, seed)}
        rows = read_table(found.folder, "documents", ["id", "title", "text"])
        texts = {d["id"]: (d["title"] or "", d["text"]) for d in rows if d["id"] in wanted}
        path = answers_file(found, code, seed) if out is None else Path(out)
        self.answers = Answers(path, KEY, self._documents.items(n, seed, texts), annotator)
        verbs = found.manifest["settings"]["verbs"]
        action = verbs[0] if len(verbs) == 1 else "one of: " + ", ".join(verbs)
        self.question = f"Does this say that {found.name(code)} (its forces, its people) did {action}?"

    def next_item(self, skipped: set[str]) -> Item | None:
        """The next item that is neither answered nor skipped."""
        return next((item for item in self.answers.left() if item.key not in skipped), None)

    def shown(self, item: Item) -> str:
        """The item for a terminal, with its place in the sample."""
        text = item.text if len(item.text) <= LONGEST else item.text[:LONGEST] + " …"
        named = "  ".join(value for name, value in item.fields if name == "title") or item.key
        parts = [f"\n[{len(self.answers) + 1} of {len(self.answers.items)}]  {printable(named)}"]
        parts += [filled(printable(f"{name}: {value}")) for name, value in item.fields if name != "title"]
        parts += [filled(printable(p)) for p in text.replace("\r\n", "\n").split("\n") if p.strip()]
        return "\n\n".join(parts)

    def result(self) -> Labelled:
        """How far the labelling is, how far people agree and, of an exploration, what the answers say."""
        everyone = self.answers.everyone()
        if not any(everyone.values()):
            raise InputError("nothing is labelled yet.")
        people = tuple((who, len(given), sum(given.values())) for who, given in sorted(everyone.items()))
        agreement = _agreement(everyone) if sum(len(g) > 0 for g in everyone.values()) > 1 else None
        settled = self.answers.settled()
        every = {k for given in everyone.values() for k in given}
        counts = None
        if self._documents is not None and settled:
            counts = self._documents.counts(settled, self.answers.inclusions())
        done = len(every), sum(settled.values()), len(every) - len(settled)
        return Labelled(len(self.answers.items), *done, people, agreement, counts)


def _agreement(everyone: dict[str, dict[str, bool]]) -> Any:
    """Of items that several people labelled; None where there are too few to tell."""
    from howsure.verbs.agree import agree

    rows = [(k, who, str(int(yes))) for who, given in everyone.items() for k, yes in given.items()]
    twice = {k for k, _, _ in rows if sum(k in g for g in everyone.values()) > 1}
    kept = [r for r in rows if r[0] in twice]
    if len(twice) < 2:
        return None
    names = ("item", "annotator", "label")
    table = {name: list(column) for name, column in zip(names, zip(*kept, strict=True), strict=True)}
    try:
        return agree(table, item="item", annotator="annotator", label="label")
    except InputError:
        return None


def table_items(source: Any, key: str | None, text: str | None, show: Sequence[str]) -> tuple[str, list[Item]]:
    """The name of the key and the items of a table."""
    with Table(source) as table:
        body = text_column(table, text)
        there = {c.name.lower(): c.name for c in table.columns}
        named = guessed_column(table, ITEM_NAMES, "key", "`key=`", {body}, given=key).name
        shown = [table.column(s).name for s in show]
        drawn = [there.get("stratum"), there.get("inclusion")]
        columns = [named, body, *drawn, *shown]
        sql = ["''" if c is None else f"coalesce(CAST({quoted(c)} AS VARCHAR), '')" for c in columns]
        items: list[Item] = []
        for batch in table.batches(sql):
            for k, body_text, stratum, inclusion, *rest in zip(*(c.to_pylist() for c in batch.columns), strict=True):
                if not k:
                    raise InputError(f"`{named}` is missing in row {len(items) + 1:,}; every item needs a key.")
                fields = tuple((name, value) for name, value in zip(shown, rest, strict=True) if value)
                items.append(Item(k, body_text, fields, stratum, inclusion))
                if len(items) > MOST_ITEMS:
                    raise InputError(
                        f"{table.name} has more than {MOST_ITEMS:,} rows: draw some with `howsure.to_label`."
                    )
        if not items:
            raise InputError(f"{table.name} has no rows.")
    return named, items


def label_page(session: Labelling, *, port: int = 8016) -> Any:
    """A server of a page to label on, listening on this machine alone; `serve_forever()` runs it."""
    from howsure.exploring.label_server import LabelServer

    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65_535:
        raise InputError(f"`port=` must be a number from 0 to 65535; got {port!r}.")
    return LabelServer(session.answers, session.question, port)

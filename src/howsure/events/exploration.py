"""What `howsure explore` gives back: results on disk, and the questions they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure import _validate
from howsure._result import PLOTS, Result, drawn_by, shown_as
from howsure.errors import InputError
from howsure.events import timeline as over_time
from howsure.events.storage import read_manifest, read_table
from howsure.events.timeline import Count, Hit, PeriodComparison, check_period
from howsure.kernels.cells import Floats
from howsure.posteriors.answers import CountLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from howsure.events.ranking import RankedDocument
    from howsure.events.reported import Reported, Step


@dataclass(frozen=True)
class Exploration(Result):
    """Events of actors over time, with the uncertainty of coreference.

    `folder` holds the tables (docs/guides/explore.md); `manifest` says what they were made from. `timeline(actor)` and
    `compare(a, b)` are computed from the tables when asked for, for any period.
    """

    folder: Path
    manifest: dict[str, Any] = field(repr=False)
    timing: dict[str, float] = field(default_factory=dict, repr=False)

    @classmethod
    def open(cls, folder: str | Path) -> Exploration:
        """Results that were made before."""
        manifest = read_manifest(folder)
        if manifest is None:
            raise InputError(f"{folder} holds no results of howsure explore: there is no manifest.json.")
        if not manifest.get("complete"):
            raise InputError(f"the run in {folder} was interrupted; run the same howsure explore again to finish it.")
        return cls(Path(folder), manifest)

    __repr__ = shown_as("{verdict}")

    @property
    def every(self) -> str:
        """The period that the run was asked for."""
        return str(self.manifest["settings"]["every"])

    @property
    def shown(self) -> list[str]:
        """Codes of the actors that the run was asked to speak of; empty where that is all."""
        return list(self.manifest.get("shown", ()))

    def speaks_of(self, code: str) -> bool:
        """Whether the actor is one of these."""
        return not self.shown or code in self.shown

    def showing(self, actors: Sequence[str]) -> Exploration:
        """The same results, spoken of for these actors; of none named, as they are."""
        return replace(self, manifest=self.manifest | {"shown": self.chosen(actors)}) if actors else self

    @cached_property
    def hits(self) -> dict[str, list[Hit]]:
        """The documents with a positive probability (or one-best count), by actor."""
        made: dict[str, list[Hit]] = {}
        for row in read_table(self.folder, "events"):
            hit = Hit(row["id"], row["date"], row["probability"], tuple(row["law"]), row["best"])
            made.setdefault(row["actor"], []).append(hit)
        return made

    @cached_property
    def days(self) -> list[date]:
        """The dates of all documents that could be used and have one."""
        rows = read_table(self.folder, "documents", ["date", "failure"])
        return [r["date"] for r in rows if r["date"] is not None and not r["failure"]]

    @cached_property
    def actor_names(self) -> dict[str, str]:
        """Actors' names by their codes."""
        return {a["code"]: a["name"] for a in self.manifest["actors"]}

    def name(self, code: str) -> str:
        """An actor's name."""
        return self.actor_names.get(code, code)

    def code(self, actor: str) -> str:
        """An actor's code, from its code or name in any case."""
        for code, name in self.actor_names.items():
            if actor.lower() in (code.lower(), name.lower()):
                return code
        found = [code for code, _ in self.totals()] or list(self.actor_names)
        raise InputError(f"the results have no actor `{actor}`.{_validate.nearest(actor, found)}")

    def best(self, code: str) -> int:
        """How many dated documents have an event of the actor by the one best clustering."""
        return sum(h.best > 0 for h in self.hits[code] if h.date is not None)

    def total(self, actor: str) -> CountLaw:
        """The law of the number of documents with an event of the actor, over all dated documents."""
        return _law(self.hits.get(self.code(actor), []))

    def totals(self) -> list[tuple[str, CountLaw]]:
        """Actors with any event, the most frequent first."""
        made = [(code, _law(hits)) for code, hits in self.hits.items()]
        return sorted((m for m in made if m[1].mean > 0), key=lambda m: (-m[1].mean, m[0]))

    def timeline(self, actor: str, every: str | None = None) -> list[Count]:
        """The actor's counts in every period."""
        return over_time.timeline(self.hits.get(self.code(actor), []), self.days, check_period(every or self.every))

    def reported_timeline(self, actor: str, every: str | None = None) -> list[Count]:
        """The same with mean, sd and intervals of the event layer; 0 where no document of the period names the actor."""
        from howsure.events.reported import NOTHING

        bands, made = {name: b for name, _, b in self.reported(every).periods.get(self.code(actor), [])}, []
        for count in self.timeline(actor, every):
            b = bands.get(count.period, NOTHING)
            made.append(replace(count, mean=b.mean, sd=b.sd, intervals=b.intervals))
        return made

    def compare(self, a: str, b: str, every: str | None = None) -> list[PeriodComparison]:
        """Two actors, period by period: P(n_A > n_B)."""
        codes = self.code(a), self.code(b)
        if codes[0] == codes[1]:
            raise InputError(f"two different actors are compared; both are {codes[0]}.")
        hits = [self.hits.get(code, []) for code in codes]
        both, every = self._both(*codes), check_period(every or self.every)
        return over_time.comparison(hits[0], hits[1], both, self.days, every)

    def compare_all(self, a: str, b: str) -> CountLaw:
        """The law of n_A - n_B over all dated documents."""
        codes = self.code(a), self.code(b)
        dated = [[h for h in self.hits.get(c, []) if h.date is not None] for c in codes]
        return over_time.hits_difference(dated[0], dated[1], self._both(*codes))

    @cached_property
    def _reported(self) -> dict[str, Reported]:
        return {}

    @cached_property
    def words(self) -> Floats:
        """Of the frame, for the event layer: most of its work, and the same for every length of period."""
        from howsure.events.reported import frame_words

        return frame_words(self.folder)

    def reported(self, every: str | None = None) -> Reported:
        """Counts of documents that report an event, from the event layer and the labels in the folder."""
        from howsure.events.reported import reported

        chosen = check_period(every or self.every)
        if chosen not in self._reported:
            self._reported[chosen] = reported(self, chosen)
        return self._reported[chosen]

    def funnel(self) -> tuple[list[Step], list[str]]:
        """Where documents are lost on the way to a count, with sentences; and what to try next."""
        from howsure.events.reported import funnel

        return funnel(self)

    def directed(self) -> list[tuple[str, str, int]]:
        """(A, B, documents in which A does it to B), both directly described, the most frequent first."""
        step = -1 if self.manifest["settings"].get("patients") else 1
        rows = read_table(self.folder, "frame", ["actor", "done_by"])
        made = Counter((other, r["actor"])[::step] for r in rows for other in (r["done_by"] or "").split(";") if other)
        return sorted(((a, b, n) for (a, b), n in made.items()), key=lambda x: (-x[2], x[0], x[1]))

    def _both(self, a: str, b: str) -> dict[str, float]:
        return {r["id"]: r["both"] for r in read_table(self.folder, "pairs") if {r["a"], r["b"]} == {a, b}}

    def top(self, actor: str | None = None, *, uncertain: bool = False, limit: int = 10) -> list[RankedDocument]:
        """Documents with events, the most probable first or the least certain first, with sentences and links."""
        from howsure.events.ranking import ranked_documents

        return ranked_documents(self, actor, uncertain=uncertain, limit=_validate.count(limit, "limit"))

    def plot(self, ax: Axes | None = None, *, actors: Sequence[str] = (), every: str | None = None) -> Axes:
        """Draw the actors' counts by the event layer (by default the most frequent one's) on Matplotlib axes; returns them."""
        from howsure.plots.timelines import draw_timelines

        chosen = [self.code(a) for a in actors] or [code for code, _ in self.totals()[:1]]
        if not chosen:
            raise InputError("there are no events to draw.")
        return draw_timelines({self.name(c): self.reported_timeline(c, every) for c in chosen}, every or self.every, ax)

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        n, settings = self.manifest["n_documents"], self.manifest["settings"]
        verbs, role = settings["verbs"], "patients" if settings.get("patients") else "agents"
        what = f'{role} of "{verbs[0]}"' if len(verbs) == 1 else f"{role} of {len(verbs)} verbs"
        lost = {kind: self.manifest[f"n_{kind}"] for kind in ("undated", "failed")}
        left = [f"{n_lost:,} {kind}" for kind, n_lost in lost.items() if n_lost]
        extra = f" ({', '.join(left)})" if left else ""
        totals = [t for t in self.totals() if self.speaks_of(t[0])]
        if not totals:
            dated = "a document with a date: " if self.hits and not self.shown else ""
            who = self._listed(" or ") if self.shown else "the actors"
            return f"No {what} among {who} in {dated}{n:,} documents{extra}."
        (code, law), (among, most) = totals[0], self._among()
        low, high = law.interval(0.95)
        others = f", ahead of {len(totals) - 1} other actors" if len(totals) > 2 and not self.shown else ""
        return (
            f"{n:,} document{'' if n == 1 else 's'}{extra}: {among}{what} are {most}of {self.name(code)}, in {law.mean:.1f} documents "
            f"(95% between {low} and {high}){others}."
        )

    def _listed(self, last: str) -> str:
        names = [self.name(c) for c in self.shown]
        return last.join(filter(None, (", ".join(names[:-1]), names[-1])))

    def _among(self) -> tuple[str, str]:
        """Words of the actors spoken of, and of how the first stands to them."""
        among = f"of {self._listed(' and ')}, " if len(self.shown) > 1 else ""
        return among, "" if len(self.shown) == 1 else "most often "

    @property
    def reported_verdict(self) -> str:
        """What documents report, by the event layer, in words."""
        n, done = self.manifest["n_documents"], "done to" if self.manifest["settings"].get("patients") else "done by"
        totals = {c: b for c, b in self.reported().totals.items() if self.speaks_of(c)}
        if not totals:
            return self.verdict
        (code, b), (among, most) = next(iter(totals.items())), self._among()
        low, high = b.intervals[0.95]
        verbs = self.manifest["settings"]["verbs"]
        what = f'"{verbs[0]}"' if len(verbs) == 1 else f"one of {len(verbs)} verbs"
        return (
            f"{n:,} document{'' if n == 1 else 's'}: {among}{what} is {most}reported as {done} {self.name(code)}, in {b.mean:.1f} documents "
            f"(95% between {low} and {high})."
        )

    def chosen(self, actors: Sequence[str] = ()) -> list[str]:
        """Codes of the actors named, here or when the run was made; of none, of the two with most events."""
        return [self.code(a) for a in actors] or self.shown or [code for code, _ in self.totals()[:2]]

    def table(self) -> list[dict[str, Any]]:
        """The counts of all actors with events, a row for each actor and period."""
        from howsure.events.reported import NOTHING, band_dict

        layer, made = self.reported(), []
        listed = [code for code, _ in self.totals()]
        for code in [*listed, *(c for c in layer.totals if c not in listed)]:
            bands = {name: (n, band) for name, n, band in layer.periods.get(code, [])}
            for count in self.timeline(code):
                n, band = bands.get(count.period, (0, NOTHING))
                by_layer = {f"layer_{k}": v for k, v in band_dict(band).items()}
                made.append({"actor": code, "name": self.name(code), **count.to_dict(), "named": n} | by_layer)
        return made

    def save_tables(self, folder: str | Path) -> list[Path]:
        """Write the counts, events and documents as CSV, and a paragraph on methods; see `howsure.events.export`."""
        from howsure.events.export import save_tables

        return save_tables(self, folder)

    def as_file(self, suffix: str, actors: Sequence[str] = ()) -> bytes:
        """As of every result; a picture shows the actors named."""
        if suffix in PLOTS:
            from howsure.plots.vega import rendered

            return rendered(self.figure(actors), suffix)
        return Result.as_file(self, suffix) or b"actor,name,period\n"

    def to_dict(self, actors: Sequence[str] | None = None, every: str | None = None) -> dict[str, Any]:
        """Everything that is printed: totals, and the timelines of the named actors (by default, of all with events)."""
        totals, actors = self.totals(), actors or self.shown
        chosen = [self.code(a) for a in actors] if actors else [code for code, _ in totals]
        made: dict[str, Any] = {
            "verdict": self.verdict,
            "manifest": self.manifest,
            "every": every or self.every,
            "totals": [
                {"actor": c, "name": self.name(c), "mean": law.mean, "sd": law.sd}
                | dict(zip(("low95", "high95"), law.interval(0.95), strict=True), best=self.best(c))
                for c, law in totals
            ],
            "layer": self.reported(every).to_dict(),
            "directed": [{"agent": a, "patient": b, "documents": n} for a, b, n in self.directed()[:50]],
            "funnel": [{"step": s.name, "documents": s.n, "lost": s.lost} for s in self.funnel()[0]],
            "timelines": {c: [count.to_dict() for count in self.timeline(c, every)] for c in chosen},
        }
        if actors and len(chosen) == 2:
            law = self.compare_all(*chosen)
            found = {"p_more": law.above(0), "p_fewer": float(1.0 - law.above(-1))}
            periods = [p.to_dict() for p in self.compare(chosen[0], chosen[1], every)]
            made["comparison"] = dict(zip("ab", chosen, strict=True)) | found | {"periods": periods}
        return made

    to_text = drawn_by("howsure.report.text.exploration.exploration_text")
    figure = drawn_by("howsure.plots.timelines.exploration_figure")


def _law(hits: Sequence[Hit]) -> CountLaw:
    return over_time.document_count(np.array([h.probability for h in hits if h.date is not None]))

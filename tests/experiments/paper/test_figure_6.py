"""Figure 6: comparisons by enumeration, coverage by hand, findings as functions of the cells."""

from datetime import date
from itertools import product

import numpy as np
import pytest

import howsure
from howsure.events.timeline import document_count
from howsure.experiments import explored
from howsure.experiments.paper import figure_6
from howsure.experiments.paper.figure_6 import Cell, between_actors, cells, over_time
from howsure.experiments.registry import Work

MONTHS = [date(1989, m, 1) for m in (1, 2, 3)]


@pytest.fixture(scope="module")
def stories():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HOWSURE_DATA", raising=False)
        return howsure.reproduce("figure-6", quick=True)


def cell(actor, start, p, best, entities=0.0):
    return Cell(actor, start, document_count(np.array(p)), best, entities)


def more(p, q):
    """P(more of p than of q come true), over all outcomes."""
    total = 0.0
    for xs in product([0, 1], repeat=len(p)):
        for ys in product([0, 1], repeat=len(q)):
            chance = np.prod([a if x else 1 - a for x, a in zip(xs, p, strict=True)])
            chance *= np.prod([a if y else 1 - a for y, a in zip(ys, q, strict=True)])
            total += chance * (sum(xs) > sum(ys))
    return total


def test_changes_by_enumeration():
    p, q, r = [0.9, 0.5], [0.99, 0.9, 0.5], [0.1]
    laid = [cell("A", s, x, b) for s, x, b in zip(MONTHS, (p, q, r), (1, 3, 0), strict=True)]
    sure = [more(q, p) >= 0.95, more(q, r) >= 0.95]
    assert sure == [False, True]
    made = over_time(laid)
    assert (made.n, made.sure) == (2, 1)
    assert over_time([*laid, cell("B", MONTHS[0], p, 1)]) == made  # another actor is another line
    assert over_time([cell("A", s, p, 1) for s in MONTHS]).n == 0


def test_two_actors():
    laid = [cell("A", MONTHS[0], [1.0, 1.0], 2), cell("B", MONTHS[0], [0.6], 1), cell("C", MONTHS[0], [0.4], 0)]
    made = between_actors(laid)
    assert (made.n, made.sure, made.overlapping) == (3, 2, 1)  # A beats both; B and C overlap
    # Sure although the intervals overlap: six of 0.6 against one of 0.5.
    near = between_actors([cell("A", MONTHS[0], [0.6] * 6, 4), cell("B", MONTHS[0], [0.5], 0)])
    assert (near.n, near.overlapping) == (1, 1)
    assert near.sure == near.sure_overlapping == (more([0.6] * 6, [0.5]) >= 0.95)


def test_cells_are_those_of_the_exploration():
    found = howsure.explore()
    laid = cells(found, "quarter")
    for actor, law in found.totals():
        assert sum(c.law.mean for c in laid if c.actor == actor) == pytest.approx(law.mean)
        one_best = [c.best for c in laid if c.actor == actor]
        assert one_best == [c.best for c in found.timeline(actor, "quarter")]
        means = [c.entities for c in laid if c.actor == actor]
        assert means == pytest.approx([c.entities_mean for c in found.timeline(actor, "quarter")])


def test_stories_without_data(stories):
    assert "made up" in stories.data
    assert {f.verdict for f in stories.findings} <= {"confirmed", "extended", "differs", "not tested"}
    assert [f.name for f in stories.figures] == ["6a"]
    assert any("not the world" in n for n in stories.notes)
    widths = next(f for f in stories.findings if "narrow" in f.claim).numbers
    assert widths["sharpened"] < widths["as_is"] < widths["flattened"]


def test_normal_interval_by_the_law():
    found = figure_6.normal([cell("A", MONTHS[0], [0.1], 0), cell("A", MONTHS[1], [1.0] * 3, 3)])
    # One document of 0.1: m ± 1.96 s is -0.49 to 0.69 and holds 0 alone, 90% of the law.
    assert found.numbers == {"counts": 2, "below_zero": 1, "short": 1, "least_mass": pytest.approx(0.9)}
    assert found.verdict == "extended"


def test_findings_follow_the_cells():
    certain = [cell("A", s, [1.0] * n, n, float(n)) for s, n in zip(MONTHS, (1, 4, 2), strict=True)]
    assert figure_6.unreal({"attack": over_time(certain)}, "month").verdict == "differs"
    doubtful = [cell("A", s, [0.5] * n, n, 9.0 - n) for s, n in zip(MONTHS, (1, 3, 2), strict=True)]
    assert figure_6.unreal({"attack": over_time(doubtful)}, "month").verdict == "confirmed"
    assert figure_6.unreal({"attack": over_time([])}, "month").verdict == "not tested"
    assert figure_6.entities(certain).verdict == "confirmed"
    assert figure_6.entities(doubtful).verdict == "differs"
    assert figure_6.few_samples(doubtful, doubtful).numbers["relative_rms"] == 0
    moved = [cell("A", c.start, [1.0] * (len(c.law.probabilities) - 1), 0) for c in doubtful]
    assert figure_6.few_samples(doubtful, moved).verdict == "differs"
    assert figure_6.narrow(doubtful, certain, doubtful).verdict == "differs"


MESSAGE = """<html><head><meta name="DC.date" content="1989-0{month}-11"/><meta name="DC.identifier" content="{id}"/></head>
<body><p>{text}</p></body></html>
"""
KEY = """0.  MESSAGE: ID                     {id}
1.  MESSAGE: TEMPLATE               1{optional}
4.  INCIDENT: TYPE                  {kind}
10. PERP: ORGANIZATION ID           "FMLN"
"""


@pytest.fixture
def muc(tmp_path, monkeypatch):
    """Four messages: one attack found and in the keys, one not in them, one in them alone, one optional."""
    texts, keys = tmp_path / "muc" / "texts", tmp_path / "muc" / "keys"
    texts.mkdir(parents=True)
    keys.mkdir()
    said = "The FMLN attacked the bridge near the river."
    for number, text in enumerate((said, said, "Nothing happened on the hill.", said), 1):
        name = f"DEV-MUC3-000{number}"
        (texts / f"{name}.xhtml").write_text(MESSAGE.format(id=name, month=number, text=text))
    rows = [(1, "ATTACK", ""), (3, "BOMBING", ""), (4, "ATTACK", " (OPTIONAL)"), (2, "KIDNAPPING", "")]
    made = [KEY.format(id=f"DEV-MUC3-000{n}", kind=kind, optional=o) for n, kind, o in rows]
    (keys / "key-dev-0001.muc4").write_text("\n".join(made))
    monkeypatch.setenv("HOWSURE_DATA", str(tmp_path))
    return tmp_path


def test_gold_of_muc(muc):
    required, optional = explored.gold_pairs("attack")
    assert required == {("DEV-MUC3-0001", "FMLN"), ("DEV-MUC3-0003", "FMLN")}
    assert optional == {("DEV-MUC3-0004", "FMLN")}
    assert ("DEV-MUC3-0002", "FMLN") in explored.gold_pairs("violence")[0]


def test_coverage_of_muc(muc, tmp_path):
    made = howsure.reproduce("figure-6", out=tmp_path / "out")
    assert made.data == "MUC-3 and MUC-4"
    found = next(f for f in made.findings if "what people count" in f.claim).numbers
    # Attack: months 1 (gold, found), 2 (found only) and 3 (gold only); reachable: months 1 and 2. Month 4 is optional.
    assert (found["attack_cells"], found["attack_held"]) == (3, 1)
    assert (found["attack_reachable_cells"], found["attack_reachable_held"]) == (2, 1)
    assert howsure.reproduce("figure-6", out=tmp_path / "out").cached
    analysed = howsure.reproduce("section-6.2", out=tmp_path / "out")
    errors = {r[:2]: r[2:] for r in next(t for t in analysed.tables if t.name == "errors").rows}
    assert errors["attack", "0.95 – 1"][0] == 2
    assert errors["attack", "0.95 – 1"][1].startswith("0.50 [")


def test_no_coverage_where_nothing_is_found(muc):
    for path in (muc / "muc" / "texts").glob("*.xhtml"):
        if not path.stem.endswith("3"):
            path.unlink()
    made = howsure.reproduce("figure-6", quick=True)
    assert not [f for f in made.findings if "what people count" in f.claim]


def test_interrupted_explorations_go_on(monkeypatch, tmp_path):
    monkeypatch.delenv("HOWSURE_DATA", raising=False)
    asked = {"data": "", "data_fingerprint": "", "limit": None}
    first = explored.explored(Work(folder=tmp_path), asked, "attack")
    stamp = (first.folder / "events.parquet").stat().st_mtime_ns
    again = explored.explored(Work(folder=tmp_path), asked, "attack")
    assert again.folder == first.folder
    assert (again.folder / "events.parquet").stat().st_mtime_ns == stamp
    assert explored.explored(Work(folder=tmp_path), asked, "attack", temperature=2.0).folder != first.folder


def test_actors_are_limited():
    many = [cell(f"A{i}", MONTHS[0], [0.5], i) for i in range(9)]
    assert between_actors(many).n == figure_6.ACTORS * (figure_6.ACTORS - 1) // 2

"""The error analysis: doubts read off chains by hand, errors by counting."""

from dataclasses import replace
from datetime import date

import pytest

import howsure
from howsure.events.storage import read_table
from howsure.experiments.explored import Pair, proposed_pairs
from howsure.experiments.paper.section_6_2 import KINDS, Doubt, doubts, findings, near, ranges

DAY = date(1989, 1, 1)


def pair(document, p, best, gold):
    return Pair(document, "A", DAY, p, best, gold)


def test_errors_by_range():
    pairs = [
        pair("a", 0.5, True, False),
        pair("b", 0.4, False, False),
        pair("c", 1.0, True, True),
        pair("d", 0.01, False, True),
    ]
    made = {(r.low, r.high): r for r in ranges(pairs)}
    assert [r.n for r in made.values()] == [1, 0, 2, 0, 1]
    assert made[0.25, 0.75].wrong.value == 0.5
    assert made[0.95, 1.0].wrong.value == 0
    assert made[0.0, 0.05].wrong.value == 1
    assert made[0.05, 0.25].wrong is None


def test_doubts_of_the_stories():
    found = howsure.explore()
    made = doubts(found)
    known = {(p.document, p.actor): p.probability for p in proposed_pairs(found)}
    assert {(d.document, d.actor): d.probability for d in made}.items() <= known.items()
    assert [abs(d.probability - 0.5) for d in made] == sorted(abs(d.probability - 0.5) for d in made)
    first = next(d for d in made if (d.document, d.actor) == ("story-01", "VAL"))
    # “They attacked a border post”, after “Valdorian troops” in the sentence before.
    assert (first.pronoun, first.links, first.sentences) == (True, 1, 1)
    chain = next(c for c in read_table(found.folder, "chains") if (c["id"], c["actor"]) == ("story-01", "VAL"))
    assert first.hinge == pytest.approx(chain["with_link"] - chain["without_link"])
    third = next(d for d in made if (d.document, d.actor) == ("story-03", "TAR"))  # “A Tarquian patrol boat attacked”
    assert (third.pronoun, third.links, third.hinge, third.sentences) == (False, 0, 0.0, 0)
    assert len(third.kinds) == len(KINDS)


def test_no_text_is_kept():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HOWSURE_DATA", raising=False)
        made = howsure.reproduce("section-6.2")
    assert made.findings[0].verdict == "not tested"
    assert made.figures == ()
    words = str(made.to_dict())
    assert "patrol boat" not in words
    nearest = made.tables[-1].rows
    assert all(abs(float(r[3]) - 0.5) <= 0.25 for r in nearest)
    assert len(nearest) > 3


def test_findings_follow_the_answers():
    linked = Doubt("a", "A", 0.5, True, 1, 0.9, 3, 1)
    named = replace(linked, probability=1.0, pronoun=False, links=0, hinge=0.0, rivals=0)
    made = findings([linked, linked, named], {})
    assert [f.verdict for f in made] == ["not tested", "confirmed", "confirmed"]
    turned = findings([replace(named, probability=0.5), replace(linked, probability=1.0)], {})
    assert [f.verdict for f in turned][1:] == ["differs", "differs"]
    assert near(linked)
    assert not near(named)
    middle = [pair(f"m{i}", 0.5, True, i % 2 == 0) for i in range(40)]
    sure = [pair(f"s{i}", 1.0, True, True) for i in range(60)] + [pair(f"n{i}", 0.01, False, False) for i in range(60)]
    assert "wrong more often than on either side" in findings([linked], {"attack": ranges(middle + sure)})[0].said
    wrong = [replace(p, gold=not p.gold) if p.probability == 1 else p for p in sure]
    found = findings([linked], {"attack": ranges(middle + wrong)})[0]
    assert found.verdict == "extended"
    assert "not clearly more often than where there surely is one" in found.said
    assert found.numbers["wrong_sure_yes"] == 1.0

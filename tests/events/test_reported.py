"""What documents report: labels move the layer, those outside the frame are said, and the funnel adds up."""

import csv
import io
import itertools
import shutil

import numpy as np
import pyarrow as pa
import pytest

import howsure
from howsure.events.exploration import Exploration
from howsure.events.frame import FEATURES
from howsure.events.reported import label_files, read_labels
from howsure.events.storage import read_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("reported") / "r"
    howsure.explore(coref="simple", out=made, every="year")
    return made


def labelled(folder, target, code, labels):
    shutil.copytree(folder, target)
    file = io.StringIO(newline="")
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("id", "label", "annotator", "stratum", "inclusion", "time"))
    rows.writerows((i, int(y), "1", "", "0.5", "") for i, y in labels.items())
    (target / f"labels-{code}-0.csv").write_text(file.getvalue(), encoding="utf-8")
    return Exploration.open(target)


def test_the_frame_is_every_document_and_actor_that_it_names(folder):
    frame = read_table(folder, "frame")
    assert {(r["id"], r["actor"]) for r in read_table(folder, "events")} <= {(r["id"], r["actor"]) for r in frame}
    at_found = list(FEATURES).index("found")
    assert any(r["features"][at_found] == 0 for r in frame)  # nothing found is in it too
    assert all(len(r["features"]) == len(FEATURES) for r in frame)


def test_without_labels_the_first_lines_say_so(folder):
    found = Exploration.open(folder)
    assert found.to_text().startswith("No label has checked these numbers.")
    layer = found.reported()
    for code, total in layer.totals.items():
        assert total.mean == pytest.approx(sum(b.mean for _, _, b in layer.periods[code]))
        assert sum(n for _, n, _ in layer.periods[code]) == sum(c == code for c in layer.codes)


def test_labels_are_known_and_move_the_others(folder, tmp_path):
    frame = [r["id"] for r in read_table(folder, "frame") if r["actor"] == "VAL"]
    found = labelled(folder, tmp_path / "r", "VAL", dict.fromkeys(frame, True) | {"not-there": True})
    layer = found.reported()
    assert layer.layer.n_labels == len(frame)
    assert layer.n_outside == 1
    assert "do not name the actor" in layer.checked
    assert layer.totals["VAL"].intervals[0.95] == (len(frame), len(frame))
    before = Exploration.open(folder).reported().totals
    assert layer.totals["KES"].mean > before["KES"].mean
    assert layer.calibration is None or layer.calibration["observed"] == 1.0


def test_labels_of_an_actor_whose_code_begins_alike_are_not_its_own(tmp_path):
    for code in ("north", "north-east"):
        (tmp_path / f"labels-{code}-0.csv").write_text("id,label\na,1\n")
    assert [p.name for p in label_files(tmp_path, "north")] == ["labels-north-0.csv"]
    assert read_labels(tmp_path, ["north east"]) == {("a", "north east"): True}


def test_the_funnel_loses_and_never_gains(folder):
    steps, _ = Exploration.open(folder).funnel()
    assert all(a.n >= b.n for a, b in itertools.pairwise(steps))
    assert steps[0].n == 60


def test_documents_without_dates_are_said_and_nothing_is_lost(tmp_path):
    pytest.importorskip("spacy")
    table = pa.table({"text": ["Iraq attacked Iran.", "Iran bought wheat."], "date": ["never", "never"]})
    found = howsure.explore(table, verbs="attacked", out=tmp_path / "r", jobs=1, cache=False)
    assert len(read_table(tmp_path / "r", "frame")) == 3
    assert found.reported().totals == {}
    said = found.to_text()
    assert "No document with a date names an actor." in said
    again = howsure.explore(table, out=tmp_path / "s", jobs=1, cache=False)
    assert again.verdict == 'No agents of "attack" among the actors in a document with a date: 2 documents (2 undated).'
    assert again.funnel()[0][-1].lost == "an agent, and p below ½ or no date"
    assert "attacked is not the lemma of a verb; attack is." in said


def test_an_agent_of_two_actors_counts_for_both(tmp_path):
    pytest.importorskip("spacy")
    table = pa.table({"text": ["Kuwait was attacked by Iraqi and Jordanian troops."], "date": ["1987-01-01"]})
    found = howsure.explore(table, out=tmp_path / "r", jobs=1, cache=False)
    assert {code: law.mean for code, law in found.totals()} == {"IRQ": 1.0, "JOR": 1.0}
    assert found.directed() == [("IRQ", "KWT", 1), ("JOR", "KWT", 1)]


def test_patients_are_counted_in_the_place_of_agents(tmp_path):
    pytest.importorskip("spacy")
    table = pa.table({"text": ["Iraq attacked Iran on Monday."], "date": ["1987-01-01"]})
    found = howsure.explore(table, patients=True, out=tmp_path / "r", jobs=1, cache=False)
    assert [code for code, _ in found.totals()] == ["IRN"]
    assert found.directed() == [("IRQ", "IRN", 1)]
    assert np.isclose(found.total("IRN").mean, 1.0, atol=0.05)

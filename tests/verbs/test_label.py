"""`howsure label`: answers kept, undone and resumed; several people; a page that takes answers from nobody else."""

import http.client
import io
import json
import threading

import numpy as np
import pyarrow as pa
import pytest

import howsure
from howsure.cli.application import run
from howsure.counting.answers import Answers, Item
from howsure.errors import InputError
from howsure.events.storage import read_table
from howsure.verbs.label import Labelling, label_page


def drawn(folder, n=12):
    rng = np.random.default_rng(4)
    p = rng.beta(0.5, 2, 500)
    items = pa.table({"id": [f"i{i}" for i in range(500)], "p": p, "text": [f"<b>text {i}</b>" for i in range(500)]})
    path = folder / "to-label.csv"
    howsure.to_label(items, n, prob="p", key="id", out=str(path))
    return items, path


ITEMS = [Item(f"d{i}", f"text {i}", stratum="a", inclusion="0.5") for i in range(3)]


def test_answers_are_kept_undone_and_resumed(tmp_path):
    path = tmp_path / "labels.csv"
    answers = Answers(path, "id", ITEMS)
    answers.answer(ITEMS[0], True)
    answers.answer(ITEMS[1], False)
    assert answers.undo() == ITEMS[1]
    again = Answers(path, "id", ITEMS)
    assert again.given == {"d0": True}
    assert again.left() == ITEMS[1:]
    assert path.read_text().splitlines()[0] == "id,label,annotator,stratum,inclusion,time"
    assert path.read_text().splitlines()[1].startswith("d0,1,1,a,0.5,")
    assert again.undo() == ITEMS[0]
    assert again.undo() is None
    again.answer(ITEMS[2], True)
    again.answer(ITEMS[2], False)  # another answer to the same item replaces the first
    assert Answers(path, "id", ITEMS).given == {"d2": False}


def test_a_file_of_something_else_is_not_touched(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("nonsense\n1\n")
    with pytest.raises(InputError, match="not a file of answers"):
        Answers(path, "id", ITEMS)
    assert path.read_text() == "nonsense\n1\n"


def test_two_people_share_a_file_and_lose_nothing(tmp_path):
    path = tmp_path / "labels.csv"
    many = [Item(f"d{i}", "") for i in range(25)]

    def work(who):
        answers = Answers(path, "id", many, who)
        for item in many:
            answers.answer(item, who == "mia")

    threads = [threading.Thread(target=work, args=(who,)) for who in ("mia", "tom")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    found = Answers(path, "id", many, "eve")
    assert {who: len(given) for who, given in found.everyone().items()} == {"mia": 25, "tom": 25}
    assert found.settled() == {}
    assert len(found.left()) == 25


def test_labels_of_a_drawn_table_are_counted(tmp_path, monkeypatch, capsys):
    items, path = drawn(tmp_path)
    out = str(tmp_path / "labels.csv")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\nn\nu\nn\ns\nx\nn\n" + "n\n" * 9))
    assert run(["label", str(path), "--text", "text", "-o", out]) == 0
    said = capsys.readouterr()
    assert "11 of 12 items labelled, 1 yes" in said.out
    assert "Is this positive? [y/n/u/s/q]" in said.err
    assert "0." not in said.err.split("Is this positive?")[0]  # the model's probability would sway the answer
    made = howsure.count(items, prob="p", labels=out, key="id")
    assert (made.n_labels, made.n_positive, made.design) == (11, 1, "known inclusion probabilities")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert run(["label", str(path), "--text", "text", "-o", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_labelled"] == 12


def test_several_people_agree_at_the_end(tmp_path, monkeypatch, capsys):
    _, path = drawn(tmp_path)
    out = str(tmp_path / "labels.csv")
    for who, replies in (("mia", "y\n" * 6 + "n\n" * 6), ("tom", "y\n" * 5 + "n\n" * 7)):
        monkeypatch.setattr("sys.stdin", io.StringIO(replies))
        assert run(["label", str(path), "-o", out, "--annotator", who]) == 0
    said = capsys.readouterr().out
    assert "12 of 12 items labelled, 5 yes; 1 with as many yes as no, to be decided." in said
    assert "mia" in said
    assert "κ" in said or "kappa" in said.lower()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "name the file to keep the answers in"),
        (["-o", "x.csv", "--text", "nothing"], "has no column `nothing`"),
        (["-o", "x.csv", "--key", "nothing"], "has no column `nothing`"),
        (["-o", "x.csv", "--actor", "IRQ"], "belongs to a folder"),
        (["-o", "x.csv", "--annotator", " "], "must be a name"),
    ],
)
def test_bad_options_are_one_line(tmp_path, monkeypatch, capsys, options, said):
    _, path = drawn(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert run(["label", str(path), *options]) == 2
    assert said in capsys.readouterr().err


def test_the_answers_never_replace_the_items(tmp_path, capsys):
    _, path = drawn(tmp_path)
    before = path.read_bytes()
    assert run(["label", str(path), "-o", str(path)]) == 2
    assert "it is the input" in capsys.readouterr().err
    assert path.read_bytes() == before


# -- the page --------------------------------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path):
    _, path = drawn(tmp_path)
    made = label_page(Labelling(str(path), out=tmp_path / "labels.csv", question="Is <i>this</i> spam?"), port=0)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def ask(server, body=None, path="/answer", **headers):
    connection = http.client.HTTPConnection(*server.server_address, timeout=20)
    data = None if body is None else json.dumps(body)
    given = {"Host": server.hosts[0]} | ({} if body is None else {"X-Token": server.token}) | headers
    connection.request("GET" if body is None else "POST", path, data, given)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    return answer.status, said


def test_the_page_answers_skips_and_undoes(server):
    status, page = ask(server, path="/")
    assert status == 200
    assert b"Is &lt;i&gt;this&lt;/i&gt; spam?" in page
    state = json.loads(ask(server, {"what": "state"})[1])
    first = state["item"]["key"]
    assert state["item"]["text"].startswith("<b>text")
    second = json.loads(ask(server, {"what": "yes", "key": first})[1])
    assert (second["done"], second["yes"]) == (1, 1)
    third = json.loads(ask(server, {"what": "skip", "key": second["item"]["key"]})[1])
    assert third["skipped"] == 1
    assert third["item"]["key"] not in (first, second["item"]["key"])
    assert json.loads(ask(server, {"what": "again"})[1])["item"]["key"] == second["item"]["key"]
    assert json.loads(ask(server, {"what": "undo"})[1])["item"]["key"] == first
    assert server.answers.given == {}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Token": "guessed"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_nobody_else_answers(server, headers, status):
    key = json.loads(ask(server, {"what": "state"})[1])["item"]["key"]
    assert ask(server, {"what": "yes", "key": key}, **headers)[0] == status
    assert server.answers.given == {}


def test_requests_that_make_no_sense_are_refused(server):
    assert ask(server, {"what": "yes", "key": "nobody"})[0] == 400
    assert ask(server, {"what": "dance", "key": server.answers.items[0].key})[0] == 400
    assert ask(server, ["yes"])[0] == 400
    assert ask(server, {"what": "x" * 20_000})[0] == 413
    assert ask(server, {"what": "yes"}, path="/other")[0] == 404
    assert ask(server, path="/other")[0] == 404


@pytest.mark.browser
def test_texts_are_text_and_keys_answer(server, chromium):
    page = chromium.new_page()
    trouble = []
    page.on("pageerror", lambda e: trouble.append(str(e)))
    page.goto(server.address)
    page.locator("#text", has_text="<b>text").wait_for()
    assert page.locator("#text b").count() == 0
    page.keyboard.press("y")
    page.locator("#progress", has_text="1 of 12 labelled, 1 yes").wait_for()
    page.keyboard.press("n")
    page.locator("#progress", has_text="2 of 12 labelled, 1 yes").wait_for()
    page.click("#undo")
    page.locator("#progress", has_text="1 of 12 labelled").wait_for()
    assert trouble == []
    page.close()


# -- documents of an exploration -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "stories"
    howsure.explore(coref="simple", out=folder)
    return folder


def naming(results, code):
    """How many documents name the actor: those are drawn from."""
    return sum(r["actor"] == code for r in read_table(results, "frame", ["actor"]))


def test_documents_are_drawn_by_design_and_counted(results, tmp_path):
    n = naming(results, "VAL")
    assert 12 < n < 60
    session = Labelling(results, actor="VAL", limit=12, out=tmp_path / "labels.csv")
    again = Labelling(results, actor="VAL", limit=12, out=tmp_path / "labels.csv")
    assert session.answers.items == again.answers.items
    assert (
        Labelling(results, actor="VAL", limit=12, rng=1, out=tmp_path / "x.csv").answers.items != session.answers.items
    )
    assert "Valdoria" in session.question
    for i, item in enumerate(session.answers.items):
        session.answers.answer(item, i % 3 == 0)
    made = session.result()
    assert (made.n_labelled, made.counts.n_labels, made.counts.n_items) == (12, 12, n)
    # What the labels stand for adds up to all documents of their stratum.
    weights = {}
    for item in session.answers.items:
        weights.setdefault(item.stratum, []).append(1 / float(item.inclusion))
    assert sum(map(sum, weights.values())) == pytest.approx(n)


def test_all_documents_labelled_is_the_truth(results, tmp_path):
    n = naming(results, "VAL")
    session = Labelling(results, actor="VAL", limit=60, out=tmp_path / "labels.csv")
    for i, item in enumerate(session.answers.items):
        session.answers.answer(item, i % 3 == 0)
    counts = session.result().counts
    yes = -(-n // 3)
    assert (counts.count.low, counts.count.value, counts.count.high) == pytest.approx((yes, yes, yes))

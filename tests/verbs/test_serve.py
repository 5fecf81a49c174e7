"""`howsure serve`: the page's documents, and nothing for anyone who has no business here."""

import http.client
import json
import shutil
import socket
import struct
import threading
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.cli.application import run
from howsure.engines.result_documents import ResultDocuments, RowGroups
from howsure.events.storage import read_table


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    howsure.explore(out=folder / "results")
    return folder / "results"


@pytest.fixture(scope="module")
def server(results):
    made = howsure.serve(results, port=0)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def ask(server):
    def send(path, method="GET", host=None, **headers):
        connection = http.client.HTTPConnection(*server.server_address, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or server.hosts[0])
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    return send


def test_the_page_and_its_documents(ask, results):
    answer, body = ask("/")
    assert answer.status == 200
    assert body.startswith(b"<!doctype html>")
    assert b"connect-src &#39;self&#39;" in body
    assert b"Night raid" in body  # titles travel with the page
    assert b"lost nine men" not in body  # texts do not
    rows = [d["id"] for d in read_table(results, "documents", ["id"])]
    answer, body = ask(f"/document?row={rows.index('story-19')}")
    document = json.loads(body)
    assert document["id"] == "story-19"
    assert document["text"].endswith("Valdoria said it lost none.")
    start, end = document["chains"][0]["agent"]
    assert document["text"][start:end] == "It"
    answer, body = ask("/documents?rows=0,18")
    assert set(json.loads(body)) == {"0", "18"}
    assert json.loads(body)["18"]["snippets"]["VAL"] == "It attacked a fuel depot and set it on fire."
    answer, body = ask("/search?q=LOST%20nine")
    assert json.loads(body) == [18]


def test_headers_keep_others_out(ask):
    answer, _ = ask("/")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/documents?rows=0", "/document?row=0", "/search?q=a"])
@pytest.mark.parametrize("host", ["", "evil.example", "evil.example:8015", "127.0.0.1.evil.example", "127.0.0.1"])
def test_other_hosts_are_refused(ask, path, host):
    answer, body = ask(path, host=host)
    assert answer.status == 421
    assert len(body) < 100


def test_two_hosts_are_refused(ask, server):
    answer, _ = ask("/", **{"HOST": "evil.example"})
    assert answer.status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},  # another port of this machine
    ],
)
def test_other_sites_are_refused(ask, headers):
    for path in ("/", "/document?row=0"):
        assert ask(path, **headers)[0].status == 403


def test_its_own_page_is_not(ask, server):
    own = {"Origin": server.address.rstrip("/"), "Sec_Fetch_Site": "same-origin"}
    assert ask("/document?row=0", **own)[0].status == 200
    assert ask("/", host=f"localhost:{server.server_address[1]}", Sec_Fetch_Site="none")[0].status == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/../../etc/passwd", 404),
        ("/manifest.json", 404),
        ("/document", 400),
        ("/document?row=-1", 400),
        ("/document?row=1)%20OR%20(1=1", 400),
        ("/document?row=999999", 404),
        ("/document?row=1", 404),  # a document without an event is not on the page
        ("/documents?rows=" + ",".join(["1"] * 501), 400),
    ],
)
def test_what_is_not_there(ask, path, status):
    assert ask(path)[0].status == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(ask, method):
    assert ask("/", method=method)[0].status == 501


def test_head_has_no_body(ask):
    answer, body = ask("/", method="HEAD")
    assert answer.status == 200
    assert body == b""


def test_it_listens_on_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"


def test_ports_that_cannot_be(results, server):
    with pytest.raises(howsure.InputError, match="from 0 to 65535"):
        howsure.serve(results, port=70_000)
    with pytest.raises(howsure.InputError, match=r"cannot listen on 127\.0\.0\.1"):
        howsure.serve(results, port=server.server_address[1])


def test_search_takes_wildcards_and_quotes_as_they_are(results):
    documents = ResultDocuments(results)
    assert documents.search("%") == []
    assert documents.search("'; DROP TABLE documents; --") == []
    assert len(documents.search("attack")) > 10
    documents.close()


def test_pages_are_those_of_the_tables(results):
    """Rows read by number against those of the whole tables."""
    table = read_table(results, "documents")
    chains = read_table(results, "chains")
    documents = ResultDocuments(results)
    page = documents.page([0, 19, 25])
    documents.close()
    assert sorted(page) == [0, 19, 25]
    for row, (document, of) in page.items():
        assert {n: document[n] for n in ("id", "date", "title", "text", "token_starts")} == {
            n: table[row][n] for n in ("id", "date", "title", "text", "token_starts")
        }
        assert isinstance(document["date"], date)
        assert of == [c for c in chains if c["id"] == document["id"]]


def test_commands_complain_in_one_line(tmp_path, capsys):
    for command in ("page", "serve"):
        assert run([command, str(tmp_path)]) == 2
        said = capsys.readouterr().err
        assert "holds no results of howsure explore" in said
        assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_page_says_what_it_wrote(results, tmp_path, capsys):
    out = tmp_path / "e.html"
    assert run(["page", str(results), "-o", str(out), "--actor", "Zandar", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"written": str(out), "bytes": out.stat().st_size}
    assert b"Admiral" in out.read_bytes()
    assert b"Sarn retaken" not in out.read_bytes()  # another actor's
    assert run(["page", str(results), "-o", str(out), "--actor", "Zandr"]) == 2
    assert "ZAN" in capsys.readouterr().err
    assert run(["page", str(results), "-o", str(tmp_path / "no" / "e.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_too_many_documents_for_one_file(results, monkeypatch):
    from howsure.exploring import page

    monkeypatch.setattr(page, "MOST_DOCUMENTS", 5)
    with pytest.raises(howsure.InputError, match=r"howsure\.serve"):
        howsure.page(results)


def test_results_that_are_damaged_while_they_are_served(results, tmp_path, capfd):
    folder = tmp_path / "results"
    shutil.copytree(results, folder)
    made = howsure.serve(folder, port=0)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        path = folder / "documents.parquet"
        path.write_bytes(b"\0" * path.stat().st_size)
        connection = http.client.HTTPConnection(*made.server_address, timeout=20)
        for _ in range(2):
            connection.request("GET", f"/document?row={min(made.rows)}")
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (500, b"The results cannot be read.\n")
        connection.request("GET", "/")  # the same connection serves on
        assert connection.getresponse().status == 200
        connection.close()
        with socket.create_connection(made.server_address) as hung_up:
            hung_up.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            hung_up.sendall(b"GET / HTT")
    finally:
        made.shutdown()
        thread.join()
        made.server_close()
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 2
    assert all(line.startswith("howsure: ") for line in said)


def test_rows_across_groups_of_rows(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(10))}), path, row_group_size=3)
    read = RowGroups(str(path))
    assert [r["a"] for r in read.rows(2, 8)] == [2, 3, 4, 5, 6, 7]
    assert [r["a"] for r in read.rows(9, 12)] == [9]
    assert read.rows(4, 4) == []
    read.close()

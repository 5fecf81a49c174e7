"""Dates, and the readers of Reuters and MUC on files of our own in their formats."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.corpora.dated import date_in_name, date_or_reason, parsed_date, usable, without_markup
from howsure.corpora.news import muc_keys, muc_texts, reuters_texts
from howsure.errors import InputError


@given(st.dates(date(1000, 1, 1)))
def test_every_day_is_read_in_every_way_it_is_written(day):
    named = f"{day.day}-{day.strftime('%b').upper()}-{day.year} 15:01:01.79"
    for written in (
        day.isoformat(),
        f"{day} 10:00",
        f"{day}T10:00Z",
        day.strftime("%Y%m%d"),
        day.strftime("%Y/%m/%d"),
        named,
    ):
        assert parsed_date(written) == day
    assert date_in_name(f"paper_{day.strftime('%Y_%m_%d')}_p2.txt") == (day, "")
    assert date_in_name(f"{day.strftime('%Y%m%d')}/a.txt") == (day, "")


@pytest.mark.parametrize("bad", ["03/04/1990", "1990", "May 1990", "1990-05", "soon", "199-05-01"])
def test_what_is_not_a_date_is_not_guessed(bad):
    with pytest.raises(InputError, match="is not a date; write YYYY-MM-DD"):
        parsed_date(bad)


def test_impossible_and_missing_dates_have_their_reasons():
    assert date_or_reason("1990-02-30") == (None, "there is no day '1990-02-30'.")
    assert date_or_reason("  ") == date_or_reason(None) == (None, "no date")
    assert date_in_name("a.txt") == (None, "no date in the name")
    assert date_in_name("1999-01-01-to-1999-01-02.txt")[1].startswith("several dates in the name")
    assert date_in_name("1999-13-01.txt")[1] == "there is no day '1999-13-01'."
    assert date_in_name("id-123456789012.txt") == (None, "no date in the name")


def test_markup_is_taken_off_and_text_with_a_sign_stays():
    html = "<html><head><style>p {}</style></head><body><p>One &lt;b&gt;</p><p>Two</p></body></html>"
    assert without_markup(html) == "One <b>\n\nTwo"
    assert not usable("a", "if a < b and b > c", None, "").was_html
    assert usable("a", "<html><script>only()</script></html>", None, "").failure == "HTML without any text"


REUTERS = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="NO" NEWID="7"><DATE> 1-MAR-1987 10:00:00.00</DATE>
<TEXT>&#2;<TITLE>TWO &lt;ABC> SHIPS</TITLE><DATELINE> PORT, March 1 - </DATELINE><BODY>A ship left the
harbour.
    It came back.
 Reuter
&#3;</BODY></TEXT></REUTERS>
<REUTERS NEWID="8"><DATE>32-MAR-1987</DATE><TEXT TYPE="BRIEF"><TITLE>A HEADLINE ALONE</TITLE></TEXT></REUTERS>
"""


def test_reuters(tmp_path):
    (tmp_path / "a.sgm").write_text(REUTERS)
    first, second = reuters_texts(tmp_path)
    assert (first.id, first.date, first.title) == ("reuters-00007", date(1987, 3, 1), "TWO <ABC> SHIPS")
    assert first.text == "A ship left the harbour.\n\nIt came back."
    assert second.text == "A HEADLINE ALONE"
    assert second.undated == "there is no day '32-MAR-1987'."
    (tmp_path / "b.sgm").write_text("something else")
    with pytest.raises(InputError, match=r"b.sgm holds no <REUTERS>"):
        list(reuters_texts(tmp_path))


MUC = (
    '<html><head><meta name="DC.identifier" content="X-1"/><meta name="DC.date" content="1990-01-03"/></head><body>'
    "<p>X-1 (NOSC)</p><p>PORT, 3 JAN 90 (RADIO) -- [REPORT] [TEXT] THE RED FRONT &amp; OTHERS CAME.</p><p>THEY LEFT.</p></body></html>"
)
KEY = """\

0.  MESSAGE: ID                     X-1 (SITE)
1.  MESSAGE: TEMPLATE               1 (OPTIONAL)
4.  INCIDENT: TYPE                  ATTACK
9.  PERP: INDIVIDUAL ID             "MEN"
10. PERP: ORGANIZATION ID           "RED FRONT" / "RF"
                                    "BLUE FRONT"
11. PERP: ORGANIZATION CONFIDENCE   REPORTED AS FACT: "RED FRONT"

;;; a remark

0.  MESSAGE: ID                     X-2 (SITE)
1.  MESSAGE: TEMPLATE               *
4.  INCIDENT: TYPE                  *
"""


def test_muc(tmp_path):
    (tmp_path / "a.xhtml").write_text(MUC)
    (tmp_path / "key-a").write_text(KEY)
    (only,) = muc_texts(tmp_path)
    assert (only.id, only.date) == ("X-1", date(1990, 1, 3))
    assert only.text == "THE RED FRONT & OTHERS CAME.\n\nTHEY LEFT."
    (tmp_path / "a.xhtml").write_text(MUC.replace("1990", "2011"))
    (late,) = muc_texts(tmp_path)
    assert (late.date, late.undated) == (None, "date outside 1987 to 1992")
    documents, (incident,) = muc_keys(tmp_path)
    assert documents == {"X-1", "X-2"}
    assert incident.organisations == (("RED FRONT", "RF"), ("BLUE FRONT",))
    assert (incident.type, incident.confidence, incident.optional) == ("ATTACK", "REPORTED AS FACT", True)


@pytest.mark.corpus
def test_all_of_muc_and_reuters_is_read(corpora):
    muc = list(muc_texts(corpora / "muc" / "texts"))
    assert (len(muc), sum(t.date is None for t in muc), sum(bool(t.failure) for t in muc)) == (
        1500,
        76,
        0,
    )  # one is dated 2011
    documents, incidents = muc_keys(corpora / "muc" / "keys")
    assert {t.id for t in muc} <= documents
    assert len(incidents) == 1305
    reuters = list(reuters_texts(corpora / "reuters"))
    assert (len(reuters), len({t.id for t in reuters}), sum(t.date is None for t in reuters)) == (19_986, 19_986, 0)

"""NITF on files of our own."""

import io
import tarfile
from datetime import date

import pytest

import howsure
from howsure.corpora.news import nitf_texts
from howsure.errors import InputError

ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nitf SYSTEM "http://nowhere.invalid/nitf.dtd">
<nitf>
  <head>
    <docdata>
      <doc-id id-string="{id}"/>
      <identified-content>
        <classifier class="online_producer" type="taxonomic_classifier">{section}</classifier>
        <classifier class="online_producer" type="descriptor">Top/News/World</classifier>
      </identified-content>
    </docdata>
    <pubdata date.publication="{day}T000000"/>
  </head>
  <body>
    <body.head><hedline><hl1>A &lt;quiet&gt; hill</hl1></hedline></body.head>
    <body.content>
      <block class="lead_paragraph"><p>Not twice.</p></block>
      <block class="full_text"><p>Norland's  troops came.</p><p>They attacked <em>the</em> hill.</p></block>
    </body.content>
  </body>
</nitf>
"""


def article(id="7", section="Top/News/World/Europe", day="19990517"):
    return ARTICLE.format(id=id, section=section, day=day)


def test_an_article(tmp_path):
    (tmp_path / "0007.xml").write_text(article())
    (only,) = nitf_texts(tmp_path)
    assert (only.id, only.date, only.title) == ("7", date(1999, 5, 17), "A <quiet> hill")
    assert only.text == "Norland's troops came.\n\nThey attacked the hill."


def test_sections_archives_and_damage(tmp_path):
    (tmp_path / "a.xml").write_text(article("1"))
    (tmp_path / "b.xml").write_text(article("2", "Top/News/Worldly"))
    (tmp_path / "c.xml").write_text(article("3", "Top/News/World", "19990230"))
    (tmp_path / "d.xml").write_text(article("4")[:300])
    with tarfile.open(tmp_path / "e.tgz", "w:gz") as archive:
        for name, text in (("05/9.xml", article("5")), ("05/readme.txt", "no")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    made = list(nitf_texts(tmp_path, "Top/News/World"))
    assert [t.id for t in made] == ["1", "3", "d", "5"]
    assert made[1].date is None
    assert "1999" in made[1].undated
    assert made[2].failure.startswith("not XML")
    (tmp_path / "e.tgz").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"e\.tgz cannot be read"):
        list(nitf_texts(tmp_path))
    with pytest.raises(InputError, match=r"no \.xml or \.tgz"):
        list(nitf_texts(tmp_path / "empty"))


def test_explore_reads_it(tmp_path):
    (tmp_path / "0007.xml").write_text(article().replace("Norland's", "French"))
    found = howsure.explore(tmp_path, coref="simple")
    assert found.manifest["n_documents"] == 1
    assert found.days == [date(1999, 5, 17)]

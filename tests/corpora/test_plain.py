"""Plain sentences of corpora, from files made here."""

from howsure.corpora.plain import brown_sentences, chunked_sentences, marks_apart, restaurant_utterances, speeches


def test_transcripts_lose_names_noises_and_broken_words(tmp_path):
    path = tmp_path / "transcript.txt"
    path.write_text("1_a okay [uh] i want <to> go . na- nakapan\n1_b [noise]\n1_c eleven a__m (maybe)\n")
    assert restaurant_utterances(path) == ["okay i want to go nakapan", "eleven a__m maybe"]


def test_tagged_and_chunked_files(tmp_path):
    (tmp_path / "ca01").write_text("\n\tThe/at fox/nn 1\\/2/cd\n\n\tA/at hen/nn\n")
    (tmp_path / "ca02").write_text("He/pps left/vbd\n")
    assert brown_sentences(tmp_path) == (["the fox 1\\/2", "a hen", "he left"], [0, 0, 1])
    (tmp_path / "train.txt").write_text("The DT B-NP\nfox NN I-NP\n\nIt PRP B-NP\n")
    (tmp_path / "test.txt").write_text("Left VBD B-VP\n")
    assert chunked_sentences(tmp_path) == ["the fox", "it", "left"]


def test_speeches_know_their_scene_and_play(tmp_path):
    scene = "<SCENE><SPEECH><SPEAKER>A</SPEAKER><LINE>Who is</LINE><LINE>there?</LINE></SPEECH><SPEECH><LINE/></SPEECH></SCENE>"
    (tmp_path / "one.xml").write_text(f"<PLAY><ACT>{scene}{scene}</ACT></PLAY>")
    (tmp_path / "two.xml").write_text(f"<PLAY><ACT>{scene}</ACT></PLAY>")
    assert speeches(tmp_path) == (["Who is there?"] * 3, [0, 1, 2], ["one", "one", "two"])
    assert marks_apart("Who's there?") == "who's there ?"

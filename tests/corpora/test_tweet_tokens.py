import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.corpora.tweet_tokens import labelled_by_emoticons, tweet_features, tweet_tokens, word_features

TWEETISH = st.text(st.sampled_from("ab:;=8xD)(-_^o<3>@#/.w!? '0é€&") | st.characters(codec="utf-8"), max_size=40)


@given(TWEETISH)
def test_tokens_are_all_of_the_tweet_but_the_spaces(text):
    assert "".join(tweet_tokens(text)) == "".join(text.split())


@given(TWEETISH)
def test_features_are_never_empty(text):
    for feature in tweet_features(text) + word_features(text):
        assert feature.strip()


@pytest.mark.parametrize(
    "whole",
    [
        *(":)", ":-)", ":(", ":'(", ";P", ":D", "xD", "(:", "D:", "=]", "^_^", "o_O", "<3", "</3", ":)))"),
        *("@anna", "#monday", "http://t.co/a1?b=2", "www.x.org/a", "bit.ly/x", "me@x.org", "5:30pm", "10,000", "$5.99"),
        *("U.S.", "it's", "rock&roll", "sooooo", "...", "!!!", "->", "50%", "1st"),
    ],
)
def test_stays_whole(whole):
    assert tweet_tokens(f"so {whole} then") == ["so", whole, "then"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("lol:)", ["lol", ":)"]),
        ("(see http://x.org/a).", ["(", "see", "http://x.org/a", ")", "."]),
        ("10:30:00", ["10:30:00"]),
        ("note:do", ["note", ":", "do"]),
        ("", []),
    ],
)
def test_comes_apart(text, tokens):
    assert tweet_tokens(text) == tokens


def test_features_name_people_and_addresses_alike_and_shorten_runs():
    assert tweet_features("@a @b www.x.org a@x.org SOOOOOO :D") == [
        *("@someone", "@someone", "<address>", "<mail>", "sooo", ":D")
    ]


def test_the_emoticon_trick_takes_the_smiley_away():
    labels, texts = labelled_by_emoticons(["fine :) thanks", ":-))", "no :(", "yes :)"])
    assert labels == [1, 1, 0, 1]
    assert texts == ["fine thanks", "", "no :(", "yes"]

"""Links without training: none, and by matching heads."""

import numpy as np

from howsure.events.baselines import no_links, simple_links
from howsure.exploring.corpus import stories
from howsure.models.coreference.mentions import detect_mentions


def test_every_posterior_is_one_and_none_links_nothing():
    for text in stories():
        mentions = detect_mentions(text.document)
        simple = simple_links(text.document, mentions)
        assert np.allclose(np.asarray(simple.antecedents).sum(axis=1) + simple.new, 1.0)
        alone = no_links(text.document, mentions)
        assert (alone.new == 1.0).all()
        assert simple.name == alone.name == text.id


def test_a_name_is_linked_to_itself_and_a_plural_pronoun_to_a_plural():
    first = next(iter(stories())).document  # troops … They … Kessia … Kessia
    mentions = detect_mentions(first)
    words = [" ".join(first.words[m.start : m.end]) for m in mentions]
    pairs = simple_links(first, mentions).pairs()
    kessia = [i for i, w in enumerate(words) if w == "Kessia"]
    they = words.index("They")
    troops = next(i for i, w in enumerate(words) if w.startswith("Valdorian troops"))
    assert pairs[kessia[0], kessia[1]] > 0.5
    assert pairs[they, troops] > pairs[they, kessia[0]]

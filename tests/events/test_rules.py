"""Event rules on gold parses, and on small parses of our own."""

import pytest

from howsure.corpora.conllu import conllu_documents, read_conllu
from howsure.errors import InputError
from howsure.events.lexicons import actors
from howsure.events.rules import RULES, agents, evidence, rule_set

# Every nsubj and agent of "attack" in EWT and GUM: sentence, number of the word in it, rule.
GOLD = {
    ("weblog-blogspot.com_alaindewitt_20060827093500_ENG_20060827_093500-0024", 16, "subject"),
    ("answers-20111108105146AAtiEx7_ans-0009", 15, "subject"),
    ("weblog-blogspot.com_healingiraq_20050121235804_ENG_20050121_235804-0027", 14, "subject"),
    ("weblog-blogspot.com_alaindewitt_20060924104100_ENG_20060924_104100-0191", 20, "subject"),
    ("weblog-blogspot.com_dakbangla_20050311135387_ENG_20050311_135387-0022", 36, "subject"),
    ("newsgroup-groups.google.com_alt.animals_02c2d614bfbf6b20_ENG_20050223_232900-0056", 1, "subject"),
    ("newsgroup-groups.google.com_misc.consumers_a534e32067078b08_ENG_20060116_030800-0019", 3, "subject"),
    ("newsgroup-groups.google.com_misc.consumers_a534e32067078b08_ENG_20060116_030800-0073", 22, "subject"),
    ("newsgroup-groups.google.com_alt.animals_0084bdc731bfc8d8_ENG_20040905_212000-0074", 7, "subject"),
    ("answers-20111108101850AAhNuvz_ans-0011", 19, "subject"),
    ("answers-20111108105629AAiZUDY_ans-0031", 10, "subject"),
    ("GUM_conversation_risk-136", 1, "subject"),
    ("GUM_conversation_risk-165", 3, "subject"),
    ("GUM_essay_fear-15", 19, "agent"),
    ("GUM_interview_onion-27", 1, "subject"),
    ("GUM_news_defector-12", 14, "subject"),
    ("GUM_news_hackers-1", 1, "subject"),
    ("GUM_news_hackers-3", 27, "agent"),
    ("GUM_news_imprisoned-10", 10, "subject"),
    ("GUM_news_imprisoned-11", 10, "subject"),
    ("GUM_news_korea-15", 10, "subject"),
}
RELATIVE = {
    ("weblog-blogspot.com_alaindewitt_20060827093500_ENG_20060827_093500-0024", 15, "relative"),
    ("weblog-blogspot.com_alaindewitt_20060924104100_ENG_20060924_104100-0191", 19, "relative"),
    ("GUM_news_defector-12", 5, "relative"),
}
WIDE = {
    ("GUM_conversation_risk-90", 2, "controlled"),
    ("GUM_essay_fear-16", 11, "participle"),
    ("GUM_fiction_beast-57", 18, "shared"),
}


@pytest.fixture(scope="module")
def gold_documents(corpora):
    paths = sorted((corpora / "ewt").glob("*.conllu")) + sorted((corpora / "gum" / "dep").glob("*.conllu"))
    # Only documents that hold the word: reading all of both treebanks takes a minute.
    texts = [p for p in paths if "\tattack\t" in p.read_text(encoding="utf-8")]
    return [d for p in texts for d in read_conllu(p) if "attack" in d.columns.get("lemma", ())]


def located(document, found):
    sentence = document.sentence_of()
    for a in found:
        s = sentence[a.token]
        yield document.sentence_metadata[s]["sent_id"], int(a.token - document.starts[s]) + 1, a.rule


@pytest.mark.corpus
def test_every_subject_of_attack_in_the_gold_treebanks(gold_documents):
    for rules, expected in (("paper", GOLD | RELATIVE), ("wide", GOLD | RELATIVE | WIDE)):
        found = {x for d in gold_documents for x in located(d, agents(d, {"attack"}, RULES[rules]))}
        assert found == expected


@pytest.mark.corpus
def test_the_list_is_what_the_relations_say(gold_documents):
    """The same by another way: every nsubj and obl:agent that hangs on the verb, counted over the columns."""
    direct = 0
    for d in gold_documents:
        lemma, upos, relation = d.column("lemma"), d.column("upos"), d.column("relation")
        for i, h in enumerate(d.heads.tolist()):
            direct += h >= 0 and lemma[h] == "attack" and upos[h] == "VERB" and relation[i] in ("nsubj", "obl:agent")
    assert direct == len(GOLD)


def parsed(*sentences):
    """Sentences written word/lemma/upos/xpos/head/relation."""
    lines = ["# newdoc id = made"]
    for sentence in sentences:
        for i, word in enumerate(sentence.split(), 1):
            form, lemma, upos, xpos, head, relation = word.split("/")
            lines.append(f"{i}\t{form}\t{lemma}\t{upos}\t{xpos}\t_\t{head}\t{relation}\t_\t_")
        lines.append("")
    return next(conllu_documents(enumerate(lines, 1), "made", "made"))


def test_passive_subjects_are_victims_and_by_names_the_agent():
    d = parsed(
        "Iran/Iran/PROPN/NNP/3/nsubj:pass was/be/AUX/VBD/3/aux:pass attacked/attack/VERB/VBN/0/root by/by/ADP/IN/5/case "
        "Iraq/Iraq/PROPN/NNP/3/obl in/in/ADP/IN/7/case May/May/PROPN/NNP/3/obl"
    )
    assert [(a.token, a.verb, a.rule) for a in agents(d, {"attack"})] == [(4, 2, "agent")]


def test_a_bare_participle_is_passive_and_an_active_verb_has_no_agent_with_by():
    bare = parsed(
        "towns/town/NOUN/NNS/0/root attacked/attack/VERB/VBN/1/acl by/by/ADP/IN/4/case Iraq/Iraq/PROPN/NNP/2/obl"
    )
    assert [a.token for a in agents(bare, {"attack"})] == [3]
    night = parsed(
        "Iraq/Iraq/PROPN/NNP/2/nsubj attacked/attack/VERB/VBD/0/root by/by/ADP/IN/4/case night/night/NOUN/NN/2/obl"
    )
    assert [a.token for a in agents(night, {"attack"})] == [0]


def test_nouns_are_not_verbs_and_other_verbs_do_not_count():
    d = parsed("Iraq/Iraq/PROPN/NNP/2/nsubj feared/fear/VERB/VBD/0/root attack/attack/NOUN/NN/2/obj")
    assert agents(d, {"attack"}) == []
    assert [a.token for a in agents(d, {"fear"})] == [0]


def test_affiliation_by_head_modifier_and_possessor():
    d = parsed(
        "Iraqi/Iraqi/ADJ/JJ/2/amod planes/plane/NOUN/NNS/0/root",
        "president/president/NOUN/NN/0/root of/of/ADP/IN/5/case the/the/DET/DT/5/det United/united/PROPN/NNP/5/compound "
        "States/states/PROPN/NNP/1/nmod",
        "Iran/Iran/PROPN/NNP/3/nmod:poss 's/'s/PART/POS/1/case men/man/NOUN/NNS/0/root saw/see/VERB/VBD/3/acl "
        "Cuba/Cuba/PROPN/NNP/4/obj",
    )
    lexicon = actors("countries")
    found = {(d.words[e.token], lexicon.actors[e.actor].code, e.why) for e in evidence(d, lexicon)}
    assert {("planes", "IRQ", "amod"), ("president", "USA", "nmod"), ("men", "IRN", "nmod:poss")} <= found
    assert ("saw", "CUB", "obj") not in found
    assert ("States", "USA", "compound") not in found  # one name does not modify itself


def test_an_unknown_rule_set_names_those_there_are():
    with pytest.raises(InputError, match=r"no set `papr`.*Did you mean `paper`"):
        rule_set("papr")


def test_an_unparsed_document_is_refused():
    from howsure.corpora.document import Document

    with pytest.raises(InputError, match="not parsed"):
        agents(Document("d", ("a",), __import__("numpy").array([0, 1])), {"attack"})

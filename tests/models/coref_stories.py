"""Small made-up stories with parses and entities, for tests of coreference."""

import numpy as np

from howsure.corpora.document import Document, Mention

WOMEN, MEN, THINGS = ("Mary", "Susan", "Linda"), ("Robert", "Paul", "Peter"), ("lamp", "boat", "letter")


def story(seed, n_sentences=8):
    """People do things to things; a pronoun means the last one of its gender, one time in four any earlier one."""
    rng = np.random.default_rng(seed)
    words, upos, xpos, relation, heads, starts, mentions = [], [], [], [], [], [0], []
    last, met = {}, {}

    def put(word, u, x, r):
        words.append(word)
        upos.append(u)
        xpos.append(x)
        relation.append(r)

    for _ in range(n_sentences):
        begin = len(words)
        gender = rng.choice(["f", "m"])
        if gender in last and rng.random() < 0.5:
            entity = last[gender] if rng.random() < 0.75 else str(rng.choice(met[gender]))
            put("She" if gender == "f" else "He", "PRON", "PRP", "nsubj")
        else:
            entity = str(rng.choice(WOMEN if gender == "f" else MEN))
            put(entity, "PROPN", "NNP", "nsubj")
        last[gender] = entity
        met.setdefault(gender, []).append(entity)
        mentions.append(Mention(begin, begin + 1, entity))
        put("saw", "VERB", "VBD", "root")
        if "n" in last and rng.random() < 0.4:
            put("it", "PRON", "PRP", "obj")
            mentions.append(Mention(begin + 2, begin + 3, last["n"]))
            heads += [begin + 1, -1, begin + 1]
        else:
            thing = str(rng.choice(THINGS))
            put("the", "DET", "DT", "det")
            put(thing, "NOUN", "NN", "obj")
            last["n"] = thing
            mentions.append(Mention(begin + 2, begin + 4, thing))
            heads += [begin + 1, -1, begin + 3, begin + 1]
        put(".", "PUNCT", ".", "punct")
        heads.append(begin + 1)
        starts.append(len(words))
    columns = {
        "upos": tuple(upos),
        "xpos": tuple(xpos),
        "relation": tuple(relation),
        "lemma": tuple(w.lower() for w in words),
    }
    return Document(f"story{seed}", tuple(words), np.array(starts), columns, np.array(heads), mentions=tuple(mentions))


def as_conllu(document):
    """The story as CoNLL-U with Entity= brackets."""
    opens, closes = {}, {}
    for m in document.mentions:
        opens.setdefault(m.start, []).append(m)
        closes.setdefault(m.end - 1, []).append(m)
    lines = [f"# newdoc id = {document.name}", "# global.Entity = GRP-etype"]
    for sentence in document.sentences():
        for k in range(sentence.start, sentence.stop):
            text = "".join(f"{m.entity})" for m in closes.get(k, []) if m.start != k)
            text += "".join(f"({m.entity}-x" + (")" if m.end == k + 1 else "") for m in opens.get(k, []))
            head = document.heads[k] - sentence.start + 1 if document.heads[k] >= 0 else 0
            c = document.columns
            row = [k - sentence.start + 1, document.words[k], c["lemma"][k], c["upos"][k], c["xpos"][k], "_", head]
            row += [c["relation"][k], "_", f"Entity={text}" if text else "_"]
            lines.append("\t".join(map(str, row)))
        lines.append("")
    return "\n".join(lines) + "\n"

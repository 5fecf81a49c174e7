"""Words that tell gender and number (data/words.csv): pronouns, titles, nouns for people, common first names."""

from __future__ import annotations

from howsure.data import word_list, word_rows

# Pronoun → (citation form, gender, number, person). Gender: m, f, n (thing), a (a person, either), or "" unknown.
PRONOUNS = {r["word"]: (r["citation"], r["gender"], r["number"], r["person"]) for r in word_rows("pronoun")}
CITATIONS = tuple(dict.fromkeys(citation for citation, *_ in PRONOUNS.values()))
MALE, FEMALE, PERSON, TITLES = (word_list(name) for name in ("male", "female", "person", "title"))

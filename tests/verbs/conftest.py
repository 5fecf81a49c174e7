"""Corpora that several tests of the verbs share."""

import pytest


@pytest.fixture(scope="session")
def many_stories(tmp_path_factory):
    """The stories six times, under other names: enough work to be killed in."""
    from howsure.corpora.conllu import conllu_text
    from howsure.exploring.corpus import stories

    path = tmp_path_factory.mktemp("corpus") / "many.conllu"
    parts = [t.document for t in stories()]
    path.write_text("".join(conllu_text(d.with_(name=f"{d.name}-{k}")) for k in range(6) for d in parts))
    return path

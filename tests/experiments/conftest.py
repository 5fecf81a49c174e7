"""Tiny corpora in the layouts of HOWSURE_DATA: sentences of an invented language, drawn from a small HMM."""

from types import SimpleNamespace

import numpy as np
import pytest

TAGS = ("NN", "VB", "DT", "IN", "JJ", "RB", ".")
TWEET_TAGS = ("N", "V", "D", "P", "A", "R", ",")


def sentences(n, seed, tags=TAGS):
    """Lists of (word, tag); words are shared between tags, so that there is something to be unsure about."""
    rng = np.random.default_rng(seed)
    moves = np.random.default_rng(7).dirichlet(np.full(len(tags), 0.6), len(tags))
    made = []
    for _ in range(n):
        tag, sentence = int(rng.integers(len(tags))), []
        for _ in range(int(rng.integers(4, 12))):
            stem = int(rng.zipf(1.4)) % 60
            word = f"w{stem}" if rng.random() < 0.5 else f"w{stem}x{tag}"
            sentence.append((word, tags[tag]))
            tag = int(rng.choice(len(tags), p=moves[tag]))
        made.append(sentence)
    return made


def write_ewt(root, sizes=(240, 100, 200)):
    folder = root / "ewt"
    folder.mkdir(parents=True)
    for seed, (part, n) in enumerate(zip(("train", "dev", "test"), sizes, strict=True)):
        lines = []
        for k, sentence in enumerate(sentences(n, seed)):
            lines.append(f"# sent_id = {part}-{k}")
            lines += [f"{i}\t{w}\t_\tX\t{t}\t_\t_\t_\t_\t_" for i, (w, t) in enumerate(sentence, 1)]
            lines.append("")
        (folder / f"en_ewt-ud-{part}.conllu").write_text("\n".join(lines) + "\n")


def write_treebank(root):
    folder = root / "treebank"
    folder.mkdir(parents=True)
    for number in (*range(1, 9), 150, 151, 152, *range(175, 181)):
        text = "\n======\n".join(" ".join(f"{w}/{t}" for w, t in s) for s in sentences(30, number))
        (folder / f"wsj_{number:04d}.pos").write_text(text + "\n")


def write_tweets(root):
    folder = root / "ark-tweets"
    folder.mkdir(parents=True)
    for seed, (part, n) in enumerate((("train", 240), ("dev", 100), ("test", 200))):
        text = "\n\n".join("\n".join(f"{w}\t{t}" for w, t in s) for s in sentences(n, seed, TWEET_TAGS))
        (folder / f"oct27.{part}").write_text(text + "\n")


def write_sentiment(root, n=2_400):
    folder = root / "tweet-sentiment"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    lines = ["id\tlabel\tdate\tsample\ttext"]
    for i in range(n):
        label = int(rng.random() < 0.6)
        words = [f"a{int(rng.zipf(1.3)) % 300 + 100 * label * int(rng.random() < 0.6)}" for _ in range(9)]
        lines.append(f"{i}\t{label}\t2009-04-{1 + i * 28 // n:02d}T00:00:00\trandom\t{' '.join(words)}")
    (folder / "emoticon.tsv").write_text("\n".join(lines) + "\n")


def write_conll(root):
    """OntoNotes' layout: newswire to be used, and a broadcast to be left out."""
    for seed, (part, n) in enumerate((("train", 200), ("dev", 100), ("test", 150))):
        for name in ("nw/wsj/00/wsj_0001", "bc/cnn/00/cnn_0001"):
            path = root / "conll-2011" / part / f"{name}.v2_gold_conll"
            path.parent.mkdir(parents=True)
            lines = [f"#begin document ({name}); part 000"]
            for sentence in sentences(n, seed):
                for i, (w, t) in enumerate(sentence):
                    lines.append(f"{name} 0 {i} {w} {t if 'wsj' in name else 'ZZ'} * - - - - * -")
                lines.append("")
            path.write_text("\n".join([*lines, "#end document"]) + "\n")


@pytest.fixture(scope="session")
def tiny():
    """The writers by name: `tiny.ewt(root)` …"""
    return SimpleNamespace(
        sentences=sentences,
        ewt=write_ewt,
        treebank=write_treebank,
        tweets=write_tweets,
        sentiment=write_sentiment,
        conll=write_conll,
    )

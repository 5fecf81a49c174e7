"""The study of docs/studies/lm-study.md: n-gram models on Brown, the Wall Street Journal and Shakespeare.

    make lm-study        (needs the corpora under HOWSURE_DATA; about 10 minutes)

Everything is seeded; --quick does a small part of it, to see that it runs.
"""

import argparse
import re
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import howsure
from howsure.corpora.plain import brown_sentences, chunked_sentences, speeches
from howsure.corpora.reading import corpus_path
from howsure.kernels.ngrams.edits_compiled import edit_distances
from howsure.models.ngrams.smoothing import SMOOTHINGS
from howsure.models.ngrams.spelling import Corrector, codes
from howsure.models.ngrams.use import sampled
from howsure.models.ngrams.vocabulary import Vocabulary, block_ids, text_bytes
from howsure.plots.curves import overlaid_layers
from howsure.plots.vega import SCHEMA, rendered

DOCS = Path(__file__).parents[2] / "docs"
CHECKED = ("laplace", "lidstone", "good-turing", "katz", "witten-bell", "kneser-ney", "modified-kneser-ney")


def tokenised(texts):
    """Lower case, punctuation apart, spaces between: one way to read the three corpora."""
    vocabulary = Vocabulary(1 << 16)
    made = []
    for text in texts:
        ids = block_ids(text_bytes([text.lower()]), vocabulary, 1, 0, grow=True)
        made.append(ids)
    words = vocabulary.words
    return [" ".join(words[i] for i in ids.tolist()) for ids in made]


def brown():
    """Sentences, and the file each is from."""
    sentences, groups = brown_sentences(corpus_path("brown"))
    return sentences, np.array(groups)


def wsj():
    """Sentences of the chunking data, each its own group: it does not say where articles begin."""
    sentences = chunked_sentences(corpus_path("conll2000"))
    return sentences, np.arange(len(sentences))


def shakespeare():
    """Speeches of the plays, and the scene each is from."""
    made, groups, _ = speeches(corpus_path("shakespeare"))
    return tokenised(made), np.array(groups)


def split(sentences, groups):
    """Every tenth group is for testing."""
    test = groups % 10 == 9
    return (
        [s for s, t in zip(sentences, test, strict=True) if not t],
        [s for s, t in zip(sentences, test, strict=True) if t],
        groups[test],
    )


def cell(e):
    d = e.to_dict()
    if d["perplexity"] is None:
        return "∞"
    return f"{d['perplexity']:,.0f} [{d['low']:,.0f}, {d['high']:,.0f}]"


def perplexities(name, data, orders, say):
    train, test, groups = data
    lines = [
        f"| {name} | " + " | ".join(f"order {n}" for n in orders) + " |",
        "|---|" + "---|" * len(orders),
    ]
    for smoothing in SMOOTHINGS:
        cells = []
        for order in orders:
            model = howsure.lm.train(train, order=order, smoothing=smoothing, min_count=2).model
            cells.append(cell(howsure.lm.perplexity(model, test, groups=groups)))
        lines.append(f"| {smoothing} | " + " | ".join(cells) + " |")
        say(lines[-1])
    words = sum(len(s.split()) for s in train), sum(len(s.split()) for s in test)
    about = howsure.lm.perplexity(model, test, groups=groups)
    intro = (
        f"{words[0]:,} words to train on, {words[1]:,} to test on; {len(model.vocabulary) - 3:,} words known (seen twice or "
        f"more), {about.out_of_vocabulary / about.all_words.words:.1%} of the test words are not."
    )
    return [intro, "", *lines, ""]


def across(corpora, say):
    counts = Counter(w for train, _, _ in corpora.values() for s in train for w in s.split())
    words = [w for w, c in counts.items() if c >= 2]
    lines = ["| trained on ↓ tested on → | " + " | ".join(corpora) + " |", "|---|" + "---|" * len(corpora)]
    for name, (train, _, _) in corpora.items():
        model = howsure.lm.train(train, order=3, vocabulary=words).model
        cells = [cell(howsure.lm.perplexity(model, test, groups=groups)) for _, test, groups in corpora.values()]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        say(lines[-1])
    return [
        f"One vocabulary for all, {len(words):,} words seen twice or more in the three training parts together.",
        "",
        *lines,
        "",
    ]


def longest_copy(text, corpus):
    """The longest run of words of `text` that the corpus has too."""
    whole = " " + " ".join(corpus) + " "
    words, best = text.split(), 0
    for i in range(len(words)):
        while i + best < len(words) and " " + " ".join(words[i : i + best + 1]) + " " in whole:
            best += 1
    return best


def generated(data, say):
    train = data[0]
    lines = ["| order | drawn text | longest run copied |", "|---|---|---|"]
    for order in (1, 2, 3, 4):
        model = howsure.lm.train(train, order=order).model
        text = sampled(model, 30, rng=np.random.default_rng(order))
        copied = max(longest_copy(line, train) for line in text.split("\n"))
        lines.append(f"| {order} | {' / '.join(text.split(chr(10)))} | {copied} words |")
        say(lines[-1])
    return [*lines, ""]


def misspellings(name):
    pairs, right = [], None
    for line in corpus_path("spelling", name).read_text(encoding="utf-8", errors="replace").split("\n"):
        if line.startswith("$"):
            right = line[1:].strip().lower()
        elif line.strip() and right:
            pairs.append((line.split()[0].lower(), right))
    return [
        (t, r) for t, r in dict.fromkeys(pairs) if re.fullmatch("[a-z'_-]+", t) and re.fullmatch("[a-z]+", r) and t != r
    ]


def wilson(k, n):
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return f"{p:.1%} [{(middle - half) / (1 + z * z / n):.1%}, {(middle + half) / (1 + z * z / n):.1%}]"


def spelling(data, quick, say):
    """Words by themselves: the Wikipedia and aspell lists."""
    model = howsure.lm.train(data[0] + data[1], order=1, smoothing="kneser-ney").model
    known = set(model.vocabulary.words)
    lists = {"Wikipedia": misspellings("wikipedia.dat"), "aspell": misspellings("aspell.dat")}
    channel = Corrector(model)
    text, ends = channel._text, channel._ends
    lines = [
        "| list | pairs | word known, within two edits | noisy channel | in its first five | edit distance, then frequency |",
        "|---|---|---|---|---|---|",
    ]
    for name, wanted in lists.items():
        wanted = wanted[:200] if quick else wanted
        first = five = base = reach = 0
        for typed, right in wanted:
            if right not in known:
                continue
            distances = edit_distances(codes(typed), text, ends, 2)
            near = [w for w in np.flatnonzero(distances <= 2).tolist() if w > 2 and model.vocabulary.words[w] != typed]
            reach += model.vocabulary.number(right) in near
            # A misspelling that Brown has as a word is still to be corrected.
            said = [w for w, _ in channel.word(typed).candidates if w != typed] or [typed]
            first += said[0] == right
            five += right in said
            plain = min(near, key=lambda w: (distances[w], -int(model.trie.count[w])), default=0)
            base += model.vocabulary.words[plain] == right
        n = len(wanted)
        lines.append(f"| {name} | {n:,} | {reach / n:.1%} | {wilson(first, n)} | {five / n:.1%} | {wilson(base, n)} |")
        say(lines[-1])
    return [*lines, ""]


def holbrook():
    """Lines of school children's writing with errors in context: the tokens typed and those meant, one to one."""
    made = []
    for line in (
        corpus_path("spelling", "holbrook-tagged.dat").read_text(encoding="utf-8", errors="replace").split("\n")
    ):
        typed, meant = [], []
        for part in re.split(r"(<ERR targ=.*?</ERR>)", line):
            found = re.match(r"<ERR targ=(.*?)> *(.*?) *</ERR>", part)
            words = part.split() if found is None else found[1].split()
            meant += words
            typed += found[2].split() if found and len(words) == len(found[2].split()) == 1 else words
        if typed != meant and re.search("[a-z]", line):
            made.append((typed, meant))
    return made


def in_context(data, quick, say):
    """The weight of context: chosen on every other line of the Holbrook corpus, measured on the others."""
    model = howsure.lm.train(data[0] + data[1], order=3, min_count=2).model
    lines = holbrook()[: 40 if quick else None]
    parts = {"dev": lines[::2], "test": lines[1::2]}

    def fixed(pairs, weight):
        channel = Corrector(model, weight=weight)
        errors = right = kept = others = 0
        for typed, meant in pairs:
            said = channel.line(" ".join(typed))[0].split()
            for t, m, s in zip(typed, meant, said, strict=True):
                errors, right = errors + (t != m), right + (t != m and s.lower() == m.lower())
                others, kept = others + (t == m), kept + (t == m and s == t)
        return errors, right, others, kept

    made = [
        "| weight of context | dev: words right | test: errors corrected | right words kept | words right |",
        "|---|---|---|---|---|",
    ]
    best, chosen = -1.0, 0.0
    for weight in (0.1, 0.5, 0.75, 1.0, 1.25):
        errors, right, others, kept = fixed(parts["dev"], weight)
        share = (right + kept) / (errors + others)
        if share > best:
            best, chosen = share, weight
        errors, right, others, kept = fixed(parts["test"], weight)
        made.append(
            f"| {weight:g} | {share:.2%} | {wilson(right, errors)} | {wilson(kept, others)} | {wilson(right + kept, errors + others)} |"
        )
        say(made[-1])
    errors, others = (
        sum(sum((t == m) == same for t, m in zip(*p, strict=True)) for p in parts["test"]) for same in (False, True)
    )
    note = f"The best weight on the dev lines is {chosen:g}. Uncorrected, {others / (errors + others):.2%} of the test lines' words are right."
    return [note, "", *made, ""]


def calibration(data, quick, folder, say):
    train, test, _ = data
    lines = [
        "| smoothing | order | right | mean q | RMS error | slope | mass given to frequent words, of what they got |",
        "|---|---|---|---|---|---|---|",
    ]
    curves = {}
    for order in (2, 3):
        for smoothing in CHECKED:
            model = howsure.lm.train(train, order=order, smoothing=smoothing, min_count=2).model
            made = howsure.lm.check(model, test, events=500_000 if quick else 1_000_000)
            c = made.top
            frequent = next(s.calibration for s in made.all_words.slices if s.name.startswith("seen 1000"))
            ratio = (frequent.base_rate + frequent.bias.gap.value) / frequent.base_rate
            lines.append(
                f"| {smoothing} | {order} | {made.accuracy:.3f} | {c.base_rate + c.bias.gap.value:.3f} | "
                f"{c.error.value:.3f} [{c.error.low:.3f}, {c.error.high:.3f}] | {c.bias.slope.value:.2f} | {ratio:.2f} |"
            )
            say(lines[-1])
            if order == 3 and smoothing in ("laplace", "katz", "witten-bell", "modified-kneser-ney"):
                curves[smoothing] = c
    figure = {"$schema": SCHEMA, "background": "white", "width": 400, "height": 400, "layer": overlaid_layers(curves)}
    (folder / "curves.svg").write_bytes(rendered(figure, ".svg"))
    return [*lines, ""]


TEMPLATE = """# N-gram models measured

Made by `make lm-study`, from corpora that are not part of the project. Numbers are perplexities over all words and `</s>`, unknown
words as `<UNK>`, with 95% intervals over documents (Brown), scenes (Shakespeare) or sentences (WSJ). Every tenth of these is the
test part. Commands: [lm.md](../guides/lm.md); formulas: [theory.md](../evidence/theory.md#language-models).

## Perplexity by order and smoothing

{perplexities}
Lidstone's α and the weights of `interpolated` are tuned on the training part, leaving each occurrence out in turn. Laplace and both
Good-Turings spread what they save evenly over all words: Laplace loses from order 2 on, the others are lost at order 3. The smoothings that
turn to shorter contexts gain most from order 2, and all but Witten-Bell and Katz from order 3 as well. MLE is infinite as soon as one test n-gram is new.

## In and across domains

Trigrams, modified Kneser-Ney. {across}
## Shakespeare by order

Drawn from modified Kneser-Ney models of the training scenes; speeches separated by /.

{generated}
## Spelling

Words alone, so the language model is the frequency in Brown. The channel is the one that ships: counts of edits on the Birkbeck list, less every
misspelling of the lists measured here.

{spelling}
On words alone the learnt channel does little better than edit distance with frequency to break ties: about half of what is lost is words
that Brown does not have or that are more than two edits away, and Brown's frequencies say little about which word is misspelt.

### In context

Sentences are corrected as a whole (`howsure lm correct`): school children's writing (the Holbrook corpus), lines with a misspelt word, the trigram model
of Brown. Errors of more than one word on either side are taken as corrected. {in_context}
Context counts for more than words alone suggest: the power of 0.1 that isolated words would ask for corrects fewer errors and spoils more right words. Three errors in four stay: more than
two edits away, or another form of the same word, which the neighbours often allow.

## Are the probabilities right?

Brown, the probability of the likeliest next word at every place of the test part ("right": how often it was the next word), and of
all words at a sample of places ("mass": what words seen 1,000 times or more in training were given, over how often they came).

![Calibration of the predicted next word, trigrams](../images/lm-calibration.svg)

{calibration}
Laplace's theft shows on both counts: the likeliest word is given a fraction of what it deserves, and frequent words as a whole go
short, because every unseen continuation gets as much as a seen one is worth. The discounting smoothings err the other way and much
less: at high q they are somewhat too sure.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", help="a folder to keep the parts of the page in")
    parser.add_argument("--only", help="make one part only, in --parts")
    given = parser.parse_args()
    quick = given.quick

    def say(line):
        print(line, flush=True)

    folder = Path(given.parts) if given.parts else Path(tempfile.mkdtemp())
    corpora = {"Brown": split(*brown()), "WSJ": split(*wsj()), "Shakespeare": split(*shakespeare())}
    orders = (1, 2) if quick else (1, 2, 3)
    makers = {
        "calibration": lambda: calibration(corpora["Brown"], quick, folder, say),
        "spelling": lambda: spelling(corpora["Brown"], quick, say),
        "in_context": lambda: in_context(corpora["Brown"], quick, say),
        "generated": lambda: generated(corpora["Shakespeare"], say),
        "across": lambda: across(corpora, say),
        **{f"perplexities-{n}": (lambda n=n: perplexities(n, corpora[n], orders, say)) for n in corpora},
    }
    for name in [given.only] if given.only else makers:
        (folder / f"{name}.md").write_text("\n".join(makers[name]()), encoding="utf-8")
    if given.only:
        return
    write_page(folder, quick)


def write_page(folder, quick=False):
    """The page from its parts."""
    parts = {p.stem: p.read_text(encoding="utf-8") for p in folder.glob("*.md")}
    parts["perplexities"] = "\n".join(parts.pop(f"perplexities-{n}") for n in ("Brown", "WSJ", "Shakespeare"))
    page = TEMPLATE.format(**parts)
    if quick:
        print(page)
        return
    (DOCS / "images" / "lm-calibration.svg").write_bytes((folder / "curves.svg").read_bytes())
    (DOCS / "studies" / "lm-study.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()

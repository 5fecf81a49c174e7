"""`howsure lm` beside KenLM and NLTK, in one run: text to a model that answers, and scoring.

    make bench                                        (with the rest; about 10 minutes and 3 GB)
    python bench/speed/lm_speed.py --small                  (100,000 tokens)
    python bench/speed/lm_speed.py --huge                   (100M tokens: time and peak memory alone)

lmplz and build_binary are built from the kenlm source distribution, which needs cmake, a C++ compiler and Boost
(Debian: cmake g++ libboost-all-dev); where that fails, only the Python packages are compared. The text is that of the
Brown corpus under HOWSURE_DATA, or made up where there is none; larger ones repeat its sentences with three words in ten
replaced by others.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from goals import heading, row

ORDER = 3


def base_sentences(rng):
    data = os.environ.get("HOWSURE_DATA")
    folder = Path(data, "brown") if data else None
    if folder is not None and folder.is_dir():
        made = []
        for path in sorted(folder.glob("c[a-r][0-9][0-9]")):
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line.strip():
                    made.append([t.rsplit("/", 1)[0] for t in line.split()])
        return made
    return [[f"w{i}" for i in rng.zipf(1.25, rng.integers(5, 35)) % 60_000] for _ in range(55_000)]


def write_text(path, n_tokens, sentences, rng):
    """About this number of tokens: the sentences over and over, after the first time with three words in ten others."""
    flat = np.array([w for s in sentences for w in s])
    ends = np.cumsum([len(s) for s in sentences])
    written = 0
    with open(path, "w", encoding="utf-8") as file:
        while written < n_tokens:
            words = flat.copy()
            if written:
                changed = rng.random(len(words)) < 0.3
                words[changed] = flat[rng.integers(0, len(flat), int(changed.sum()))]
            words = words.tolist()
            begin = 0
            lines = []
            for end in ends.tolist():
                lines.append(" ".join(words[begin:end]))
                written += end - begin
                begin = end
                if written >= n_tokens:
                    break
            file.write("\n".join(lines) + "\n")


def built_kenlm(folder):
    """lmplz and build_binary, or None."""
    kept = os.environ.get("HOWSURE_KENLM_BIN")
    if kept and Path(kept, "lmplz").exists():
        return Path(kept)
    say = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    try:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "kenlm", "kenlm"]
        subprocess.run(pip, check=True, **say)
        archive = next(Path(folder).glob("kenlm-*.tar.gz"))
        subprocess.run(["tar", "xzf", archive.name], check=True, **say)
        build = Path(folder, archive.name.removesuffix(".tar.gz"), "build")
        build.mkdir()
        say["cwd"] = build
        flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_POLICY_VERSION_MINIMUM=3.5"]
        subprocess.run(["cmake", *flags, ".."], check=True, **say)
        subprocess.run(["make", "-j2", "lmplz", "build_binary"], check=True, **say)
        return build / "bin"
    except (OSError, StopIteration, subprocess.CalledProcessError) as error:
        print(f"  (lmplz could not be built: {error})")
        return None


def ours_train(text, model):
    """As a user runs it: a process of its own, from text to a file that `lm perplexity` maps."""
    code = "import howsure, sys; m = howsure.lm.train(sys.argv[1], order=int(sys.argv[3])); m.save(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, str(text), str(model), str(ORDER)], check=True)


def kenlm_train(binaries, text, arpa, model):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
    subprocess.run(
        [binaries / "lmplz", "-o", str(ORDER), "-S", "2G", "--discount_fallback", "--text", text, "--arpa", arpa],
        **quiet,
    )
    subprocess.run([binaries / "build_binary", arpa, model], **quiet)


def nltk_train(lines):
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    grams, words = padded_everygram_pipeline(ORDER, [s.split() for s in lines])
    model = KneserNeyInterpolated(ORDER)
    model.fit(grams, words)
    return model


def timed(f):
    start = time.perf_counter()
    made = f()
    return time.perf_counter() - start, made


def beside_peers(n_tokens, sentences, binaries, folder, rng, rounds):
    import kenlm

    import howsure

    train, test = folder / "train.txt", folder / "test.txt"
    write_text(train, n_tokens, sentences, rng)
    write_text(test, min(n_tokens, 1_000_000), sentences[::-1], rng)
    lines = test.read_text().split("\n")[:-1]
    heading(f"{n_tokens:,} tokens, order {ORDER}")
    ours, theirs, within = [], [], []
    howsure.lm.train(test, order=ORDER)
    for _ in range(rounds):
        within.append(timed(lambda: howsure.lm.train(train, order=ORDER))[0])
        ours.append(timed(lambda: ours_train(train, folder / "ours.npz"))[0])
        if binaries is not None:
            theirs.append(timed(lambda: kenlm_train(binaries, train, folder / "k.arpa", folder / "k.bin"))[0])
    inside, other = min(within), min(theirs, default=None)
    row("training in memory; lmplz + build_binary", inside, other, at_least=3 if other else None)
    row("training as a command, model written; the same", min(ours), other, at_least=3 if other else None)
    if n_tokens <= 1_000_000:
        few = train.read_text().split("\n")[:-1]
        spent, _ = timed(lambda: nltk_train(few))
        row("training in memory; NLTK's fit", inside, spent, at_least=50)
    model = howsure.lm.load(folder / "ours.npz")
    if binaries is not None:
        peer = kenlm.Model(str(folder / "k.bin"))
    else:
        model.save(folder / "k.arpa")
        peer = kenlm.Model(str(folder / "k.arpa"))
    model.scores(lines[:2000])
    best_ours = best_theirs = best_file = np.inf
    for _ in range(max(3, rounds)):
        spent, their_scores = timed(lambda: [peer.score(s) for s in lines])
        best_theirs = min(best_theirs, spent)
        spent, our_scores = timed(lambda: model.scores(lines))
        best_ours = min(best_ours, spent)
        best_file = min(best_file, timed(lambda: model.log_probs(model.ids(test)))[0])
    row(f"scoring {len(lines):,} sentences; KenLM", best_ours, best_theirs, at_least=1.3 if n_tokens > 1_000_000 else 1)
    row("  the same from the file", best_file, best_theirs)
    words = sum(len(s.split()) + 1 for s in lines)
    a = np.exp(-our_scores.sum() / words)
    b = np.exp(-np.sum(their_scores) * np.log(10) / words)
    print(f"  perplexity {a:.8f} and KenLM's {b:.8f}: relative difference {abs(a / b - 1):.1e} (wanted <= 1e-6)")


def huge(sentences, folder, rng, n_tokens=100_000_000):
    train = folder / "huge.txt"
    write_text(train, n_tokens, sentences, rng)
    heading(f"{n_tokens:,} tokens, {train.stat().st_size / 1e6:,.0f} MB of text")
    spent, _ = timed(lambda: ours_train(train, folder / "huge.npz"))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024**2
    size = (folder / "huge.npz").stat().st_size / 1e9
    row(f"training as a command, a model of {size:.2f} GB", spent)
    row("  peak memory", peak, at_most=4, unit="GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--huge", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    sentences = base_sentences(rng)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if given.huge:
            huge(sentences, folder, rng)
            return
        binaries = built_kenlm(folder)
        for n in (100_000,) if given.small else (1_000_000, 10_000_000):
            beside_peers(n, sentences, binaries, folder, rng, given.rounds)
        if not given.small:
            huge(sentences, folder, rng)


if __name__ == "__main__":
    main()

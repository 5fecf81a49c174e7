"""Results of `howsure lm` in words and tables, 80 columns wide."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from howsure.calibration.language import LanguageCalibration
from howsure.cli.curve import curve
from howsure.cli.text import WIDTH, aligned, bins_table, p_text, slice_rows
from howsure.models.ngrams.comparison import ModelComparison
from howsure.models.ngrams.evaluation import Evaluation, Surprise


def trained_text(about: dict[str, Any]) -> str:
    """What was learnt."""
    grams = " + ".join(f"{n:,}" for n in about["ngrams"])
    said = (
        f"Order {about['order']}, {about['smoothing']}: {about['vocabulary'] - 3:,} words beside <UNK>, <s> and </s>; "
        f"{grams} n-grams of orders 1 to {about['order']}."
    )
    lines = [textwrap.fill(said, WIDTH)]
    for name, value in about.get("parameters", {}).items():
        lines.append(textwrap.fill(f"{name}: {_shown(value)}", WIDTH, initial_indent="  ", subsequent_indent="    "))
    if about.get("tuned_on"):
        lines.append(f"  tuned on {about['tuned_on']}")
    if about.get("dev_perplexity") is not None:
        lines.append(f"  perplexity of the dev text: {about['dev_perplexity']:.1f}")
    lines += [textwrap.fill(n, WIDTH, initial_indent="Note: ", subsequent_indent="  ") for n in about.get("notes", [])]
    return "\n".join(lines) + f"\n\nWritten: {about['written']}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_shown(v) for v in value) + "]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def evaluation_text(e: Evaluation) -> str:
    """Verdict first, then what is counted and what is not."""
    head = f"  {'':<26} {'words':>10} {'bits a word':>12} {'perplexity':>11}  {f'{e.confidence_level:.0%} interval'}"
    ends = e.sentences > 0
    rows = [("all words" + (", with </s>" if ends else ""), e.all_words), ("  without unknown words", e.known_words)]
    if ends:
        rows += [("  without </s>", e.no_ends), ("  without either", e.known_no_ends)]
    lines = [head, *(_surprise(name, s) for name, s in rows)]
    bits = e.all_words.bits
    size = "infinite" if not math.isfinite(bits) else f"{bits:,.0f} bits ({bits / 8 / 1024:,.1f} KiB)"
    orders = ", ".join(f"{k}: {n / e.all_words.words:.0%}" for k, n in enumerate(e.matched, 1))
    facts = [
        ("to compress the text", size, ""),
        ("next word guessed", f"{e.next_word_accuracy:.1%}", ""),
        ("unknown words", f"{e.out_of_vocabulary:,}", f"{e.out_of_vocabulary / e.all_words.words:.1%} of all"),
        ("longest n-gram found", orders, ""),
    ]
    return "\n\n".join([textwrap.fill(e.verdict, WIDTH), "\n".join(lines), aligned(facts)])


def _surprise(name: str, s: Surprise) -> str:
    if not s.words:
        return f"  {name:<26} {0:>10}"
    if not math.isfinite(s.bits):
        return f"  {name:<26} {s.words:>10,} {'infinite':>12} {'infinite':>11}"
    d = s.to_dict()
    limits = "" if d["low"] is None else f"[{d['low']:.1f}, {d['high']:.1f}]"
    return f"  {name:<26} {s.words:>10,} {s.per_word:>12.3f} {s.perplexity:>11.1f}  {limits}".rstrip()


def comparison_text(c: ModelComparison) -> str:
    """Verdict first, then the numbers."""
    limits = "" if c.low is None else f"[{c.low:+.4f}, {c.high:+.4f}] ({c.confidence_level:.0%} interval)"
    rows = [
        ("words", f"{c.words:,}", f"in {c.sentences:,} sentences; {c.left_out:,} that one does not know left out"),
        (c.a[:30], f"{c.bits_a:.3f}", "bits a word"),
        (c.b[:30], f"{c.bits_b:.3f}", "bits a word"),
        ("difference", f"{c.difference:+.4f}", limits),
        ("no difference?", f"p {p_text(c.p_value)}", "sign-flip test over sentences"),
    ]
    return textwrap.fill(c.verdict, WIDTH) + "\n\n" + aligned(rows)


def check_text(m: LanguageCalibration) -> str:
    """Verdict first; the predicted word, then all words by frequency."""
    c = m.top
    error = "–" if c.error is None else f"{c.error.value:.4f}"
    limits = "" if c.error is None or c.error.low is None else f"[{c.error.low:.4f}, {c.error.high:.4f}]"
    rows = [
        ("places", f"{m.places:,}", "" if c.n_groups is None else f"in {c.n_groups:,} sentences"),
        ("predicted word right", f"{m.accuracy:.4f}", ""),
        ("RMS error", error, limits),
        ("mean q - mean y", f"{c.bias.gap.value:+.4f}", ""),
    ]
    lines = [
        f"All words at {m.sampled_places:,} places, by how often a word was seen in training:",
        f"  {'':<24} {'events':>11} {'mass given':>11} {'share true':>11} {'ratio':>6}",
    ]
    for s in m.all_words.slices:
        k = s.calibration
        share = k.base_rate * k.n / m.sampled_places
        mass = (k.base_rate + k.bias.gap.value) * k.n / m.sampled_places
        ratio = f"{mass / share:.2f}" if share > 0 else "–"
        lines.append(f"  {s.name:<24} {k.n:>11,} {mass:>11.4f} {share:>11.4f} {ratio:>6}")
    parts = [
        textwrap.fill(m.verdict, WIDTH),
        aligned(rows),
        "The predicted word, by its frequency in training:\n" + slice_rows(c.slices, 10),
        bins_table(c),
        "\n".join(lines),
        curve(c),
    ]
    return "\n\n".join(parts).rstrip("\n")

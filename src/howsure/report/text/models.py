"""What was learnt and found of models, in words and tables: language models, taggers, coreference, classifiers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from howsure.report.text.calibration import bins_table, calibration_text, curve, slice_rows
from howsure.report.text.labels import score_text
from howsure.report.text.layout import aligned, cut, filled, joined, limits, notes, p_text, printable

if TYPE_CHECKING:
    from howsure.evaluation.coreference import CoreferenceScores
    from howsure.evaluation.model_checks import ClassifierCheck, CorefCheck, ParserCheck, TaggerCheck
    from howsure.evaluation.predictive import PredictiveStatistic
    from howsure.models.classifiers import ClassifierTraining
    from howsure.models.ngrams.comparison import ModelComparison
    from howsure.models.ngrams.evaluation import Evaluation, Surprise
    from howsure.models.ngrams.model import LanguageTraining
    from howsure.models.taggers.tagger import TaggerTraining


def language_training_text(t: LanguageTraining) -> str:
    """What was learnt."""
    about = t.to_dict()
    lines = [filled(t.verdict)]
    lines += [filled(f"{name}: {_shown(v)}", "  ", "    ") for name, v in about.get("parameters", {}).items()]
    if about.get("tuned_on"):
        lines.append(f"  tuned on {about['tuned_on']}")
    if "dev_perplexity" in about:
        found = about["dev_perplexity"]
        lines.append(f"  perplexity of the dev text: {'infinite' if found is None else f'{found:.1f}'}")
    return "\n".join([*lines, *notes(about.get("notes", []))])


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
    return joined([filled(e.verdict), "\n".join(lines), aligned(facts)])


def _surprise(name: str, s: Surprise) -> str:
    if not s.words:
        return f"  {name:<26} {0:>10}"
    if not math.isfinite(s.bits):
        return f"  {name:<26} {s.words:>10,} {'infinite':>12} {'infinite':>11}"
    d = s.to_dict()
    interval = "" if d["low"] is None else f"[{d['low']:.1f}, {d['high']:.1f}]"
    return f"  {name:<26} {s.words:>10,} {s.per_word:>12.3f} {s.perplexity:>11.1f}  {interval}".rstrip()


def language_comparison_text(c: ModelComparison) -> str:
    """Verdict first, then the numbers."""
    interval = "" if c.low is None else f"{limits(c, '+.4f')} ({c.confidence_level:.0%} interval)"
    rows = [
        ("words", f"{c.words:,}", f"in {c.sentences:,} sentences; {c.left_out:,} that one does not know left out"),
        (c.a[:30], f"{c.bits_a:.3f}", "bits a word"),
        (c.b[:30], f"{c.bits_b:.3f}", "bits a word"),
        ("difference", f"{c.difference:+z.4f}", f"{interval} (positive favours {c.a[:30]})".strip()),
        ("no difference?", f"p {p_text(c.p_value)}", "sign-flip test over sentences"),
    ]
    return joined([filled(c.verdict), aligned(rows)])


def tagger_training_text(made: TaggerTraining) -> str:
    """Verdict, then what was tried."""
    parts = [filled(made.verdict)]
    if made.n_dev is not None:
        lines = [f"  {made.chosen.setting:<12} {'accuracy':>9}  on {made.n_dev:,} held-out tokens"]
        lines += [f"  {t.value:<12g} {t.dev_accuracy:>9.4f}{'  best' if t is made.chosen else ''}" for t in made.tried]
        parts.append("\n".join(lines))
    return joined(parts)


def tagger_text(made: TaggerCheck, by: str = "tag") -> str:
    """Verdict first, then the numbers, the table asked for, and the predicted tag's curve."""
    c = made.classes
    rows = [
        ("tokens", f"{c.n:,}", f"{made.n_sentences:,} sentences, {len(c.classes)} tags"),
        ("accuracy", f"{made.accuracy.value:.4f}", limits(made.accuracy)),
        ("Viterbi accuracy", f"{made.viterbi_accuracy:.4f}", ""),
    ]
    for label, k in (("RMS error, predicted", c.top), ("RMS error, all events", c.pooled)):
        if k.error is not None:
            rows.append((label, f"{k.error.value:.4f}", limits(k.error)))
    rows.append(("RMS error, tag-wise", f"{c.class_wise:.4f}", "root mean square over the tags"))
    rows.append(("log loss", f"{made.log_loss:.4f}", "of the gold sequence, per token"))
    shown = {"tag": made.per_tag, "pair": made.per_pair, "span": made.per_span}[by]
    head = f"By {by}, worst first ({made.n_groups:,} {made.groups}s are taken as independent):\n"
    table, bins = slice_rows(shown, 60, with_rows=by == "span"), "The predicted tag's probability\n" + bins_table(c.top)
    generated = predictive_text(made.predictive)
    return joined([filled(made.verdict), aligned(rows), head + table, bins, curve(c.top.bins), generated])


def predictive_text(found: Sequence[PredictiveStatistic]) -> str:
    """A line a statistic: how far gold is from what the posterior generates, and what is furthest off; nothing of none."""
    if not found:
        return ""
    head = f"Is gold like what the posterior generates? Distance of gold, and of {found[0].n_samples:,} samples:"
    lines = [f"  {'':<31} {'gold':>7} {'median':>7} {'95%':>7} {'p':>9}"]
    for s in found:
        p = p_text(s.p_value).removeprefix("= ")
        lines.append(f"  {cut(s.statistic, 31):<31} {s.distance:>7.4f} {s.typical:>7.4f} {s.high:>7.4f} {p:>9}")
        off = "; ".join(f"{printable(c.name)}: {c.seen:,} seen, {c.expected:,.0f} expected" for c in s.categories[:2])
        lines.append(filled(off, "    "))
    return "\n".join([filled(head), *lines])


def parser_text(made: ParserCheck) -> str:
    """Verdict first, then accuracy, the kinds of questions, and the calibration of the chosen arcs or spans."""
    rows = [("sentences", f"{made.n_sentences:,}", f"{made.n_words:,} words, {made.n_groups:,} {made.groups}s")]
    rows += [(name, f"{e.value:.4f}", limits(e)) for name, e in made.accuracy.items()]
    heat = f"of the gold trees, per word; temperature {made.temperature:.3f}"
    rows.append(("log loss", f"{made.log_loss:.4f}", heat))
    said = [filled(f"Note: {note}") for note in made.notes]
    calibrated, generated = calibration_text(made.calibration).rstrip(), predictive_text(made.predictive)
    return joined([filled(made.verdict), aligned(rows), calibrated, generated, *said])


def coref_text(k: CorefCheck) -> str:
    lines = [f"  {'pair probabilities':<20} {'error':>7}  {'interval':<18} {'Brier':>8} {'furthest off':>13}"]
    for s in k.sampling:
        name = "exact" if s.samples is None else f"{s.samples:,} samples"
        error = "" if s.error is None else f"{s.error.value:>7.4f}  {limits(s.error)}"
        off = "" if s.samples is None else f"{s.largest_deviation:>13.4f}"
        lines.append(f"  {name:<20} {error:<27} {s.brier:>8.5f} {off}".rstrip())
    parts = [
        k.question + "\n\n" + calibration_text(k.lead).rstrip(),
        filled(k.beside),
        "" if k.entities is None else filled(f"Does this mention mean someone of that name? {k.entities.verdict}"),
        filled(f"Is this mention new? {k.new.verdict}"),
        "Exact and sampled, all pairs:\n" + "\n".join(lines),
    ]
    if k.untempered is not None and k.untempered.error is not None:
        without = f"without it the RMS error of all pairs would be {k.untempered.error!r}."
        parts.append(filled(f"Temperature {k.temperature:.3f}; {without}"))
    parts += [filled(k.scores.verdict), scores_table(k.scores), predictive_text(k.predictive)]
    return joined([*parts, *(filled(f"Note: {note}") for note in k.notes)])


def scores_table(s: CoreferenceScores) -> str:
    """A line for each metric, in percent."""
    level = f"{100 * s.confidence_level:g}% interval of F1"
    lines = [f"  {'metric':<10} {'recall':>7} {'precision':>10} {'F1':>7}  {level}"]
    for m in s.scores:
        recall, precision = (f"{100 * x.value:.2f}" if x is not None else "" for x in (m.recall, m.precision))
        interval = "" if m.f1.low is None or m.f1.high is None else f"[{100 * m.f1.low:.2f}, {100 * m.f1.high:.2f}]"
        lines.append(f"  {m.metric:<10} {recall:>7} {precision:>10} {100 * m.f1.value:>7.2f}  {interval}".rstrip())
    return "\n".join(lines)


def coref_scores_text(s: CoreferenceScores) -> str:
    """Verdict, then a line for each metric."""
    return joined([filled(s.verdict, break_long_words=False, break_on_hyphens=False), scores_table(s)])


def coref_training_text(t: Any) -> str:
    """Verdict, then the scores on dev."""
    said = filled(t.verdict, break_long_words=False, break_on_hyphens=False)
    return joined([said, "" if t.dev is None else scores_table(t.dev)])


def classifier_training_text(t: ClassifierTraining) -> str:
    """What was learnt, and what was tried on dev."""
    s = t.model.settings
    if s["method"] == "ngrams":
        head = "temperature  log loss on dev"
        rows = [f"  {d['temperature']:<12.4g} {d['log_loss']:.4f}" for d in s["dev"]]
    else:
        head = f"{'C' if s['method'] == 'logistic' else 'pseudocount':<12} F1 on dev"
        rows = [f"  {d['strength']:<12g} {d['f1']:.4f}" + " <" * (d["strength"] == s["strength"]) for d in s["dev"]]
    return "\n".join([filled(printable(t.verdict)), *([f"\n  {head}", *rows] if rows else [])])


def classifier_text(c: ClassifierCheck) -> str:
    """Both verdicts, the scores, then the calibration."""
    of = "" if c.positive is None else f'Probability of "{printable(c.positive)}":\n\n'
    k = c.calibration
    left = f"\n{c.left_out:,} rows without a text or a label were left out.\n" if c.left_out else ""
    return score_text(c.score) + left + "\n" + of + k.to_text() + "".join(f"\n\n{note}" for note in notes(c.notes))

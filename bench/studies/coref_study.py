"""The study of docs/studies/coref-study.md: OntoGUM and GUM, three seeds; calibration, sampling, error costs; GAP.

python bench/studies/coref_study.py            # prints, and writes docs/studies/coref-study.md
python bench/studies/coref_study.py --quick    # one seed, prints only
python bench/studies/coref_study.py --keep X   # keeps each part in the folder X, and takes from there what is done
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from howsure.corpora.coreference import gum_documents
from howsure.evaluation.coreference import coreference_scores
from howsure.models.coreference.ranker import fit_coref, fit_temperature, gold_clusters, pair_brier
from howsure.verbs.check import check
from howsure.verbs.coref import Resolved, check_coref, mention_pairs

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "coref-study.md"
SETTINGS = [("ontogum", "gold"), ("ontogum", "predicted"), ("gum", "gold")]
TARGETS = {("ontogum", "gold"): (72, 70), ("ontogum", "predicted"): (55, 53), ("gum", "gold"): (77, None)}


def resolved(model, documents, decoder):
    made = []
    for d in documents:
        given = model.candidates(d)
        p = model.posterior(d, given)
        made.append(Resolved(d, given, p, getattr(p, decoder)()))
    return made


def scored(model, documents, decoder="minimum_risk"):
    pairs = [
        (mention_pairs(r.document.mentions), mention_pairs(r.entities(singletons=model.keeps_singletons)))
        for r in resolved(model, documents, decoder)
    ]
    return coreference_scores(pairs)


def calibrated(model, documents, t):
    """Calibration of all pairs and of P(NEW), documents as groups."""
    y, q, g, first, new, m = [], [], [], [], [], []
    for k, d in enumerate(documents):
        given = model.candidates(d)
        p = model.posterior(d, given, temperature=t)
        e = gold_clusters(d, given)
        i, j = np.tril_indices(len(e), -1)
        y.append(e[i] == e[j])
        q.append(p.pairs()[i, j])
        g.append(np.full(len(i), k))
        first.append(np.isin(np.arange(len(e)), np.unique(e, return_index=True)[1]))
        new.append(p.new)
        m.append(np.full(len(e), k))
    pairs = check(np.concatenate(y), np.concatenate(q), groups=np.concatenate(g), rng=None)
    news = check(np.concatenate(first), np.clip(np.concatenate(new), 0, 1), groups=np.concatenate(m), rng=None)
    return pairs, news


def calibration_row(name, t, model, documents):
    pairs, news = calibrated(model, documents, t)
    e, n = pairs.error, news.error
    return {
        "name": name, "t": t, "error": e.value, "low": e.low, "high": e.high, "brier": pairs.brier.value,
        "bias": pairs.bias.gap.value, "slope": pairs.bias.slope.value, "new": n.value, "new_low": n.low, "new_high": n.high,
    }  # fmt: skip


def temperatures(model, documents):
    given = [model.candidates(d) for d in documents]
    posteriors = [model.posterior(d, m, temperature=1.0) for d, m in zip(documents, given, strict=True)]
    gold = [gold_clusters(d, m) for d, m in zip(documents, given, strict=True)]
    return {objective: fit_temperature(posteriors, gold, objective) for objective in ("likelihood", "brier")}


def run_setting(scheme, mentions, seeds, parts):
    out = {"scheme": scheme, "mentions": mentions, "seeds": []}
    for seed in range(seeds):
        wall, cpu = time.perf_counter(), time.process_time()
        model = fit_coref(parts["train"], mentions=mentions, rng=seed)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        t = temperatures(model, parts["dev"])
        warm = model.with_temperature(t["likelihood"])
        row = {"seed": seed, "wall": wall, "cpu": cpu, "t": t}
        for part in ("dev", "test"):
            for decoder in ("minimum_risk", "best"):
                f = scored(warm, parts[part], decoder)
                row[f"{part} {decoder}"] = {
                    m: [100 * f[m].f1.value, 100 * f[m].f1.low, 100 * f[m].f1.high] for m in ("conll", "muc", "b3", "ceafe", "lea", "blanc")
                }  # fmt: skip
        if seed == 0:
            out["calibration"] = [
                calibration_row(name, x, model, parts["test"])
                for name, x in (("before", 1.0), ("for likelihood", t["likelihood"]), ("for pair Brier", t["brier"]))
            ]
            if (scheme, mentions) == ("ontogum", "gold"):
                k = check_coref(warm, parts["test"], by="mention-type")
                out["sampling"] = [s.to_dict() for s in k.sampling]
                out["by type"] = [s.to_dict() for s in k.pairs.slices]
                out["by distance"] = [
                    s.to_dict() for s in check_coref(warm, parts["test"], by="distance", samples=()).pairs.slices
                ]
        out["seeds"].append(row)
        print(scheme, mentions, seed, json.dumps(row["dev minimum_risk"]["conll"]), json.dumps(row["test minimum_risk"]["conll"]),
              f"{wall:.0f} s wall, {cpu:.0f} s CPU", flush=True)  # fmt: skip
    return out


def run_costs(parts):
    """Error costs: what they give in F1 and take in calibration."""
    rows = []
    for costs in (False, True):
        model = fit_coref(parts["train"], costs=costs)
        t = temperatures(model, parts["dev"])["likelihood"]
        for name, x in (("before", 1.0), ("after", t)):
            row = calibration_row(name, x, model, parts["test"])
            warm = model.with_temperature(x)
            f = {d: 100 * scored(warm, parts["test"], d)["conll"].f1.value for d in ("best", "minimum_risk")}
            given = [model.candidates(d) for d in parts["test"]]
            posteriors = [warm.posterior(d, m) for d, m in zip(parts["test"], given, strict=True)]
            gold = [gold_clusters(d, m) for d, m in zip(parts["test"], given, strict=True)]
            ll = sum(p.log_probability(e) for p, e in zip(posteriors, gold, strict=True)) / sum(map(len, gold))
            rows.append({**row, "costs": costs, "f": f, "ll": ll, "pair_brier": pair_brier(posteriors, gold)})
            print("costs", costs, name, f, f"error {row['error']:.4f}", flush=True)
    return rows


def page(results, costs, seeds):
    lines = ["# Coreference: the study", "", f"Written by `make coref-study` ({seeds} seeds; OntoGUM and GUM by their own splits, gold parses; {os.cpu_count()} cores).",
             "All intervals are 95%, documents being what is resampled or what is independent.", "", "## Accuracy", "",
             "CoNLL F1 of the expected-F (minimum-risk) clustering and of the best antecedents; mean over seeds, the interval is seed 0's.", "",
             "| data | mentions | part | CoNLL, minimum risk | interval | CoNLL, best antecedents | MUC | B³ | CEAFe | asked |", "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in results:
        for k, part in enumerate(("dev", "test")):
            rows = [s[f"{part} minimum_risk"] for s in r["seeds"]]
            best = np.mean([s[f"{part} best"]["conll"][0] for s in r["seeds"]])
            mean = {m: np.mean([x[m][0] for x in rows]) for m in ("conll", "muc", "b3", "ceafe")}
            asked = TARGETS[r["scheme"], r["mentions"]][k]
            lines.append(f"| {r['scheme']} | {r['mentions']} | {part} | {mean['conll']:.2f} | {rows[0]['conll'][1]:.1f} – {rows[0]['conll'][2]:.1f} | {best:.2f} | {mean['muc']:.1f} | {mean['b3']:.1f} | {mean['ceafe']:.1f} | {'–' if asked is None else f'≥ {asked}'} |")  # fmt: skip
    lines += ["", "Training, features included:", "", "| data | mentions | wall, s | CPU, s |", "|---|---|---|---|"]
    for r in results:
        lines.append(f"| {r['scheme']} | {r['mentions']} | {max(s['wall'] for s in r['seeds']):.0f} | {max(s['cpu'] for s in r['seeds']):.0f} |")  # fmt: skip
    lines += ["", "(the slowest seed. CPU time is one core's; wall time grows with whatever else the machine is doing.)", "", "## Calibration, before and after temperature", "",
              "All pairs of mentions of each test document, seed 0; the temperature is fitted on dev.", "",
              "| data | mentions | temperature | t | pairs: RMS error | interval | mean q - mean y | slope | Brier | new?: RMS error | interval |", "|---|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in results:
        for c in r["calibration"]:
            lines.append(f"| {r['scheme']} | {r['mentions']} | {c['name']} | {c['t']:.3f} | {c['error']:.4f} | {c['low']:.4f} – {c['high']:.4f} | {c['bias']:+.4f} | {c['slope']:.3f} | {c['brier']:.5f} | {c['new']:.4f} | {c['new_low']:.4f} – {c['new_high']:.4f} |")  # fmt: skip
    gold = results[0]
    lines += ["", "## Exact against sampled", "", "OntoGUM test, gold mentions, after temperature: pair probabilities exact and as frequencies in sampled clusterings.", "",
              "| pair probabilities | RMS error | interval | Brier | largest deviation | RMS deviation |", "|---|---|---|---|---|---|"]  # fmt: skip
    for s in gold["sampling"]:
        e = s["error"]
        name = "exact" if s["samples"] is None else f"{s['samples']:,} samples"
        lines.append(f"| {name} | {e['value']:.4f} | {e['low']:.4f} – {e['high']:.4f} | {s['brier']:.5f} | {s['largest_deviation']:.4f} | {s['rms_deviation']:.4f} |")  # fmt: skip
    for title in ("by type", "by distance"):
        lines += ["", f"Calibration of the exact pairs {title} (worst first):", "", "| pairs | n | base rate | RMS error | interval | mean q - mean y | adjusted p |", "|---|---|---|---|---|---|---|"]  # fmt: skip
        for s in gold[title]:
            e = s["error"]
            p = s["adjusted_p_value"]
            lines.append(f"| {s['slice']} | {s['n']:,} | {s['base_rate']:.3f} | {e['value']:.4f} | {e['low']:.4f} – {e['high']:.4f} | {s['bias']['value']:+.4f} | {'–' if p is None else f'{p:.3f}'} |")  # fmt: skip
    lines += ["", "## The price of error costs", "", "OntoGUM test, gold mentions, one seed. Costs (3 for a new entity that is none, 1 for a wrong link, 0.1 for a link where there is none) are added to wrong choices in training.", "",
              "| costs | temperature | t | CoNLL, best antecedents | CoNLL, minimum risk | pairs: RMS error | interval | new?: RMS error | pair Brier | log-likelihood a mention |", "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for c in costs:
        lines.append(f"| {'yes' if c['costs'] else 'no'} | {c['name']} | {c['t']:.3f} | {c['f']['best']:.2f} | {c['f']['minimum_risk']:.2f} | {c['error']:.4f} | {c['low']:.4f} – {c['high']:.4f} | {c['new']:.4f} | {c['pair_brier']:.5f} | {c['ll']:.4f} |")  # fmt: skip
    lines += ["", "GAP, on raw text with the weights that ship: the model card (`bench/studies/english_gap.py`).", ""]
    return "\n".join(lines)


def kept(folder, name, work, *arguments):
    """The result of work, from the folder if it is there."""
    file = None if folder is None else folder / f"{name}.json"
    if file is not None and file.exists():
        return json.loads(file.read_text())
    made = work(*arguments)
    if file is not None:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(made))
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    quick, keep = given.quick, given.keep
    seeds = 1 if quick else 3
    results, costs = [], None
    for scheme, mentions in SETTINGS:
        parts = {p: gum_documents(p, scheme) for p in ("train", "dev", "test")}
        results.append(kept(keep, f"{scheme}-{mentions}", run_setting, scheme, mentions, seeds, parts))
        if (scheme, mentions) == ("ontogum", "gold"):
            costs = kept(keep, "costs", run_costs, parts)
    text = page(results, costs, seeds)
    print(text)
    if not quick:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()

"use strict";
// Exact laws of counts from the documents' probabilities, for any actors, verbs and period: the same numbers as
// howsure.events gives (the tests compare them).
const howsure = { counts: (() => {
  const DAY = 86400000, TINY = 1e-25, ROUNDING = 1e-12, MOST = 20000;
  const LEVELS = [["50", 0.5], ["80", 0.8], ["95", 0.95]];

  // A law is {least, p}: p[k] = P(count = least + k). Ends that are too small to matter are cut.
  function trimmed(p, size, least) {
    let from = 0;
    while (size > 1 && p[size - 1] < TINY) size--;
    while (from < size - 1 && p[from] < TINY) from++;
    return { least: least + from, p: p.slice(from, size) };
  }

  // How many of independent events happen, by adding one at a time.
  function poissonBinomial(probabilities) {
    let sure = 0;
    const open = [];
    for (const q of probabilities) if (q >= 1) sure++; else if (q > 0) open.push(q);
    const p = new Float64Array(open.length + 1);
    p[0] = 1;
    let low = 0, high = 0;
    for (const q of open) {
      p[++high] = 0;
      for (let k = high; k > low; k--) p[k] = p[k] * (1 - q) + p[k - 1] * q;
      p[low] *= 1 - q;
      while (low < high && p[low] < TINY) low++;
      while (high > low && p[high] < TINY) high--;
    }
    return trimmed(p.subarray(low, high + 1), high - low + 1, sure + low);
  }

  // n_A - n_B, from each document's P(only A) and P(only B).
  function difference(onlyA, onlyB) {
    let law = new Float64Array([1]), least = 0;
    for (let i = 0; i < onlyA.length; i++) {
      const a = onlyA[i], b = onlyB[i], none = Math.max(0, 1 - a - b);
      if (a <= 0 && b <= 0) continue;
      const made = new Float64Array(law.length + 2);
      for (let k = 0; k < law.length; k++) {
        made[k] += law[k] * b;
        made[k + 1] += law[k] * none;
        made[k + 2] += law[k] * a;
      }
      ({ p: law, least } = trimmed(made, made.length, least - 1));
    }
    return { least, p: law };
  }

  const mean = (law) => law.p.reduce((sum, p, k) => sum + p * (k + law.least), 0);
  function sd(law) {
    const m = mean(law);
    return Math.sqrt(Math.max(0, law.p.reduce((sum, p, k) => sum + p * (k + law.least - m) ** 2, 0)));
  }
  function quantile(law, level) {
    let below = 0;
    for (let k = 0; k < law.p.length; k++) {
      below += law.p[k];
      if (below >= level - ROUNDING) return law.least + k;
    }
    return law.least + law.p.length - 1;
  }
  const interval = (law, level) => [quantile(law, (1 - level) / 2), quantile(law, (1 + level) / 2)];
  const above = (law, n) => law.p.reduce((sum, p, k) => sum + (k + law.least > n ? p : 0), 0);
  const below = (law, n) => law.p.reduce((sum, p, k) => sum + (k + law.least < n ? p : 0), 0);

  // P(first > second) for the counts of two periods.
  function moreThan(first, second) {
    let total = 0, reached = 0, j = 0;
    for (let k = 0; k < first.p.length; k++) {
      while (j < second.p.length && second.least + j < first.least + k) reached += second.p[j++];
      total += first.p[k] * reached;
    }
    return total;
  }

  // Days are numbers since 1970-01-01; weeks begin on Mondays.
  const utc = (day) => new Date(day * DAY);
  const dayOf = (year, month) => Math.round(new Date(Date.UTC(2000, month, 1)).setUTCFullYear(year) / DAY);
  function periodStart(day, every) {
    const d = utc(day);
    if (every === "day") return day;
    if (every === "week") return day - (d.getUTCDay() + 6) % 7;
    const year = d.getUTCFullYear(), month = d.getUTCMonth();
    return dayOf(year, every === "month" ? month : every === "quarter" ? 3 * Math.floor(month / 3) : 0);
  }
  function nextStart(start, every) {
    if (every === "day") return start + 1;
    if (every === "week") return start + 7;
    const d = utc(start), months = { month: 1, quarter: 3, year: 12 }[every];
    const at = d.getUTCMonth() + months;
    return dayOf(d.getUTCFullYear() + Math.floor(at / 12), at % 12);
  }
  const iso = (day) => utc(day).toISOString().slice(0, 10);
  function periodName(start, every) {
    const text = iso(start);
    if (every === "week") {
      const thursday = start + 3, year = utc(thursday).getUTCFullYear();
      const week = 1 + Math.floor((thursday - dayOf(year, 0)) / 7);
      return year + "-W" + String(week).padStart(2, "0");
    }
    if (every === "quarter") return text.slice(0, 4) + "-Q" + (1 + Math.floor(utc(start).getUTCMonth() / 3));
    return { day: text, month: text.slice(0, 7), year: text.slice(0, 4) }[every];
  }
  // All periods from the first document's to the last one's; null when there are too many to draw.
  function allPeriods(days, every) {
    if (!days.length) return [];
    const made = [], last = days[days.length - 1][0];
    for (let at = periodStart(days[0][0], every); at <= last; at = nextStart(at, every)) {
      if (made.length === MOST) return null;
      made.push({ start: at, end: nextStart(at, every), name: periodName(at, every), documents: 0 });
    }
    let i = 0;
    for (const [day, n] of days) {
      while (day >= made[i].end) i++;
      made[i].documents += n;
    }
    return made;
  }

  // The events of one actor, under a choice of verbs: {document, day, p, best, event}. A document whose chains are all
  // of chosen verbs keeps its probability; one chain alone has its own; of several the largest is a lower bound.
  function chosenEvents(data, actor, lemmas) {
    const wanted = lemmas && lemmas.length ? new Set(lemmas.map((l) => data.lemmas.indexOf(l))) : null;
    const of = new Map();
    if (wanted) {
      const c = data.chains;
      for (let i = 0; i < c.event.length; i++) {
        const at = of.get(c.event[i]) || { in: 0, out: 0, p: 0, best: 0 };
        if (wanted.has(c.lemma[i])) { at.in++; at.p = Math.max(at.p, c.p[i]); at.best |= c.best[i]; } else at.out++;
        of.set(c.event[i], at);
      }
    }
    const made = [], e = data.events;
    let bounds = 0;
    for (let i = 0; i < e.actor.length; i++) {
      if (e.actor[i] !== actor) continue;
      const document = e.document[i];
      let p = e.p[i], best = e.best[i];
      if (wanted) {
        const at = of.get(i);
        if (!at || !at.in) continue;
        if (at.out) { bounds += at.in > 1; p = Math.min(p, at.p); best = at.best; }
      }
      made.push({ event: i, document, day: data.documents.day[document], p, whole: e.p[i], best, layer: e.layer[i] });
    }
    made.bounds = bounds;
    return made;
  }

  function byPeriod(events, periods) {
    const made = periods.map(() => []);
    const starts = periods.map((x) => x.start);
    for (const event of events) {
      if (event.day === null) continue;
      let low = 0, high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (starts[middle] <= event.day) low = middle; else high = middle - 1;
      }
      made[low].push(event);
    }
    return made;
  }

  function timeline(events, periods) {
    let before = null;
    return byPeriod(events, periods).map((here, i) => {
      const law = poissonBinomial(here.map((x) => x.p)), period = periods[i];
      const made = { period: period.name, start: period.start, end: period.end, documents: period.documents, mean: mean(law), sd: sd(law) };
      for (const [name, level] of LEVELS) [made["low" + name], made["high" + name]] = interval(law, level);
      made.best = here.reduce((sum, x) => sum + (x.best > 0), 0);
      made.more_than_before = before ? moreThan(law, before) : null;
      before = law;
      return made;
    });
  }

  // P(n_A > n_B) in each period; a document may describe both, so its joint probability is used.
  function comparison(data, a, b, eventsA, eventsB, periods) {
    const both = new Map(), pairs = data.pairs;
    for (let i = 0; i < pairs.document.length; i++) {
      if ((pairs.a[i] === a && pairs.b[i] === b) || (pairs.a[i] === b && pairs.b[i] === a)) both.set(pairs.document[i], pairs.both[i]);
    }
    const law = (hereA, hereB) => {
      const p = new Map();
      for (const x of hereA) p.set(x.document, { a: x.p, b: 0, share: x.whole ? x.p / x.whole : 1 });
      for (const x of hereB) {
        const at = p.get(x.document) || { a: 0, b: 0, share: 1 };
        at.b = x.p;
        at.share *= x.whole ? x.p / x.whole : 1;
        p.set(x.document, at);
      }
      const onlyA = [], onlyB = [];
      for (const [document, x] of p) {
        const joint = Math.max(x.a + x.b - 1, Math.min((both.get(document) || 0) * x.share, x.a, x.b));
        onlyA.push(x.a - joint);
        onlyB.push(x.b - joint);
      }
      return difference(onlyA, onlyB);
    };
    const inA = byPeriod(eventsA, periods), inB = byPeriod(eventsB, periods);
    const summary = (l) => ({ p_more: above(l, 0), p_fewer: below(l, 0), difference: mean(l) });
    const dated = (x) => x.day !== null;
    return {
      all: summary(law(eventsA.filter(dated), eventsB.filter(dated))),
      periods: periods.map((_, i) => summary(law(inA[i], inB[i]))),
    };
  }

  // Over all periods.
  function total(events) {
    const law = poissonBinomial(events.filter((x) => x.day !== null).map((x) => x.p));
    const [low, high] = interval(law, 0.95);
    return { mean: mean(law), sd: sd(law), low, high };
  }
  return { DAY, iso, periodStart, allPeriods, chosenEvents, timeline, comparison, total, poissonBinomial, interval };
})() };

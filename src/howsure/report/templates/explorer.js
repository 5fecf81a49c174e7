"use strict";
// The explorer: what is shown follows from `state`, which the address keeps; every change goes through `update`.
(() => {
  const el = howsure.element, fixed = howsure.fixed, counts = howsure.counts, DAY = counts.DAY;
  const root = document.documentElement, at = (id) => document.getElementById(id);
  const data = JSON.parse(at("results").textContent);
  const specs = JSON.parse(at("specifications").textContent);
  const PERIODS = ["day", "week", "month", "quarter", "year"], PAGE = 25, POINTS = 250, ROWS = 400;
  const COUNTS = { reported: "what documents report", rules: "rules and coreference alone" };
  const BAND = ["mean", "sd", "low50", "high50", "low80", "high80", "low95", "high95"], PARTS = ["coreference", "reading", "layer", "shifts"];
  const SORTS = { probable: "most probable first", uncertain: "least certain first", newest: "newest first", oldest: "oldest first" };
  if (!data.actors.length) { root.dataset.drawn = "yes"; return; }

  // Where documents come from: from this file, or from howsure serve.
  const documents = data.served ? {
    ask: async (path) => {
      const answer = await fetch(path);
      if (!answer.ok) throw new Error("howsure serve does not answer");
      return answer.json();
    },
    page: (rows) => documents.ask("documents?rows=" + rows.join(",")),
    one: (row) => documents.ask("document?row=" + row),
    search: async (words) => new Set(await documents.ask("search?q=" + encodeURIComponent(words))),
  } : {
    one: async (row) => JSON.parse(at("document-" + row).textContent),
    page: async (rows) => Object.fromEntries(rows.map((row) => [row, { snippets: data.snippets[row] || {} }])),
    search: async (words) => {
      const wanted = words.toLowerCase(), found = new Set();
      data.documents.row.forEach((row, i) => {
        const inside = [data.documents.id[i], data.documents.title[i]].some((t) => t.toLowerCase().includes(wanted));
        if (inside || JSON.parse(at("document-" + row).textContent).text.toLowerCase().includes(wanted)) found.add(row);
      });
      return found;
    },
  };

  const actorOf = new Map(data.actors.map((a, i) => [a.code, i]));
  const tooMany = new Set(PERIODS.filter((every) => counts.allPeriods(data.days, every) === null));
  const usual = {
    a: data.actors[0].code, b: data.against, every: tooMany.has(data.every) ? "year" : data.every, verbs: [], best: true, count: "reported",
    from: null, to: null, zoom: null, sort: "probable", words: "", doc: null, of: null, chain: 0,
  };
  let state = { ...usual };
  let now = {}, shown = [], limit = PAGE, turn = 0;
  const charts = {};

  // --- the address -------------------------------------------------------------------------------------------
  const number = (text) => text !== null && /^-?\d{1,7}$/.test(text) ? Number(text) : null;
  function toAddress() {
    const p = new URLSearchParams();
    for (const name of ["a", "b", "every", "count", "sort", "words", "doc", "of", "from", "to"]) {
      if (state[name] !== usual[name] && state[name] !== null) p.set(name, state[name]);
    }
    if (state.verbs.length) p.set("verbs", state.verbs.join(","));
    if (!state.best) p.set("best", "off");
    if (state.zoom) p.set("zoom", state.zoom.join(","));
    if (state.chain) p.set("chain", state.chain);
    return p.toString();
  }
  function fromAddress() {
    const p = new URLSearchParams(location.hash.slice(1)), made = { ...usual };
    const actor = (name) => actorOf.has(p.get(name)) ? p.get(name) : usual[name];
    made.a = actor("a");
    made.b = p.get("b") === "" || actor("b") === made.a ? "" : actor("b");
    if (PERIODS.includes(p.get("every")) && !tooMany.has(p.get("every"))) made.every = p.get("every");
    if (Object.hasOwn(SORTS, p.get("sort") || "")) made.sort = p.get("sort");
    if (Object.hasOwn(COUNTS, p.get("count") || "")) made.count = p.get("count");
    made.words = p.get("words") || "";
    made.verbs = (p.get("verbs") || "").split(",").filter((l) => data.lemmas.includes(l));
    made.best = p.get("best") !== "off";
    made.from = number(p.get("from"));
    made.to = number(p.get("to"));
    if (made.from === null || made.to === null || made.from >= made.to) made.from = made.to = null;
    const zoom = (p.get("zoom") || "").split(",").map(number);
    if (zoom.length === 2 && zoom[0] !== null && zoom[1] !== null && zoom[0] < zoom[1]) made.zoom = zoom;
    made.doc = data.documents.row.includes(number(p.get("doc"))) ? number(p.get("doc")) : null;
    made.of = actorOf.has(p.get("of")) ? p.get("of") : null;
    made.chain = number(p.get("chain")) || 0;
    return made;
  }
  function keep() {
    const address = toAddress();
    try { history.replaceState(null, "", address ? "#" + address : location.pathname + location.search); } catch { location.hash = address; }
  }

  // --- numbers -----------------------------------------------------------------------------------------------
  function compute() {
    const codes = state.b ? [state.a, state.b] : [state.a];
    const periods = counts.allPeriods(data.days, state.every) || [];
    const layer = state.count === "reported" && !state.verbs.length ? data.layer[state.every] : null;
    const named = (row) => Object.fromEntries(["named", ...BAND, ...PARTS].map((f, i) => [f, row ? row[i] : 0]));
    const series = codes.map((code, i) => {
      const events = counts.chosenEvents(data, actorOf.get(code), state.verbs);
      let line = counts.timeline(events, periods), total = counts.total(events);
      if (layer) {
        line = line.map((x) => ({ ...x, more_than_before: null, ...named(layer[code]?.[x.period]) }));
        const all = named(data.totals[code]);
        total = { ...all, low: all.low95, high: all.high95 };
      }
      return { role: "AB"[i], actor: data.actors[actorOf.get(code)], events, line, total };
    });
    const versus = state.b ? counts.comparison(data, actorOf.get(state.a), actorOf.get(state.b), series[0].events, series[1].events, periods) : null;
    now = { periods, series, versus, layer: Boolean(layer) };
  }
  const chosenName = () => {
    const inside = now.periods.filter((p) => p.start >= state.from && p.end <= state.to);
    if (!inside.length) return counts.iso(state.from) + " to " + counts.iso(state.to - 1);
    const first = inside[0].name, last = inside[inside.length - 1].name;
    return first === last ? first : first + " to " + last;
  };
  const one = (n) => n === 1 ? "1 document" : n.toLocaleString("en") + " documents";

  // --- charts ------------------------------------------------------------------------------------------------
  const chosen = () => state.from === null ? [] : [{ start: state.from * DAY, end: state.to * DAY }];
  const shownTime = () => state.zoom ? state.zoom.map((d) => d * DAY) : null;
  const FIELDS = ["mean", "best", "low50", "high50", "low80", "high80", "low95", "high95"];
  // Which of many periods must be drawn: those in sight, and of a run of equal ones the ends; the picture is the same.
  function needed(values, fields) {
    const size = now.periods.length, all = now.periods.map((_, i) => i);
    if (size <= POINTS) return all;
    const seen = size <= 4 * POINTS || !state.zoom ? all : all.filter((i) => now.periods[i].end > state.zoom[0] && now.periods[i].start < state.zoom[1]);
    const same = (i, j) => fields.every((f) => values[i][f] === values[j][f]);
    return seen.filter((i, k) => !k || k === seen.length - 1 || !same(i, seen[k - 1]) || !same(i, seen[k + 1]));
  }
  function datasets() {
    const time = (x) => ({ start: x.start * DAY, end: x.end * DAY, mid: (x.start + x.end) / 2 * DAY });
    const line = now.series.flatMap((s) => needed(s.line, FIELDS).map((i) => ({ ...s.line[i], ...time(s.line[i]), actor: s.role })));
    const ends = now.series.map((s) => ({ ...line.findLast((x) => x.actor === s.role), start: now.periods.at(-1)?.end * DAY }));
    const bars = !now.versus ? [] : needed(now.versus.periods, ["p_more", "p_fewer"]).flatMap((i) => {
      const v = now.versus.periods[i], edge = time(now.periods[i]);
      return [{ ...edge, who: "A", from: 0, to: v.p_more }, { ...edge, who: "equal", from: v.p_more, to: 1 - v.p_fewer }, { ...edge, who: "B", from: 1 - v.p_fewer, to: 1 }];
    });
    return { counts: line, steps: [...line, ...ends], versus: bars, chosen: chosen() };
  }
  // The small chart shows the whole at a few hundred points, each the mean of some periods.
  function coarse() {
    const size = Math.ceil(now.periods.length / 400), made = [];
    for (const { line, role } of now.series) {
      for (let i = 0; i < line.length; i += size) {
        const some = line.slice(i, i + size);
        made.push({ actor: role, start: some[0].start * DAY, mean: some.reduce((sum, x) => sum + x.mean, 0) / some.length });
      }
      made.push({ ...made.at(-1), start: line.at(-1).end * DAY });
    }
    return made;
  }
  // Ticks where periods begin: every month, or every few, or years.
  function ticks(spec) {
    if (state.every === "day" || state.every === "week") return;
    const [first, last] = state.zoom || [now.periods[0].start, now.periods[now.periods.length - 1].end], months = (last - first) / 30.4;
    const step = (state.every === "year" ? [12] : state.every === "quarter" ? [3, 6, 12] : [1, 2, 3, 6, 12]).find((n) => months / n <= (innerWidth < 600 ? 5 : 13));
    if (step) for (const l of spec.layer) l.encoding.x.axis.tickCount = step === 12 ? { interval: "year", step: 1 } : { interval: "month", step };
  }
  async function draw() {
    const mine = ++turn, values = datasets(), periods = now.periods;
    const whole = periods.length ? [periods[0].start * DAY, periods[periods.length - 1].end * DAY] : [0, DAY];
    at("versus-part").hidden = !state.b || !periods.length;
    if (!periods.length) {
      at("timeline").textContent = "No document has a date, so there is nothing to draw over time.";
      root.dataset.drawn = "yes";
      return;
    }
    for (const name of ["timeline", "versus", "whole"]) {
      if (name === "versus" && !state.b) continue;
      const spec = structuredClone(specs[name]);
      spec.datasets = values;
      spec.params[0].value = name === "whole" ? null : shownTime();
      spec.params[1].value = whole;
      const left = [...(state.best ? [] : ["best"]), ...(periods.length > POINTS ? ["points", "block"] : ["run"])];
      spec.layer = spec.layer.filter((l) => !left.some((n) => l.name?.startsWith(n)));
      ticks(spec);
      const zoomed = name === "whole" && state.zoom ? [{ start: state.zoom[0] * DAY, end: state.zoom[1] * DAY }] : [];
      if (name === "whole") spec.datasets = { counts: coarse(), chosen: zoomed };
      const made = await vegaEmbed("#" + name, spec, chartOptions());
      if (mine !== turn) return made.finalize();
      charts[name]?.finalize();
      charts[name] = made;
      // The element is described as a whole, and the table has the numbers: the marks would only be noise to a listener.
      at(name).querySelector("svg").setAttribute("aria-hidden", "true");
    }
    root.dataset.drawn = "yes";
  }
  async function light() {
    for (const name of ["timeline", "versus"]) {
      if (charts[name]) await charts[name].view.data("chosen", chosen()).runAsync();
    }
  }

  // Pointing: a click chooses a period, a drag all that it passes; on the small chart it zooms.
  function timeAt(name, event) {
    const view = charts[name].view, box = at(name).querySelector("svg").getBoundingClientRect();
    const x = event.clientX - box.left - view.origin()[0] - view.padding().left;
    return Number(view.scale("x").invert(x)) / DAY;
  }
  function periodAt(day) {
    const p = now.periods;
    return p.find((x) => x.start <= day && day < x.end) || (day < p[0].start ? p[0] : p[p.length - 1]);
  }
  function pointing(name, act) {
    const box = at(name);
    let from = null, x0 = 0;
    const range = (event) => {
      const ends = [periodAt(from), periodAt(timeAt(name, event))].sort((a, b) => a.start - b.start);
      return [ends[0].start, ends[1].end, Math.abs(event.clientX - x0) > 4];
    };
    box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !charts[name] || !now.periods.length) return;
      from = timeAt(name, event);
      x0 = event.clientX;
      try { box.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone */ }
    });
    box.addEventListener("pointermove", (event) => {
      if (!charts[name] || !now.periods.length) return;
      if (name !== "whole") read(periodAt(timeAt(name, event)));
      if (from !== null) act(...range(event), false);
    });
    box.addEventListener("pointerup", (event) => { if (from !== null) { const r = range(event); from = null; act(...r, true); } });
    box.addEventListener("pointercancel", () => { from = null; });
    box.addEventListener("pointerleave", () => read(null));
  }
  function choose(from, to) {
    const same = state.from === from && state.to === to;
    update({ from: same ? null : from, to: same ? null : to, doc: null, chain: 0 });
  }
  for (const name of ["timeline", "versus"]) {
    pointing(name, (from, to, dragged, done) => {
      if (done) return dragged ? update({ from, to, doc: null, chain: 0 }) : choose(from, to);
      if (dragged && charts[name]) charts[name].view.data("chosen", [{ start: from * DAY, end: to * DAY }]).runAsync();
    });
  }
  pointing("whole", (from, to, dragged, done) => {
    if (done) return update({ zoom: dragged ? [from, to] : null });
    if (dragged) {
      charts.whole.view.data("chosen", [{ start: from * DAY, end: to * DAY }]).runAsync();
      for (const name of ["timeline", "versus"]) charts[name]?.view.signal("shown", [from * DAY, to * DAY]).runAsync();
    }
  });
  at("timeline").addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape" && state.from !== null) return update({ from: null, to: null });
    if (!step || !now.periods.length) return;
    event.preventDefault();
    const i = now.periods.findIndex((p) => p.start === state.from);
    const next = now.periods[Math.max(0, Math.min(now.periods.length - 1, i < 0 ? (step > 0 ? 0 : now.periods.length - 1) : i + step))];
    update({ from: next.start, to: next.end, doc: null, chain: 0 });
  });

  // What the pointer (or the choice) is on, in words.
  function read(period) {
    const inside = period ? now.periods.indexOf(period) : state.from === null ? -1 : now.periods.findIndex((p) => p.start === state.from && p.end === state.to);
    const p = now.periods[inside], name = p ? p.name : "All periods";
    const parts = [el("span", {}, el("b", {}, name), p ? ` ${one(p.documents)}` : "")];
    for (const s of now.series) {
      const x = p ? s.line[inside] : null;
      const made = now.layer ? "; band: " + PARTS.map((f) => `${f} ${Math.round(100 * (x || s.total)[f])}%`).join(", ") : "";
      const said = (x ? `${fixed(x.mean)} (95% ${x.low95}–${x.high95}), one-best ${x.best}` : `${fixed(s.total.mean)} (95% ${s.total.low}–${s.total.high})`) + made;
      parts.push(el("span", {}, el("span", { class: "swatch " + s.role }), `${s.actor.name} ${said}`));
    }
    if (now.versus) {
      const v = p ? now.versus.periods[inside] : now.versus.all, [a, b] = now.series;
      const share = (role, who, q) => el("span", {}, el("span", { class: "swatch " + role }), `${who} ${fixed(q)}`);
      at("versus-title").replaceChildren(el("span", {}, "Who has more? ", el("b", {}, name)),
        share("A", a.actor.name, v.p_more), share("equal", "as many", Math.max(0, 1 - v.p_more - v.p_fewer)), share("B", b.actor.name, v.p_fewer), el("span", { class: "hint" }, COUNTS.rules));
    }
    at("readout").replaceChildren(...parts);
  }

  // --- the numbers as a table --------------------------------------------------------------------------------
  function table() {
    const heads = ["period", "documents"];
    for (const s of now.series) heads.push(s.actor.name, "95%", "one-best", ...(now.layer ? PARTS : []));
    if (now.versus) heads.push("P(A more)", "P(B more)");
    const inZoom = now.periods.map((_, i) => i).filter((i) => !state.zoom || (now.periods[i].end > state.zoom[0] && now.periods[i].start < state.zoom[1]));
    const rows = inZoom.slice(0, ROWS).map((i) => {
      const p = now.periods[i], button = el("button", { type: "button" }, p.name);
      button.addEventListener("click", () => choose(p.start, p.end));
      const cells = [p.documents.toLocaleString("en")];
      for (const s of now.series) cells.push(fixed(s.line[i].mean), s.line[i].low95 + "–" + s.line[i].high95, String(s.line[i].best), ...(now.layer ? PARTS.map((f) => Math.round(100 * s.line[i][f]) + "%") : []));
      if (now.versus) cells.push(fixed(now.versus.periods[i].p_more), fixed(now.versus.periods[i].p_fewer));
      return el("tr", { "aria-current": state.from === p.start && state.to === p.end ? "true" : null }, el("th", { scope: "row", class: "text" }, button), ...cells.map((c) => el("td", {}, c)));
    });
    at("numbers").replaceChildren(
      el("thead", {}, el("tr", {}, ...heads.map((h, i) => el("th", { scope: "col", class: i ? null : "text" }, h)))), el("tbody", {}, ...rows));
    at("numbers-note").textContent = inZoom.length > ROWS ? `The first ${ROWS} of ${inZoom.length} periods: zoom in for others. The CSV file has all.` : "";
  }

  // --- documents ---------------------------------------------------------------------------------------------
  let searching = 0;
  async function list() {
    const mine = ++searching, words = state.words.trim();
    let found = null;
    try { if (words) found = await documents.search(words); } catch (error) { return trouble(error); }
    if (mine !== searching) return;
    const rows = now.series.flatMap((s) => s.events.map((e) => ({ ...e, actor: s.actor, role: s.role, row: data.documents.row[e.document] })))
      .filter((e) => (state.from === null || (e.day !== null && e.day >= state.from && e.day < state.to)) && (!found || found.has(e.row)));
    const day = (e) => e.day === null ? -Infinity : e.day;
    const order = { probable: (x, y) => y.p - x.p, uncertain: (x, y) => Math.abs(x.p - 0.5) - Math.abs(y.p - 0.5), newest: (x, y) => day(y) - day(x), oldest: (x, y) => day(x) - day(y) }[state.sort];
    shown = rows.sort((x, y) => order(x, y) || x.row - y.row);
    const n = new Set(shown.map((e) => e.row)).size, where = state.from === null ? "all periods" : chosenName();
    at("documents-title").textContent = `Documents, ${where}`;
    at("documents-count").textContent = shown.length ? `${one(n)} where the rules find one, by them expected ${fixed(shown.reduce((s, e) => s + e.p, 0), 1)}${now.series.length > 1 ? " events of either actor" : " with an event"}` :
      words ? "No document here holds these words." : state.from === null ? "No document has an event." : `No document of ${chosenName()} has an event of ${now.series.map((s) => s.actor.name).join(" or ")}. Choose another period in the chart.`;
    at("clear").hidden = state.from === null;
    await fill();
  }
  async function fill() {
    const mine = searching, wanted = shown.slice(0, limit);
    let pages = {};
    try { pages = wanted.length ? await documents.page([...new Set(wanted.map((e) => e.row))]) : {}; } catch (error) { return trouble(error); }
    if (mine !== searching) return;
    at("list").replaceChildren(...wanted.map((e) => {
      const button = el("button", { type: "button", class: "row", "aria-current": state.doc === e.row && state.of === e.actor.code ? "true" : null });
      const meter = el("span", { class: "meter " + e.role });
      meter.style.setProperty("--p", e.p);
      const title = data.documents.title[e.document] || data.documents.id[e.document];
      button.append(el("span", { class: "p" }, fixed(e.p)), meter,
        el("span", { class: "title" }, title), el("span", { class: "hint" }, [e.day === null ? "undated" : counts.iso(e.day), now.series.length > 1 ? e.actor.name : null, `one-best ${e.best > 0 ? "yes" : "no"}`, e.layer === null ? null : `reported ${fixed(e.layer)}`].filter(Boolean).join(" · ")),
        el("span", { class: "snippet" }, pages[e.row]?.snippets?.[e.actor.code] || ""));
      button.addEventListener("click", () => { update({ doc: e.row, of: e.actor.code, chain: 0 }, true); });
      return el("li", {}, button);
    }));
    at("more").hidden = shown.length <= limit;
    at("more").textContent = `Show more (${(shown.length - limit).toLocaleString("en")} left)`;
  }
  function trouble(error) {
    at("documents-count").textContent = `The documents could not be read: ${error.message}. Is howsure serve still running?`;
  }
  let opening = 0;
  async function openDocument(focus) {
    const mine = ++opening, panel = at("document");
    at("reading").classList.toggle("open", state.doc !== null);
    if (state.doc === null) { panel.hidden = true; panel.replaceChildren(); return; }
    let doc;
    try { doc = await documents.one(state.doc); } catch (error) { return trouble(error); }
    if (mine !== opening) return;
    const place = data.documents.row.indexOf(state.doc);
    const known = (code) => counts.chosenEvents(data, actorOf.get(code), state.verbs).find((e) => e.document === place);
    const code = [state.of, state.a, state.b, ...data.actors.map((a) => a.code)].find((c) => c && actorOf.has(c) && known(c));
    if (!code) { panel.hidden = true; return; }
    const heading = howsure.documentView(panel, doc, data.actors[actorOf.get(code)], known(code),
      (chain) => update({ chain }), () => { update({ doc: null, of: null, chain: 0 }); at("documents-title").focus(); }, state.chain);
    if (focus) { heading.focus({ preventScroll: true }); panel.scrollIntoView({ block: "nearest" }); }
  }

  // --- exports -----------------------------------------------------------------------------------------------
  function download(name, kind, content) {
    const link = el("a", { download: name, href: URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  const quoted = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text; // a spreadsheet must not take a name for a formula
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  function csv() {
    const fields = ["period", "start", "documents", "mean", "sd", "low50", "high50", "low80", "high80", "low95", "high95", "best", "more_than_before", ...(now.layer ? ["named", ...PARTS] : [])];
    const heads = ["actor", "name", ...fields, ...(now.versus ? ["p_more", "p_fewer"] : [])];
    const lines = [heads.join(",")];
    now.series.forEach((s, k) => s.line.forEach((x, i) => {
      if (state.zoom && (x.end <= state.zoom[0] || x.start >= state.zoom[1])) return;
      const cells = [s.actor.code, s.actor.name, ...fields.map((f) => f === "start" ? counts.iso(x.start) : x[f])];
      if (now.versus) { const v = now.versus.periods[i]; cells.push(...(k ? [v.p_fewer, v.p_more] : [v.p_more, v.p_fewer])); }
      lines.push(cells.map(quoted).join(","));
    }));
    return lines.join("\n") + "\n";
  }
  const stem = () => ["howsure", state.a, state.b, state.every].filter(Boolean).join("-").replace(/[^\w-]+/g, "_");
  const parts = () => ["timeline", "versus"].filter((n) => charts[n] && !(n === "versus" && !state.b));
  async function svg() {
    const drawn = await Promise.all(parts().map((n) => charts[n].view.toSVG()));
    const size = drawn.map((s) => [Number(/width="([\d.]+)"/.exec(s)[1]), Number(/height="([\d.]+)"/.exec(s)[1])]);
    const w = Math.max(...size.map((s) => s[0])), h = size.reduce((sum, s) => sum + s[1], 0);
    let y = 0;
    const inner = drawn.map((s, i) => { const piece = s.replace("<svg", `<svg y="${y}"`); y += size[i][1]; return piece; });
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}"><rect width="100%" height="100%" fill="${getComputedStyle(document.body).backgroundColor}"/>${inner.join("")}</svg>`;
  }
  async function png() {
    const drawn = await Promise.all(parts().map((n) => charts[n].view.toCanvas(2)));
    const canvas = el("canvas", { width: Math.max(...drawn.map((c) => c.width)), height: drawn.reduce((sum, c) => sum + c.height, 0) });
    const pen = canvas.getContext("2d");
    pen.fillStyle = getComputedStyle(document.body).backgroundColor;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    drawn.reduce((y, c) => { pen.drawImage(c, 0, y); return y + c.height; }, 0);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }
  async function copy(text, button) {
    const before = button.textContent;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = el("textarea", {});
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  at("csv").addEventListener("click", () => download(stem() + ".csv", "text/csv;charset=utf-8", csv()));
  at("svg").addEventListener("click", async () => download(stem() + ".svg", "image/svg+xml", await svg()));
  at("png").addEventListener("click", async () => download(stem() + ".png", "image/png", await png()));
  at("link").addEventListener("click", (event) => copy(location.href, event.currentTarget));
  at("cite").addEventListener("click", (event) => copy(citation(), event.currentTarget));
  function citation() {
    const said = now.series.map((s) => `${s.actor.name}: ${fixed(s.total.mean, 1)} documents (95% between ${s.total.low} and ${s.total.high})`).join("; ") + (now.layer ? "; by the event layer" : "; by rules and coreference alone");
    return `${data.citation} ${said}, by ${state.every}${state.verbs.length ? `, verbs ${state.verbs.join(", ")}` : ""}.`;
  }

  // --- controls ----------------------------------------------------------------------------------------------
  for (const [id, none] of [["a", null], ["b", "no one"]]) {
    if (none) at(id).append(el("option", { value: "" }, none));
    for (const a of data.actors) at(id).append(el("option", { value: a.code }, a.name));
    at(id).addEventListener("change", () => {
      const other = id === "a" ? "b" : "a", change = { [id]: at(id).value, doc: null, chain: 0 };
      if (change[id] === state[other]) change[other] = id === "a" ? "" : state.b || data.actors.find((a) => a.code !== change[id])?.code || state.a;
      if (change.a !== undefined && change.a === (change.b ?? state.b)) change.b = "";
      update(change);
    });
  }
  for (const every of PERIODS) {
    const input = el("input", { type: "radio", name: "every", value: every, disabled: tooMany.has(every) });
    input.addEventListener("change", () => update({ every, from: null, to: null }));
    at("every").append(el("label", {}, input, el("span", {}, every)));
  }
  if (data.lemmas.length > 1) {
    at("verbs-part").hidden = false;
    for (const lemma of data.lemmas) {
      const input = el("input", { type: "checkbox", value: lemma });
      input.addEventListener("change", () => update({ verbs: [...at("verbs").querySelectorAll("input:checked")].map((x) => x.value), doc: null, chain: 0 }));
      at("verbs").append(el("label", {}, input, " ", lemma));
    }
  }
  for (const [value, text] of Object.entries(COUNTS)) at("count").append(el("option", { value }, text));
  at("count").addEventListener("change", () => update({ count: at("count").value }));
  at("best").addEventListener("change", () => update({ best: at("best").checked }));
  for (const [value, text] of Object.entries(SORTS)) at("sort").append(el("option", { value }, text));
  at("sort").addEventListener("change", () => update({ sort: at("sort").value }));
  let typing = 0;
  at("words").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => update({ words: at("words").value }), 200); });
  at("clear").addEventListener("click", () => update({ from: null, to: null }));
  at("zoom-out").addEventListener("click", () => update({ zoom: null }));
  at("more").addEventListener("click", () => { limit += PAGE; fill(); });

  function controls() {
    at("a").value = state.a;
    at("b").value = state.b;
    at("best").checked = state.best;
    at("count").value = state.count;
    at("sort").value = state.sort;
    if (at("words").value !== state.words) at("words").value = state.words;
    for (const input of at("every").querySelectorAll("input")) input.checked = input.value === state.every;
    for (const input of at("verbs").querySelectorAll("input")) input.checked = state.verbs.includes(input.value);
    at("verbs-chosen").textContent = state.verbs.length ? state.verbs.join(", ") : "all";
    at("zoom-out").hidden = !state.zoom;
    const names = now.series.map((s) => el("span", {}, el("span", { class: "swatch " + s.role }), s.actor.name));
    at("legend").replaceChildren(...names, el("span", { class: "hint" }, "line: expected count; bands: 50, 80, 95%, " + (now.layer ? "event layer" : "coreference alone") + (state.best ? "; dashed: one-best of rules" : "")));
    const why = now.layer || state.count !== "reported" ? "" : state.verbs.length ? "The event layer does not tell verbs apart: this is by rules and coreference alone. " : "The event layer's bands are here for longer periods: this is by rules and coreference alone. ";
    const bounds = now.series.reduce((sum, s) => sum + s.events.bounds, 0);
    at("bounds").textContent = why + (bounds ? `${one(bounds)} with several chains of these verbs and others too: the likeliest chain's probability stands for them, which is a lower bound.` : "");
    const total = now.series[0].total;
    at("timeline").setAttribute("aria-label", `${now.series.map((s) => s.actor.name).join(" and ")} by ${state.every}: ${now.periods.length} periods; ${now.series[0].actor.name} ${fixed(total.mean, 1)} documents in all, 95% between ${total.low} and ${total.high}. Left and right arrows choose a period; the numbers are in the table below.`);
    at("citation").textContent = citation();
  }

  function update(change, focus = false) {
    const before = state;
    state = { ...state, ...change };
    const differs = (...names) => names.some((n) => JSON.stringify(before[n]) !== JSON.stringify(state[n]));
    const numbers = !now.series || differs("a", "b", "every", "verbs", "count");
    if (numbers) compute();
    keep();
    controls();
    read(null);
    if (numbers || differs("best", "zoom")) draw().catch((error) => { root.dataset.drawn = "no"; console.error(error); });
    else if (differs("from", "to")) light();
    if (numbers || differs("from", "to", "zoom")) table();
    if (numbers || differs("from", "to", "sort", "words")) { limit = PAGE; list(); } else if (differs("doc", "of")) fill();
    if (numbers || differs("doc", "of", "chain")) openDocument(focus);
  }
  addEventListener("hashchange", () => update(fromAddress()));
  new MutationObserver(() => draw()).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  addEventListener("resize", () => howsure.documentView.redraw?.());
  howsure.state = () => ({ ...state });
  howsure.now = () => now;
  howsure.datasets = datasets;
  update(fromAddress());
})();

"use strict";
// One document: its text with the chain's mentions marked and joined, and in words why it counts. Everything that comes
// from the corpus is text, never markup.
howsure.element = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) throw new Error("listeners are added in code");
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((c) => c !== null && c !== undefined));
  return made;
};
howsure.fixed = (p, places = 2) => p === null || p === undefined ? "–" : p > 0 && p < 0.5 * 10 ** -places ? "<" + (10 ** -places).toFixed(places) : p.toFixed(places);

howsure.documentView = (() => {
  const el = howsure.element, fixed = howsure.fixed;
  const key = (span) => span[0] + "-" + span[1];
  const COLUMNS = { amod: "adjective", nmod: "modifier", compound: "compound", head: "its head", poss: "possessive", "nmod:poss": "possessive" };

  // From the agent along the links to the mention that names the actor, in the order one would walk.
  function walk(chain) {
    const path = [{ span: chain.agent, link: null }], left = chain.links.map((link, number) => ({ ...link, number }));
    while (left.length) {
      const at = key(path[path.length - 1].span);
      const i = left.findIndex((l) => key(l.later) === at || key(l.earlier) === at);
      if (i < 0) break;
      const [link] = left.splice(i, 1);
      path.push({ span: key(link.later) === at ? link.earlier : link.later, link });
    }
    return path;
  }

  // The text in pieces that are under the same marks.
  function marked(points, spans) {
    const cuts = [...new Set([0, points.length, ...spans.flatMap((s) => s.span)])].sort((a, b) => a - b);
    const made = [];
    for (let i = 0; i + 1 < cuts.length; i++) {
      const text = points.slice(cuts[i], cuts[i + 1]).join("");
      const over = spans.filter((s) => s.span[0] <= cuts[i] && s.span[1] >= cuts[i + 1]);
      if (!over.length) { made.push(text); continue; }
      const mark = el("mark", { class: [...new Set(over.map((s) => s.kind))].join(" ") }, text);
      for (const s of over) {
        if (s.mention === undefined || s.span[0] !== cuts[i]) continue;
        mark.dataset.mention = s.mention;
        mark.prepend(el("sup", {}, String(s.mention + 1)));
      }
      made.push(mark);
    }
    return made;
  }

  // Curves over the text from mention to mention, dashed where the answer hangs on the link.
  function joined(box, path, uncertain) {
    box.querySelector("svg")?.remove();
    const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg");
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("width", box.clientWidth);
    svg.setAttribute("height", box.scrollHeight);
    const origin = box.getBoundingClientRect();
    const place = (n) => {
      const mark = box.querySelector(`mark[data-mention="${n}"]`);
      if (!mark) return null;
      const r = mark.getClientRects()[0];
      return { x: r.left - origin.left + 7, y: r.top - origin.top + 2, low: r.bottom - origin.top - 2 };
    };
    for (let i = 1; i < path.length; i++) {
      const a = place(path[i - 1].mention), b = place(path[i].mention);
      if (!a || !b) continue;
      const lift = 10 + Math.min(26, Math.abs(a.x - b.x) / 14 + Math.abs(a.y - b.y) / 10);
      const curve = document.createElementNS(ns, "path");
      // One above the other: around the words, through the margin.
      const beside = Math.abs(a.x - b.x) < 40 && Math.abs(a.y - b.y) > 8, [up, down] = a.y < b.y ? [a, b] : [b, a], left = Math.min(a.x, b.x) - 30;
      curve.setAttribute("d", beside ? `M${down.x - 7},${(down.y + down.low) / 2} C${left},${down.y} ${left},${up.low} ${up.x - 7},${(up.y + up.low) / 2}` :
        `M${a.x},${a.y} C${a.x},${a.y - lift} ${b.x},${b.y - lift} ${b.x},${b.y}`);
      curve.setAttribute("class", path[i].link.number === uncertain ? "link uncertain" : "link");
      curve.style.strokeWidth = 1 + 2 * path[i].link.p;
      svg.append(curve);
    }
    box.append(svg);
  }

  function bar(label, p, kind) {
    const fill = el("span", { class: "fill " + kind });
    fill.style.width = 100 * (p ?? 0) + "%";
    return [el("span", { class: "what" }, label), el("span", { class: "bar" }, fill), el("span", { class: "value" }, fixed(p))];
  }

  function explained(chain, points, name, path, wholeP) {
    const said = (span) => points.slice(span[0], span[1]).join("").replace(/\s+/g, " ");
    const chips = el("ol", { class: "path", "aria-label": "The chain, from the agent to the words that name the actor" });
    for (const step of path) {
      const link = step.link;
      const arrow = link ? el("span", { class: link.number === chain.uncertain ? "arrow uncertain" : "arrow" },
        "same entity ", el("b", {}, fixed(link.p)), link.number === chain.uncertain ? " the answer hangs on this" : null) : null;
      chips.append(el("li", {}, arrow, el("span", { class: "chip" }, el("sup", {}, String(step.mention + 1)), said(step.span))));
    }
    const named = chain.described.slice(0, 5).map((d) => el("li", {}, "“" + said(d.mention) + "”: ",
      d.why === "head" ? "its head " : (COLUMNS[d.why] || d.why) + " ", el("b", {}, said(d.word)), ` names ${name}; in the event’s entity with probability ${fixed(d.together)}`));
    const parts = [
      el("h4", {}, "Why it counts"),
      el("p", {}, chain.why.charAt(0).toUpperCase() + chain.why.slice(1), ". ", el("span", { class: "hint" }, `Rule ${chain.rule}, verb “${chain.lemma}”; one-best: ${chain.best ? "yes" : "no"}.`)),
      el("ul", { class: "named" }, ...named),
      el("h4", {}, path.length > 1 ? "How the agent is the actor" : "How the agent is the actor: it is named itself"),
      chips,
    ];
    if (chain.uncertain !== null && chain.with !== null) {
      parts.push(el("h4", {}, "If the uncertain link were settled"),
        el("div", { class: "bars" }, ...bar("as it is", wholeP, "now"), ...bar("if they are one", chain.with, "with"), ...bar("if they are not", chain.without, "without")));
    }
    return parts;
  }

  // Shows a document for one actor; `which` is the chain, of those of that actor.
  return function show(panel, doc, actor, event, onChain, onClose, which = 0) {
    const chains = doc.chains.filter((c) => c.actor === actor.code).sort((a, b) => b.p - a.p);
    const chain = chains[Math.min(which, chains.length - 1)];
    const points = Array.from(doc.text);
    const close = el("button", { type: "button", class: "close", "aria-label": "Close the document" }, "Close");
    close.addEventListener("click", onClose);
    const heading = el("h3", { tabindex: "-1", id: "document-title" }, doc.title || doc.id);
    const spans = [];
    let path = [];
    if (chain) {
      path = walk(chain);
      const number = new Map();
      for (const step of path) {
        if (!number.has(key(step.span))) number.set(key(step.span), number.size);
        step.mention = number.get(key(step.span));
        spans.push({ span: step.span, kind: step === path[0] ? "agent" : "member", mention: step.mention });
      }
      for (const d of chain.described) {
        if (!number.has(key(d.mention))) spans.push({ span: d.mention, kind: "member" });
        spans.push({ span: d.word, kind: "word" });
      }
      spans.push({ span: chain.verb, kind: "verb" });
    }
    const box = el("div", { class: "text", tabindex: "0", role: "region", "aria-label": "Text of the document" }, el("p", {}, ...marked(points, spans)));
    const tabs = chains.length > 1 ? el("div", { class: "tabs", role: "group", "aria-label": "Chains" }, ...chains.map((c, i) => {
      const b = el("button", { type: "button", "aria-pressed": String(c === chain) }, `${c.lemma} ${fixed(c.p)}`);
      b.addEventListener("click", () => onChain(i));
      return b;
    })) : null;
    panel.replaceChildren(
      el("div", { class: "head" }, el("div", {}, heading,
        el("p", { class: "hint" }, [doc.date || "undated", doc.title ? doc.id : null].filter(Boolean).join(" · "))), close),
      el("p", { class: "answer" }, el("span", { class: "big" }, fixed(event.p)), ` that ${actor.name} is an agent here; one-best says ${event.best > 0 ? "yes" : "no"}.`),
      ...(tabs ? [tabs] : []),
      el("p", { class: "key" }, el("mark", { class: "agent" }, "agent"), " ", el("mark", { class: "verb" }, "verb"), " ", el("mark", { class: "member" }, "same entity"), " ", el("mark", { class: "member word" }, "names the actor")),
      box,
      ...(chain ? explained(chain, points, actor.name, path, event.whole) : [el("p", { class: "hint" }, "The probability is too small for its chain to have been kept.")]),
    );
    panel.hidden = false;
    const agent = box.querySelector("mark.agent") || box.querySelector("mark");
    if (agent) box.scrollTop = Math.max(0, agent.offsetTop - box.clientHeight / 2);
    const draw = () => joined(box.firstChild, path, chain ? chain.uncertain : null);
    draw();
    show.redraw = draw;
    return heading;
  };
})();

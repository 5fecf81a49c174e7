"use strict";
(() => {
  const root = document.documentElement;
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

  // Charts take their ink from the page's style sheet; expressions are interpreted, never compiled (the policy forbids eval).
  window.chartOptions = () => {
    const style = getComputedStyle(root);
    const ink = style.getPropertyValue("--ink").trim(), line = style.getPropertyValue("--line").trim();
    const config = {
      background: null, view: { stroke: line },
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 13, titleFontWeight: "normal" },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12 }, title: { color: ink },
    };
    return { actions: false, ast: true, renderer: "svg", config, tooltip: { theme: isDark() ? "dark" : "light" } };
  };
  function draw() {
    const drawn = Object.entries(specs).map(([id, spec]) =>
      vegaEmbed("#" + CSS.escape(id), spec, window.chartOptions()));
    Promise.all(drawn).then(() => { root.dataset.drawn = "yes"; }, (error) => { root.dataset.drawn = "no"; console.error(error); });
  }
  if (Object.keys(specs).length) draw();

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    if (Object.keys(specs).length) draw();
  });

  const value = (cell) => {
    const text = cell.dataset.value ?? cell.textContent.trim();
    const number = Number(text.replace(/[,−]/g, (c) => c === "," ? "" : "-"));
    return Number.isNaN(number) || text === "" ? text : number;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((h) => h.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const x = value(a.cells[column]), y = value(b.cells[column]);
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return descending ? -order : order;
      });
      table.tBodies[0].append(...rows);
    }));
  }
  const filter = document.getElementById("filter");
  if (filter) {
    const rows = [...document.querySelectorAll("#slices tbody tr")];
    filter.addEventListener("input", () => {
      const wanted = filter.value.toLowerCase();
      let shown = 0;
      for (const row of rows) {
        row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      document.getElementById("shown").textContent = wanted ? shown + " of " + rows.length : "";
    });
  }
})();

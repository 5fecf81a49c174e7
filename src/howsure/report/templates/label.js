// One item at a time. What comes from the data is set as text, never as markup.
(() => {
  const at = (id) => document.getElementById(id);
  const token = at("label").dataset.token;
  let item = null;
  let busy = false;

  function show(state) {
    item = state.item;
    at("progress").textContent = `${state.done} of ${state.total} labelled, ${state.yes} yes` + (state.skipped ? `, ${state.skipped} skipped` : "");
    at("bar").style.width = `${(100 * state.done) / Math.max(state.total, 1)}%`;
    at("text").textContent = item ? item.text : "";
    at("text").hidden = !item;
    at("text").scrollTop = 0;
    at("fields").replaceChildren(...(item ? item.fields : []).flatMap(([name, value]) => {
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      return [dt, dd];
    }));
    for (const id of ["yes", "no", "skip"]) at(id).disabled = !item;
    at("finished").hidden = Boolean(item);
    at("again").hidden = !state.skipped;
  }

  async function act(what) {
    if (busy || (!item && ["yes", "no", "skip"].includes(what))) return;
    busy = true;
    try {
      const answer = await fetch("/answer", {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Token": token },
        body: JSON.stringify({ what, key: item ? item.key : "" }),
      });
      if (!answer.ok) throw new Error(await answer.text());
      show(await answer.json());
      at("problem").hidden = true;
    } catch (error) {
      at("problem").textContent = `Not kept: ${error.message}. Is howsure label still running?`;
      at("problem").hidden = false;
    } finally {
      busy = false;
    }
  }

  for (const id of ["yes", "no", "skip", "undo", "again"]) at(id).addEventListener("click", () => act(id));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const what = { y: "yes", n: "no", s: "skip", u: "undo" }[event.key.toLowerCase()];
    if (what) {
      event.preventDefault();
      act(what);
    }
  });
  act("state");
})();

// A table of any length: only the rows in sight are in the page.
const ROW = 52, SPARE = 4;
const virtual = (columns, wanted, state) => {
  let rows = wanted;
  const body = h("tbody"), name = state.name || "list";
  const arrow = (column) => (state.sort === column.key ? (state.down ? " ↓" : " ↑") : "");
  const head = columns.map((column) => h("th", { scope: "col", class: column.style || "", "aria-sort": state.sort === column.key ? (state.down ? "descending" : "ascending") : null, css: column.width ? { width: column.width } : null },
    h("button", { type: "button", onclick: () => state.onsort(column.key) }, column.name + arrow(column))));
  const box = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, h("table", { class: "virtual" }, h("thead", {}, h("tr", {}, head)), body));
  let first = -1, last = -1, here = -1, all = false;
  const spacer = (size) => h("tr", { class: "spacer", "aria-hidden": "true" }, h("td", { css: { height: `${size}px` } }));
  const draw = (force) => {
    const from = all ? 0 : Math.max(0, Math.floor(box.scrollTop / ROW) - SPARE), to = all ? rows.length : Math.min(rows.length, Math.ceil((box.scrollTop + (box.clientHeight || 800)) / ROW) + SPARE);
    if (!force && from === first && to === last) return;
    [first, last] = [from, to];
    const shown = rows.slice(from, to).map((row, i) => h("tr", { class: from + i === here ? "row here" : "row", "aria-rowindex": from + i + 2, onclick: (event) => { if (!event.target.closest("a") && state.open) state.open(row); } }, columns.map((column) => h("td", { class: column.style || "" }, column.cell(row)))));
    body.parentNode.setAttribute("aria-rowcount", rows.length + 1);
    body.replaceChildren(...(from ? [spacer(from * ROW)] : []), ...shown, ...(to < rows.length ? [spacer((rows.length - to) * ROW)] : []));
  };
  box.addEventListener("scroll", () => draw(false));
  new ResizeObserver(() => draw(false)).observe(box);
  draw(true);
  return {
    box,
    update: (others) => { rows = others; here = -1; box.scrollTop = 0; draw(true); },
    whole: (yes) => { all = yes; draw(true); },
    move: (by) => {
      here = Math.max(0, Math.min(rows.length - 1, here + by));
      if (here * ROW < box.scrollTop) box.scrollTop = here * ROW;
      if ((here + 2) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (here + 2) * ROW - box.clientHeight;
      draw(true);
    },
    open: () => { if (here >= 0 && state.open) state.open(rows[here]); },
  };
};
const sorted = (rows, key, down) => {
  if (!key) return rows;
  const value = (row) => (typeof row[key] === "string" ? row[key].toLowerCase() : Array.isArray(row[key]) ? row[key].length : Number(row[key] ?? -1));
  const keyed = rows.map((row) => [value(row), row]), sign = down ? -1 : 1;
  keyed.sort((a, b) => (a[0] < b[0] ? -sign : a[0] > b[0] ? sign : 0));
  return keyed.map((pair) => pair[1]);
};

const HEAD = {
  bugs: [
    { key: "grade", name: "severity", width: "8.8rem", cell: (b) => h("span", { class: "badge", title: grade(b.grade).title }, h("span", { class: `dot g${b.grade}` }), grade(b.grade).name) },
    { key: "api", name: "bug", cell: (b) => h("div", { class: "two" }, h("a", { class: "mono", href: bugLink(b) }, b.api), h("span", { class: "dim" }, b.what)) },
    { key: "label", name: "label", width: "8rem", style: "hide", cell: (b) => labelBadge(b.label) },
    { key: "proven", name: "proven", width: "5.5rem", style: "hide", cell: (b) => (b.proven ? "proven" : "") },
    { key: "order", name: "order", width: "4.7rem", style: "hide num", cell: (b) => b.order },
    { key: "findings", name: "findings", width: "6rem", style: "hide num", cell: (b) => count(b.findings.length) },
    { key: "times", name: "met", width: "5rem", style: "hide num", cell: (b) => count(b.times) },
  ],
  findings: [
    { key: "grade", name: "severity", width: "8.8rem", cell: (f) => h("span", { class: "badge", title: grade(f.grade).title }, h("span", { class: `dot g${f.grade}` }), grade(f.grade).name) },
    { key: "api", name: "finding", cell: (f) => h("div", { class: "two" }, h("a", { class: "mono", href: `${bugLink(data.bugs[f.bug])}/${encodeURIComponent(f.id)}` }, f.api), h("span", { class: "dim" }, f.what)) },
    { key: "kind", name: "kind", width: "7rem", style: "hide", cell: (f) => f.kind },
    { key: "label", name: "label", width: "8rem", style: "hide", cell: (f) => labelBadge(f.label) },
    { key: "proven", name: "proven", width: "5.5rem", style: "hide", cell: (f) => (f.proven ? "proven" : "") },
    { key: "order", name: "order", width: "4.7rem", style: "hide num", cell: (f) => f.order },
    { key: "times", name: "met", width: "5rem", style: "hide num", cell: (f) => count(f.times) },
  ],
};
const FLAGS = [["proven", "proven"], ["fresh", "not in the baseline"], ["folded", "edge cases and by design, too"]];
const chosenRows = (where) => {
  const words = (where.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean), all = where.get("list") === "findings" ? data.findings : data.bugs;
  const pick = (key) => where.get(key);
  const rows = all.filter((row) => (pick("grade") ? String(row.grade) === pick("grade") : pick("folded") || words.length || !grade(row.grade).folded)
    && (!pick("label") || row.label === pick("label")) && (!pick("kind") || row.kind === pick("kind")) && (!pick("order") || String(row.order) === pick("order"))
    && (!pick("judged") || (row.judged || "not judged") === pick("judged")) && (!pick("proven") || row.proven) && (!pick("fresh") || row.fresh) && words.every((word) => row.haystack.includes(word)));
  return sorted(rows, (pick("sort") || "").replace("-", ""), (pick("sort") || "").startsWith("-"));
};
let current = null;  // the table in sight, for keys
const bugList = (where) => {
  const place = h("div"), told = h("p", { class: "dim small", role: "status" });
  const set = (key, value) => { if (value) where.set(key, value); else where.delete(key); remember("bugs", where); draw(); };
  let drawn = "";  // what the table in sight is like: as long as that holds, only its rows change
  const draw = () => {
    const kind = where.get("list") === "findings" ? "findings" : "bugs", rows = chosenRows(where), sort = where.get("sort") || "";
    told.textContent = `${count(rows.length)} of ${plural(kind === "bugs" ? data.bugs.length : data.findings.length, kind.slice(0, -1))}${where.get("q") || where.get("folded") || where.get("grade") ? "" : "; edge cases and what is by design are folded away"}`;
    if (drawn === `${kind} ${sort}` && rows.length) return current.update(rows);
    drawn = rows.length ? `${kind} ${sort}` : "";
    current = virtual(HEAD[kind], rows, {
      name: kind, sort: sort.replace("-", ""), down: sort.startsWith("-"), onsort: (key) => set("sort", sort === key ? `-${key}` : sort === `-${key}` ? "" : key),
      open: (row) => { location.hash = kind === "bugs" ? bugLink(row) : `${bugLink(data.bugs[row.bug])}/${encodeURIComponent(row.id)}`; },
    });
    return place.replaceChildren(rows.length ? current.box : h("div", { class: "card empty" }, "Nothing fits. Esc clears the filters."));
  };
  const values = (key) => [...new Set([...data.bugs, ...data.findings].map((row) => row[key]))].filter((x) => x !== "" && x !== undefined).sort();
  const choice = (key, name, options) => h("select", { "aria-label": name, onchange: (event) => set(key, event.target.value) }, h("option", { value: "" }, name), options.map(([value, text]) => h("option", { value, selected: where.get(key) === String(value) }, text)));
  const list = (kind) => h("button", { type: "button", "aria-pressed": String((where.get("list") || "bugs") === kind), onclick: (event) => { for (const b of event.currentTarget.parentNode.children) b.setAttribute("aria-pressed", String(b === event.currentTarget)); set("list", kind === "bugs" ? "" : kind); } }, kind);
  const search = h("input", { type: "search", id: "search", placeholder: "search: API, what is wrong, id  ( / )", "aria-label": "search", oninput: (event) => set("q", event.target.value) });
  search.value = where.get("q") || "";
  draw();
  return [h("h1", {}, "Bugs"), h("div", { class: "filters" }, h("span", { class: "seg" }, list("bugs"), list("findings")), search,
    choice("grade", "any severity", data.grades.map((g, i) => [i, g.name])), choice("label", "any label", values("label").map((x) => [x, x])), choice("kind", "any kind", values("kind").map((x) => [x, x])), choice("order", "any order", values("order").map((x) => [x, `order ${x}`])),
    data.bugs.some((b) => b.judged) ? choice("judged", "any judgement", ["real", "false", "dull", "by-design", "not judged"].map((x) => [x, x])) : null,
    FLAGS.filter(([key]) => key !== "fresh" || data.baseline).map(([key, text]) => h("label", { class: "check" }, h("input", { type: "checkbox", checked: Boolean(where.get(key)), onchange: (event) => set(key, event.target.checked ? "1" : "") }), text))), told, place];
};

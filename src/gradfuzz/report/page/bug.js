const proofText = (p) => [
  h("p", {}, h("code", {}, p.what), " is ", h("code", {}, p.exact), ", enclosed in ", h("code", {}, p.enclosure), ". ", h("span", { class: "dim" }, `${p.lost} digits are lost.`)),
  table(["scenario", "gives", ""], p.got.map(([name, text, , wrong]) => [name, h("code", {}, text), wrong ? "wrong" : "right"]))];
const DOTS = { ad: "bad", truth: "good", point: "fill0" };
const aroundPoint = (plots) => {
  if (plots.why) return card("Around the point", h("p", { class: "dim" }, `Nothing is drawn: ${plots.why}.`));
  const named = new Map(plots.panels.flatMap((panel) => [...panel.lines.map(([name, , style]) => [name, style]), ...panel.marks.map(([name, , , style]) => [name, style])]).filter(([name]) => name));
  return card("Around the point", h("div", { class: "grid" }, plots.panels.map((panel) => around(panel, plots, half()))), legend([...named].map(([name, style]) => [DOTS[style], name])), h("p", { class: "dim small" }, plots.by));
};
const valueTable = (rows) => table(["", "value", "± error bar"], rows.map((v) => [v.name, h("code", {}, v.text), finite(v.bar) ? (v.bar === 0 ? "0" : v.bar.toExponential(1)) : v.known]));
const WEIGHTED = "Sums of the derivative's entries with random weights, along the direction in which it was seen.";
const valuesShown = ({ entry, weighted, rows }) => {
  const drawn = rows.some((v) => finite(v.value));
  return [entry ? h("p", {}, h("code", {}, entry)) : weighted ? h("p", { class: "small" }, WEIGHTED) : null, rows.length ? h("div", { class: drawn ? "grid" : null }, drawn ? forest(rows, half()) : null, valueTable(rows)) : null];
};
const saved = (name, text) => h("a", { class: "button small", download: name, href: URL.createObjectURL(new Blob([text], { type: "text/plain" })) }, `save ${name}`);
const longScript = (row, d) => {
  const name = d.short ? "long script" : "script";
  return [h("p", { class: "dim small" }, "Needs the library and NumPy. Exits with 1 while the bug is there. ", saved(d.short ? `${row.file}-long.py` : `${row.file}.py`, d.script)), code(d.script || "no script was kept", name, true), d.output ? [h("h3", {}, "It prints"), code(d.output, `output of the ${name}`)] : null];
};
const shown = (row, d) => [
  d.text ? card("Program", code(d.text, "Program", true), h("p", { class: "dim small" }, "The smallest inputs that show it. ", h("code", {}, "tensor(shape, dtype, values)"), " is an input; the script spells it out.")) : null,
  card("What is wrong", h("p", {}, d.explanation), d.reason ? h("p", { class: "dim" }, d.reason) : null, valuesShown(d.values),
    d.values.rows.some((v) => v.truth) ? null : facts([["expected", h("code", {}, d.expected)], ["actual", h("code", {}, d.actual)]])),
  d.proof ? card("Proof", proofText(d.proof)) : null,
  aroundPoint(d.plots),
  d.ladder.length > 2 && finite(d.numeric) ? card("How the difference quotient settles", ladder(d, room(900)), d.vote ? h("p", { class: "dim small" }, d.vote) : null,
    h("details", {}, h("summary", {}, "What the oracle compared"), h("p", { class: "dim small" }, WEIGHTED), valueTable(d.compared))) : null,
  d.short ? card("Script", h("p", {}, d.short.told), h("p", { class: "dim small" }, "Exits with 1 while the bug is there. ", saved(`${row.file}.py`, d.short.script)), code(d.short.script, "script", true), h("h3", {}, "It prints"), code(d.short.output, "output"),
    h("details", {}, h("summary", {}, "The long script, which computes what the campaign did"), longScript(row, d))) : card("Script", longScript(row, d)),
  card(null, h("details", {}, h("summary", {}, "Text for an issue tracker"), h("p", { class: "small" }, saved(`${row.file}.md`, d.issue)), code(d.issue, "issue text"))),
  card("Facts", facts([["finding", h("code", {}, row.id)], ["release", d.release], ["derivative rule", row.rule ? h("code", {}, row.rule) : "several, or none"], ["order", row.order], ["met", row.times === 1 ? "once" : `${count(row.times)} times`],
    ["label", d.label ? [d.label.label, ": ", d.label.reason, " ", webLink(d.label.link), d.label.quote ? h("blockquote", {}, d.label.quote) : ""] : "new"], ...d.judged.map(([what, why]) => [`judged ${what}`, why]), ["shows at ordinary numbers", d.ordinary === null ? "nobody has looked" : d.ordinary ? "yes" : "no"], ["since when", d.since]]),
    d.releases.length ? [h("h3", {}, "Releases"), table(["release", "says"], d.releases)] : null),
];
const bugPage = (where, id, wanted) => {
  const bug = findBug(id);
  if (!bug) return [h("h1", {}, "No such bug"), h("p", {}, h("a", { href: "#/bugs" }, "all bugs"))];
  const members = bug.findings.map((i) => data.findings[i]), row = members.find((f) => f.id === wanted) || members[0], place = h("div", { "aria-busy": "true" }, h("p", { class: "dim" }, "…"));
  const at = data.bugs.indexOf(bug), before = data.bugs[at - 1], after = data.bugs[at + 1];
  details(row.number).then((d) => place.replaceChildren(...shown(row, d).filter(Boolean)), () => place.replaceChildren(h("p", { class: "note" }, "This browser cannot unpack the details of findings; a newer one can. `gradfuzz show` has them, too."))).then(() => place.removeAttribute("aria-busy"));
  return [
    h("div", { class: "crumbs" }, h("a", { href: "#/bugs" }, "← all bugs"), h("span", {}, before ? h("a", { href: bugLink(before), id: "before" }, "previous") : null, before && after ? " · " : "", after ? h("a", { href: bugLink(after), id: "after" }, "next") : null)),
    h("h1", {}, h("span", { class: "mono" }, row.api), ": ", row.what),
    h("div", { class: "badges" }, gradeBadge(bug.grade), labelBadge(row.label), row.proven ? h("span", { class: "badge" }, h("span", { class: "dot good" }), "proven") : null, bug.judged ? h("span", { class: "badge" }, `judged ${bug.judged}`) : null, data.baseline && bug.fresh ? h("span", { class: "badge" }, "not in the baseline") : null, h("span", { class: "badge mono" }, bug.id)),
    h("p", { class: "dim" }, grade(bug.grade).reason, bug.because ? ` Graded so because: ${bug.because}.` : "", " Shows in ", bug.affects || "the direct run", "."),
    members.length > 1 ? card(`${members.length} findings of one cause`, h("ul", { class: "list" }, members.map((f) => h("li", {}, h("span", { class: `dot g${f.grade}` }), h("div", {}, f === row ? h("b", { class: "mono" }, f.api) : h("a", { class: "mono", href: `${bugLink(bug)}/${encodeURIComponent(f.id)}` }, f.api), ": ", f.what, " ", h("span", { class: "dim small" }, f.id)))))) : null,
    place,
  ];
};

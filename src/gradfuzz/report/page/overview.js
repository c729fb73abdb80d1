const bugLink = (bug) => `#/bug/${encodeURIComponent(bug.id)}`;
const gradeBadge = (index) => h("span", { class: "badge" }, h("span", { class: `dot g${index}` }), grade(index).title);
const labelBadge = (label) => h("span", { class: "badge" }, h("span", { class: `dot label-${label}` }), label);
const campaignAt = (where) => data.campaigns.find((c) => String(c.number) === where.get("campaign")) || data.campaigns[data.campaigns.length - 1];
const campaignChoice = (view, where) => (data.campaigns.length < 2 ? null : h("label", { class: "filters" }, "campaign ", h("select", { onchange: (event) => go(view, { campaign: event.target.value }) },
  data.campaigns.map((c) => h("option", { value: c.number, selected: c === campaignAt(where) }, `${c.number}: ${c.title}, ${c.created.slice(0, 10)}`)))));
const OUTCOMES = { agree: ["good", "agree"], inconclusive: ["warn", "undecided"], disagree: ["bad", "disagree"], crash: ["fill6", "crash"], timeout: ["fill3", "hang"], unsupported: ["fill0", "not supported"], invalid: ["none", "refused by the library"] };
const tile = (number, text, first) => h("div", { class: first ? "tile first" : "tile" }, h("b", {}, number), h("span", { class: "dim small" }, text));
const meter = (part, whole, style) => h("span", { class: "track" }, h("span", { class: style || "fill0", css: { width: `${whole ? (100 * part) / whole : 0}%` } }));

const severities = () => {
  const counts = data.grades.map((_, i) => data.bugs.filter((bug) => bug.grade === i).length), most = Math.max(...counts, 1);
  return h("div", { class: "bars" }, data.grades.map((g, i) => !counts[i] ? null : [h("a", { href: `#/bugs?grade=${i}` }, g.title), meter(counts[i], most, `g${i}`), h("span", { class: "num" }, count(counts[i]))]));
};
const gravest = (most) => h("ul", { class: "list" }, data.bugs.filter((bug) => !grade(bug.grade).folded).slice(0, most).map((bug) => h("li", {}, h("span", { class: `dot g${bug.grade}`, title: grade(bug.grade).title }),
  h("div", {}, h("a", { href: bugLink(bug) }, h("span", { class: "mono" }, bug.api)), ": ", bug.what, " ", h("span", { class: "dim small" }, [bug.label, bug.proven && "proven", bug.judged && `judged ${bug.judged}`].filter(Boolean).join(", "))))));
const verdicts = (c) => {
  const order = Object.keys(OUTCOMES).filter((name) => c.counts[name]);
  return [h("span", { class: "track" }, order.map((name) => h("span", { class: OUTCOMES[name][0], css: { flex: `${c.counts[name]} 0 0` }, title: `${OUTCOMES[name][1]}: ${count(c.counts[name])}` }))),
    legend(order.map((name) => [OUTCOMES[name][0], `${OUTCOMES[name][1]} ${count(c.counts[name])} (${percent(c.counts[name], c.mutants)})`]))];
};
const rules = (c) => (c.coverage.length ? h("div", { class: "bars" }, c.coverage.map((t) => [h("span", {}, t.table), t.inReach === null ? h("span") : meter(t.reached, t.inReach, "good"), h("span", { class: "num" }, t.inReach === null ? count(t.reached) : `${count(t.reached)} of ${count(t.inReach)} (${percent(t.reached, t.inReach)})`)])) : h("p", { class: "dim" }, "The library does not say which rules it has."));
const designs = (c) => (c.designs ? h("div", { class: "bars" }, [["values tried alone", c.designs.valuesMet, c.designs.values], ["pairs of values", c.designs.pairsMet, c.designs.pairs]].map(([name, met, all]) => [h("span", {}, name), meter(met, all, "fill0"), h("span", { class: "num" }, `${count(met)} of ${count(all)} (${percent(met, all)})`)])) : null);
const busiest = (c) => {
  const top = sorted(c.apis, "cpu", true).slice(0, 8), most = top.length ? top[0].cpu : 1;
  return h("div", { class: "bars" }, top.map((row) => [h("span", { class: "mono small" }, row.api), meter(row.cpu, most, "fill4"), h("span", { class: "num" }, `${short(row.cpu)} s`)]));
};
// Seconds of the processor by what they were spent on; what workers waited is beside it, and paler.
const spent = (c) => {
  const most = Math.max(...c.times.map(([, seconds]) => seconds), 1e-9), grave = c.times.filter(([, , share]) => share >= 0.0005);
  return [h("div", { class: "bars" }, grave.map(([title, seconds, share]) => [h("span", {}, title), meter(seconds, most, title === "workers waiting" ? "none" : "fill4"), h("span", { class: "num" }, `${duration(seconds)} (${percent(share, 1)})`)])),
    c.clock === null ? h("p", { class: "dim small" }, "This store says nothing of the time outside batches: it was written by an older gradfuzz.") : h("p", { class: "dim small" }, `Time on the processor, all processes together, in ${duration(c.clock)} by the clock. Workers wait when there is nothing to do, or when something else has the processor.`)];
};
// What everyone is at, while it is served: asked for again and again, and gone when the campaign is.
const rightNow = () => h("section", { class: "card", id: "now", hidden: true }, h("h2", {}, "Right now"));
const showNow = (board) => {
  const place = document.getElementById("now");
  if (!place) return;
  place.hidden = !board.rows;
  if (!board.rows) return;
  place.replaceChildren(...[h("h2", {}, "Right now"), board.old ? h("p", { class: "note" }, `Nothing was heard from the campaign for ${duration(board.age)}.`) : null,
    table(["who", "is at", "for"], board.rows.map((row) => [row.who, h("code", {}, row.what), row.seconds === null ? "" : duration(row.seconds + board.age)])),
    board.more ? h("p", { class: "dim small" }, `and ${count(board.more)} more`) : null].filter(Boolean));
};
const settings = (c) => Object.entries(c.settings).map(([name, value]) => [name, value]);

const overview = (where) => {
  const c = campaignAt(where), listed = data.bugs.filter((bug) => !grade(bug.grade).folded), title = c ? c.title : "no campaign";
  const proven = data.bugs.filter((bug) => bug.proven).length, fresh = data.bugs.filter((bug) => bug.fresh).length;
  return [
    h("h1", {}, title),
    c ? h("p", { class: "dim" }, `campaign ${c.number}, ${c.created.replace("T", " ").replace("+00:00", " UTC")}, ${c.status}`) : null,
    campaignChoice("", where),
    h("div", { class: "tiles" },
      tile(count(listed.length), "bugs to look at", true), tile(count(data.findings.length), "findings"), data.baseline ? tile(count(fresh), "bugs that the baseline lacks") : null, tile(count(proven), "bugs proven"),
      c ? [tile(count(c.mutants), "mutants"), tile(percent(c.mutants - (c.counts.invalid || 0), c.mutants), "valid"), tile(count(c.apis.length), "APIs"), c.clock === null ? tile(duration(c.cpu), "of the processor in batches") : tile(duration(c.clock), "by the clock")] : null),
    h("div", { class: "grid" }, card("Bugs by severity", data.bugs.length ? severities() : h("p", { class: "dim" }, "Nothing was found.")), card("The gravest", gravest(6), data.bugs.length ? h("p", {}, h("a", { href: "#/bugs" }, "all bugs")) : null)),
    data.live ? rightNow() : null,
    c ? [
      h("div", { class: "grid" }, card("Verdicts on mutants", verdicts(c)), card("What ran", facts(settings(c)))),
      h("div", { class: "grid" }, card("Derivative rules reached", rules(c)), card("Values and pairs of values", designs(c) || h("p", { class: "dim" }, "Nothing was kept about them.")),
        card("Where the time went", spent(c)), card("APIs that took the most time, in batches", busiest(c))),
      h("section", { class: "card" }, h("h2", {}, "What was not seen"),
        h("details", {}, h("summary", {}, `APIs that an excuse keeps from being tested: ${new Set(c.untested.map((u) => u[0])).size}`), table(["API", "excuse", "share", "mutants"], c.untested.slice(0, 200).map(([api, excuse, taken, all]) => [h("code", {}, api), excuse, percent(taken, all), `${count(taken)} of ${count(all)}`]))),
        h("details", {}, h("summary", {}, `Why verdicts were undecided: ${plural(c.reasons.length, "excuse")}`), table(["excuse", "mutants", "most often for"], c.reasons.map(([name, n, apis]) => [name, count(n), h("code", {}, apis)])), h("p", { class: "small" }, h("a", { href: "#/coverage?sort=-undecidedRate" }, "excuses by API"))),
        h("details", {}, h("summary", {}, `What the library refused: ${plural(c.refused.length, "kind")}`), c.refused.map(([kind, n, messages]) => [h("h3", {}, `${kind}: ${count(n)}`), table(["message", "times", "APIs"], messages.map(([text, times, apis]) => [text, count(times), h("code", {}, apis)]))])),
        c.lost.length ? h("details", {}, h("summary", {}, `Seen twice and not shown by the script: ${count(c.lost.reduce((sum, row) => sum + row[1], 0))} of ${count(c.seen)}`), table(["reason", "times"], c.lost.map(([why, n]) => [why, count(n)]))) : null),
    ] : null,
  ];
};

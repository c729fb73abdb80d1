const API_HEAD = [
  { key: "api", name: "API", cell: (r) => h("code", {}, r.api) },
  { key: "mutants", name: "mutants", width: "6.5rem", style: "num", cell: (r) => count(r.mutants) },
  { key: "successRate", name: "success", width: "6.5rem", style: "num", cell: (r) => percent(r.success, r.mutants) },
  { key: "mismatchRate", name: "mismatch", width: "7rem", style: "num hide", cell: (r) => percent(r.mismatch, r.mutants) },
  { key: "errorRate", name: "error", width: "6rem", style: "num hide", cell: (r) => percent(r.error, r.mutants) },
  { key: "undecidedRate", name: "undecided", width: "7.8rem", style: "num hide", cell: (r) => percent(r.undecided, r.mutants) },
  { key: "excuse", name: "excuses", style: "hide", cell: (r) => h("span", { class: "dim small", title: r.excuse }, r.excuse) },
  { key: "pairsRate", name: "pairs met", width: "7rem", style: "num hide", cell: (r) => percent(r.pairsMet, r.pairs) },
  { key: "cpu", name: "seconds", width: "6.2rem", style: "num hide", cell: (r) => short(r.cpu) },
];
data.campaigns.forEach((c) => c.apis.forEach((r) => Object.assign(r, { successRate: r.success / (r.mutants || 1), mismatchRate: r.mismatch / (r.mutants || 1), errorRate: r.error / (r.mutants || 1), undecidedRate: r.undecided / (r.mutants || 1), excuse: r.excuses.map(([name, n]) => `${name} ${count(n)}`).join(", "), pairsRate: r.pairs ? r.pairsMet / r.pairs : -1 })));

const coverage = (where) => {
  const c = campaignAt(where), place = h("div"), told = h("p", { class: "dim small", role: "status" });
  if (!c) return [h("h1", {}, "Coverage"), h("p", {}, "There is no campaign.")];
  const set = (key, value) => { if (value) where.set(key, value); else where.delete(key); remember("coverage", where); draw(); };
  const draw = () => {
    const word = (where.get("q") || "").toLowerCase(), sort = where.get("sort") || "api", rows = sorted(c.apis.filter((r) => r.api.toLowerCase().includes(word)), sort.replace("-", ""), sort.startsWith("-"));
    told.textContent = `${count(rows.length)} of ${plural(c.apis.length, "API")}`;
    current = virtual(API_HEAD, rows, { name: "APIs", sort: sort.replace("-", ""), down: sort.startsWith("-"), onsort: (key) => set("sort", sort === key ? `-${key}` : key) });
    place.replaceChildren(current.box);
  };
  const search = h("input", { type: "search", id: "search", placeholder: "search APIs  ( / )", "aria-label": "search APIs", oninput: (event) => set("q", event.target.value) });
  search.value = where.get("q") || "";
  draw();
  return [h("h1", {}, "Coverage"), h("p", { class: "dim" }, c.title), campaignChoice("coverage", where),
    card("Derivative rules", rules(c), c.coverage.filter((t) => t.missing.length).map((t) => h("details", {}, h("summary", {}, `${t.table}: ${count(t.missing.reduce((sum, row) => sum + row[1].length, 0))} not reached, and why`), t.missing.map(([reason, names]) => [h("h3", {}, `${reason}: ${count(names.length)}`), h("p", { class: "mono small" }, names.join(", "))])))),
    h("h2", {}, "APIs"), h("div", { class: "filters" }, search), told, place];
};

const progress = (where) => {
  const c = campaignAt(where);
  if (!c || !c.course.length) return [h("h1", {}, "Time"), h("p", {}, "No batch has come to its end.")];
  let seconds = 0, mutants = 0, suspected = 0;
  const at = c.course.map(([, , cpu]) => (seconds += cpu)), rate = c.course.map(([, n, cpu]) => (cpu ? n / cpu : NaN));
  const sum = c.course.map(([, n]) => (mutants += n)), seen = c.course.map(([, , , n]) => (suspected += n));
  return [h("h1", {}, "Time and throughput"), h("p", { class: "dim" }, `${c.title}: ${count(c.mutants)} mutants in ${count(c.batches)} batches, ${duration(c.cpu)} of the processor, ${short(c.mutants / (c.cpu || 1))} mutants a second of it.`), campaignChoice("time", where),
    card("Throughput", course("throughput over the campaign", at, rate, "mutants a second of the processor")),
    card("Mutants", course("mutants over the campaign", at, sum, "mutants so far")),
    card("Different things suspected", course("suspicions over the campaign", at, seen, "different suspicions so far", true), h("p", { class: "dim small" }, "Each is looked at again in a fresh process before it becomes a finding.")),
    card("Where the time went", spent(c)), card("APIs that took the most time, in batches", busiest(c))];
};

const analysis = (where) => {
  const c = campaignAt(where);
  if (!c) return [h("h1", {}, "Analysis"), h("p", {}, "There is no campaign.")];
  return [h("h1", {}, "Analysis"), h("p", { class: "dim" }, c.title), campaignChoice("analysis", where),
    h("div", { class: "grid" }, c.pictures.map((p) => h("section", { class: "card", id: p.name }, h("h2", {}, p.title), drawn(p, half()), h("p", { class: "dim small" }, p.note))))];
};

const releases = () => {
  const r = data.releases, mark = { shows: "bad", gone: "good", "cannot run": "none" };
  if (r.versions.length < 2) return [h("h1", {}, "Releases"), h("p", {}, "Only one release was asked. `gradfuzz replay` asks others; then this page compares them.")];
  return [h("h1", {}, "Releases"), h("p", { class: "dim" }, "What each release said of each finding that more than one was asked about."), card(null, table(["finding", ...r.versions, "since"], r.rows.map(([i, said, since]) => {
    const f = data.findings[i];
    return [h("a", { class: "mono", href: `${bugLink(data.bugs[f.bug])}/${encodeURIComponent(f.id)}` }, f.api), ...r.versions.map((v) => (said[v] ? h("span", { class: "badge" }, h("span", { class: `dot ${mark[said[v]]}` }), said[v]) : "")), since];
  })))];
};

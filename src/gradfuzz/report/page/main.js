const VIEWS = { "": ["overview", overview, "o"], bugs: ["bugs", bugList, "b"], coverage: ["coverage", coverage, "c"], time: ["time", progress, "t"], analysis: ["analysis", analysis, "a"], releases: ["releases", releases, "r"] };
const address = (view, where) => { const query = where.toString(); return `#/${view}${query ? `?${query}` : ""}`; };
// What was chosen goes into the address when typing has come to a rest: browsers take their time over it.
let resting = 0;
const remember = (view, where) => { clearTimeout(resting); resting = setTimeout(() => history.replaceState(null, "", address(view, where)), 40); };
const go = (view, query) => { location.hash = address(view, new URLSearchParams(query || {})); };

const route = () => {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?"), [view, ...rest] = path.split("/"), where = new URLSearchParams(query || "");
  const main = document.querySelector("main");
  current = null;
  const part = (text) => { try { return decodeURIComponent(text || ""); } catch { return ""; } };
  const content = view === "bug" ? bugPage(where, part(rest[0]), part(rest[1])) : (VIEWS[view] || VIEWS[""])[1](where);
  main.replaceChildren(...content.flat(Infinity).filter((x) => x instanceof Node));
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.dataset.view === (view === "bug" ? "bugs" : VIEWS[view] ? view : "")) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.title = `${main.querySelector("h1")?.textContent || "report"} – gradfuzz`;
  window.scrollTo(0, 0);
};

const THEMES = ["auto", "light", "dark"], stored = (key, value) => { try { if (value === undefined) return localStorage.getItem(key); localStorage.setItem(key, value); } catch { return null; } return value; };
const dusk = matchMedia("(prefers-color-scheme: dark)");
const theme = (name) => { document.documentElement.dataset.theme = name === "auto" ? (dusk.matches ? "dark" : "light") : name; document.getElementById("theme").textContent = `theme: ${name}`; };
let chosen = THEMES.includes(stored("gradfuzz-theme")) ? stored("gradfuzz-theme") : "auto";

const help = h("dialog", { "aria-label": "keys" }, h("h2", {}, "Keys"), facts([...Object.values(VIEWS).map(([name, , key]) => [h("kbd", {}, key), name]), [h("kbd", {}, "/"), "search"], [h("span", {}, h("kbd", {}, "j"), " ", h("kbd", {}, "k")), "down, up in a table"], [h("kbd", {}, "Enter"), "open"], [h("span", {}, h("kbd", {}, "n"), " ", h("kbd", {}, "p")), "next, previous bug"], [h("kbd", {}, "Esc"), "back to the table; clear its filters"]]), h("p", {}, h("button", { type: "button", onclick: () => help.close() }, "close")));
const keys = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName), onBug = location.hash.startsWith("#/bug/");
  if (event.key === "Escape" && !help.open) { if (typing) event.target.blur(); else if (onBug) go("bugs"); else if (/^#\/(bugs|coverage)\?/.test(location.hash)) go(location.hash.slice(2).split("?")[0]); return; }
  if (typing) return;
  const view = Object.entries(VIEWS).find(([, v]) => v[2] === event.key), act = {
    "/": () => { document.getElementById("search") ? document.getElementById("search").focus() : go("bugs"); }, "?": () => help.showModal(), j: () => current?.move(1), k: () => current?.move(-1),
    n: () => document.getElementById("after")?.click(), p: () => document.getElementById("before")?.click(), Enter: () => { if (event.target.closest("a, button, summary")) return false; current?.open(); return true; },
  }[event.key] || (view && (() => go(view[0])));
  if (act && act() !== false) event.preventDefault();
};

const nav = h("nav", { class: "tabs", "aria-label": "views" }, Object.entries(VIEWS).filter(([view]) => view !== "releases" || data.releases.versions.length > 1).map(([view, [name]]) => h("a", { href: `#/${view}`, "data-view": view }, name)));
document.querySelector("header").append(h("a", { class: "brand", href: "#/" }, "grad", h("span", {}, "fuzz")), nav,
  h("button", { type: "button", id: "theme", onclick: () => { chosen = THEMES[(THEMES.indexOf(chosen) + 1) % 3]; stored("gradfuzz-theme", chosen); theme(chosen); } }), h("button", { type: "button", "aria-label": "keys", onclick: () => help.showModal() }, "?"));
document.body.append(help);
theme(chosen);
dusk.addEventListener("change", () => theme(chosen));
document.addEventListener("keydown", keys);
window.addEventListener("hashchange", route);
// Paper is white, and does not scroll.
window.addEventListener("beforeprint", () => { document.documentElement.dataset.theme = "light"; current?.whole(true); });
window.addEventListener("afterprint", () => { theme(chosen); current?.whole(false); });
let wide = window.innerWidth, later = 0;
window.addEventListener("resize", () => { if (window.innerWidth === wide) return; wide = window.innerWidth; clearTimeout(later); later = setTimeout(route, 150); });
route();

// Served while a campaign runs: when the store has something new, the same view is shown anew. Whoever reads about a bug is left in peace.
const busy = () => /^(INPUT|SELECT)$/.test(document.activeElement.tagName) || location.hash.startsWith("#/bug/");
const look = async () => {
  try {
    if ((await (await fetch("stamp")).text()) !== data.live && !busy()) location.reload();
    else showNow(await (await fetch("now")).json());
  } catch { /* the server has ended: what is shown stays */ }
};
if (data.live) { look(); setInterval(look, 3000); window.addEventListener("hashchange", look); }

// Elements are made one by one and text is always text: nothing here reads markup.
const SVG = "http://www.w3.org/2000/svg";
const fill = (element, props, children) => {
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "css") for (const [key, set] of Object.entries(value)) element.style.setProperty(key, set);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
};
const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

// Only links to the web are links; whatever else a store calls one is shown as the text it is.
const webLink = (text) => (/^https?:\/\//.test(text) ? h("a", { href: text, rel: "noopener noreferrer external" }, text) : text);
const count = (n) => Number(n).toLocaleString("en-US");
const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)} %` : "–");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const short = (x) => {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-3) return x.toExponential(2).replace("e+", "e");
  return size >= 1e4 ? count(Math.round(x)) : String(+x.toPrecision(4));
};
const duration = (seconds) => {
  const whole = Math.round(seconds), parts = [[3600, "h"], [60, "min"], [1, "s"]];
  let left = whole;
  const said = parts.map(([size, unit]) => { const n = Math.floor(left / size); left -= n * size; return n ? `${n} ${unit}` : ""; }).filter(Boolean);
  return said.slice(0, 2).join(" ") || "0 s";
};
const card = (title, ...children) => h("section", { class: "card" }, title ? h("h2", {}, title) : null, children);
const table = (head, rows) => h("div", { class: "wide" }, h("table", {},
  h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
const legend = (entries) => h("ul", { class: "legend" }, entries.map(([style, text]) => h("li", {}, h("span", { class: `dot ${style}` }), text)));
const facts = (rows) => h("dl", { class: "facts" }, rows.filter((row) => row && row[1] !== "" && row[1] !== null).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

const WORDS = new Set("and as assert break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield".split(" "));
const TOKENS = /("""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|(#[^\n]*)|(\b\d[\w.]*(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)/g;
const python = (text) => {
  const parts = [];
  let last = 0;
  for (const match of text.matchAll(TOKENS)) {
    const style = match[1] ? "s" : match[2] ? "c" : match[3] ? "n" : WORDS.has(match[4]) ? "k" : "";
    if (!style) continue;
    parts.push(text.slice(last, match.index), h("span", { class: style }, match[0]));
    last = match.index + match[0].length;
  }
  return [...parts, text.slice(last)];
};
const copy = async (text, button) => {
  try { await navigator.clipboard.writeText(text); }
  catch {
    const area = h("textarea", { "aria-hidden": "true", css: { position: "fixed", left: "-99rem" } });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = before; }, 1200);
};
const code = (text, name, colour) => h("div", { class: "box" },
  h("div", { class: "tools" }, h("button", { type: "button", "aria-label": `copy ${name}`, onclick: (event) => copy(text, event.currentTarget) }, "copy")),
  h("pre", { tabindex: 0, "aria-label": name, role: "region" }, colour ? python(text) : text));

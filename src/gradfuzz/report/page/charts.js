// Charts by hand: each takes numbers and gives an SVG element with a name that is read aloud.
const room = (most = 720) => Math.max(280, Math.min(most, document.querySelector("main").clientWidth - (window.innerWidth > 760 ? 84 : 56)));
const half = () => (window.innerWidth > 760 ? Math.max(280, (document.querySelector("main").clientWidth - 136) / 2) : room());
const figure = (name, width, height, children, caption) => h("figure", {},
  s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name }, children), caption ? h("figcaption", {}, caption) : null);
const clip = (text, most) => (text.length > most ? `…${text.slice(1 - most)}` : text);
const scale = (low, high, from, to) => (x) => from + ((x - low) / (high - low || 1)) * (to - from);
const ticks = (low, high, most = 5) => {
  const span = high - low || 1, raw = span / most, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * size).find((x) => x >= raw) || size;
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) found.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return found;
};
// Ticks with as many digits as tell them apart.
const marked = (found) => {
  const most = Math.max(...found.map(Math.abs)), digits = found.length > 1 ? Math.min(15, Math.ceil(Math.log10(most / (found[1] - found[0]))) + 1) : 1;
  return found.map((x) => [x, digits <= 3 || x === 0 ? short(x) : most >= 1e6 || most < 1e-3 ? x.toExponential(digits - 1).replace("e+", "e") : String(+x.toPrecision(digits))]);
};
// A scenario's name in little room.
const brief = (name, letters) => (name.length > letters ? name.replace(/reverse/g, "rev").replace(/forward/g, "fwd").replace(/-over-/g, "∘") : name);
const finite = (x) => typeof x === "number" && Number.isFinite(x);
const path = (points) => {
  let pen = "M";
  return points.map(([x, y]) => { if (!finite(x) || !finite(y)) { pen = "M"; return ""; } const step = `${pen}${x.toFixed(1)} ${y.toFixed(1)}`; pen = "L"; return step; }).join("");
};

const lying = (picture, width) => {
  const names = Object.keys(picture.series), wide = Math.min(0.46 * width, 7.1 * Math.max(6, ...picture.labels.map((l) => l.length)) + 12), row = 24;
  const sums = picture.labels.map((_, i) => names.reduce((sum, name) => sum + picture.series[name][i], 0)), most = Math.max(...sums, 1e-9);
  const across = scale(0, most, wide, width - 56), letters = Math.floor((wide - 10) / 7);
  const bars = picture.labels.map((label, i) => {
    let from = 0;
    const parts = names.map((name, k) => { const start = across(from); from += picture.series[name][i]; return s("rect", { class: `f${k % 8}`, x: start, y: i * row + 5, width: Math.max(0, across(from) - start), height: row - 9, rx: 2 }, s("title", {}, `${label}: ${name} ${short(picture.series[name][i])}`)); });
    return [s("text", { class: "mono", x: wide - 6, y: i * row + 17, "text-anchor": "end" }, clip(label, letters)), parts, s("text", { x: across(sums[i]) + 5, y: i * row + 17 }, short(sums[i]))];
  });
  return [figure(picture.title, width, picture.labels.length * row + 6, bars), names.length > 1 ? legend(names.map((name, k) => [`fill${k % 8}`, name])) : null];
};
const standing = (picture, width) => {
  const [values] = Object.values(picture.series), height = 210, most = Math.max(...values, 1), left = Math.max(50, 7 * short(most).length + 12), bottom = 40;
  const across = scale(0, values.length, left, width - 8), up = scale(0, most, height - bottom, 12), each = (width - 8 - left) / Math.max(values.length, 1), every = Math.ceil(74 / each);
  return figure(picture.title, width, height, [
    ticks(0, most, 4).map((y) => [s("line", { class: "grid-line", x1: left, x2: width - 8, y1: up(y), y2: up(y) }), s("text", { x: left - 6, y: up(y) + 4, "text-anchor": "end" }, short(y))]),
    values.map((value, i) => [s("rect", { class: "bar", x: across(i) + 1, y: up(value), width: Math.max(1, each - 2), height: height - bottom - up(value), rx: 2 }, s("title", {}, `${picture.labels[i]}: ${short(value)}`)),
      i % every === 0 ? s("text", { x: across(i) + each / 2, y: height - bottom + 16, "text-anchor": "middle" }, clip(picture.labels[i], 12)) : null]),
    s("text", { x: width - 8, y: height - 5, "text-anchor": "end" }, picture.axis)]);
};
const matrix = (picture, width) => {
  const left = Math.min(120, 7.2 * Math.max(...picture.rows.map((l) => l.length)) + 12), size = Math.min(68, (width - left - 6) / picture.labels.length), tall = Math.min(size, 34);
  const most = Math.max(...picture.cells.flat().map((x) => Math.abs(x || 0)), 1e-9), name = (label) => (picture.signed ? label.split(" ")[0] : label.replace(" %", "").split("–")[0]);
  return figure(picture.title, width, picture.rows.length * tall + 36, [
    picture.cells.map((line, i) => [s("text", { x: left - 6, y: i * tall + tall / 2 + 4, "text-anchor": "end" }, picture.rows[i]), line.map((value, j) => {
      const share = value === null ? 0 : picture.signed ? Math.abs(value) : Math.sqrt(value / most);
      return [s("rect", { class: value < 0 ? "cell minus" : "cell", "fill-opacity": (0.04 + 0.6 * share).toFixed(2), x: left + j * size + 1, y: i * tall + 1, width: size - 2, height: tall - 2, rx: 3 }, s("title", {}, `${picture.rows[i]}, ${picture.labels[j]}: ${value === null ? "–" : short(value)}`)),
        value || picture.signed ? s("text", { class: "ink", x: left + j * size + size / 2, y: i * tall + tall / 2 + 4, "text-anchor": "middle" }, value === null ? "–" : picture.signed ? value.toFixed(2) : short(value)) : null];
    })]),
    picture.labels.map((label, j) => s("text", { x: left + j * size + size / 2, y: picture.rows.length * tall + 16, "text-anchor": "middle" }, clip(name(label), Math.max(4, Math.floor(size / 6.4))))),
    s("text", { x: width - 4, y: picture.rows.length * tall + 32, "text-anchor": "end" }, picture.axis)]);
};
const drawn = (picture, width) => (!picture.labels.length ? h("p", { class: "dim" }, "nothing to show") : picture.rows.length ? matrix(picture, width) : picture.lying ? lying(picture, width) : standing(picture, width));

// One line over seconds of the processor.
const course = (title, xs, ys, axis, second) => {
  const width = room(1100), height = 220, left = 56, bottom = 38, high = Math.max(...ys.filter(finite), 1), end = xs[xs.length - 1] || 1;
  const across = scale(0, end, left, width - 12), up = scale(0, high * 1.05, height - bottom, 12);
  return figure(title, width, height, [
    ticks(0, high, 4).map((y) => [s("line", { class: "grid-line", x1: left, x2: width - 12, y1: up(y), y2: up(y) }), s("text", { x: left - 6, y: up(y) + 4, "text-anchor": "end" }, short(y))]),
    ticks(0, end, 6).map((x) => s("text", { x: across(x), y: height - bottom + 16, "text-anchor": "middle" }, short(x))),
    s("path", { class: second ? "line second" : "line", d: path(xs.map((x, i) => [across(x), up(ys[i])])) }),
    s("text", { x: left, y: 11 }, axis), s("text", { x: width - 12, y: height - 4, "text-anchor": "end" }, "seconds of the processor, all workers together")]);
};

// Every scenario's number with its error bar, on one axis.
const forest = (rows, width) => {
  const known = rows.filter((row) => finite(row.value)), row = 28, name = Math.min(0.4 * width, 8 * Math.max(...rows.map((r) => r.name.length)) + 14), letters = Math.floor((name - 8) / 7.2);
  const ends = known.flatMap((r) => [r.value - (r.bar || 0), r.value + (r.bar || 0)]).filter(finite);
  let low = Math.min(...ends), high = Math.max(...ends);
  const margin = (high - low) * 0.12 || Math.abs(high) * 0.1 || 1;
  [low, high] = [low - margin, high + margin];
  const across = scale(low, high, name, width - 14), bottom = rows.length * row + 6;
  return figure("each scenario's value with its error bar", width, bottom + 24, [
    known.length ? marked(ticks(low, high, Math.max(3, Math.floor((width - name) / 90)))).map(([x, text]) => [s("line", { class: "grid-line", x1: across(x), x2: across(x), y1: 4, y2: bottom }), s("text", { x: across(x), y: bottom + 16, "text-anchor": "middle" }, text)]) : null,
    rows.map((r, i) => {
      const y = i * row + row / 2 + 4, style = r.fault ? "ad" : r.truth ? "truth" : "point", x = across(r.value);
      const mark = !finite(r.value) ? s("text", { class: "ink", x: name + 8, y: y + 4 }, r.known === "no number" ? r.known : clip(r.text, 24)) : [
        finite(r.bar) && r.bar > 0 ? s("line", { class: `whisker ${style}`, x1: Math.min(across(r.value - r.bar), x - 0.5), x2: Math.max(across(r.value + r.bar), x + 0.5), y1: y, y2: y }) : null,
        r.truth ? s("rect", { class: style, x: x - 4.5, y: y - 4.5, width: 9, height: 9, transform: `rotate(45 ${x} ${y})` }, s("title", {}, r.text)) : s("circle", { class: style, cx: x, cy: y, r: 5 }, s("title", {}, r.text))];
      return [s("text", { class: "mono", x: name - 8, y: y + 4, "text-anchor": "end" }, clip(brief(r.name, letters), letters)), mark];
    })]);
};

// How far the difference quotient is from where it settles, and how far AD is: both against the step.
const ladder = (detail, width) => {
  const size = Math.abs(detail.numeric) || 1, floor = 2 ** -53, height = 260, left = 62, bottom = 40;
  const off = (x) => Math.max(Math.abs(x - detail.numeric) / size, floor);
  const points = detail.ladder.map(([step, slope]) => [step, off(slope)]).filter(([a, b]) => a > 0 && finite(b));
  const wrong = detail.compared.filter((row) => row.fault && finite(row.value)).map((row) => [row.name, off(row.value)]);
  const all = [...points.map((p) => p[1]), ...wrong.map((w) => w[1]), ...(detail.numericError ? [Math.max(detail.numericError / size, floor)] : [])].map(Math.log10);
  const low = Math.floor(Math.min(...all)), high = Math.ceil(Math.max(...all)) + 1, steps = points.map((p) => Math.log10(p[0]));
  const across = scale(Math.min(...steps) - 0.3, Math.max(...steps) + 0.3, left, width - 14), up = scale(low, high, height - bottom, 14);
  const tens = (x) => s("tspan", {}, "10", s("tspan", { dy: "-5", "font-size": "9" }, String(x)));
  const every = Math.max(1, Math.ceil((high - low) / 7)), wide = Math.max(1, Math.ceil((Math.max(...steps) - Math.min(...steps)) / 6));
  const rows = [], columns = [];
  for (let y = low; y <= high; y += every) rows.push(y);
  for (let x = Math.ceil(Math.min(...steps)); x <= Math.max(...steps); x += wide) columns.push(x);
  return [figure("convergence of the difference quotient", width, height, [
    rows.map((y) => [s("line", { class: "grid-line", x1: left, x2: width - 14, y1: up(y), y2: up(y) }), s("text", { x: left - 8, y: up(y) + 4, "text-anchor": "end" }, tens(y))]),
    columns.map((x) => s("text", { x: across(x), y: height - bottom + 18, "text-anchor": "middle" }, tens(x))),
    detail.numericError ? s("line", { class: "truth dash", x1: left, x2: width - 14, y1: up(Math.log10(Math.max(detail.numericError / size, floor))), y2: up(Math.log10(Math.max(detail.numericError / size, floor))) }) : null,
    wrong.map(([name, y]) => s("line", { class: "ad dash", x1: left, x2: width - 14, y1: up(Math.log10(y)), y2: up(Math.log10(y)) }, s("title", {}, name))),
    s("path", { class: "line", d: path(points.map(([x, y]) => [across(Math.log10(x)), up(Math.log10(y))])) }),
    points.map(([x, y]) => s("circle", { class: "point", cx: across(Math.log10(x)), cy: up(Math.log10(y)), r: 3.5 }, s("title", {}, `step ${short(x)}: off by ${short(y)}`))),
    s("text", { x: width - 14, y: height - 4, "text-anchor": "end" }, "step")]),
  legend([["fill0", "difference quotient: how far from where it settles, relative"], wrong.length ? ["bad", "AD: how far from there"] : null, detail.numericError ? ["good", "error bar of the quotient"] : null].filter(Boolean))];
};

// What is in sight: a pole would hide the rest, so the middle of the lines decides, and marks that are not far off.
const sight = (numbers, marks) => {
  const known = numbers.filter(finite).sort((a, b) => a - b), at = (share) => known[Math.round(share * (known.length - 1))];
  const most = 4 * (at(0.9) - at(0.1)), inside = most > 0 ? known.filter((y) => y >= at(0.1) - most && y <= at(0.9) + most) : known;
  let low = inside[0], high = inside[inside.length - 1];
  const span = high - low || Math.abs(high) || 1, near = marks.filter((y) => finite(y) && y > low - 4 * span && y < high + 4 * span);
  [low, high] = [Math.min(low, ...near), Math.max(high, ...near)];
  const margin = 0.08 * (high - low || Math.abs(high) || 1);
  return [low - margin, high + margin];
};
let clips = 0;
// Lines around the point, and marks at it.
const around = (panel, { axis, at, width: reach }, width) => {
  const height = 216, left = 62, top = 24, right = width - 14, floor = height - 42, clipped = `clip-${(clips += 1)}`;
  const [low, high] = sight(panel.lines.flatMap(([, ys]) => ys), panel.marks.map(([, y]) => y)), seen = (y) => finite(y) && y >= low && y <= high;
  const across = scale(at - reach, at + reach, left, right), up = scale(low, high, floor, top), letters = (from) => Math.floor((width - from) / 6.8);
  const points = (ys) => ys.map((y, i) => [across(at + reach * ((2 * i) / (ys.length - 1) - 1)), finite(y) ? Math.max(-1e4, Math.min(1e4, up(y))) : NaN]);
  return figure(panel.title, width, height, [
    s("clipPath", { id: clipped }, s("rect", { x: left, y: top, width: right - left, height: floor - top })),
    marked(ticks(low, high, 4)).map(([y, text]) => [s("line", { class: "grid-line", x1: left, x2: right, y1: up(y), y2: up(y) }), s("text", { x: left - 6, y: up(y) + 4, "text-anchor": "end" }, text)]),
    marked(ticks(at - reach, at + reach, Math.max(3, Math.floor((width - left) / 80)))).map(([x, text]) => s("text", { x: across(x), y: floor + 16, "text-anchor": "middle" }, text)),
    s("line", { class: "axis", x1: across(at), x2: across(at), y1: top, y2: floor }),
    s("g", { "clip-path": `url(#${clipped})` }, panel.lines.map(([name, ys, style]) => s("path", { class: `line ${style}`, d: path(points(ys)) }, s("title", {}, name)))),
    panel.marks.filter(([, y]) => seen(y)).map(([name, y, text, style]) => s("circle", { class: style, cx: across(at), cy: up(y), r: 5 }, s("title", {}, `${name}: ${text}`))),
    panel.marks.filter(([, y]) => !seen(y)).map(([name, y, text], i) => s("text", { class: "ink", x: across(at) + 7, y: top + 12 + 14 * i }, clip(`${name}: ${text}${finite(y) ? (y > high ? " ↑" : " ↓") : ""}`, letters(across(at))))),
    s("text", { class: "ink", x: left, y: 13 }, clip(panel.title, letters(left))), s("text", { x: right, y: height - 6, "text-anchor": "end" }, clip(axis, letters(0)))]);
};

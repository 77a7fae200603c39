// The table of layers, the figures and the findings; then everything begins.
const COLUMNS = [
  { title: "Name", value: (node) => node.name, cell: (node) => node.name, class: "name" },
  { title: "Op", value: (node) => node.operation, cell: (node) => node.operation.replace(/^nn\./, "") },
  { title: "Type", value: (node) => node.type, cell: (node) => node.type },
  { title: "SQNR", value: (node) => ratio(node.error), cell: (node) => decibels(node.error), number: true, swatch: true },
  { title: "Max error", value: (node) => node.error && node.error.max_error, cell: (node) => node.error ? number(node.error.max_error, 3) : "", number: true },
  { title: "Range", value: (node) => node.range && node.range[1] - node.range[0], cell: (node) => node.range ? `${number(node.range[0], 3)} to ${number(node.range[1], 3)}` : "", number: true },
  { title: "Clipped", value: (node) => node.clipped, cell: (node) => percent(node.clipped) + (node.is_limited && node.clipped > 0 ? " *" : ""), number: true },
  { title: "MACs", value: (node) => node.multiply_adds || null, cell: (node) => node.multiply_adds ? count(node.multiply_adds) : "", number: true },
  { title: "Weights", value: (node) => node.bytes || null, cell: (node) => node.bytes ? bytes(node.bytes) : "", number: true },
  ...report.nodes.some((node) => node.repairs.length) ? [{ title: "Repairs", value: (node) => node.repairs.map((each) => each.repair).join(", "), cell: (node) => node.repairs.map((each) => each.repair).join(", ") }] : [],
  { title: "Time", value: (node) => node.seconds, cell: (node) => isNumber(node.seconds) ? seconds(node.seconds) : node.kernels.length ? "fused" : "", number: true },
];
const head = byId("table").tHead, body = byId("table").tBodies[0];
const rows = report.nodes.map((node) => el("tr", { "data-node": node.number, tabindex: -1 }, ...COLUMNS.map((column) => el("td", { class: column.number ? "number" : column.class },
  column.swatch && node.error ? el("span", { class: "swatch", style: `background:${colour(node.error)}` }) : null, column.cell(node)))));
if (rows.length) rows[0].tabIndex = 0;
let sorted = { column: null, descending: false };
function sort(column) {
  const descending = sorted.column === column ? !sorted.descending : false;
  sorted = { column, descending };
  const value = COLUMNS[column].value;
  const missing = (each) => each === null || each === undefined || each === "";
  const order = report.nodes.map((node) => [value(node), node.number]).sort(([one, place], [other, next]) => {
    if (missing(one) || missing(other)) return Number(missing(one)) - Number(missing(other)) || place - next;
    const way = typeof one === "string" ? one.localeCompare(other, "en", { numeric: true }) : one - other || 0;
    return (descending ? -way : way) || place - next;
  });
  body.replaceChildren(...order.map(([, place]) => rows[place]));
  [...head.rows[0].cells].forEach((cell, place) => {
    const is = place === column;
    cell.setAttribute("aria-sort", !is ? "none" : descending ? "descending" : "ascending");
    cell.firstChild.textContent = COLUMNS[place].title + (is ? (descending ? " \u25be" : " \u25b4") : "");
  });
}
head.append(el("tr", {}, ...COLUMNS.map((column, place) => el("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": "none" }, el("button", { type: "button", onclick: () => sort(place) }, column.title)))));
body.append(...rows);
const rowAt = (target) => target.closest("tr");
body.addEventListener("click", (event) => { const row = rowAt(event.target); if (row) choose(report.nodes[Number(row.dataset.node)], "table"); });
body.addEventListener("keydown", (event) => {
  const row = rowAt(event.target);
  if (event.key === "Enter") choose(report.nodes[Number(row.dataset.node)], "table");
  const way = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (!way) return;
  event.preventDefault();
  let next = row[way];
  while (next && next.hidden) next = next[way];
  if (next) { row.tabIndex = -1; next.tabIndex = 0; next.focus(); }
});
listeners.push((node, from) => {
  rows.forEach((row, place) => row.classList.toggle("chosen", place === node.number));
  const box = body.closest(".scroll"), row = rows[node.number];
  if (from !== "table") box.scrollTop = row.offsetTop - box.clientHeight / 2;
});
const search = byId("search");
let matches = [], place = -1;
function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = (node) => `${node.name} ${node.operation} ${node.op_type} ${node.type}`.toLowerCase();
  matches = words.length ? report.nodes.filter((node) => words.every((word) => texts(node).includes(word))) : [];
  const found = new Set(matches.map((node) => node.number));
  boxes.forEach((box, number) => { box.classList.toggle("match", found.has(number)); box.classList.toggle("dim", words.length > 0 && !found.has(number)); });
  rows.forEach((row, number) => { row.hidden = words.length > 0 && !found.has(number); });
  byId("matches").textContent = words.length ? `${matches.length} found` : "";
  place = -1;
  if (matches.length) bring(matches[0]);
}
search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && matches.length) { place = (place + (event.shiftKey ? matches.length - 1 : 1)) % matches.length; choose(matches[place], "search"); }
  if (event.key === "Escape") { search.value = ""; find(); }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) { event.preventDefault(); search.focus(); }
});
function shown(figure, value) {
  const format = { s: seconds, bytes, "%": (each) => `${Number(each.toPrecision(4))}\u202f%`, dB: (each) => `${each.toFixed(1)}\u202fdB` }[figure.unit];
  return format ? format(value) : `${number(value)} ${figure.unit}`;
}
function beside(figure) {
  if (figure.reference === null) return null;
  let more = "";
  if (figure.unit === "%") { const change = figure.quantized - figure.reference; more = ` (${change < 0 ? "\u2212" : "+"}${Number(Math.abs(change).toPrecision(3))})`; }
  else if (figure.quantized > 0 && figure.reference > 0) {
    const times = figure.reference / figure.quantized, word = figure.unit === "s" ? ["faster", "slower"] : ["smaller", "larger"];
    more = ` (${Number((times >= 1 ? times : 1 / times).toPrecision(3))}\u00d7 ${times >= 1 ? word[0] : word[1]})`;
  }
  return el("div", { class: "beside" }, `float: ${shown(figure, figure.reference)}${more}`);
}
byId("figures").append(...report.figures.map((figure) => el("div", { class: "figure" },
  el("div", { class: "name" }, figure.name), el("div", { class: "value" }, shown(figure, figure.quantized)), beside(figure),
  figure.note ? el("div", { class: "quiet" }, figure.note) : null)));
const kinds = new Map();
for (const finding of report.findings) kinds.set(finding.kind, [...(kinds.get(finding.kind) || []), finding]);
const isSerious = (list) => list.some((each) => each.severity === "serious");
byId("findings").append(el("h2", {}, report.findings.length ? "Findings" : "Findings: none"),
  report.findings.length ? el("p", { class: "quiet" }, "Each comes with rules for the recipe that would address it, where rules can: qmlir quantize --recipe FILE.") : null,
  ...[...kinds.entries()].map(([kind, list]) => el("details", { open: list.length <= 3 },
    el("summary", {}, el("span", { class: isSerious(list) ? "serious" : "" }, isSerious(list) ? `\u26a0 ${kind}` : kind), el("span", { class: "count" }, ` (${list.length})`)),
    ...list.map((each) => findingView(each, true)))));
byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});
if (report.nodes.length) choose(report.nodes[report.opens_on ?? 0], "opening");
if (report.opens_because) panel.prepend(el("p", { class: "quiet" }, `${report.opens_because} Choose another one in the graph, the table or the findings.`));
document.documentElement.dataset.ready = "true";

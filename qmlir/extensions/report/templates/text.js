"use strict";
// Elements and numbers. Whatever comes from the model becomes text nodes, never markup.
const report = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((each) => each !== null && each !== undefined));
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const isNumber = (value) => typeof value === "number";
const number = (value, digits = 4) => {
  if (!isNumber(value)) return "";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(Math.min(2, digits - 1)) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "\u2212");
};
function scaled(value, units, step) {
  if (!isNumber(value)) return "";
  let place = 0;
  while (place < units.length - 1 && value >= step) { value /= step; place += 1; }
  return `${Number(value.toPrecision(3))}${units[place]}`;
}
const seconds = (value) => !isNumber(value) ? "" : scaled(value * 1e6, ["\u202fµs", "\u202fms", "\u202fs"], 1000);
const bytes = (value) => scaled(value, ["\u202fB", "\u202fkB", "\u202fMB", "\u202fGB"], 1000);
const count = (value) => scaled(value, ["", "\u202fk", "\u202fM", "\u202fG"], 1000);
const percent = (share) => !isNumber(share) ? "" : share === 0 ? "0" : share < 0.0001 ? "< 0.01\u202f%" : `${Number((100 * share).toPrecision(3))}\u202f%`;
const decibels = (error) => error === null ? "" : error.sqnr_db === null ? "exact" : `${error.sqnr_db.toFixed(1).replace("-", "\u2212")}\u202fdB`;
const LEVELS = [
  { from: 40, colour: "--good", text: "40 dB and more" },
  { from: 30, colour: "--fair", text: "30 to 40 dB" },
  { from: 20, colour: "--mean", text: "20 to 30 dB" },
  { from: 10, colour: "--poor", text: "10 to 20 dB" },
  { from: -Infinity, colour: "--bad", text: "below 10 dB" },
];
const ratio = (error) => error === null ? null : error.sqnr_db === null ? Infinity : error.sqnr_db;
const colour = (error) => error === null ? "var(--none)" : `var(${LEVELS.find((each) => ratio(error) >= each.from).colour})`;
const findingsOf = report.nodes.map(() => []);
for (const finding of report.findings) for (const node of finding.nodes) findingsOf[node].push(finding);
const listeners = [];
let chosen = null;
function choose(node, from) {
  chosen = node;
  for (const tell of listeners) tell(node, from);
}

// What is known of the chosen node.
const panel = byId("panel");
let isLogarithmic = false;
const PLOT = { width: 420, height: 130, bottom: 18 };
function histogram(node) {
  const found = node.histogram, bins = Math.max(found.float_counts.length, found.quantized_counts.length);
  const of = (value) => isLogarithmic ? Math.log10(1 + value) : value;
  const end = found.start + bins * found.width;
  const across = (value) => (value - found.start) / (end - found.start) * PLOT.width;
  const plot = svg("svg", { class: "plot", viewBox: `0 -12 ${PLOT.width} ${PLOT.height + PLOT.bottom + 12}`, role: "img",
    "aria-label": "Histograms of float and quantized values" });
  const path = (counts, closed) => {
    const most = Math.max(...counts, 1);
    let text = "";
    counts.forEach((value, place) => {
      const y = PLOT.height * (1 - of(value) / of(most));
      text += `${place ? "L" : `M0 ${PLOT.height}L`}${across(found.start + place * found.width)} ${y}L${across(found.start + (place + 1) * found.width)} ${y}`;
    });
    return `${text}L${PLOT.width} ${PLOT.height}${closed ? "z" : ""}`;
  };
  if (found.float_counts.length) plot.append(svg("path", { class: "float", d: path(found.float_counts, true) }));
  if (found.quantized_counts.length) plot.append(svg("path", { class: "quantized", d: path(found.quantized_counts, false) }));
  plot.append(svg("line", { class: "axis", x1: 0, x2: PLOT.width, y1: PLOT.height, y2: PLOT.height }));
  const label = (value, x, anchor) => svg("text", { x, y: PLOT.height + 14, "text-anchor": anchor }, number(value, 3));
  plot.append(label(found.start, 0, "start"), label(end, PLOT.width, "end"));
  if (across(0) > 60 && across(0) < PLOT.width - 60) plot.append(label(0, across(0), "middle"), svg("line", { class: "axis", x1: across(0), x2: across(0), y1: PLOT.height - 4, y2: PLOT.height + 3 }));
  for (const limit of node.quantized ? node.quantized.range : []) {
    const x = across(limit);
    if (x >= -0.5 && x <= PLOT.width + 0.5) plot.append(svg("line", { class: "limit", x1: x, x2: x, y1: -10, y2: PLOT.height }));
  }
  return plot;
}
function histograms(node) {
  const box = el("div", {}, histogram(node));
  const toggle = el("input", { type: "checkbox", id: "logarithmic", onchange: (event) => { isLogarithmic = event.target.checked; box.replaceChildren(histogram(node)); } });
  toggle.checked = isLogarithmic;
  const has = node.histogram;
  return [
    el("h3", {}, "Values"), box,
    el("div", { class: "key" },
      has.float_counts.length ? el("span", {}, el("i", { class: "of-float" }), "float") : null,
      has.quantized_counts.length ? el("span", {}, el("i", { class: "of-quantized" }), node.is_quantized ? "quantized" : "this model") : null,
      node.quantized ? el("span", {}, el("i", { class: "of-limit" }), "limits of the type") : null,
      el("label", {}, toggle, " logarithmic")),
  ];
}
function channels(weights) {
  const many = weights.minima.length, low = Math.min(...weights.minima, 0), high = Math.max(...weights.maxima, 0);
  const height = 110, span = high - low || 1, step = PLOT.width / many, y = (value) => height * (1 - (value - low) / span);
  const plot = svg("svg", { class: "plot", viewBox: `0 -4 ${PLOT.width} ${height + 24}`, role: "img", "aria-label": `The range of the weights of ${many} channels` });
  const thickness = Math.max(0.6, Math.min(12, step * 0.72));
  let ranges = "", dead = "";
  weights.minima.forEach((minimum, place) => {
    const x = (place + 0.5) * step;
    if (minimum === weights.maxima[place]) dead += `M${x} ${y(minimum) - 3}v6`;
    else ranges += `M${x} ${y(minimum)}V${y(weights.maxima[place])}`;
  });
  plot.append(svg("path", { class: "range", d: ranges, "stroke-width": thickness }));
  if (dead) plot.append(svg("path", { class: "dead", d: dead }));
  plot.append(svg("line", { class: "axis", x1: 0, x2: PLOT.width, y1: y(0), y2: y(0) }));
  const tip = svg("text", { x: PLOT.width / 2, y: height + 16, "text-anchor": "middle" }, "");
  plot.append(svg("text", { x: 0, y: height + 16 }, "channel 0"), svg("text", { x: PLOT.width, y: height + 16, "text-anchor": "end" }, String(many - 1)), tip);
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const place = Math.max(0, Math.min(many - 1, Math.floor((event.clientX - box.left) / box.width * many)));
    const scale = weights.scales[weights.scales.length > 1 ? place : 0];
    tip.textContent = `${place}: ${number(weights.minima[place], 3)} to ${number(weights.maxima[place], 3)}, scale ${number(scale, 3)}`;
  });
  const type = weights.type;
  return [el("h3", {}, "Weights by channel"), plot,
    el("p", { class: "quiet" }, `${type.storage}, ${type.count === 1 ? `one scale, ${number(type.scale[1])}` : `${type.count} scales, ${type.scale.map((each) => number(each)).join(" to ")}`}; from ${number(low)} to ${number(high)}`)];
}
function kernels(node) {
  const rows = node.kernels.map((use) => {
    const others = use.nodes.filter((each) => each !== node.number).map((each) => report.nodes[each].name);
    return el("tr", {}, el("td", {}, use.name, others.length ? el("div", { class: "quiet" }, `with ${others.join(", ")}`) : null), el("td", {}, seconds(use.seconds)));
  });
  return [el("h3", {}, "Kernels"), el("table", { class: "kernels" }, el("tbody", {}, ...rows))];
}
function copied(text) {
  const button = el("button", { type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
    catch { button.textContent = "Select and copy"; }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return button;
}
function findingView(finding, withNodes) {
  const chips = finding.nodes.slice(0, 40).map((each) => el("button", { type: "button", title: report.nodes[each].name, onclick: () => { choose(report.nodes[each], "finding"); byId("work").scrollIntoView({ block: "start" }); } }, report.nodes[each].name));
  if (finding.nodes.length > 40) chips.push(el("span", { class: "quiet" }, `and ${finding.nodes.length - 40} more`));
  return el("div", { class: `warn ${finding.severity}` },
    el("p", {}, finding.text),
    withNodes ? el("div", { class: "chips" }, ...chips) : null,
    finding.recipe ? el("div", { class: "recipe" }, el("pre", {}, finding.recipe), copied(finding.recipe)) : null);
}
function facts(node) {
  const rows = [["operation", [node.operation, node.op_type && !node.operation.endsWith(`.${node.op_type}`) ? `(${node.op_type})` : ""].filter(Boolean).join(" ")]];
  rows.push(["type", [node.type, node.shape].filter(Boolean).join(", ")]);
  if (node.reason) rows.push(["in float", `it ${node.reason}`]);
  if (node.mask) rows.push(["mask", node.mask]);
  if (node.error) {
    rows.push(["signal to noise", decibels(node.error) + (node.is_limited ? " (within the limits of what follows)" : "")]);
    rows.push(["largest error", number(node.error.max_error)], ["mean error", number(node.error.mean_error)]);
  }
  if (node.range) rows.push(["values seen", `${number(node.range[0])} to ${number(node.range[1])}`]);
  const type = node.quantized;
  if (type) {
    rows.push(["range of the type", `${type.range.map((each) => number(each)).join(" to ")} (${type.storage})`]);
    rows.push(["scale", type.count === 1 ? number(type.scale[1], 6) : `${type.count}, ${type.scale.map((each) => number(each)).join(" to ")}`]);
    rows.push(["zero point", [...new Set(type.zero_point)].map((each) => number(each, 9)).join(" to ")]);
  }
  if (isNumber(node.clipped)) rows.push(["clipped", percent(node.clipped) + (node.is_limited && node.clipped > 0 ? " (what follows cuts the same off)" : "")]);
  for (const each of node.repairs) rows.push([`repaired by ${each.repair}`, isNumber(each.before_db) ? `${decibels({ sqnr_db: each.before_db })}, then ${decibels({ sqnr_db: each.after_db })}` : "its mean error"]);
  if (node.multiply_adds) rows.push(["multiply-adds", count(node.multiply_adds)]);
  if (node.bytes) rows.push(["weights", bytes(node.bytes)]);
  if (isNumber(node.seconds)) rows.push(["time", seconds(node.seconds)]);
  return el("dl", {}, ...rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}
listeners.push((node) => {
  panel.replaceChildren(
    el("h2", {}, node.name), facts(node),
    ...findingsOf[node.number].map((each) => each.nodes.length <= 10 ? findingView(each, false) : el("details", {}, el("summary", {}, each.kind, el("span", { class: "count" }, ` (${each.nodes.length} layers)`)), findingView(each, false))),
    ...(node.histogram ? histograms(node) : []),
    ...(node.weights ? channels(node.weights) : []),
    ...(node.kernels.length ? kernels(node) : []));
  panel.scrollTop = 0;
});

// The drawing: nodes at the places that the report gives, moved and scaled by the mouse, fingers or keys.
const WIDTH = 176, HEIGHT = 46;
const drawing = byId("drawing");
const world = svg("g", {});
const marker = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" },
  svg("path", { d: "M0 0 L8 4 L0 8 z", fill: "context-stroke" }));
drawing.append(svg("defs", {}, marker), world);
const view = { x: 0, y: 0, scale: 1 };
const show = () => world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
const size = () => drawing.getBoundingClientRect();
function curve(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let place = 1; place < points.length; place += 1) {
    const [x, y] = points[place - 1], [u, v] = points[place], middle = (y + v) / 2;
    path += x === u ? `L${u} ${v}` : `C${x} ${middle} ${u} ${middle} ${u} ${v}`;
  }
  return path;
}
const edges = report.edges.map((edge) => svg("path", { class: "edge", d: curve(edge.points), "marker-end": "url(#arrow)" }));
const shortened = (text, length) => text.length <= length ? text : `\u2026${text.slice(1 - length)}`;
function described(node) {
  const parts = [node.name, node.operation, node.type];
  if (node.error !== null) parts.push(`error ${decibels(node.error)}`);
  if (findingsOf[node.number].length) parts.push(`${findingsOf[node.number].length} findings`);
  return parts.join(", ");
}
function drawn(node) {
  const [x, y] = node.position;
  const kind = (node.op_type || node.operation).replace(/^nn\./, "");
  const second = [kind.length > 11 ? `${kind.slice(0, 10)}\u2026` : kind, node.type, decibels(node.error)].filter(Boolean).join(" \u00b7 ");
  const serious = findingsOf[node.number].some((each) => each.severity === "serious");
  const group = svg("g", {
    class: `node${node.is_quantized ? "" : " plain"}`, transform: `translate(${x - WIDTH / 2} ${y - HEIGHT / 2})`,
    tabindex: -1, role: "button", "aria-label": described(node), "data-node": node.number,
  },
  svg("rect", { class: "box", width: WIDTH, height: HEIGHT, rx: 8 }),
  svg("rect", { class: "tint", width: WIDTH, height: HEIGHT, rx: 8, style: `fill:${colour(node.error)}` }),
  svg("path", { class: "side", d: `M8 0 H9 V${HEIGHT} H8 A8 8 0 0 1 0 ${HEIGHT - 8} V8 A8 8 0 0 1 8 0`, style: `fill:${colour(node.error)}` }),
  svg("text", { x: 17, y: 19 }, shortened(node.name, 21)),
  svg("text", { x: 17, y: 36, class: "second" }, shortened(second, 27)),
  serious ? svg("circle", { class: "flag", cx: WIDTH - 4, cy: 5, r: 6.5 }) : null,
  svg("title", {}, described(node)));
  return group;
}
const boxes = report.nodes.map(drawn);
world.append(...edges, ...boxes);
const below = report.nodes.map(() => []), above = report.nodes.map(() => []);
report.edges.forEach((edge) => { below[edge.source].push(edge.target); above[edge.target].push(edge.source); });
function zoom(factor, x, y) {
  const scale = Math.min(3, Math.max(0.02, view.scale * factor));
  view.x = x - (x - view.x) * (scale / view.scale);
  view.y = y - (y - view.y) * (scale / view.scale);
  view.scale = scale;
  show();
}
function fit(whole) {
  const { width, height } = size();
  const across = (width - 30) / Math.max(report.width, 1);
  view.scale = Math.min(1, whole ? Math.min(across, (height - 30) / Math.max(report.height, 1)) : Math.max(across, 0.55));
  view.x = (width - report.width * view.scale) / 2;
  view.y = whole ? (height - report.height * view.scale) / 2 : 20;
  if (!whole && report.nodes.length) view.x = width / 2 - (across < 0.55 ? report.nodes[0].position[0] : report.width / 2) * view.scale;
  show();
}
function bring(node) {
  const { width, height } = size(), [x, y] = node.position;
  if (view.scale < 0.5) view.scale = 0.8;
  const at = [x * view.scale + view.x, y * view.scale + view.y];
  if (at[0] < 100 || at[0] > width - 100 || at[1] < 40 || at[1] > height - 40) {
    view.x = width / 2 - x * view.scale;
    view.y = height / 2 - y * view.scale;
  }
  show();
}
let grip = null, moved = false;
const fingers = new Map();
drawing.addEventListener("pointerdown", (event) => {
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
  grip = [event.clientX, event.clientY];
  moved = false;
});
drawing.addEventListener("pointermove", (event) => {
  if (!fingers.has(event.pointerId)) return;
  const before = fingers.get(event.pointerId), now = [event.clientX, event.clientY];
  if (fingers.size === 2) {
    const other = [...fingers.entries()].find(([id]) => id !== event.pointerId)[1], { left, top } = size();
    const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
    zoom(apart(now) / apart(before), (now[0] + other[0]) / 2 - left, (now[1] + other[1]) / 2 - top);
  } else if (moved || Math.hypot(now[0] - grip[0], now[1] - grip[1]) > 4) {
    if (!moved) drawing.setPointerCapture(event.pointerId);
    moved = true;
    drawing.classList.add("moving");
    view.x += now[0] - before[0];
    view.y += now[1] - before[1];
    show();
  }
  fingers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"]) {
  drawing.addEventListener(end, (event) => { fingers.delete(event.pointerId); drawing.classList.remove("moving"); });
}
drawing.addEventListener("wheel", (event) => {
  const { left, top, width, height } = size(), step = event.deltaMode ? 30 : 1;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * step * 0.002), event.clientX - left, event.clientY - top);
    return;
  }
  const across = event.shiftKey ? event.deltaY : event.deltaX, down = event.shiftKey ? 0 : event.deltaY;
  const held = (at, extent, room) => Math.max(Math.min(20, room - extent - 20), Math.min(at, Math.max(20, room - extent - 20)));
  const next = [held(view.x - across * step, report.width * view.scale, width), held(view.y - down * step, report.height * view.scale, height)];
  if (across && next[0] !== view.x || down && next[1] !== view.y) event.preventDefault();
  if (across) view.x = next[0];
  if (down) view.y = next[1];
  show();
}, { passive: false });
const nodeAt = (target) => { const group = target.closest && target.closest(".node"); return group ? report.nodes[Number(group.dataset.node)] : null; };
drawing.addEventListener("click", (event) => { const node = nodeAt(event.target); if (node && !moved) choose(node, "graph"); });
drawing.addEventListener("keydown", (event) => {
  const node = nodeAt(event.target);
  if (!node) return;
  const next = { ArrowDown: below, ArrowUp: above }[event.key];
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(node, "graph"); }
  else if (next && next[node.number].length) {
    event.preventDefault();
    const other = report.nodes[next[node.number][0]];
    bring(other);
    boxes[other.number].focus({ preventScroll: true });
  }
});
const middle = (factor) => () => zoom(factor, size().width / 2, size().height / 2);
byId("zoom-in").addEventListener("click", middle(1.35));
byId("zoom-out").addEventListener("click", middle(1 / 1.35));
byId("fit").addEventListener("click", () => fit(true));
listeners.push((node, from) => {
  // One stop for the tabulator: the chosen node; arrows go on from there.
  boxes.forEach((box, place) => { box.classList.toggle("chosen", place === node.number); box.setAttribute("tabindex", place === node.number ? 0 : -1); });
  edges.forEach((path, place) => path.classList.toggle("near", report.edges[place].source === node.number || report.edges[place].target === node.number));
  if (from !== "graph") bring(node);
});
byId("legend").append(
  el("span", {}, "Signal to noise:"),
  ...LEVELS.map((each) => el("span", {}, el("i", { style: `background:var(${each.colour})` }), each.text)),
  el("span", {}, el("i", { style: "background:var(--none)" }), "not compared"),
  el("span", {}, "dashed: float"),
  el("span", {}, "Drag or scroll to move, Ctrl and scroll to zoom."));
fit(false);

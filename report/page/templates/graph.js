/* The graph: moved, zoomed, and brought to what was chosen or found. */
page.graphs = new Map();
for (const view of page.views) {
  const svg = view.root.querySelector(".graph svg");
  const width = Number(svg.getAttribute("width"));
  const height = Number(svg.getAttribute("height"));
  const boxes = [...svg.querySelectorAll(".box")];
  const graph = { scale: 1, x: 0, y: 0, ready: false };
  const extent = () => ({ w: svg.clientWidth || 800, h: svg.clientHeight || 600 });

  const show = () => {
    const { w, h } = extent();
    const seen = { w: w / graph.scale, h: h / graph.scale };
    const inside = (at, most, room) => (room >= most ? (most - room) / 2 : Math.max(0, Math.min(at, most - room)));
    graph.x = inside(graph.x, width, seen.w);
    graph.y = seen.h >= height ? 0 : inside(graph.y, height, seen.h);
    svg.setAttribute("viewBox", `${graph.x} ${graph.y} ${seen.w} ${seen.h}`);
  };
  const fitting = () => Math.min(extent().w / width, extent().h / height);
  const zoom = (factor, px = extent().w / 2, py = extent().h / 2) => {
    const x = graph.x + px / graph.scale;
    const y = graph.y + py / graph.scale;
    graph.scale = Math.max(Math.min(fitting(), 1), Math.min(4, graph.scale * factor));
    graph.x = x - px / graph.scale;
    graph.y = y - py / graph.scale;
    show();
  };
  const center = (box) => {
    graph.show();
    const frame = box.getBBox();
    if (graph.scale < 0.6) graph.scale = 1;
    const { w, h } = extent();
    graph.x = frame.x + frame.width / 2 - w / graph.scale / 2;
    graph.y = frame.y + frame.height / 2 - h / graph.scale / 2;
    show();
  };
  graph.center = center;
  graph.boxes = boxes;
  graph.whole = () => svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  graph.show = () => {
    if (!svg.clientWidth) return;
    if (!graph.ready) {
      graph.ready = true;
      graph.scale = Math.min(1, Math.max(fitting(), Math.min(1, extent().w / width), 0.7));
      graph.x = (width - extent().w / graph.scale) / 2;
    }
    show();
  };
  page.graphs.set(view, graph);
  new ResizeObserver(graph.show).observe(svg);

  view.root.querySelector(".zoom").addEventListener("click", (event) => {
    const wanted = event.target.dataset.zoom;
    if (wanted === "in") zoom(1.3);
    if (wanted === "out") zoom(1 / 1.3);
    if (wanted === "fit") zoom(fitting() / graph.scale);
    if (wanted === "one") zoom(1 / graph.scale);
  });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const frame = svg.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });
  svg.addEventListener("keydown", (event) => {
    if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "0") zoom(fitting() / graph.scale);
    else return;
    event.preventDefault();
  });

  const pointers = new Map();
  let moved = 0;
  let pressed = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved = 0;
    pressed = event.target.closest(".box, .line");
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const [one, other] = [...pointers.values()];
    const apart = other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
    moved += Math.abs(event.clientX - before.x) + Math.abs(event.clientY - before.y);
    if (!other) {
      graph.x -= (event.clientX - before.x) / graph.scale;
      graph.y -= (event.clientY - before.y) / graph.scale;
      show();
    }
    Object.assign(before, { x: event.clientX, y: event.clientY });
    if (other && apart) {
      const frame = svg.getBoundingClientRect();
      const now = Math.hypot(one.x - other.x, one.y - other.y);
      zoom(now / apart, (one.x + other.x) / 2 - frame.left, (one.y + other.y) / 2 - frame.top);
    }
  });
  const release = (event) => {
    if (!pointers.delete(event.pointerId) || event.type === "pointercancel" || moved > 6 || !pressed) return;
    const kind = pressed.dataset.layer === undefined ? "tensor" : "layer";
    if (pressed.dataset[kind] !== undefined) page.choose(view, kind, Number(pressed.dataset[kind]));
  };
  svg.addEventListener("pointerup", release);
  svg.addEventListener("pointercancel", release);

  page.rove(svg, boxes, view, center);
  page.onChoose.push((chosen, kind, number, move) => {
    if (chosen !== view || !move) return;
    const layer = kind === "layer" ? number : (view.tensors[number].written.concat(view.tensors[number].read))[0];
    const box = boxes.find((each) => Number(each.dataset.layer) === layer);
    if (box) center(box);
  });
}
window.addEventListener("beforeprint", () => page.graphs.forEach((graph) => graph.whole()));
window.addEventListener("afterprint", () => page.graphs.forEach((graph) => graph.show()));

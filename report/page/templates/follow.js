"use strict";
/* What belongs together: chooses a layer or a tensor, marks all its places, and tells about it. */
const page = { data: JSON.parse(document.getElementById("data").textContent), chosen: null, onChoose: [] };

page.views = page.data.map((data) => {
  const root = document.getElementById(data.key);
  const index = (name) => {
    const found = new Map();
    for (const element of root.querySelectorAll(`[data-${name}]`)) {
      const key = Number(element.dataset[name]);
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(element);
    }
    return found;
  };
  return { ...data, root, byLayer: index("layer"), byTensor: index("tensor"), marked: [] };
});
page.viewOf = (element) => page.views.find((view) => view.root.contains(element));
page.number = (value) => value.toLocaleString("en-US");
page.element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

{
  const panel = document.getElementById("details");
  const title = document.getElementById("details-title");
  const body = document.getElementById("details-body");
  let origin = null;

  const mark = (view, elements, name) => {
    for (const element of elements || []) {
      element.classList.add(name);
      view.marked.push([element, name]);
    }
  };
  const clear = () => {
    for (const view of page.views) {
      for (const [element, name] of view.marked) element.classList.remove(name);
      view.marked = [];
      view.root.classList.remove("following");
    }
    page.chosen = null;
  };
  const links = (view, kind, numbers) => {
    const list = page.element("ul");
    for (const number of numbers) {
      const name = kind === "layer" ? `${number} ${view.layers[number].name}` : view.tensors[number].name;
      const item = page.element("li");
      const button = page.element("button", name, { type: "button", class: "link" });
      button.addEventListener("click", () => page.choose(view, kind, number, { move: true }));
      item.append(button);
      list.append(item);
    }
    return list;
  };
  const facts = (rows) => {
    const list = page.element("dl", "", { class: "facts" });
    for (const [name, value] of rows) list.append(page.element("dt", name), page.element("dd", value));
    return list;
  };
  const section = (name, content) => body.append(page.element("h3", name), content);

  const showLayer = (view, number) => {
    const layer = view.layers[number];
    title.textContent = `Layer ${number}`;
    body.replaceChildren(page.element("p", layer.name, { class: "name" }), facts(layer.facts));
    if (layer.reads.length) section("reads", links(view, "tensor", layer.reads));
    if (layer.writes.length) section("writes", links(view, "tensor", layer.writes));
    mark(view, view.byLayer.get(number), "on");
    for (const tensor of layer.reads.concat(layer.writes)) mark(view, view.byTensor.get(tensor), "touched");
    for (const tensor of layer.writes) {
      mark(view, (view.byTensor.get(tensor) || []).filter((each) => each.matches(".line")), "on");
    }
  };
  const showTensor = (view, number) => {
    const tensor = view.tensors[number];
    title.textContent = tensor.role ? `Tensor (${tensor.role})` : "Tensor";
    const rows = [];
    if (tensor.place) {
      const [pool, offset, bytes, first, last] = tensor.place;
      rows.push(["bytes", page.number(bytes)], ["place", `${pool}, offset ${page.number(offset)}`]);
      rows.push(["lives", first === last ? `in layer ${first}` : `from layer ${first} to ${last}`]);
      if (tensor.peak) rows.push(["peak", "among the tensors at the peak of memory"]);
    } else {
      rows.push(["place", "none in working memory"]);
    }
    body.replaceChildren(page.element("p", tensor.name, { class: "name" }), facts(rows));
    if (tensor.written.length) section("written by", links(view, "layer", tensor.written));
    if (tensor.read.length) section("read by", links(view, "layer", tensor.read));
    mark(view, view.byTensor.get(number), "on");
    for (const layer of tensor.written.concat(tensor.read)) mark(view, view.byLayer.get(layer), "touched");
  };

  /* Shows a layer or a tensor ("kind") and marks its places; with "move" the graph goes there, too. */
  page.choose = (view, kind, number, { move = false } = {}) => {
    if (panel.hidden) origin = document.activeElement;
    clear();
    page.chosen = { view, kind, number };
    view.root.classList.add("following");
    (kind === "layer" ? showLayer : showTensor)(view, number);
    panel.hidden = false;
    panel.scrollTop = 0;
    for (const listener of page.onChoose) listener(view, kind, number, move);
  };
  page.close = () => {
    clear();
    if (panel.hidden) return;
    panel.hidden = true;
    if (origin && origin.isConnected) origin.focus({ preventScroll: true });
  };

  document.getElementById("close").addEventListener("click", page.close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") page.close();
  });
  document.addEventListener("click", (event) => {
    const target = event.target.closest("button[data-layer], button[data-tensor], .area");
    const view = target && page.viewOf(target);
    if (!view) return;
    const kind = target.dataset.layer === undefined ? "tensor" : "layer";
    page.choose(view, kind, Number(target.dataset[kind]), { move: true });
  });

  /* One stop of the Tab key for a picture; arrows go from part to part, Enter shows one. */
  page.rove = (svg, parts, view, onFocus = () => {}) => {
    let at = -1;
    const go = (next) => {
      at = Math.max(0, Math.min(parts.length - 1, next));
      parts[at].focus({ preventScroll: true });
      onFocus(parts[at]);
    };
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (event.target !== svg) at = parts.indexOf(event.target);
      if (step) go(at + step);
      else if (event.key === "Home") go(0);
      else if (event.key === "End") go(parts.length - 1);
      else if ((event.key === "Enter" || event.key === " ") && at >= 0) {
        const kind = parts[at].dataset.layer === undefined ? "tensor" : "layer";
        if (parts[at].dataset[kind] !== undefined) page.choose(view, kind, Number(parts[at].dataset[kind]));
      } else return;
      event.preventDefault();
    });
  };
  for (const view of page.views) {
    for (const svg of view.root.querySelectorAll(".memory svg")) {
      const areas = [...svg.querySelectorAll(".area")];
      const first = (area) => Number(area.getAttribute("x"));
      areas.sort((a, b) => first(a) - first(b) || Number(a.dataset.tensor) - Number(b.dataset.tensor));
      page.rove(svg, areas, view);
    }
  }
}

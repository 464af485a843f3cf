/* The tools at the head: tabs, search and clock. */
{
  document.documentElement.classList.add("js");
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const find = document.getElementById("find");
  const found = document.getElementById("found");
  const clock = document.getElementById("clock");
  let matches = [];
  let at = -1;

  const select = (tab, focus) => {
    for (const each of tabs) {
      const on = each === tab;
      each.setAttribute("aria-selected", on);
      each.tabIndex = on ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !on;
    }
    if (focus) tab.focus();
    page.close();
    search();
  };
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) select(tabs[(number + step + tabs.length) % tabs.length], true);
    });
  });

  const search = () => {
    const words = find.value.trim().toLowerCase();
    matches = [];
    at = -1;
    let shown = 0;
    let all = 0;
    for (const row of document.querySelectorAll("table.sortable tbody tr")) {
      row.hidden = Boolean(words) && !row.textContent.toLowerCase().includes(words);
      if (row.closest("table").classList.contains("layers") && row.offsetParent !== null) all += 1;
    }
    for (const view of page.views) {
      view.root.classList.toggle("searching", Boolean(words));
      const hit = (element, text) => {
        const match = Boolean(words) && text.toLowerCase().includes(words);
        element.classList.toggle("match", match);
        return match;
      };
      for (const box of page.graphs.get(view).boxes) {
        const layer = view.layers[Number(box.dataset.layer)];
        const text = layer ? `${box.textContent} ${layer.name} ${layer.facts.flat().join(" ")}` : box.textContent;
        if (hit(box, text) && !view.root.hidden) matches.push([view, box]);
      }
      for (const area of view.root.querySelectorAll(".area")) {
        hit(area, view.tensors[Number(area.dataset.tensor)].name);
      }
    }
    shown = matches.length;
    found.textContent = words ? (shown ? `${shown} in the graph; Enter goes to the next` : `${all} rows`) : "";
    if (words && !shown && !all) found.textContent = "nothing found";
  };
  find.addEventListener("input", search);
  find.form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !matches.length) return;
    at = (at + 1) % matches.length;
    const [view, box] = matches[at];
    page.graphs.get(view).center(box);
    found.textContent = `${at + 1} of ${matches.length} in the graph`;
    box.closest(".graph").scrollIntoView({ block: "center" });
  });

  const times = document.querySelectorAll("[data-cycles]");
  const tick = () => {
    const hertz = Number(clock.value.replace(",", ".")) * 1e6;
    const known = Number.isFinite(hertz) && hertz > 0;
    clock.setAttribute("aria-invalid", Boolean(clock.value.trim()) && !known);
    for (const element of times) {
      const text = element.dataset.cycles;
      const milliseconds = (Number(text) * 1000) / hertz;
      const shown = milliseconds >= 100 ? milliseconds.toFixed(0) : milliseconds.toPrecision(3);
      const unit = element.dataset.plain ? "" : " ms";
      element.textContent = known && text !== "" ? shown + unit : element.dataset.empty;
    }
  };
  clock.addEventListener("input", tick);
  tick();

  window.addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details")) each.open = true;
  });
  if (tabs.length) select(tabs[0]);

  /* Sections out of sight are laid out one by one when the page is open. */
  const unseen = [...document.querySelectorAll("article > section")];
  const whenIdle = window.requestIdleCallback ?? ((action) => window.setTimeout(action, 20));
  const layOut = () => {
    unseen.shift().style.contentVisibility = "visible";
    if (unseen.length) whenIdle(layOut);
  };
  window.addEventListener("load", () => whenIdle(layOut));
}

// The list of findings: search, filters, order. Rows are drawn in portions, so that thousands stay quick.
"use strict";
(() => {
  const PORTION = 200;
  const MAX_CHIPS = 8;
  const rows = window.caulkFindings || [];
  const byId = (id) => document.getElementById(id);
  const RANK = { low: 0, medium: 1, high: 2 };
  const place = (row) => `${row.file}:${row.line}`;
  rows.forEach((row, index) => {
    row.index = index;
    row.text = [row.kind, row.variable, row.message, place(row), row.function, row.allocator, row.confidence, row.state]
      .join(" ").toLowerCase();
  });

  const filters = {
    kind: (row) => row.kind,
    confidence: (row) => row.confidence,
    folder: (row) => row.file.split("/").slice(0, -1).join("/") || ".",
    file: (row) => row.file,
    function: (row) => row.function,
    failure: (row) => (row.failure ? "yes" : "no"),
    state: (row) => row.state,
  };
  const keys = {
    kind: (row) => row.kind,
    message: (row) => row.message,
    place: (row) => row.index,
    function: (row) => row.function,
    allocator: (row) => row.allocator,
    confidence: (row) => RANK[row.confidence],
    steps: (row) => row.steps,
  };
  let order = { key: "place", down: false };
  let shown = [];
  let drawn = 0;

  const counted = (of, list) => {
    const counts = new Map();
    for (const row of list) counts.set(of(row), (counts.get(of(row)) || 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  };

  const fillSelects = () => {
    for (const name of ["kind", "confidence", "folder", "file", "function", "state"]) {
      const values = counted(filters[name], rows).filter(([value]) => value !== "");
      for (const [value, count] of values) byId(name).append(new Option(`${value} (${count})`, value));
      if (values.length === 0) byId(name).closest("label").hidden = true;
    }
    byId("new").closest("label").hidden = !rows.some((row) => row.state === "new");
  };

  const select = () => {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const active = Object.keys(filters).map((name) => [filters[name], byId(name).value]).filter(([, value]) => value !== "");
    const onlyNew = byId("new").checked;
    const fits = (row) => (!onlyNew || row.state === "new") && active.every(([of, value]) => of(row) === value) && words.every((word) => row.text.includes(word));
    const key = keys[order.key];
    const sign = order.down ? -1 : 1;
    shown = rows.filter(fits);
    shown.sort((a, b) => (key(a) < key(b) ? -sign : key(a) > key(b) ? sign : a.index - b.index));
  };

  const cell = (line, name, content) => {
    const td = document.createElement("td");
    if (name) td.dataset.name = name;
    td.append(content);
    line.append(td);
  };

  const tag = (text) => {
    const span = document.createElement("span");
    span.className = `tag ${text}`;
    span.textContent = text;
    return span;
  };

  const drawRow = (row) => {
    const line = document.createElement("tr");
    if (row.state === "known" || row.state === "suppressed") line.className = "faded";
    cell(line, "", tag(row.kind));
    const link = document.createElement("a");
    link.href = row.p;
    link.textContent = row.message.replaceAll("`", "");
    cell(line, "", link);
    if (row.state) line.lastChild.append(" ", tag(row.state));
    if (row.failure) line.lastChild.append(" ", tag("needs an allocation to fail"));
    cell(line, "at", place(row));
    if (row.also) line.lastChild.append(" ", tag(`+ ${row.also} more`));
    cell(line, "in", row.function);
    cell(line, "from", row.allocator);
    cell(line, "confidence", row.confidence);
    cell(line, "steps", String(row.steps));
    return line;
  };

  const drawMore = () => {
    const portion = shown.slice(drawn, drawn + PORTION);
    byId("rows").append(...portion.map(drawRow));
    drawn += portion.length;
    byId("more").hidden = drawn >= shown.length;
    byId("more").textContent = `Show more (${shown.length - drawn} left)`;
  };

  const drawCounts = () => {
    const counts = byId("counts");
    const kinds = counted(filters.kind, shown).map(([kind, count]) => `${count} ${kind}`).join(", ");
    counts.textContent = `${shown.length} of ${rows.length} ${rows.length === 1 ? "leak" : "leaks"}${kinds ? `: ${kinds}. ` : ". "}`;
    for (const [file, count] of counted(filters.file, shown).slice(0, MAX_CHIPS)) {
      const chip = document.createElement("button");
      chip.type = "button";
      chip.textContent = `${file} (${count})`;
      chip.addEventListener("click", () => { byId("file").value = file; update(); });
      counts.append(chip);
    }
  };

  // The choices stand in the address, so that going back from a finding finds them again.
  const remember = () => {
    const choices = new URLSearchParams();
    for (const name of ["search", ...Object.keys(filters)]) if (byId(name).value) choices.set(name, byId(name).value);
    if (byId("new").checked) choices.set("new", "yes");
    if (order.key !== "place" || order.down) choices.set("order", (order.down ? "-" : "") + order.key);
    const hash = choices.toString();
    try { history.replaceState(null, "", hash ? `#${hash}` : location.pathname); } catch { /* Not allowed everywhere. */ }
  };

  const recall = () => {
    const choices = new URLSearchParams(location.hash.slice(1));
    for (const name of ["search", ...Object.keys(filters)]) if (choices.has(name)) byId(name).value = choices.get(name);
    byId("new").checked = choices.get("new") === "yes";
    const key = (choices.get("order") || "").replace(/^-/, "");
    if (Object.hasOwn(keys, key)) order = { key, down: choices.get("order").startsWith("-") };
  };

  const update = () => {
    select();
    remember();
    byId("rows").replaceChildren();
    drawn = 0;
    drawMore();
    drawCounts();
    for (const head of document.querySelectorAll("th")) {
      const direction = order.down ? "descending" : "ascending";
      if (head.dataset.key === order.key) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    }
  };

  fillSelects();
  recall();
  byId("search").addEventListener("input", update);
  for (const name of Object.keys(filters)) byId(name).addEventListener("change", update);
  byId("reset").addEventListener("click", () => {
    for (const name of ["search", ...Object.keys(filters)]) byId(name).value = "";
    byId("new").checked = false;
    order = { key: "place", down: false };
    update();
  });
  byId("new").addEventListener("change", update);
  byId("more").addEventListener("click", drawMore);
  for (const head of document.querySelectorAll("th")) {
    head.addEventListener("click", () => {
      order = { key: head.dataset.key, down: order.key === head.dataset.key && !order.down };
      update();
    });
  }
  // The next or previous leak of the list: its link has the focus, so that Enter opens it.
  const step = (by) => {
    const links = [...document.querySelectorAll("#rows a")];
    const at = links.indexOf(document.activeElement);
    const to = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
    if (to === links.length && drawn < shown.length) { drawMore(); step(by); return; }
    if (links[to]) { links[to].focus(); links[to].scrollIntoView({ block: "nearest" }); }
  };
  document.addEventListener("keydown", (event) => {
    const isTyping = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j" || event.key === "k") {
      event.preventDefault();
      step(event.key === "j" ? 1 : -1);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== byId("search")) {
      event.preventDefault();
      byId("search").focus();
    }
  });
  update();
})();

// One finding: steps through the path by keyboard.
"use strict";
(() => {
  const notes = [...document.querySelectorAll(".note[id^='step-']")].sort((a, b) => number(a) - number(b));
  function number(note) { return Number(note.id.slice("step-".length)); }
  const links = [...document.querySelectorAll("ol.steps a")];
  let at = -1;

  const mark = () => {
    notes.forEach((note, i) => note.classList.toggle("now", i === at));
    links.forEach((link, i) => link.classList.toggle("now", i === at));
  };
  const go = (to) => {
    if (notes.length === 0) return;
    at = Math.max(0, Math.min(notes.length - 1, to));
    mark();
    notes[at].scrollIntoView({ block: "center" });
    notes[at].focus({ preventScroll: true });
  };
  const fromAddress = () => {
    const found = notes.findIndex((note) => `#${note.id}` === location.hash);
    if (found >= 0) { at = found; mark(); }
  };
  const follow = (id) => { const link = document.getElementById(id); if (link && link.href) location.href = link.href; };

  const keys = {
    n: () => go(at + 1), j: () => go(at + 1), ArrowRight: () => go(at + 1),
    p: () => go(at - 1), k: () => go(at - 1), ArrowLeft: () => go(at - 1),
    "[": () => follow("before"), "]": () => follow("after"), u: () => follow("up"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();

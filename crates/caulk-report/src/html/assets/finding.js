// One finding: opens at the leak, and steps through the path by keyboard.
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
    // The address leads back to this step.
    try { history.replaceState(null, "", `#${notes[at].id}`); } catch { /* Not allowed everywhere. */ }
    notes[at].scrollIntoView({ block: "center" });
    notes[at].focus({ preventScroll: true });
  };
  const fromAddress = () => {
    const found = notes.findIndex((note) => `#${note.id}` === location.hash);
    if (found >= 0) { at = found; mark(); }
  };
  const follow = (id) => { const link = document.getElementById(id); if (link && link.href) location.href = link.href; };
  const back = () => go(at < 0 ? notes.length - 1 : at - 1);

  const keys = {
    n: () => go(at + 1), j: () => go(at + 1), ArrowRight: () => go(at + 1),
    p: back, k: back, ArrowLeft: back,
    "[": () => follow("before"), "]": () => follow("after"), u: () => follow("up"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  addEventListener("hashchange", fromAddress);
  fromAddress();
  if (location.hash === "" && notes.length > 0) notes[notes.length - 1].scrollIntoView({ block: "center" });

  // Where a browser keeps pages from disk away from the clipboard, the text is selected, ready to be copied by hand.
  const text = document.getElementById("suppression");
  const said = (words) => { document.getElementById("copied").textContent = words; };
  const selectText = () => {
    getSelection().selectAllChildren(text);
    said(document.execCommand("copy") ? "copied" : "selected");
  };
  document.getElementById("copy").addEventListener("click", () => {
    if (!navigator.clipboard) { selectText(); return; }
    navigator.clipboard.writeText(text.textContent).then(() => said("copied"), selectText);
  });
})();

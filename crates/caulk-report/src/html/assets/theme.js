// Dark or light: as the system says, until the reader chooses.
"use strict";
(() => {
  const root = document.documentElement;
  const stored = () => { try { return localStorage.getItem("caulk-theme"); } catch { return null; } };
  const system = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = stored() || system();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { root.dataset.theme = stored() || system(); });
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("caulk-theme", root.dataset.theme); } catch { /* Some browsers keep nothing for files. */ }
    });
  });
})();

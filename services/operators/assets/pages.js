// Keyboard shortcuts and the choice of colours. All pages work without this script.
"use strict";

const themes = ["system", "light", "dark"];

function readTheme() {
  try {
    const stored = localStorage.getItem("assay-theme");
    return themes.includes(stored) ? stored : "system";
  } catch {
    return "system";
  }
}

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

// Before the first paint, so that the page does not flash in other colours.
applyTheme(readTheme());

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const label = () => { button.textContent = `Colours: ${readTheme()}`; };
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(readTheme()) + 1) % themes.length];
    try {
      localStorage.setItem("assay-theme", next);
    } catch {
      // Without storage, the choice applies to this page only.
    }
    applyTheme(next);
    label();
  });
  label();

  const keys = document.getElementById("keys");
  document.getElementById("help").addEventListener("click", () => keys.showModal());

  const rows = [...document.querySelectorAll(".row")].filter((row) => row.querySelector("a.open"));
  const at = () => rows.findIndex((row) => row.contains(document.activeElement));
  const focusRow = (index) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (row) {
      row.querySelector("a.open").focus();
      row.scrollIntoView({ block: "nearest" });
    }
  };
  // A click anywhere on a row opens it, except on a control or to select text.
  for (const row of rows) {
    row.addEventListener("click", (event) => {
      const control = event.target.closest("a, button, input, select");
      if (!control && !getSelection().toString()) row.querySelector("a.open").click();
    });
  }

  // Scroll the graded part of long texts into view.
  for (const mark of document.querySelectorAll("pre mark")) {
    const text = mark.parentElement;
    text.scrollTop = mark.offsetTop - text.offsetTop - text.clientHeight / 2;
  }

  const press = (id) => document.getElementById(id)?.click();
  let going = false;
  document.addEventListener("keydown", (event) => {
    // Some keyboards need AltGr for brackets, which browsers may report as Ctrl and Alt.
    const modified = event.ctrlKey || event.metaKey || event.altKey;
    if (keys.open || (modified && !event.getModifierState("AltGraph"))) return;
    const field = event.target.closest("input, textarea, select");
    if (field) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (going) {
      going = false;
      const links = [...document.querySelectorAll("nav a")];
      const link = links.find((link) => link.dataset.key === event.key);
      if (link) link.click();
      return;
    }
    const actions = {
      j: () => focusRow(at() + 1),
      k: () => focusRow(at() < 0 ? 0 : at() - 1),
      n: () => press("next"),
      "[": () => press("newer"),
      "]": () => press("older"),
      "{": () => press("group-previous"),
      "}": () => press("group-next"),
      p: () => press("replay"),
      r: () => press("right"),
      w: () => press("wrong"),
      s: () => press("skip"),
      g: () => { going = true; },
      "?": () => keys.showModal(),
      "/": () => document.querySelector("main input, main select")?.focus(),
    };
    const action = actions[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  });
});

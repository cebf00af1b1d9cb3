// Keyboard shortcuts, the choice of colours, and the refresh of pages. All pages work without this
// script.
"use strict";

const themes = ["system", "light", "dark"];

function readSetting(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function storeSetting(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without storage, the choice applies to this page only.
  }
}

function readTheme() {
  const stored = readSetting("assay-theme");
  return themes.includes(stored) ? stored : "system";
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
    storeSetting("assay-theme", next);
    applyTheme(next);
    label();
  });
  label();

  const keys = document.getElementById("keys");
  document.getElementById("help").addEventListener("click", () => keys.showModal());

  // Rows are looked up when they are needed, because a refresh replaces them.
  const allRows = () =>
    [...document.querySelectorAll(".row")].filter((row) => row.querySelector("a.open"));
  const at = () => allRows().findIndex((row) => row.contains(document.activeElement));
  const focusRow = (index) => {
    const rows = allRows();
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (row) {
      row.querySelector("a.open").focus();
      row.scrollIntoView({ block: "nearest" });
    }
  };
  // A click anywhere on a row opens it, except on a control or to select text.
  document.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    const control = event.target.closest("a, button, input, select");
    if (row && !control && !getSelection().toString()) row.querySelector("a.open")?.click();
  });

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

// Time between refreshes, in milliseconds.
const refreshInterval = 10_000;

// Whether the user works in an element: it has the focus, a selection, or a ticked box.
function isUsed(element) {
  const selection = getSelection();
  return element.contains(document.activeElement)
    || (!selection.isCollapsed && selection.containsNode(element, true))
    || element.querySelector("input:checked") !== null;
}

// Replaces the elements with `data-live` by those of the same page as it is now.
async function refresh() {
  const reply = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!reply.ok || reply.redirected) throw new Error(`status ${reply.status}`);
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  for (const element of document.querySelectorAll("[data-live]")) {
    const current = page.getElementById(element.id);
    if (!current || isUsed(element) || current.isEqualNode(element)) continue;
    element.replaceWith(document.adoptNode(current));
  }
}

document.addEventListener("DOMContentLoaded", () => {
  if (!document.querySelector("[data-live]")) return;
  const button = document.getElementById("live");
  const isPaused = () => button.getAttribute("aria-pressed") === "false";
  const show = (paused, state) => {
    button.setAttribute("aria-pressed", String(!paused));
    button.textContent = `Refresh: ${state ?? (paused ? "paused" : "on")}`;
  };
  let busy = false;
  const update = async () => {
    if (busy || isPaused() || document.visibilityState !== "visible") return;
    busy = true;
    try {
      await refresh();
      if (!isPaused()) show(false);
    } catch {
      if (!isPaused()) show(false, "failed");
    }
    busy = false;
  };
  button.addEventListener("click", () => {
    const paused = !isPaused();
    storeSetting("assay-refresh", paused ? "paused" : "on");
    show(paused);
    update();
  });
  show(readSetting("assay-refresh") === "paused");
  button.hidden = false;
  setInterval(update, refreshInterval);
  document.addEventListener("visibilitychange", update);
});

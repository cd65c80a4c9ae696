"use strict";

// The theme: the reader's system decides until the button does.
const theme = document.getElementById("theme");
if (theme) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const show = () => (theme.textContent = isDark() ? "Light theme" : "Dark theme");
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  system.addEventListener("change", show);
  theme.hidden = false;
  show();
}

const said = document.getElementById("said");

// Sorting: headings are buttons; rows without an entry stay last.
for (const table of document.querySelectorAll("table.scores, table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = heading.querySelector("button");
    if (button) button.addEventListener("click", () => sortBy(table, headings, column, button.dataset.first));
  });
}

function sortBy(table, headings, column, first) {
  const other = first === "ascending" ? "descending" : "ascending";
  const order = headings[column].getAttribute("aria-sort") === first ? other : first;
  for (const heading of headings) if (heading.hasAttribute("aria-sort")) heading.setAttribute("aria-sort", "none");
  headings[column].setAttribute("aria-sort", order);
  const key = (row) => (row.cells[column] ? row.cells[column].dataset.sort || "" : "");
  const sign = order === "ascending" ? 1 : -1;
  const compare = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b) : Number(a) - Number(b));
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === "" || right === "") return (left === "") - (right === "");
    return sign * compare(left, right);
  });
  table.tBodies[0].append(...rows);
  said.textContent = `Sorted by ${headings[column].textContent.trim()}, ${order}.`;
}

// One tooltip for drawings and cells. Text only, so names from the data stay text.
const tip = document.getElementById("tip");

function tipText(target) {
  if (target.dataset.tip) return target.dataset.tip;
  const table = target.closest("table");
  const row = target.parentElement.cells[0].textContent.trim();
  const column = table.tHead.rows[0].cells[target.cellIndex].textContent.trim();
  return `${row} × ${column}: ${target.dataset.v}`;
}

let held = null; // what the keyboard shows the tip of: it moves along when the page scrolls

function showTip(target, byKey = false) {
  held = byKey ? target : null;
  tip.textContent = tipText(target);
  tip.hidden = false;
  placeTip(target);
}

function placeTip(target) {
  const box = target.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 8}px`;
}

function hideTip() {
  held = null;
  tip.hidden = true;
}

const WITH_TIP = "[data-tip], td[data-v]";
const withTip = (event) => event.target.closest(WITH_TIP);
document.addEventListener("mouseover", (event) => {
  const target = withTip(event);
  if (target) showTip(target);
  else if (!held) hideTip();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});
document.addEventListener("scroll", () => (held ? placeTip(held) : hideTip()), true);

// Drawings: one that has a tip shows it when selected; in one whose marks have tips, the arrow keys go from mark to mark.
for (const drawing of document.querySelectorAll("svg:has([data-tip]), svg[data-tip]")) {
  if (drawing.parentElement.closest("svg")) continue;
  const marks = [...drawing.querySelectorAll("[data-tip]")];
  let at = -1;
  drawing.setAttribute("tabindex", "0");
  drawing.addEventListener("focus", () => {
    if (drawing.dataset.tip && drawing.matches(":focus-visible")) showTip(drawing, true);
  });
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !marks.length) return;
    event.preventDefault();
    const shown = marks.filter((mark) => !mark.closest(".out"));
    at = Math.min(Math.max(at + step, 0), shown.length - 1);
    if (at < 0) return;
    showTip(shown[at], true);
    said.textContent = tipText(shown[at]);
  });
  drawing.addEventListener("blur", () => {
    at = -1;
    hideTip();
  });
}

// Tables whose cells have tips: one stop for the Tab key, from there the arrow keys go from cell to cell.
for (const table of document.querySelectorAll("table.grid, table.versus")) {
  const first = table.querySelector(WITH_TIP);
  if (!first) continue;
  first.tabIndex = 0;
  table.addEventListener("focusin", (event) => {
    const cell = withTip(event);
    if (!cell) return;
    table.querySelectorAll("[tabindex='0']").forEach((other) => (other.tabIndex = -1));
    cell.tabIndex = 0;
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
    showTip(cell, true);
  });
  table.addEventListener("focusout", hideTip);
  table.addEventListener("keydown", (event) => {
    const cell = withTip(event);
    const next = cell && neighbour(table, cell, event.key);
    if (!next) return;
    event.preventDefault();
    next.tabIndex = 0;
    next.focus({ preventScroll: true });
  });
}

function neighbour(table, cell, key) {
  const [down, right] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[key] || [0, 0];
  if (!down && !right) return null;
  const rows = [...table.rows];
  let [row, column] = [rows.indexOf(cell.parentElement), cell.cellIndex];
  for (;;) {
    row += down;
    column += right;
    const found = rows[row] && rows[row].cells[column];
    if (!found) return null;
    if (found.matches(WITH_TIP) && found.offsetParent) return found;
    if (down && row >= rows.length) return null;
  }
}

// Controls are of no use without this script, so they start hidden.
for (const controls of document.querySelectorAll(".controls")) controls.hidden = false;

// Factors: those not ticked leave maps, curves and tables; scores stay.
const choices = [...document.querySelectorAll("[data-choose]")];
if (choices.length > 1) {
  for (const choice of choices) {
    choice.hidden = false;
    choice.addEventListener("change", showFactors);
  }
}

function showFactors() {
  const left = new Set(choices.filter((choice) => !choice.checked).map((choice) => choice.dataset.choose));
  const isOut = (heading) => left.has(heading.querySelector("span").textContent);
  for (const figure of document.querySelectorAll("figure[data-factor]"))
    figure.classList.toggle("out", left.has(figure.dataset.factor));
  for (const table of document.querySelectorAll("table.grid[data-rows='factor']"))
    for (const row of table.tBodies[0].rows) row.classList.toggle("out", isOut(row.cells[0]));
  for (const table of document.querySelectorAll("table.grid[data-columns='factor']")) {
    const out = [...table.tHead.rows[0].cells].map((heading, column) => column > 0 && isOut(heading));
    for (const row of table.rows) out.forEach((hide, column) => row.cells[column].classList.toggle("out", hide));
  }
  said.textContent = `${choices.length - left.size} of ${choices.length} factors shown.`;
}

// A choice between maps names the list they are in.
for (const pick of document.querySelectorAll("[data-pick]")) {
  const maps = [...document.getElementById(pick.dataset.pick).querySelectorAll(".map")];
  const show = () => maps.forEach((map) => map.classList.toggle("off", map.id !== pick.value));
  pick.addEventListener("change", show);
  show();
}

const order = document.querySelector("[data-order]");
if (order) {
  const bodies = [...document.querySelectorAll("#map-list .map tbody")];
  const given = bodies.map((body) => [...body.rows]);
  order.addEventListener("change", () => {
    bodies.forEach((body, index) => {
      const rows = [...given[index]];
      if (order.value === "main") rows.sort((a, b) => a.dataset.rank - b.dataset.rank);
      body.append(...rows);
    });
  });
}

// Representations laid over each other: those not ticked leave the charts.
for (const choice of document.querySelectorAll("[data-lay]")) {
  choice.hidden = false;
  choice.addEventListener("change", () => {
    for (const part of choice.closest("section").querySelectorAll(`[data-line="${choice.dataset.lay}"]`))
      part.classList.toggle("out", !choice.checked);
  });
}

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

// Search among all codes, of which the tables show the top. Text only, so names from the data stay text.
const finder = document.getElementById("find-code");
if (finder) {
  const MOST_FOUND = 20;
  const index = JSON.parse(document.getElementById("code-index").textContent);
  const names = index.codes.map((name) => name.toLowerCase());
  const place = document.getElementById("found-codes");
  const cell = (kind, text) => Object.assign(document.createElement(kind), { textContent: text });
  const line = (kind, texts) => {
    const row = document.createElement("tr");
    row.append(...texts.map((text, at) => cell(at ? kind : "th", text)));
    return row;
  };
  finder.addEventListener("input", () => {
    const wanted = finder.value.trim().toLowerCase();
    place.replaceChildren();
    if (!wanted) return;
    const found = [];
    names.forEach((name, code) => {
      if (name.includes(wanted)) found.push(code);
    });
    found.sort((a, b) => (names[b] === wanted) - (names[a] === wanted) || a - b);
    const shown = found.slice(0, MOST_FOUND);
    place.append(cell("p", found.length > shown.length ? `${found.length} codes, of which these are the first ${shown.length}.` : `${found.length} ${found.length === 1 ? "code" : "codes"}.`));
    if (!shown.length) return;
    const table = document.createElement("table");
    const head = table.createTHead();
    head.append(line("th", ["Code", ...index.maps.map((map) => map.title)]));
    const body = table.createTBody();
    for (const code of shown) {
      const carried = index.maps.map(({ factor, size }) =>
        factor[code] < 0 ? "\u2013" : `${index.factors[factor[code]]} ${size[code]}`
      );
      body.append(line("td", [index.codes[code], ...carried]));
    }
    place.append(table);
  });
}

const save = document.getElementById("save");
if (save) {
  save.addEventListener("click", () => {
    const text = JSON.stringify(JSON.parse(document.getElementById("data").textContent), null, 2);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "report.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

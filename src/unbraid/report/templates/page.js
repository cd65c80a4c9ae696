"use strict";

// Sorting: headings are buttons; rows without a number stay last.
for (const table of document.querySelectorAll("table.scores")) {
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
  const compare = (a, b) => (column === 0 ? a.localeCompare(b) : Number(a) - Number(b));
  const rows = [...table.tBodies[0].rows].sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    if (left === "" || right === "") return (left === "") - (right === "");
    return sign * compare(left, right);
  });
  table.tBodies[0].append(...rows);
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

function showTip(target) {
  tip.textContent = tipText(target);
  tip.hidden = false;
  const box = target.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tip.offsetWidth / 2), innerWidth - tip.offsetWidth - 8);
  const above = box.top - tip.offsetHeight - 8;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${above > 4 ? above : box.bottom + 8}px`;
}

const withTip = (event) => event.target.closest("[data-tip], td[data-v]");
document.addEventListener("mouseover", (event) => {
  const target = withTip(event);
  if (target) showTip(target);
  else tip.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tip.hidden = true;
});
document.addEventListener("scroll", () => (tip.hidden = true), true);

// Charts of curves: the arrow keys go from mark to mark.
for (const chart of document.querySelectorAll("svg.chart")) {
  const marks = [...chart.querySelectorAll("[data-tip]")];
  let at = -1;
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !marks.length) return;
    event.preventDefault();
    at = Math.min(Math.max(at + step, 0), marks.length - 1);
    showTip(marks[at]);
  });
  chart.addEventListener("blur", () => {
    at = -1;
    tip.hidden = true;
  });
}

// Controls are of no use without this script, so they start hidden.
for (const controls of document.querySelectorAll(".controls")) controls.hidden = false;

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

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});

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

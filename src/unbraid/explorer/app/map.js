// Codes by factors: how much of each code's variance each factor explains; every cell leads to its scatter.
import { count, make, say, text } from "app/dom";

const MOST_ROWS = 60;

export class CodeMap {
  constructor({ subject, explained, onCell, onCode }) {
    Object.assign(this, { subject, explained, onCell, onCode });
    this.search = make("input", {
      type: "search",
      placeholder: `Search ${count(subject.codes.length, "code")}`,
      "aria-label": "Search codes by name",
      autocomplete: "off",
      oninput: () => this.fill(),
    });
    this.body = make("tbody");
    this.more = make("p", { class: "aside" });
    this.table = make(
      "table",
      { class: "map" },
      make("caption", { class: "sr", text: "Share of each code's variance that each factor explains" }),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("th", { scope: "col", text: "code" }),
          ...subject.factors.map((factor) => make("th", { scope: "col" }, make("span", { text: factor.name }))),
        ),
      ),
      this.body,
    );
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.root = make("div", {}, this.search, make("div", { class: "scroll" }, this.table), this.more);
    this.names = subject.codes.map((name) => name.toLowerCase());
    const best = explained.map((row) => Math.max(0, ...row));
    this.order = subject.codes.map((_, j) => j);
    if (subject.factors.length) this.order.sort((a, b) => best[b] - best[a] || a - b);
    this.fill();
  }

  // The codes whose name has the words searched for, those that begin with them first.
  fill() {
    const started = performance.now();
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.order.filter((j) => this.names[j].includes(wanted));
    if (wanted) found.sort((a, b) => this.names[a].indexOf(wanted) - this.names[b].indexOf(wanted) || this.names[a].length - this.names[b].length || a - b);
    this.body.replaceChildren(...found.slice(0, MOST_ROWS).map((j) => this.row(j)));
    const hidden = found.length - MOST_ROWS;
    this.more.textContent = hidden > 0 ? `and ${count(hidden, "more code")}; search to see them` : found.length ? "" : "No code has that name.";
    const first = this.body.querySelector("button");
    if (first) first.tabIndex = 0;
    if (wanted) say(`${count(found.length, "code")} found.`);
    performance.measure("unbraid:search", { start: started, end: performance.now() });
  }

  row(j) {
    const name = this.subject.codes[j];
    const cells = (this.explained[j] || []).map((share, k) => {
      const factor = this.subject.factors[k].name;
      const button = make("button", {
        type: "button",
        tabindex: "-1",
        class: share > 0.55 ? "cell dark" : "cell",
        "aria-label": `${factor} explains ${text(share, 2)} of ${name}: draw`,
        title: `${factor} explains ${text(share, 2)} of the variance of ${name}`,
        text: share >= 0.005 ? share.toFixed(2).replace(/^0/, "") : "",
        onclick: () => this.onCell(j, k),
      });
      button.style.setProperty("--v", Math.round(100 * share));
      return make("td", {}, button);
    });
    const dead = (this.subject.dead || []).includes(j);
    const head = make("button", { type: "button", tabindex: "-1", class: "name", text: name, title: `Draw ${name}`, onclick: () => this.onCode(j) });
    return make("tr", {}, make("th", { scope: "row" }, head, dead ? make("small", { text: " dead" }) : null), ...cells);
  }

  // One stop for the Tab key; from there the arrow keys go from cell to cell.
  key(event) {
    const [down, right] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key] || [0, 0];
    const cell = event.target.closest("th, td");
    if ((!down && !right) || !cell) return;
    const rows = [...this.body.rows];
    const line = rows[rows.indexOf(cell.parentElement) + down];
    const next = line?.cells[cell.cellIndex + right]?.querySelector("button");
    if (!next) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}

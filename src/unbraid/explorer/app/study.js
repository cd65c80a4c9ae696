// A study: its jobs and failures, a row for each model, any two of their numbers against each other.
import { address } from "app/net";
import { colourName, PointChart } from "app/chart";
import { count, css, make, options, say, text } from "app/dom";
import { follow } from "app/follow";

const ABOUT = ["family", "hyperparameter", "seed", "dataset"];

export class Study {
  constructor({ onOpen }) {
    this.onOpen = onOpen;
    this.sort = { key: "", down: true };
    this.root = make("div", { class: "study" });
  }

  async start() {
    this.state = make("p", { class: "aside", role: "status" });
    this.jobs = make("div", { class: "jobs" });
    this.failures = make("div");
    this.x = make("select", { "aria-label": "Horizontal axis", onchange: () => this.plot() });
    this.y = make("select", { "aria-label": "Vertical axis", onchange: () => this.plot() });
    this.card = make("div", { class: "card", "aria-live": "polite" });
    this.chart = new PointChart({ label: "Models of the study", onHover: (point) => this.portrait(point), onOpen: (point) => this.onOpen(point.row.id) });
    this.legend = make("div", { class: "legend" });
    this.table = make("table", { class: "runs" });
    this.root.append(
      make("section", { class: "panel", "aria-label": "Progress" }, make("h2", { text: "Jobs" }), this.state, this.jobs, this.failures),
      make("section", { class: "versus", "aria-label": "Two numbers of all models" },
        make("div", {},
          make("div", { class: "controls" }, make("label", { class: "field" }, "Across", this.x), make("label", { class: "field" }, "Up", this.y)),
          this.chart.root, this.legend),
        this.card),
      make("section", { "aria-label": "Models" }, make("h2", { text: "Models" }), make("div", { class: "scroll tall" }, this.table)),
    );
    await follow(this.root, "study", (found) => this.take(found), (words) => (this.state.textContent = words));
  }

  take(found) {
    const changed = JSON.stringify(found) !== JSON.stringify(this.found);
    this.found = found;
    if (changed) this.show();
  }

  show() {
    const { parts, failures, scores, rows, about, watching, complete } = this.found;
    this.state.textContent = [about, watching ? "The study runs." : complete ? "" : "Some of it is missing."].filter(Boolean).join(" ");
    this.jobs.replaceChildren(
      ...Object.entries(parts).map(([name, { wanted, done, failed }]) =>
        make("label", { class: "job" }, make("span", { text: name }), make("progress", { max: Math.max(1, wanted), value: done }), make("span", { text: `${done.toLocaleString("en")} of ${wanted.toLocaleString("en")}${failed ? `, ${failed} failed` : ""}` })),
      ),
    );
    this.failures.replaceChildren(
      ...failures.map(({ why, count: n, example }) => make("p", { class: "failure" }, make("b", { text: `${n} failed` }), ` such as ${example}: ${why}`)),
    );
    this.columns = ["hyperparameter", ...scores];
    const chosen = [this.x.value || "hyperparameter", this.y.value || scores.find((name) => name === "mig") || scores[0] || "hyperparameter"];
    [this.x, this.y].forEach((select, at) => options(select, this.columns.map((name) => ({ value: name, label: name })), chosen[at]));
    this.families = [...new Set(rows.map(({ family }) => family))];
    this.legend.replaceChildren(
      ...this.families.map((family, at) => {
        const dot = make("i", { "aria-hidden": "true" });
        dot.style.background = css(colourName(at));
        return make("span", {}, dot, family);
      }),
    );
    this.plot();
    this.fill();
  }

  value(row, name) {
    const at = this.found.scores.indexOf(name);
    return at >= 0 ? row.scores[at] : row[name];
  }

  plot() {
    const points = this.found.rows.map((row) => ({ row, x: this.value(row, this.x.value), y: this.value(row, this.y.value), group: this.families.indexOf(row.family) }));
    this.chart.set(points, this.x.value, this.y.value);
    this.portrait(null);
  }

  portrait(point) {
    if (!point) {
      this.card.replaceChildren(make("p", { class: "aside", text: "Point at a model, or tap it, to see its pictures; click it, or tap again, to open it." }));
      return;
    }
    const { row } = point;
    const picture = make("img", { class: "portrait", alt: `Pictures of ${row.label} along its most varied codes`, src: address("portrait", { id: row.id }) });
    picture.addEventListener("error", () => picture.remove());
    this.card.replaceChildren(
      make("h2", { text: row.label }),
      row.there ? picture : make("p", { class: "aside", text: row.failure || "It is not trained yet." }),
      make("p", { class: "aside", text: `${this.x.value} ${text(point.x)}, ${this.y.value} ${text(point.y)}` }),
    );
  }

  // Rows of the table, sorted by the heading that was pressed last.
  fill() {
    const { scores, rows } = this.found;
    const columns = [...ABOUT, ...scores];
    const { key, down } = this.sort;
    const sorted = [...rows];
    if (key)
      sorted.sort((a, b) => {
        const [x, y] = [this.value(a, key), this.value(b, key)];
        if (x === null || y === null) return (x === null) - (y === null);
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
    const head = make("tr", {}, make("th", { scope: "col", text: "model" }), ...columns.map((name) =>
      make("th", { scope: "col", "aria-sort": name === key ? (down ? "descending" : "ascending") : "none" },
        make("button", { type: "button", text: name, onclick: () => {
          this.sort = { key: name, down: name === key ? !down : scores.includes(name) };
          this.fill();
          say(`Sorted by ${name}.`);
        } })),
    ));
    const lines = sorted.map((row) => make("tr", { class: row.there ? "" : "absent" },
      make("th", { scope: "row" }, row.there ? make("button", { type: "button", class: "link", text: row.label, onclick: () => this.onOpen(row.id) }) : make("span", { text: row.label, title: row.failure })),
      ...columns.map((name) => make("td", { text: ABOUT.includes(name) && typeof row[name] !== "number" ? row[name] ?? "–" : text(this.value(row, name)) })),
    ));
    this.table.replaceChildren(make("caption", { class: "sr", text: `${count(rows.length, "model")}; headings are buttons that sort` }), make("thead", {}, head), make("tbody", {}, ...lines));
  }

  recolour() {
    if (this.found) this.show();
  }
}

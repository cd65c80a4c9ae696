// Scoring that goes on: steps that are done, scores as they come, and the findings at the end.
import { count, make, say, score } from "app/dom";
import { follow } from "app/follow";

const COLUMNS = ["value", "low", "high", "chance"];

export class Scoring {
  constructor() {
    this.root = make("div", { class: "scoring" });
    this.parts = new Map();
  }

  async start() {
    this.state = make("p", { class: "aside", role: "status" });
    this.root.append(this.state);
    await follow(this.root, "scoring", (found) => this.show(found), (words) => (this.state.textContent = words));
  }

  show({ parts, watching }) {
    for (const part of parts) {
      if (!this.parts.has(part.name)) this.parts.set(part.name, this.part(part.name));
      this.parts.get(part.name)(part, watching);
    }
    this.state.textContent = watching
      ? "Values are of all rows; chance is the mean of shuffles so far; intervals come at the end."
      : "Scoring has ended.";
    if (!watching) say(this.state.textContent);
  }

  // A section for each file; returns what fills it.
  part(name) {
    const bar = make("progress", { max: 1, value: 0 });
    const words = make("span");
    const table = make("table", { class: "runs" });
    const findings = make("ol", { class: "findings" });
    this.root.append(
      make("section", { "aria-label": `Scores of ${name}` },
        make("h2", { text: name }),
        make("label", { class: "job" }, make("span", { text: "steps" }), bar, words),
        make("div", { class: "saved" }, make("div", { class: "scroll whole" }, table), findings)),
    );
    return (part, watching) => {
      bar.max = Math.max(1, part.n_steps);
      bar.value = part.n_done;
      words.textContent = part.n_steps ? `${part.n_done} of ${part.n_steps}, ${Math.round(part.seconds)} s` : "waits for the files before it";
      const columns = watching ? ["value", "chance"] : COLUMNS;
      const head = ["score", ...columns, "steps"].map((column) => make("th", { scope: "col", text: column }));
      table.replaceChildren(
        make("caption", { class: "sr", text: `${count(part.rows.length, "score")} of ${name}` }),
        make("thead", {}, make("tr", {}, ...head)),
        make("tbody", {}, ...part.rows.map((row) => line(row, columns))),
      );
      findings.replaceChildren(...part.findings.map(({ kind, sentence }) =>
        make("li", { class: "finding still" }, make("span", { class: `kind k-${kind.replace(/ .*/, "")}`, text: kind }), make("span", { text: sentence }))));
    };
  }
}

function line(row, columns) {
  const steps = row.error ? "failed" : row.n_done < row.n_steps ? `${row.n_done} of ${row.n_steps}` : "done";
  return make("tr", { class: row.value === null ? "absent" : "", title: row.error },
    make("th", { scope: "row", text: row.name }),
    ...columns.map((column) => make("td", { text: score(row[column]) })),
    make("td", { text: steps }));
}

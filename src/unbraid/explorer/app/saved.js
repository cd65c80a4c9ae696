// A saved report without its codes: the sentences, the rows it keeps of each, and the scores.
import { ask } from "app/net";
import { bringIntoView, make, say, score as scoreText } from "app/dom";
import { Findings } from "app/findings";
import { fillLegend } from "app/legend";
import { spread } from "app/scale";
import { Scatter } from "app/scatter";
import { Selection } from "app/selection";

export class Saved {
  constructor(subject) {
    this.subject = subject;
    this.table = make("table", { class: "runs" });
    this.scatter = new Scatter({ label: "Scatter", selection: new Selection() });
    this.legend = make("div", { class: "legend" });
    this.caption = make("p", { class: "caption" });
    this.stage = make("section", { class: "stage", "aria-label": "Scatter of two columns", hidden: true }, this.scatter.root, this.legend, this.caption);
    this.findings = new Findings({ subject, onShow: (view, finding) => this.draw(view, finding), onFirst: (open) => open(), onChosen: () => bringIntoView(this.stage) });
    this.root = make("div", { class: "saved" }, this.findings.root, make("div", { class: "detail" }, this.stage, make("section", { "aria-label": "Scores" }, make("h2", { text: "Scores" }), make("div", { class: "scroll whole" }, this.table))));
  }

  // The rows that the report keeps of a finding.
  draw({ kept, lines, caption }, finding) {
    const columns = Object.fromEntries(
      Object.entries(kept).map(([name, column]) => {
        const values = Float32Array.from(column.values, (value) => value ?? NaN);
        return [name, { ...column, values: name === "colour" ? values : spread(values, column.factor) }];
      }),
    );
    this.stage.hidden = false;
    this.scatter.set({ ...columns, lines });
    fillLegend(this.legend, this.scatter);
    this.caption.textContent = caption;
    say(`${finding.sentence} ${caption}`);
  }

  async start() {
    const { scores } = await ask("findings", { id: this.subject.id });
    const columns = ["value", "low", "high", "chance"];
    this.table.append(
      make("caption", { class: "sr", text: "Scores with confidence intervals and chance levels" }),
      make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "score" }), ...columns.map((name) => make("th", { scope: "col", text: name })))),
      make("tbody", {}, ...scores.map((score) => make("tr", {}, make("th", { scope: "row", text: score.name }), ...columns.map((name) => make("td", { text: scoreText(score[name]) }))))),
    );
  }

  recolour() {
    this.scatter.recolour();
    fillLegend(this.legend, this.scatter);
  }
}

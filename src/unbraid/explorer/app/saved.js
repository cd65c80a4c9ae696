// A saved report without its codes: the sentences and the scores.
import { ask } from "app/net";
import { make, text } from "app/dom";
import { Findings } from "app/findings";

export class Saved {
  constructor(subject) {
    this.subject = subject;
    this.table = make("table", { class: "runs" });
    this.findings = new Findings({ subject, onShow: () => {}, onFirst: () => {} });
    this.root = make("div", { class: "saved" }, this.findings.root, make("section", { "aria-label": "Scores" }, make("h2", { text: "Scores" }), make("div", { class: "scroll tall" }, this.table)));
  }

  async start() {
    const { scores } = await ask("findings", { id: this.subject.id });
    const columns = ["value", "low", "high", "chance"];
    this.table.append(
      make("caption", { class: "sr", text: "Scores with confidence intervals and chance levels" }),
      make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "score" }), ...columns.map((name) => make("th", { scope: "col", text: name })))),
      make("tbody", {}, ...scores.map((score) => make("tr", {}, make("th", { scope: "row", text: score.name }), ...columns.map((name) => make("td", { text: text(score[name]) }))))),
    );
  }
}

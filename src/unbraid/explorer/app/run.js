// A training run: losses of all members, and what the last checkpoint decodes.
import { address } from "app/net";
import { colourName, drawLines } from "app/chart";
import { css, make, say } from "app/dom";
import { follow } from "app/follow";

const MOST_SHOWN = 12;

export class Run {
  constructor({ onOpen }) {
    this.onOpen = onOpen;
    this.root = make("div", { class: "run" });
    this.stamp = null;
  }

  async start() {
    this.state = make("p", { class: "aside", role: "status" });
    this.charts = [];
    this.lines = make("div", { class: "three" });
    this.legend = make("div", { class: "legend" });
    this.pictures = make("div", { class: "portraits" });
    this.root.append(
      make("section", { "aria-label": "Losses" }, make("h2", { text: "Losses" }), this.state, this.lines, this.legend),
      make("section", { "aria-label": "Pictures of the last checkpoint" }, make("h2", { text: "Reconstructions and traversals" }), this.pictures),
    );
    new ResizeObserver(() => this.draw()).observe(this.root);
    await follow(this.root, "run", (found) => this.take(found), (words) => (this.state.textContent = words));
  }

  take(found) {
    const { state, stamp, note, watching } = (this.found = found);
    if (state === "waiting") this.state.textContent = watching ? "Waiting for the first checkpoint …" : note;
    else if (stamp !== this.stamp || watching !== this.watching) {
      Object.assign(this, { stamp, watching });
      this.show();
    }
  }

  addCharts() {
    this.charts = this.found.parts.map((name) => {
      const label = name.replaceAll("_", " ");
      const canvas = make("canvas", { role: "img", "aria-label": `${label} of each member over steps` });
      this.lines.append(make("div", { class: "chart" }, canvas));
      return { name, label, canvas };
    });
  }

  show() {
    if (!this.charts.length) this.addCharts();
    const { members, steps } = this.found;
    const lost = members.filter(({ diverged }) => diverged !== null).length;
    this.state.textContent = `Step ${steps[steps.length - 1] ?? 0}${lost ? `, ${lost} of ${members.length} diverged` : ""}${this.found.watching ? "; training goes on" : ""}.`;
    this.legend.replaceChildren(
      ...members.slice(0, MOST_SHOWN).map(({ label, diverged }, at) => {
        const dot = make("i", { "aria-hidden": "true" });
        dot.style.background = css(colourName(at));
        return make("span", {}, dot, diverged === null ? label : `${label}: diverged at step ${diverged}`);
      }),
    );
    this.pictures.replaceChildren(
      ...members.filter(({ subject }) => subject).slice(0, MOST_SHOWN).map(({ label, subject }) => {
        const portrait = make("img", { class: "portrait", alt: `Traversals of ${label}`, src: address("portrait", { id: subject, stamp: this.stamp }) });
        const copies = make("img", { class: "portrait", alt: `Rows of the data above their reconstructions by ${label}`, src: address("reconstructions", { id: subject, stamp: this.stamp }) });
        for (const picture of [portrait, copies]) picture.addEventListener("error", () => picture.remove());
        return make("figure", {}, copies, portrait, make("figcaption", {}, make("button", { type: "button", class: "link", text: label, onclick: () => this.onOpen(subject) })));
      }),
    );
    this.draw();
    say(this.state.textContent);
  }

  draw() {
    if (!this.found?.members?.length) return;
    for (const { name, label, canvas } of this.charts) drawLines(canvas, this.found.steps, this.found.members.map(({ losses }) => losses[name]), label);
  }

  recolour() {
    if (this.found?.members?.length) this.show();
  }
}

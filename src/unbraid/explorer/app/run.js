// A training run: losses of all members, and what the last checkpoint decodes.
import { address, ask } from "app/net";
import { colourName, drawLines } from "app/chart";
import { css, make, say } from "app/dom";

const WAIT = 2000;
const MOST_SHOWN = 12;

export class Run {
  constructor({ watching, onOpen }) {
    Object.assign(this, { watching, onOpen });
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
    await this.load();
  }

  async load() {
    if (this.stopped) return;
    this.found = await ask("run");
    if (this.found.state === "waiting") this.state.textContent = this.watching ? "Waiting for the first checkpoint …" : this.found.note;
    else if (this.found.stamp !== this.stamp) {
      this.stamp = this.found.stamp;
      this.show();
    }
    if (this.watching) setTimeout(() => this.load().catch(() => (this.state.textContent = "The server has stopped.")), WAIT);
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
    this.state.textContent = `Step ${steps[steps.length - 1] ?? 0}${lost ? `, ${lost} of ${members.length} diverged` : ""}.`;
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

  stop() {
    this.stopped = true;
  }

  recolour() {
    if (this.found?.members?.length) this.show();
  }
}

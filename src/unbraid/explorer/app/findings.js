// Findings: each sentence leads to the view that shows it.
import { ask } from "app/net";
import { make, say, text } from "app/dom";

const WAIT = 1000;
// What to open first: what is hardest to believe from a sentence.
const TELLING = ["rotated", "folded", "circle", "copied", "mixed", "curved", "packed", "spread"];

export class Findings {
  constructor({ subject, onShow, onFirst, onChosen }) {
    Object.assign(this, { subject, onShow, onFirst, onChosen });
    this.list = make("ol", { class: "findings" });
    this.state = make("p", { class: "aside", role: "status" });
    this.blocks = make("div");
    this.root = make("section", { class: "panel", "aria-label": "Findings" }, make("h2", { text: "Findings" }), this.state, this.list, this.blocks);
    this.load();
  }

  async load() {
    try {
      const found = await ask("findings", { id: this.subject.id });
      if (!this.root.isConnected && this.was) return;
      this.was = true;
      if (found.state === "running") {
        const steps = found.n_steps ? `step ${found.n_done} of ${found.n_steps}, ` : "";
        this.state.textContent = `Scoring the codes in the background, ${steps}${Math.round(found.seconds)} s …`;
        this.state.classList.add("busy");
        setTimeout(() => this.load(), WAIT);
        return;
      }
      this.state.classList.remove("busy");
      this.state.textContent = found.note || (found.findings?.length ? "Each sentence leads to the view that shows it." : "The rules found nothing to say.");
      this.show(found.findings || []);
      if (found.blocks) this.blocks.replaceChildren(...blockTable(found.blocks));
    } catch (error) {
      this.state.textContent = error.message;
    }
  }

  show(findings) {
    this.list.replaceChildren(
      ...findings.map((finding, at) => {
        const views = finding.views || [];
        const button = make(
          "button",
          { type: "button", class: "finding", disabled: !views.length, onclick: () => this.choose(finding, at, 0) },
          make("span", { class: `kind k-${finding.kind.replace(/ .*/, "")}`, text: finding.kind }),
          make("span", { text: finding.sentence }),
        );
        const others = views.slice(1).map((view, n) =>
          make("button", { type: "button", class: "chip", text: `${view.y_name} / ${view.x_name}`, onclick: () => this.choose(finding, at, n + 1) }),
        );
        const first = views.length > 1 ? [make("button", { type: "button", class: "chip", text: `${views[0].y_name} / ${views[0].x_name}`, onclick: () => this.choose(finding, at, 0) })] : [];
        return make("li", {}, button, others.length ? make("div", { class: "chips" }, ...first, ...others) : null);
      }),
    );
    if (findings.length) say(`${findings.length} findings.`);
    const rank = (finding) => (TELLING.indexOf(finding.kind) + TELLING.length + 1) % (TELLING.length + 1);
    const shown = [...findings.keys()].filter((at) => findings[at].views?.length);
    const first = shown.sort((a, b) => rank(findings[a]) - rank(findings[b]) || a - b)[0] ?? -1;
    if (first >= 0) this.onFirst(() => this.open(findings[first], first, 0));
  }

  choose(finding, at, which) {
    this.open(finding, at, which);
    this.onChosen();
  }

  open(finding, at, which) {
    [...this.list.children].forEach((item, place) => {
      const button = item.firstElementChild;
      if (place === at) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
      item.querySelectorAll(".chip").forEach((chip, n) => chip.setAttribute("aria-pressed", String(place === at && n === which)));
    });
    this.onShow(finding.views[which], finding);
  }

  unmark() {
    for (const item of this.list.children) {
      item.firstElementChild.removeAttribute("aria-current");
      item.querySelectorAll(".chip").forEach((chip) => chip.setAttribute("aria-pressed", "false"));
    }
  }
}

// Blocks by factors: how well each factor is read from each block by itself, from 0, as a blind guess, to 1.
function blockTable({ names, factors, shares }) {
  const cell = (block, b) => (factor, k) => {
    const share = Math.min(1, Math.max(0, shares[k][b]));
    const element = make("span", { class: share > 0.55 ? "cell shown dark" : "cell shown", title: `${factor} is read from ${block}: ${text(shares[k][b], 2)}`, text: share.toFixed(2) });
    element.style.setProperty("--v", Math.round(100 * share));
    return make("td", {}, element);
  };
  const head = make("tr", {}, make("th", { scope: "col", text: "block" }), ...factors.map((name) => make("th", { scope: "col" }, make("span", { text: name }))));
  const rows = names.map((name, b) => make("tr", {}, make("th", { scope: "row", text: name }), ...factors.map(cell(name, b))));
  const table = make("table", { class: "map blocks" }, make("caption", { class: "sr", text: "How well each factor is read from each block of codes" }), make("thead", {}, head), make("tbody", {}, ...rows));
  return [make("h2", { text: "Blocks" }), make("p", { class: "aside", text: "How well each factor is read from each block by itself: 1 without error, 0 as well as a blind guess." }), make("div", { class: "scroll" }, table)];
}

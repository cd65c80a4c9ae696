// How often each value of a factor occurs: bars, or wedges around a circle for an angle; a click or a drag selects rows.
import { colouring, cssColour } from "app/colour";
import { css, fit, make, say, text } from "app/dom";

const MOST_BARS = 24;
const MOST_LEVELS = 64;
const HEIGHT = 62;
const ROUND = 96;

export class Histogram {
  constructor({ factor, values, selection }) {
    Object.assign(this, { factor, values, selection });
    this.turns = factor.kind === "circular";
    this.canvas = make("canvas", {
      tabindex: "0",
      role: "application",
      "aria-roledescription": this.turns ? "circular histogram" : "histogram",
      "aria-label": `${factor.name}, ${factor.kind}. Arrow keys go from value to value, with Shift they select rows.`,
    });
    this.caption = make("figcaption", {}, make("b", { text: factor.name }), make("small", { text: ` ${factor.kind}` }));
    this.root = make("figure", { class: this.turns ? "histogram round" : "histogram" }, this.caption, this.canvas);
    this.at = -1;
    this.from = -1;
    this.sort();
    this.listen();
    selection.listen((chosen) => {
      if (chosen.owner !== this) this.at = -1;
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  // The bar of each row.
  sort() {
    const { factor, values } = this;
    const few = factor.n_levels && factor.n_levels <= MOST_LEVELS;
    this.n = factor.kind === "categorical" ? Math.min(factor.n_levels, MOST_LEVELS) : few ? factor.n_levels : MOST_BARS;
    const low = this.turns ? 0 : factor.low;
    const span = this.turns ? factor.period : factor.high - factor.low || 1;
    const width = this.turns ? span / this.n : few ? span / Math.max(1, this.n - 1) : span / this.n;
    const shift = few && !this.turns ? 0.5 : this.turns ? 0.5 : 0;
    this.rows = new Int16Array(values.length);
    this.totals = new Uint32Array(this.n);
    for (let i = 0; i < values.length; i++) {
      let bin = factor.kind === "categorical" ? values[i] : Math.floor((values[i] - low) / width + shift);
      if (this.turns) bin = ((bin % this.n) + this.n) % this.n;
      bin = Number.isNaN(bin) ? -1 : Math.min(this.n - 1, bin);
      this.rows[i] = bin;
      if (bin >= 0) this.totals[bin]++;
    }
    this.share = (bin) => (this.turns ? bin / this.n : few ? bin / Math.max(1, this.n - 1) : (bin + 0.5) / this.n);
    this.middle = (bin) => (factor.kind === "categorical" ? factor.levels[bin] : text(low + (bin + 0.5 - shift) * width));
  }

  draw() {
    const width = this.turns ? ROUND : this.root.clientWidth;
    if (!width) return;
    const height = this.turns ? ROUND : HEIGHT;
    const context = fit(this.canvas, width, height);
    context.clearRect(0, 0, width, height);
    const { mask } = this.selection;
    const chosen = new Uint32Array(this.n);
    if (mask) for (let i = 0; i < mask.length; i++) if (mask[i] && this.rows[i] >= 0) chosen[this.rows[i]]++;
    const most = this.totals.reduce((a, b) => Math.max(a, b), 1);
    // Few rows of many would be invisible: what is selected has a scale of its own once it is a small part.
    const top = mask ? Math.max(1, chosen.reduce((a, b) => Math.max(a, b), 0)) : most;
    const { colours } = colouring(this.factor, new Float32Array(0));
    const shade = (bin) => colours[this.factor.kind === "categorical" ? bin % colours.length : Math.min(colours.length - 1, Math.floor(this.share(bin) * colours.length))];
    for (let bin = 0; bin < this.n; bin++) {
      this.bar(context, bin, this.totals[bin] / most, mask ? css("--line") : cssColour(shade(bin)), width, height);
      if (mask) this.bar(context, bin, chosen[bin] / top, cssColour(shade(bin)), width, height);
      if (bin === this.at && document.activeElement === this.canvas) this.bar(context, bin, 1, null, width, height);
    }
  }

  bar(context, bin, share, style, width, height) {
    context.beginPath();
    if (this.turns) {
      const [from, to] = [bin - 0.5, bin + 0.5].map((one) => (-2 * Math.PI * one) / this.n);
      const inner = 0.16 * ROUND;
      context.arc(width / 2, height / 2, inner, from, to, true);
      context.arc(width / 2, height / 2, inner + share * (ROUND / 2 - inner - 1), to, from, false);
      context.closePath();
    } else {
      const step = width / this.n;
      context.rect(bin * step + 0.5, height - share * (height - 2), Math.max(1, step - (step > 4 ? 1 : 0)), share * (height - 2));
    }
    if (style) {
      context.fillStyle = style;
      context.fill();
    } else {
      context.strokeStyle = css("--ink");
      context.lineWidth = 1.5;
      context.stroke();
    }
  }

  listen() {
    const place = (event) => {
      const bounds = this.canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
      if (!this.turns) return Math.max(0, Math.min(this.n - 1, Math.floor((x / bounds.width) * this.n)));
      const turn = Math.atan2(bounds.height / 2 - y, x - bounds.width / 2) / (2 * Math.PI);
      return ((Math.round(turn * this.n) % this.n) + this.n) % this.n;
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.from = this.at = place(event);
      this.choose();
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.from < 0 || !event.buttons) return;
      this.at = place(event);
      this.choose();
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (step) {
        event.preventDefault();
        if (event.shiftKey && this.from < 0) this.from = Math.max(0, this.at);
        this.at = this.turns ? (this.at + step + this.n) % this.n : Math.max(0, Math.min(this.n - 1, this.at + step));
        if (event.shiftKey) this.choose();
        else {
          this.from = -1;
          say(`${this.middle(this.at)}: ${this.totals[this.at]} rows`);
          this.draw();
        }
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.from = this.at = Math.max(0, this.at);
        this.choose();
      } else if (event.key === "Escape") {
        this.from = -1;
        this.selection.clear();
      }
    });
    this.canvas.addEventListener("focus", () => this.draw());
    this.canvas.addEventListener("blur", () => {
      this.from = -1;
      this.draw();
    });
  }

  choose() {
    const [low, high] = [Math.min(this.from, this.at), Math.max(this.from, this.at)];
    const mask = new Uint8Array(this.rows.length);
    for (let i = 0; i < mask.length; i++) mask[i] = this.rows[i] >= low && this.rows[i] <= high ? 1 : 0;
    this.selection.owner = this;
    this.selection.set(mask);
    this.selection.owner = null;
    const words = low === high ? this.middle(low) : `${this.middle(low)} to ${this.middle(high)}`;
    say(`${this.factor.name} ${words}: ${this.selection.size} rows selected.`);
  }
}

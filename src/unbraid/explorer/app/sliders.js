// Sliders for the axes of factors and for codes: one place in code space, moved by any of them.
import { make, text } from "app/dom";

const MOST_CODES = 40;
const STEPS = 200;

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// Moves a code along the axis of a factor to a coordinate; the coordinates of the other factors stay.
export function moved(z, axis, to) {
  const by = to - dot(axis.axis, z);
  return z.map((value, j) => value + by * axis.move[j]);
}

export class Sliders {
  constructor({ subject, ranges, onInput }) {
    Object.assign(this, { subject, ranges, onInput });
    this.z = [...ranges.start];
    this.parts = [];
    this.factors = make("div");
    this.root = make("div", { class: "sliders" }, this.factors);
    this.search = make("input", { type: "search", placeholder: "Search codes", "aria-label": "Search codes to move", oninput: () => this.fill() });
    this.codes = make("div");
    this.root.append(make("h2", { text: "Codes" }), subject.codes.length > 12 ? this.search : "", this.codes);
    this.fill();
  }

  // The axes of factors may take a while to find, so they come later.
  addAxes(axes) {
    if (!axes.length) return;
    this.factors.replaceChildren(
      make("h2", { text: "Factors" }),
      make("p", { class: "aside", text: "Along the axes that IWO finds: one factor moves, the others stay." }),
      ...axes.map((axis) => this.slider(axis.label, axis.low, axis.high, () => dot(axis.axis, this.z), (to) => moved(this.z, axis, to), "factor")),
    );
  }

  fill() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.subject.codes.map((name, j) => [name, j]).filter(([name]) => name.toLowerCase().includes(wanted));
    this.parts = this.parts.filter((part) => part.kind === "factor");
    this.codes.replaceChildren(
      ...found.slice(0, MOST_CODES).map(([name, j]) =>
        this.slider(name, this.ranges.low[j], this.ranges.high[j], () => this.z[j], (to) => this.z.map((value, at) => (at === j ? to : value)), "code"),
      ),
      found.length > MOST_CODES ? make("p", { class: "aside", text: `and ${found.length - MOST_CODES} more; search to see them` }) : "",
    );
  }

  slider(label, low, high, read, write, kind) {
    const shown = make("output", { text: text(read()) });
    const input = make("input", { type: "range", min: low, max: high, step: (high - low) / STEPS || 1, value: read(), "aria-label": `${kind === "factor" ? "Factor" : "Code"} ${label}` });
    input.addEventListener("input", () => {
      this.z = write(+input.value);
      this.refresh(input);
      this.onInput(this.z);
    });
    this.parts.push({ input, shown, read, kind });
    return make("label", { class: `slider ${kind}` }, make("span", { text: label }), input, shown);
  }

  set(z) {
    this.z = [...z];
    this.refresh();
    this.onInput(this.z);
  }

  refresh(except) {
    for (const { input, shown, read } of this.parts) {
      const value = read();
      if (input !== except) input.value = value;
      shown.textContent = text(value);
    }
  }
}

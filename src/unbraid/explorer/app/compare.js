// Two models side by side: scatters with one selection, sliders that move both.
import { ask } from "app/net";
import { count, latest, make, options, say } from "app/dom";
import { fillLegend } from "app/legend";
import { axisOf, colourOf } from "app/look";
import { decode, paint } from "app/picture";
import { Scatter } from "app/scatter";
import { Selection } from "app/selection";
import { dot, moved } from "app/sliders";

const SIZE = 200;
const MOST_CODES = 24;

export class Compare {
  constructor(subjects, first) {
    this.entries = subjects;
    this.root = make("div", { class: "compare" });
    this.selection = new Selection();
    const other = subjects.find(({ id }) => id !== first)?.id ?? first;
    this.sides = [this.side(first, "First model"), this.side(other, "Second model")];
    this.shared = make("section", { class: "panel", "aria-label": "Linked sliders" });
    this.note = make("p", { class: "aside" });
    this.root.append(this.shared, make("div", {}, make("div", { class: "pair" }, ...this.sides.map(({ root }) => root)), this.note));
  }

  side(id, label) {
    const one = { id, own: new Selection() };
    one.own.listen(() => one.scatter.onSelection());
    one.model = make("select", { "aria-label": label, onchange: () => this.open(one, one.model.value).catch((error) => (this.note.textContent = error.message)) });
    options(one.model, this.entries.map((entry) => ({ value: entry.id, label: entry.label })), id);
    one.scatter = new Scatter({
      label,
      selection: this.selection,
      marginals: false,
      onHover: (row) => this.point(one, row),
      onPick: (row) => this.toRow(one, row),
    });
    one.fields = make("div", { class: "controls axes" });
    one.legend = make("div", { class: "legend" });
    one.canvas = make("canvas", { class: "large", role: "img", "aria-label": `Picture decoded by the ${label.toLowerCase()}` });
    one.root = make("section", { "aria-label": label }, make("div", { class: "controls model" }, one.model), one.canvas, one.fields, one.scatter.root, one.legend);
    one.draw = latest(async () => paint(one.canvas, await decode(one.subject, [one.z]), one.subject.decoder, SIZE));
    return one;
  }

  async start() {
    for (const one of this.sides) await this.open(one, one.id);
  }

  async open(one, id) {
    one.subject = await ask("subject", { id });
    one.ranges = await ask("sliders", { id });
    one.z = [...one.ranges.start];
    one.found = [];
    const { subject } = one;
    one.scatter.root.hidden = !subject.n_rows;
    one.canvas.hidden = !subject.decoder;
    this.selection.clear();
    if (subject.n_rows) {
      one.place = { ...subject.first };
      this.axes(one);
      await this.plot(one);
    }
    if (subject.decoder) await one.draw();
    this.link();
    if (subject.decoder && subject.n_rows) {
      one.found = (await ask("axes", { id })).axes;
      this.link();
    }
  }

  axes(one) {
    const codes = one.subject.codes.slice(0, 400).map((name, j) => ({ value: `code:${j}`, label: name }));
    const factors = one.subject.factors.map(({ name }, k) => ({ value: `factor:${k}`, label: name }));
    one.fields.replaceChildren(
      ...["x", "y", "colour"].map((name) => {
        const select = make("select", { "aria-label": `${name} of ${one.subject.label}` });
        options(select, name === "colour" ? factors : [{ label: "Codes", members: codes }, { label: "Factors", members: factors }], one.place[name]?.join(":"));
        select.addEventListener("change", () => {
          const [of, index] = select.value.split(":");
          one.place[name] = [of, +index];
          this.plot(one);
        });
        return select;
      }),
    );
  }

  async plot(one) {
    const { subject, place } = one;
    one.scatter.set({ x: await axisOf(subject, place.x), y: await axisOf(subject, place.y), colour: await colourOf(subject, place.colour) });
    fillLegend(one.legend, one.scatter);
  }

  // Rows are linked by their number, where both models have as many; sliders by name of factor or place of code.
  link() {
    const [a, b] = this.sides;
    if (!a.subject || !b.subject) return;
    const linked = a.subject.n_shown === b.subject.n_shown && a.subject.n_rows === b.subject.n_rows;
    this.linked = linked;
    this.selection.listeners = (linked ? [a, b] : []).map(({ scatter }) => () => scatter.onSelection());
    for (const one of this.sides) one.scatter.selection = linked ? this.selection : one.own;
    this.note.textContent = !a.subject.n_rows || !b.subject.n_rows
      ? ""
      : linked
        ? `A brush selects the same of ${count(a.subject.n_rows, "row")} in both${a.subject.decoder || b.subject.decoder ? "; a click on a dot decodes its row in both" : ""}.`
        : "The models have different rows, so that a brush in one cannot select rows of the other.";
    const both = this.sides.filter(({ subject }) => subject.decoder);
    if (!both.length) {
      this.shared.replaceChildren(make("p", { class: "aside", text: "Neither model has a decoder." }));
      return;
    }
    const labels = [...new Set(both.flatMap(({ found }) => found.map(({ label }) => label)))];
    const n = Math.min(MOST_CODES, Math.max(...both.map(({ subject }) => subject.codes.length)));
    this.inputs = [];
    this.shared.replaceChildren(
      make("h2", { text: "Linked sliders" }),
      make("p", { class: "aside", text: "Each moves both models, from the low to the high end of its own range." }),
      ...labels.map((label) => this.slider(label, "factor", {
        read: (one) => shareOf(axisNamed(one, label), (axis) => dot(axis.axis, one.z)),
        write: (one, share) => {
          const axis = axisNamed(one, label);
          return axis ? moved(one.z, axis, axis.low + share * (axis.high - axis.low)) : one.z;
        },
      })),
      ...Array.from({ length: n }, (_, j) => this.slider(`code ${j}`, "code", {
        read: (one) => shareOf(rangeOf(one, j), () => one.z[j]),
        write: (one, share) => one.z.map((value, i) => (i === j ? one.ranges.low[j] + share * (one.ranges.high[j] - one.ranges.low[j]) : value)),
      })),
      make("div", { class: "controls" }, make("button", { type: "button", class: "quiet", text: "Reset", onclick: () => this.move((one) => one.ranges.start) })),
    );
    this.refresh();
  }

  slider(label, kind, { read, write }) {
    const input = make("input", { type: "range", min: 0, max: 1, step: 0.005, value: 0.5, "aria-label": `${kind === "factor" ? "Factor " : ""}${label} of both models` });
    input.addEventListener("input", () => this.move((one) => write(one, +input.value), input));
    this.inputs.push({ input, read });
    return make("label", { class: `slider ${kind}` }, make("span", { text: label }), input);
  }

  // Moves every model that has a decoder; the sliders follow the first that has what they move.
  move(to, except) {
    for (const one of this.sides.filter(({ subject }) => subject.decoder)) {
      one.z = [...to(one)];
      one.draw();
    }
    this.refresh(except);
  }

  refresh(except) {
    for (const { input, read } of this.inputs) {
      const share = this.sides.filter(({ subject }) => subject.decoder).map(read).find((one) => one !== null);
      if (input !== except && share !== undefined) input.value = share;
    }
  }

  // Rings the same row in the other model.
  point(one, row) {
    if (!this.linked) return;
    const { scatter } = this.sides.find((other) => other !== one);
    scatter.near = row;
    if (scatter.data) scatter.drawOver();
  }

  async toRow(one, row) {
    for (const side of this.linked ? this.sides : [one]) {
      if (!side.subject.decoder) continue;
      side.z = (await ask("row", { id: side.subject.id, row })).codes;
      side.draw();
    }
    this.refresh();
    say(`At row ${row}.`);
  }

  recolour() {
    for (const { scatter, legend } of this.sides) {
      scatter.recolour();
      fillLegend(legend, scatter);
    }
  }
}

function axisNamed({ found }, label) {
  return found.find((axis) => axis.label === label) || null;
}

function rangeOf({ ranges }, j) {
  return j < ranges.low.length ? { low: ranges.low[j], high: ranges.high[j] } : null;
}

// Where a coordinate is between its ends, from 0 to 1; null for a model that has no such coordinate.
function shareOf(range, coordinate) {
  return range && (coordinate(range) - range.low) / (range.high - range.low || 1);
}

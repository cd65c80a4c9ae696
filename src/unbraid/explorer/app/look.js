// Codes and factors of one model: a scatter, the map that leads to it, histograms, findings, and the row pointed at.
import { address, ask, column } from "app/net";
import { bringIntoView, count, latest, make, options, say } from "app/dom";
import { Findings } from "app/findings";
import { Histogram } from "app/histogram";
import { fillLegend } from "app/legend";
import { CodeMap } from "app/map";
import { spread } from "app/scale";
import { Scatter } from "app/scatter";
import { Selection } from "app/selection";

const MOST_HISTOGRAMS = 12;
const MOST_OPTIONS = 400;

export function columnName(subject, [of, index]) {
  return of === "code" ? subject.codes[index] : subject.factors[index].name;
}

// What an axis shows: values (moved a little where many are equal), name, and the factor it is of.
export async function axisOf(subject, place) {
  const factor = place[0] === "factor" ? subject.factors[place[1]] : null;
  return { name: columnName(subject, place), factor, values: spread(await column(subject.id, place), factor) };
}

export async function colourOf(subject, place) {
  if (!place) return null;
  return { name: columnName(subject, place), factor: subject.factors[place[1]], values: await column(subject.id, place) };
}

export class Look {
  constructor(subject, { onDecode }) {
    this.subject = subject;
    this.onDecode = onDecode;
    this.selection = new Selection();
    this.place = { ...subject.first };
    this.lines = [];
    this.draw = latest(() => this.load());
    this.root = make("div", { class: "look" });
    this.build();
  }

  build() {
    const { subject } = this;
    this.scatter = new Scatter({
      label: "Scatter",
      selection: this.selection,
      onHover: (row) => this.hover(row),
      onPick: (row) => this.pick(row),
    });
    this.selects = {};
    const fields = ["x", "y", "colour"].map((name) => {
      const select = make("select", { "aria-label": { x: "Horizontal axis", y: "Vertical axis", colour: "Colour" }[name] });
      select.addEventListener("change", () => {
        this.place[name] = select.value ? select.value.split(":").map((part, at) => (at ? +part : part)) : null;
        this.free();
      });
      this.selects[name] = select;
      return make("label", { class: "field" }, { x: "Across", y: "Up", colour: "Colour" }[name], select);
    });
    this.swap = make("button", { type: "button", class: "quiet", text: "Swap axes", onclick: () => {
      [this.place.x, this.place.y] = [this.place.y, this.place.x];
      this.free();
    } });
    this.density = make("button", { type: "button", class: "quiet", "aria-pressed": "false", text: "Density", onclick: () => {
      const on = this.scatter.mode !== "density";
      this.scatter.mode = on ? "density" : "points";
      this.density.setAttribute("aria-pressed", String(on));
      this.scatter.draw();
    } });
    this.clear = make("button", { type: "button", class: "quiet", text: "Clear selection", disabled: true, onclick: () => this.selection.clear() });
    this.chosen = make("span", { class: "aside" });
    this.caption = make("p", { class: "caption" });
    this.legend = make("div", { class: "legend" });
    const sampled = subject.n_shown < subject.n_rows
      ? make("p", { class: "aside", text: `A sample: ${count(subject.n_shown, "row")} of ${subject.n_rows.toLocaleString("en")}, drawn at random, are shown.` })
      : null;
    this.stage = make(
      "section",
      { class: "stage", "aria-label": "Scatter of two columns" },
      make("div", { class: "controls" }, ...fields),
      this.scatter.root,
      this.legend,
      this.caption,
      sampled,
      make("div", { class: "controls" }, this.swap, this.density, this.clear, this.chosen),
    );
    this.findings = new Findings({
      subject,
      onShow: (view, finding) => this.showView(view, finding),
      onFirst: (open) => {
        if (!this.touched) open();
      },
      onChosen: () => bringIntoView(this.stage),
    });
    this.side = make("div", { class: "side" });
    this.row = make("section", { class: "panel row", "aria-label": "The row pointed at" });
    this.root.append(this.findings.root, this.stage, this.side);
    this.selection.listen(({ mask, size }) => {
      this.clear.disabled = !mask;
      this.chosen.textContent = mask ? `${count(size, "row")} selected, ${((100 * size) / mask.length).toFixed(1)} %` : "Drag over the points to select rows everywhere.";
    });
    this.chosen.textContent = "Drag over the points to select rows everywhere.";
    this.emptyRow();
  }

  // Draws the first view as soon as its columns are here, then what stands beside it.
  async start() {
    await this.load();
    performance.measure("unbraid:first-view", { start: 0, end: performance.now() });
    const { explained } = await ask("map", { id: this.subject.id });
    this.map = new CodeMap({
      subject: this.subject,
      explained,
      onCell: (j, k) => {
        this.place = { x: ["factor", k], y: ["code", j], colour: ["factor", k] };
        this.free();
        bringIntoView(this.stage);
        say(`${this.subject.codes[j]} against ${this.subject.factors[k].name}.`);
      },
      onCode: (j) => {
        this.place = { ...this.place, y: this.place.x, x: ["code", j] };
        this.free();
        bringIntoView(this.stage);
      },
    });
    const shown = this.subject.factors.slice(0, MOST_HISTOGRAMS);
    this.histograms = make("div", { class: "histograms" });
    this.side.append(
      this.row,
      make("section", { class: "panel", "aria-label": "Codes by factors" },
        make("h2", { text: "Codes × factors" }),
        make("p", { class: "aside", text: shown.length ? "Share of each code’s variance that a factor explains. A cell leads to its scatter." : "" }),
        this.map.root),
      shown.length ? make("section", { class: "panel", "aria-label": "Histograms of factors" }, make("h2", { text: "Factors" }), this.histograms) : "",
    );
    for (const [k, factor] of shown.entries()) {
      const values = await column(this.subject.id, ["factor", k]);
      this.histograms.append(new Histogram({ factor, values, selection: this.selection }).root);
    }
    performance.measure("unbraid:all-views", { start: 0, end: performance.now() });
  }

  free() {
    this.touched = true;
    this.lines = [];
    this.caption.textContent = "";
    this.findings.unmark();
    this.draw();
  }

  showView(view, finding) {
    this.touched = true;
    this.place = { x: view.x, y: view.y, colour: view.colour };
    this.lines = view.lines;
    this.caption.textContent = view.caption;
    this.selection.clear();
    this.draw();
    say(`${finding.sentence} ${view.caption}`);
  }

  async load() {
    const { x, y, colour } = this.place;
    const [across, up, tint] = await Promise.all([
      axisOf(this.subject, x),
      axisOf(this.subject, y),
      colourOf(this.subject, colour),
    ]);
    this.fill();
    this.scatter.set({ x: across, y: up, colour: tint, lines: this.lines });
    fillLegend(this.legend, this.scatter);
  }

  // Axes to choose from; of very many codes only some, as the map searches them all.
  fill() {
    const { codes, factors } = this.subject;
    const chosen = Object.values(this.place).filter((one) => one && one[0] === "code").map((one) => one[1]);
    const some = codes.length > MOST_OPTIONS ? [...new Set([...chosen, ...Array(MOST_OPTIONS).keys()])] : [...codes.keys()];
    const groups = [
      { label: "Codes", members: some.map((j) => ({ value: `code:${j}`, label: codes[j] })) },
      { label: "Factors", members: factors.map((factor, k) => ({ value: `factor:${k}`, label: factor.name })) },
    ];
    for (const name of ["x", "y"]) options(this.selects[name], groups, this.place[name].join(":"));
    const tints = [{ value: "", label: "none" }, ...groups[1].members];
    options(this.selects.colour, tints, this.place.colour ? this.place.colour.join(":") : "");
  }

  emptyRow() {
    this.row.replaceChildren(make("h2", { text: "Row" }), make("p", { class: "aside", text: "Point at a dot to see its row." }));
  }

  hover(row) {
    clearTimeout(this.soon);
    if (row < 0 || this.pinned === row) return;
    this.soon = setTimeout(() => this.showRow(row), 40);
  }

  pick(row) {
    this.pinned = row;
    this.showRow(row, true);
  }

  async showRow(place, aloud = false) {
    const { subject } = this;
    const found = await ask("row", { id: subject.id, row: place });
    const picture = subject.pictures
      ? make("img", {
          src: address("picture", { id: subject.id, row: place }),
          alt: `Picture of row ${found.row}${subject.pictures.origin === "decoded" ? ", decoded from its codes" : ""}`,
          class: "picture",
        })
      : null;
    const facts = make("dl", {}, ...subject.factors.map((factor, k) => make("div", {}, make("dt", { text: factor.name }), make("dd", { text: found.factors[k] }))));
    const decode = subject.decoder && this.onDecode
      ? make("button", { type: "button", class: "quiet", text: "Decode from this row", onclick: () => this.onDecode(place) })
      : null;
    const origin = subject.pictures?.origin === "decoded" ? make("small", { text: "decoded from its codes" }) : null;
    this.row.replaceChildren(
      make("h2", { text: `Row ${found.row.toLocaleString("en")}` }),
      make("div", { class: "facts" }, picture ? make("figure", {}, picture, origin) : null, facts),
      decode || "",
    );
    if (aloud) say(`Row ${found.row}: ${subject.factors.map((factor, k) => `${factor.name} ${found.factors[k]}`).join(", ")}`);
  }

  recolour() {
    this.scatter.recolour();
    this.selection.set(this.selection.mask);
    fillLegend(this.legend, this.scatter);
  }
}

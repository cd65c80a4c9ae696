// A decoder: sliders and the picture that follows, traversals, interpolation, swaps, and exports.
import { ask, post } from "app/net";
import { download, latest, make, say } from "app/dom";
import { decode, paint } from "app/picture";
import { dot, moved, Sliders } from "app/sliders";

const LARGE = 320;
const STEPS = 7;
const BETWEEN = 9;
const MOST_STRIPS = 16;
const FRAME = 120;
const REST = 250;
const MOST_BOXES = 64;

export class Decoder {
  constructor(subject, { row }) {
    this.subject = subject;
    this.row = row;
    this.axes = [];
    this.draw = latest((started) => this.load(started));
    this.root = make("div", { class: "decoder" });
  }

  async start() {
    const { subject } = this;
    this.ranges = await ask("sliders", { id: subject.id });
    this.sliders = new Sliders({ subject, ranges: this.ranges, onInput: () => this.draw(performance.now()) });
    this.canvas = make("canvas", { class: "large", role: "img", "aria-label": "Decoded picture; it follows the sliders" });
    this.number = make("input", { type: "number", min: 0, max: Math.max(0, subject.n_shown - 1), value: this.row ?? 0, "aria-label": "Row to start from" });
    const reset = subject.n_rows
      ? [
          make("button", { type: "button", class: "quiet", text: "Reset to row", onclick: () => this.toRow(+this.number.value) }),
          this.number,
          make("button", { type: "button", class: "quiet", text: "Random row", onclick: () => this.toRow(Math.floor(Math.random() * subject.n_shown)) }),
        ]
      : [make("button", { type: "button", class: "quiet", text: "Random latents", onclick: () => this.sliders.set(this.ranges.start.map(normal)) })];
    this.sheet = make("div", { class: "sheet" });
    this.choice = make("div", { class: "controls", role: "group", "aria-label": "What to lay out" });
    const codes = subject.codes.map((label, j) => ({ label, columns: [j] }));
    const blocks = Object.entries(subject.blocks || {}).map(([label, columns]) => ({ label, columns }));
    const sheets = {
      Traversals: () => this.traversals(),
      ...(subject.n_rows ? { Interpolation: () => this.interpolation(), "Swap codes": () => this.swaps("codes", codes) } : {}),
      ...(subject.n_rows && blocks.length ? { "Swap blocks": () => this.swaps("blocks", blocks) } : {}),
    };
    for (const [name, show] of Object.entries(sheets)) {
      this.choice.append(make("button", { type: "button", class: "quiet", text: name, onclick: (event) => this.pick(event.currentTarget, show) }));
    }
    this.root.append(
      make("section", { class: "panel", "aria-label": "Sliders" }, this.sliders.root),
      make(
        "section",
        { class: "stage", "aria-label": "Decoded picture" },
        this.canvas,
        make("div", { class: "controls" }, make("button", { type: "button", class: "quiet", text: "Reset", onclick: () => this.sliders.set(this.ranges.start) }), ...reset),
        make("div", { class: "controls" }, make("button", { type: "button", class: "quiet", text: "Save as PNG", onclick: () => this.save([this.sliders.z], "png", 1) })),
      ),
      make("section", { class: "panel strips", "aria-label": "Sheets" }, this.choice, this.sheet),
    );
    if (this.row !== null && this.row !== undefined) await this.toRow(this.row);
    else await this.load(performance.now());
    // A sheet may have been chosen while the first picture was on its way.
    if (!this.choice.querySelector('[aria-pressed="true"]')) this.pick(this.choice.firstElementChild, sheets.Traversals);
    if (!subject.n_rows) return;
    this.sliders.factors.replaceChildren(make("p", { class: "aside busy", text: "Looking for the axes of the factors …" }));
    const { axes } = await ask("axes", { id: subject.id });
    this.axes = axes;
    this.sliders.factors.replaceChildren();
    this.sliders.addAxes(axes);
    if (this.choice.firstElementChild.getAttribute("aria-pressed") === "true") this.traversals();
  }

  pick(button, show) {
    for (const one of this.choice.children) one.setAttribute("aria-pressed", String(one === button));
    this.refreshSheet = null;
    show();
  }

  async load(started) {
    paint(this.canvas, await decode(this.subject, [this.sliders.z]), this.subject.decoder, LARGE);
    performance.measure("unbraid:decode", { start: started, end: performance.now() });
    this.later();
  }

  // The sheet follows once the sliders rest.
  later() {
    clearTimeout(this.soon);
    if (!this.refreshSheet) return;
    this.sheet.setAttribute("aria-busy", "true");
    this.soon = setTimeout(async () => {
      try {
        await this.refreshSheet?.();
      } finally {
        this.sheet.setAttribute("aria-busy", "false");
      }
    }, REST);
  }

  async codes(row) {
    return (await ask("row", { id: this.subject.id, row })).codes;
  }

  async toRow(row) {
    const place = Math.min(Math.max(0, Math.round(row) || 0), this.subject.n_shown - 1);
    this.number.value = place;
    this.sliders.set(await this.codes(place));
    say(`At row ${place}.`);
  }

  async save(codes, format, columns, name = "decoded") {
    const bytes = await post("export", { id: this.subject.id, codes: codes.map((row) => [...row]), format, columns });
    download(bytes, `${name}.${format}`, `image/${format}`);
  }

  saves(make_, columns, name) {
    const isPicture = Boolean(this.subject.decoder.height);
    const button = (format) => make("button", { type: "button", class: "quiet", text: `Save as ${format.toUpperCase()}`, onclick: () => this.save(make_(format), format, columns, name) });
    return isPicture ? make("div", { class: "controls" }, button("png"), button("gif")) : make("div");
  }

  // One strip for each axis and each code, from the place of the sliders.
  traversals() {
    const { ranges, subject } = this;
    const along = (low, high) => Array.from({ length: STEPS }, (_, i) => low + ((high - low) * i) / (STEPS - 1));
    const rows = [
      ...this.axes.map((axis) => ({ label: axis.label, note: "factor", at: () => dot(axis.axis, this.sliders.z), of: (z) => along(axis.low, axis.high).map((to) => moved(z, axis, to)) })),
      ...subject.codes.map((label, j) => ({ label, note: "code", at: () => this.sliders.z[j], of: (z) => along(ranges.low[j], ranges.high[j]).map((to) => z.map((value, i) => (i === j ? to : value))) })),
    ];
    const shown = rows.slice(0, Math.max(MOST_STRIPS, this.axes.length));
    const strips = shown.map((row) => {
      const canvas = make("canvas", { role: "img", "aria-label": `${row.label} from low to high` });
      const play = make("button", { type: "button", class: "quiet", text: "Play", "aria-label": `Play ${row.label}`, onclick: () => this.play(row.of(this.sliders.z)) });
      return { ...row, canvas, element: make("div", { class: "strip-row" }, make("span", {}, make("b", { text: row.label }), make("small", { text: ` ${row.note}` })), canvas, play) };
    });
    const all = () => strips.flatMap((strip) => strip.of(this.sliders.z));
    const there = (codes) => [...codes, ...codes.slice(1, -1).reverse()];
    this.sheet.replaceChildren(
      ...strips.map((strip) => strip.element),
      rows.length > shown.length ? make("p", { class: "aside", text: `and ${rows.length - shown.length} more codes` }) : "",
      this.saves((format) => (format === "gif" ? strips.flatMap((strip) => there(strip.of(this.sliders.z))).slice(0, 500) : all()), STEPS, "traversals"),
    );
    this.refreshSheet = latest(async () => {
      const outputs = await decode(subject, all());
      const size = outputs.length / strips.length;
      strips.forEach((strip, at) => paint(strip.canvas, outputs.subarray(at * size, (at + 1) * size), subject.decoder, this.small()));
    });
    this.refreshSheet();
  }

  // The width of a picture in a row of some; on a phone, names stand above their row.
  small(n = STEPS) {
    const beside = n === STEPS && !matchMedia("(max-width: 52rem)").matches ? 190 : 0;
    return Math.max(28, Math.min(64, Math.floor((this.sheet.clientWidth - beside) / n) - 3));
  }

  pair(refresh) {
    const last = Math.max(0, this.subject.n_shown - 1);
    const field = (label, value) => {
      const input = make("input", { type: "number", min: 0, max: last, value, oninput: refresh });
      return [make("label", { class: "field" }, label, input), () => Math.min(last, Math.max(0, +input.value || 0))];
    };
    const [a, rowA] = field("From row", +this.number.value || 0);
    const [b, rowB] = field("to row", Math.min(last, (+this.number.value || 0) + 1));
    return { fields: make("div", { class: "controls" }, a, b), rows: async () => [await this.codes(rowA()), await this.codes(rowB())] };
  }

  interpolation() {
    const canvas = make("canvas", { role: "img", "aria-label": "Pictures between two rows" });
    let path = [];
    const refresh = latest(async () => {
      const [a, b] = await pair.rows();
      path = Array.from({ length: BETWEEN }, (_, i) => a.map((value, j) => value + ((b[j] - value) * i) / (BETWEEN - 1)));
      paint(canvas, await decode(this.subject, path), this.subject.decoder, this.small(BETWEEN));
    });
    const pair = this.pair(refresh);
    this.sheet.replaceChildren(
      pair.fields,
      canvas,
      this.saves((format) => (format === "gif" ? [...path, ...path.slice(1, -1).reverse()] : path), BETWEEN, "interpolation"),
      make("button", { type: "button", class: "quiet", text: "Play", onclick: () => this.play(path) }),
    );
    refresh();
  }

  // Two rows, and the same with the ticked codes, or blocks of codes, exchanged.
  swaps(noun, parts) {
    const canvas = make("canvas", { role: "img", "aria-label": `Two rows, and the two with the chosen ${noun} exchanged` });
    let four = [];
    const refresh = latest(async () => {
      const [a, b] = await pair.rows();
      const chosen = new Set(boxes.filter(({ box }) => box.checked).flatMap(({ columns }) => columns));
      const mixed = (to, from) => to.map((value, j) => (chosen.has(j) ? from[j] : value));
      four = [a, b, mixed(a, b), mixed(b, a)];
      paint(canvas, await decode(this.subject, four), this.subject.decoder, Math.max(60, this.small(4)));
    });
    const boxes = parts.slice(0, MOST_BOXES).map(({ label, columns }) => {
      const box = make("input", { type: "checkbox", onchange: refresh });
      return { columns, box, element: make("label", { class: "field" }, box, label) };
    });
    const pair = this.pair(refresh);
    this.sheet.replaceChildren(
      pair.fields,
      make("p", { class: "aside", text: `Tick the ${noun} to exchange. First row, second row, first with the ${noun} of the second, second with the ${noun} of the first:` }),
      canvas,
      make("div", { class: "controls", role: "group", "aria-label": `${noun[0].toUpperCase()}${noun.slice(1)} to exchange` }, ...boxes.map(({ element }) => element)),
      this.saves(() => four, 4, "swap"),
    );
    refresh();
  }

  // Shows outputs one after the other on the large picture, there and back once.
  async play(codes) {
    clearInterval(this.playing);
    const outputs = await decode(this.subject, codes);
    const size = outputs.length / codes.length;
    const order = [...codes.keys(), ...[...codes.keys()].reverse()];
    let at = 0;
    this.playing = setInterval(() => {
      if (at >= order.length || !this.root.isConnected) {
        clearInterval(this.playing);
        this.draw(performance.now());
        return;
      }
      const from = order[at++] * size;
      paint(this.canvas, outputs.subarray(from, from + size), this.subject.decoder, LARGE);
    }, FRAME);
  }

  stop() {
    clearInterval(this.playing);
  }

  recolour() {
    this.draw(performance.now());
  }
}

// A number from the prior of most decoders, a standard normal.
function normal() {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

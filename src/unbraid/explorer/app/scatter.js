// Two columns against each other: points or density, lines over them, histograms at the sides, a brush, a cursor.
import { colouring, cssColour, NONE } from "app/colour";
import { css, fit, isDark, make, say, text } from "app/dom";
import { extent, padded, ticks } from "app/scale";

const LEFT = 58;
const BOTTOM = 44;
const SIDE = 54;
const GAP = 8;
const N_BINS = 60;
const [LEAST_CELLS, MOST_CELLS] = [24, 96];
const FEW = 8000;
const TRUE_ANGLES = ["factor axis", "circle"];
const GREY = { light: [196, 203, 211], dark: [66, 75, 86] };

export class Scatter {
  constructor({ label, selection, onHover, onPick, marginals = true }) {
    Object.assign(this, { label, selection, onHover, onPick, marginals });
    this.back = make("canvas", { "aria-hidden": "true" });
    this.points = make("canvas", { "aria-hidden": "true" });
    this.over = make("canvas", { tabindex: "0", role: "application", "aria-roledescription": "scatter plot" });
    this.help = make("p", {
      class: "sr",
      text: "Arrow keys move the cursor, with Shift they select rows, Enter shows the nearest row, Escape clears.",
    });
    this.help.id = `help-${Math.random().toString(36).slice(2)}`;
    this.over.setAttribute("aria-describedby", this.help.id);
    this.root = make("div", { class: "scatter" }, this.back, this.points, this.over, this.help);
    this.mode = "points";
    this.lines = [];
    this.brush = null;
    this.cursor = null;
    this.data = null;
    this.listen();
    new ResizeObserver(() => this.layout()).observe(this.root);
    selection.listen(() => this.onSelection());
  }

  // A selection that was made elsewhere, or cleared, leaves no rectangle here.
  onSelection() {
    if (this.selection.owner !== this) this.brush = null;
    this.draw();
  }

  // Columns with their names, values and marks; the colour's factor and values.
  set({ x, y, colour, lines = [] }) {
    this.data = { x, y, colour };
    this.lines = lines;
    this.brush = null;
    this.cursor = null;
    this.wantedX = padded(extent(x.values));
    this.wantedY = padded(extent(y.values));
    for (const line of lines)
      for (const [a, b] of line.points) {
        this.wantedX = [Math.min(this.wantedX[0], a), Math.max(this.wantedX[1], a)];
        this.wantedY = [Math.min(this.wantedY[0], b), Math.max(this.wantedY[1], b)];
      }
    this.paint = colouring(colour && colour.factor, colour && colour.values);
    this.over.setAttribute(
      "aria-label",
      `${this.label}: ${y.name} against ${x.name}${colour ? `, coloured by ${colour.name}` : ""}, ${x.values.length} rows`,
    );
    this.layout();
  }

  recolour() {
    if (!this.data) return;
    const { colour } = this.data;
    this.paint = colouring(colour && colour.factor, colour && colour.values);
    this.layout();
  }

  layout() {
    const width = this.root.clientWidth;
    if (!width || !this.data) return;
    const side = this.marginals ? SIDE : 0;
    const height = Math.min(width, Math.max(320, Math.min(640, window.innerHeight - 250)));
    this.width = width;
    this.height = height;
    this.box = { left: LEFT, top: side + GAP, right: width - side - GAP, bottom: height - BOTTOM };
    this.root.style.height = `${height}px`;
    [this.xs, this.ys] = this.lines.some(({ role }) => TRUE_ANGLES.includes(role)) ? this.even() : [this.wantedX, this.wantedY];
    const back = fit(this.back, width, height);
    back.clearRect(0, 0, width, height);
    this.grid(back);
    const { x, y } = this.data;
    const n = x.values.length;
    this.px = new Float32Array(n);
    this.py = new Float32Array(n);
    const { left, right, top, bottom } = this.box;
    const [ax, bx] = [(right - left) / (this.xs[1] - this.xs[0]), (bottom - top) / (this.ys[1] - this.ys[0])];
    for (let i = 0; i < n; i++) {
      this.px[i] = left + (x.values[i] - this.xs[0]) * ax;
      this.py[i] = bottom - (y.values[i] - this.ys[0]) * bx;
    }
    this.draw();
  }

  // One unit as long across as up, so that right angles look right.
  even() {
    const { left, right, top, bottom } = this.box;
    const [[x0, x1], [y0, y1]] = [this.wantedX, this.wantedY];
    const unit = Math.max((x1 - x0) / (right - left), (y1 - y0) / (bottom - top));
    const [halfX, halfY] = [(unit * (right - left)) / 2, (unit * (bottom - top)) / 2];
    const [midX, midY] = [(x0 + x1) / 2, (y0 + y1) / 2];
    return [[midX - halfX, midX + halfX], [midY - halfY, midY + halfY]];
  }

  toX(value) {
    return this.box.left + ((value - this.xs[0]) / (this.xs[1] - this.xs[0])) * (this.box.right - this.box.left);
  }

  toY(value) {
    return this.box.bottom - ((value - this.ys[0]) / (this.ys[1] - this.ys[0])) * (this.box.bottom - this.box.top);
  }

  draw() {
    if (!this.data || !this.width) return;
    const context = fit(this.points, this.width, this.height);
    context.clearRect(0, 0, this.width, this.height);
    if (this.mode === "density") this.drawDensity(context);
    else if (this.px.length <= FEW) this.drawDots(context);
    else this.drawPixels(context);
    if (this.marginals) this.sides(context);
    this.drawOver();
  }

  grid(context) {
    const { left, right, top, bottom } = this.box;
    const { x, y } = this.data;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = css("--soft");
    context.strokeStyle = css("--line");
    context.lineWidth = 1;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const { at, label } of marks(x, this.xs, Math.floor((right - left) / 70))) {
      const px = Math.round(this.toX(at)) + 0.5;
      context.beginPath();
      context.moveTo(px, top);
      context.lineTo(px, bottom);
      context.stroke();
      context.fillText(label, px, bottom + 6, 90);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { at, label } of marks(y, this.ys, Math.floor((bottom - top) / 50))) {
      const py = Math.round(this.toY(at)) + 0.5;
      context.beginPath();
      context.moveTo(left, py);
      context.lineTo(right, py);
      context.stroke();
      context.fillText(label, left - 6, py, LEFT - 18);
    }
    context.fillStyle = css("--ink");
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(x.name, (left + right) / 2, this.height - 2, right - left);
    context.save();
    context.translate(12, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "middle";
    context.fillText(y.name, 0, 0, bottom - top);
    context.restore();
  }

  colourOf(bin) {
    return bin === NONE ? GREY[isDark() ? "dark" : "light"] : this.paint.colours[bin];
  }

  drawDots(context) {
    const { mask } = this.selection;
    const n = this.px.length;
    const radius = n < 1500 ? 3.2 : n < 4000 ? 2.4 : 1.8;
    const groups = new Map();
    const grey = [];
    for (let i = 0; i < n; i++) {
      if (mask && !mask[i]) {
        grey.push(i);
        continue;
      }
      const bin = this.paint.bins ? this.paint.bins[i] : 0;
      if (!groups.has(bin)) groups.set(bin, []);
      groups.get(bin).push(i);
    }
    const dots = (rows, style) => {
      context.fillStyle = style;
      context.beginPath();
      for (const i of rows) {
        context.moveTo(this.px[i] + radius, this.py[i]);
        context.arc(this.px[i], this.py[i], radius, 0, 2 * Math.PI);
      }
      context.fill();
    };
    dots(grey, cssColour(this.colourOf(NONE), 0.5));
    for (const [bin, rows] of groups) dots(rows, cssColour(this.colourOf(bin), 0.78));
  }

  // Many points: pixels are set one by one, which is many times quicker than circles.
  drawPixels(context) {
    const [w, h] = [this.points.width, this.points.height];
    const ratio = w / this.width;
    if (this.image?.width !== w || this.image?.height !== h) this.image = new ImageData(w, h);
    const cells = new Uint32Array(this.image.data.buffer);
    cells.fill(0);
    const size = Math.max(1, Math.round(ratio * (this.px.length > 60000 ? 1 : 1.6)));
    const pack = ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r;
    const table = new Uint32Array(256);
    for (let bin = 0; bin < 256; bin++) table[bin] = pack(this.colourOf(bin < this.paint.colours.length ? bin : NONE));
    const { mask } = this.selection;
    const { bins } = this.paint;
    const put = (i, value) => {
      const left = (this.px[i] * ratio) | 0;
      const top = (this.py[i] * ratio) | 0;
      for (let dy = 0; dy < size; dy++) {
        const start = (top + dy) * w + left;
        for (let dx = 0; dx < size; dx++) cells[start + dx] = value;
      }
    };
    const n = this.px.length;
    if (mask) for (let i = 0; i < n; i++) if (!mask[i]) put(i, table[NONE]);
    for (let i = 0; i < n; i++) if (!mask || mask[i]) put(i, table[bins ? bins[i] : 0]);
    context.putImageData(this.image, 0, 0);
  }

  drawDensity(context) {
    const cells = Math.round(Math.min(MOST_CELLS, Math.max(LEAST_CELLS, 0.8 * Math.sqrt(this.px.length))));
    const { left, right, top, bottom } = this.box;
    const all = new Float32Array(cells * cells);
    const chosen = new Float32Array(cells * cells);
    const sums = new Float32Array(3 * cells * cells);
    const { mask } = this.selection;
    const [ax, ay] = [cells / (right - left), cells / (bottom - top)];
    for (let i = 0; i < this.px.length; i++) {
      const cx = Math.min(cells - 1, ((this.px[i] - left) * ax) | 0);
      const cy = Math.min(cells - 1, ((this.py[i] - top) * ay) | 0);
      const at = cy * cells + cx;
      all[at]++;
      if (mask && !mask[i]) continue;
      chosen[at]++;
      const colour = this.colourOf(this.paint.bins ? this.paint.bins[i] : 0);
      for (let c = 0; c < 3; c++) sums[3 * at + c] += colour[c];
    }
    const most = Math.log1p(all.reduce((a, b) => Math.max(a, b), 1));
    const image = new ImageData(cells, cells);
    const grey = this.colourOf(NONE);
    for (let at = 0; at < all.length; at++) {
      if (!all[at]) continue;
      const colour = chosen[at] ? [0, 1, 2].map((c) => sums[3 * at + c] / chosen[at]) : grey;
      image.data.set(colour, 4 * at);
      image.data[4 * at + 3] = 255 * (0.15 + (0.85 * Math.log1p(chosen[at] || all[at] * 0.3)) / most);
    }
    const small = new OffscreenCanvas(cells, cells);
    small.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, right - left, bottom - top);
  }

  // Histograms of both columns, and of what is selected in front of them.
  sides(context) {
    const { left, right, top, bottom } = this.box;
    for (const [pixels, from, to, across] of [
      [this.px, left, right, true],
      [this.py, top, bottom, false],
    ]) {
      const all = new Uint32Array(N_BINS);
      const chosen = new Uint32Array(N_BINS);
      const { mask } = this.selection;
      const scale = N_BINS / (to - from);
      for (let i = 0; i < pixels.length; i++) {
        const bin = ((pixels[i] - from) * scale) | 0;
        if (bin < 0 || bin >= N_BINS) continue;
        all[bin]++;
        if (mask && mask[i]) chosen[bin]++;
      }
      const most = all.reduce((a, b) => Math.max(a, b), 1);
      const step = (to - from) / N_BINS;
      const bars = (counts, style) => {
        context.fillStyle = style;
        counts.forEach((n, bin) => {
          const size = (n / most) * (SIDE - 4);
          if (across) context.fillRect(from + bin * step, top - GAP - size, step - 1, size);
          else context.fillRect(right + GAP, from + bin * step, size, step - 1);
        });
      };
      bars(all, mask ? css("--line") : css("--band"));
      if (mask) bars(chosen, css("--blue"));
    }
  }

  drawOver() {
    const context = fit(this.over, this.width, this.height);
    context.clearRect(0, 0, this.width, this.height);
    this.drawLines(context);
    if (this.brush) {
      const { x0, y0, x1, y1 } = this.brush;
      context.fillStyle = css("--blue");
      context.globalAlpha = 0.12;
      context.fillRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
      context.globalAlpha = 1;
      context.strokeStyle = css("--blue");
      context.strokeRect(Math.min(x0, x1) + 0.5, Math.min(y0, y1) + 0.5, Math.abs(x1 - x0), Math.abs(y1 - y0));
    }
    if (this.cursor) {
      const { left, right, top, bottom } = this.box;
      context.strokeStyle = css("--soft");
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(this.cursor.x, top);
      context.lineTo(this.cursor.x, bottom);
      context.moveTo(left, this.cursor.y);
      context.lineTo(right, this.cursor.y);
      context.stroke();
      context.setLineDash([]);
    }
    if (this.near !== undefined && this.near >= 0) {
      context.strokeStyle = css("--ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(this.px[this.near], this.py[this.near], 6, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  drawLines(context) {
    const { left, right, top, bottom } = this.box;
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    const taken = [];
    for (const line of this.lines) {
      const isCode = line.role === "code axis";
      const isAxis = isCode || line.role === "factor axis";
      const style = isCode ? css("--soft") : css("--ink");
      const path = line.points.map(([a, b]) => [this.toX(a), this.toY(b)]);
      const trace = () => {
        context.beginPath();
        path.forEach(([a, b], at) => (at ? context.lineTo(a, b) : context.moveTo(a, b)));
        context.stroke();
      };
      context.lineJoin = "round";
      context.setLineDash(isCode ? [6, 5] : []);
      context.strokeStyle = css("--paper");
      context.globalAlpha = 0.8;
      context.lineWidth = isCode ? 3.5 : 6;
      trace();
      context.globalAlpha = 1;
      context.strokeStyle = style;
      context.lineWidth = isCode ? 1.5 : 2.5;
      trace();
      context.setLineDash([]);
      if (isAxis && !isCode) arrow(context, path, style);
      if (line.label) tag(context, line.label, isCode ? path[path.length - 1] : beyond(path), this.box, style, taken);
    }
    context.restore();
  }

  listen() {
    const { over } = this;
    const inside = (event) => {
      const bounds = over.getBoundingClientRect();
      return [event.clientX - bounds.left, event.clientY - bounds.top];
    };
    over.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const [x, y] = inside(event);
      this.press = { x, y };
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => {
      const [x, y] = inside(event);
      if (this.press && Math.hypot(x - this.press.x, y - this.press.y) > 4) {
        this.brush = { x0: this.press.x, y0: this.press.y, x1: x, y1: y };
        this.near = -1;
        this.schedule();
      } else if (!this.press) this.hover(x, y);
    });
    over.addEventListener("pointerup", (event) => {
      const [x, y] = inside(event);
      const moved = this.press && Math.hypot(x - this.press.x, y - this.press.y) > 4;
      this.press = null;
      if (moved) {
        this.schedule();
        return;
      }
      if (this.brush) {
        this.brush = null;
        this.selection.clear();
      } else this.pick(x, y);
    });
    over.addEventListener("pointercancel", () => (this.press = null));
    over.addEventListener("pointerleave", () => {
      if (this.press) return;
      this.near = -1;
      this.onHover?.(-1);
      if (this.data) this.drawOver();
    });
    over.addEventListener("keydown", (event) => this.key(event));
    over.addEventListener("blur", () => {
      this.cursor = null;
      if (this.data) this.drawOver();
    });
  }

  key(event) {
    if (!this.data) return;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const { left, right, top, bottom } = this.box;
    this.cursor ||= { x: (left + right) / 2, y: (top + bottom) / 2 };
    if (steps) {
      event.preventDefault();
      const size = Math.max(4, (right - left) / 40);
      const from = { ...this.cursor };
      this.cursor.x = Math.min(right, Math.max(left, from.x + steps[0] * size));
      this.cursor.y = Math.min(bottom, Math.max(top, from.y + steps[1] * size));
      if (event.shiftKey) {
        this.brush ||= { x0: from.x, y0: from.y };
        Object.assign(this.brush, { x1: this.cursor.x, y1: this.cursor.y });
        this.select();
        say(`${this.selection.size} rows selected.`);
      } else this.hover(this.cursor.x, this.cursor.y);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.pick(this.cursor.x, this.cursor.y, Infinity);
    } else if (event.key === "Escape") {
      this.brush = null;
      this.selection.clear();
      say("Selection cleared.");
    } else return;
    this.drawOver();
  }

  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    const started = performance.now();
    requestAnimationFrame(() => {
      this.waiting = false;
      this.select();
      performance.measure("unbraid:brush", { start: started, end: performance.now() });
    });
  }

  // The rows in the rectangle; all views draw them before this returns.
  select() {
    if (!this.brush) return;
    const { x0, y0, x1, y1 } = this.brush;
    const [left, right, top, bottom] = [Math.min(x0, x1), Math.max(x0, x1), Math.min(y0, y1), Math.max(y0, y1)];
    const mask = new Uint8Array(this.px.length);
    for (let i = 0; i < mask.length; i++)
      mask[i] = this.px[i] >= left && this.px[i] <= right && this.py[i] >= top && this.py[i] <= bottom ? 1 : 0;
    this.selection.owner = this;
    this.selection.set(mask);
    this.selection.owner = null;
  }

  nearest(x, y, reach = 14) {
    let [best, least] = [-1, reach * reach];
    for (let i = 0; i < this.px.length; i++) {
      const away = (this.px[i] - x) ** 2 + (this.py[i] - y) ** 2;
      if (away < least) [best, least] = [i, away];
    }
    return best;
  }

  hover(x, y) {
    if (!this.px) return;
    const near = this.nearest(x, y);
    if (near === this.near) return;
    this.near = near;
    this.drawOver();
    this.onHover?.(near);
  }

  pick(x, y, reach = 14) {
    const near = this.nearest(x, y, reach);
    if (near >= 0) {
      this.near = near;
      this.onPick?.(near);
    }
  }
}

function marks({ factor }, [low, high], most) {
  if (factor && factor.kind === "categorical") {
    const step = Math.ceil(factor.levels.length / Math.max(2, most));
    return factor.levels.map((label, at) => ({ at, label })).filter(({ at }) => at % step === 0);
  }
  return ticks(low, high, Math.max(2, most)).map((at) => ({ at, label: text(at) }));
}

function arrow(context, path, style) {
  const [[x0, y0], [x1, y1]] = path.slice(-2);
  const turn = Math.atan2(y1 - y0, x1 - x0);
  context.fillStyle = style;
  context.beginPath();
  context.moveTo(x1, y1);
  for (const side of [-1, 1]) context.lineTo(x1 - 12 * Math.cos(turn + 0.4 * side), y1 - 12 * Math.sin(turn + 0.4 * side));
  context.fill();
}

// A place past the end of a line, so that a name there leaves the arrow to be seen.
function beyond(path) {
  const [[x0, y0], [x1, y1]] = path.slice(-2);
  const share = 20 / (Math.hypot(x1 - x0, y1 - y0) || 1);
  return [x1 + share * (x1 - x0), y1 + share * (y1 - y0)];
}

// A name at the end of a line, inside the plot and not over another name.
function tag(context, label, [x, y], box, style, taken) {
  context.font = "600 13px system-ui, sans-serif";
  const width = Math.min(150, context.measureText(label).width) + 12;
  const left = Math.min(box.right - width - 3, Math.max(box.left + 3, x - width / 2));
  let top = Math.min(box.bottom - 25, Math.max(box.top + 3, y - 11));
  for (let tries = 0; tries < 6; tries++) {
    if (!taken.some((one) => Math.abs(one.left - left) < Math.max(one.width, width) && Math.abs(one.top - top) < 24)) break;
    top += top > (box.top + box.bottom) / 2 ? -25 : 25;
  }
  taken.push({ left, top, width });
  context.fillStyle = css("--paper");
  context.beginPath();
  context.roundRect(left, top, width, 22, 4);
  context.fill();
  context.strokeStyle = style;
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = style;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(label, left + width / 2, top + 11.5, 150);
}

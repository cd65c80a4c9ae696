// Small charts of a study and of a run: points of two numbers, and lines over steps.
import { css, fit, make, text } from "app/dom";
import { extent, padded, ticks } from "app/scale";

const COLOURS = ["--blue", "--orange", "--green", "--purple", "--red", "--soft"];
const [LEFT, BOTTOM] = [68, 42];

export function colourName(at) {
  return COLOURS[at % COLOURS.length];
}

function frame(context, box, xs, ys, xName, yName, width, height) {
  const toX = (value) => box.left + ((value - xs[0]) / (xs[1] - xs[0])) * (box.right - box.left);
  const toY = (value) => box.bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (box.bottom - box.top);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  context.strokeStyle = css("--line");
  context.lineWidth = 1;
  context.fillStyle = css("--soft");
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const at of ticks(...xs, Math.max(3, Math.floor((box.right - box.left) / 80)))) {
    context.beginPath();
    context.moveTo(toX(at), box.top);
    context.lineTo(toX(at), box.bottom);
    context.stroke();
    context.fillText(text(at), toX(at), box.bottom + 5);
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const at of ticks(...ys, Math.max(2, Math.floor((box.bottom - box.top) / 34)))) {
    context.beginPath();
    context.moveTo(box.left, toY(at));
    context.lineTo(box.right, toY(at));
    context.stroke();
    context.fillText(text(at), box.left - 6, toY(at));
  }
  context.fillStyle = css("--ink");
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillText(xName, (box.left + box.right) / 2, height - 1);
  context.save();
  context.translate(11, (box.top + box.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textBaseline = "middle";
  context.fillText(yName, 0, 0, box.bottom - box.top);
  context.restore();
  return [toX, toY];
}

// Points that can be pointed at and opened, by mouse and by keys.
export class PointChart {
  constructor({ label, onHover, onOpen }) {
    Object.assign(this, { label, onHover, onOpen });
    this.canvas = make("canvas", { tabindex: "0", role: "application", "aria-roledescription": "scatter plot" });
    this.root = make("div", { class: "chart" }, this.canvas);
    this.at = -1;
    // A finger cannot point: its first tap shows a model, the second opens it.
    const isFinger = (event) => event.pointerType === "touch";
    this.canvas.addEventListener("pointermove", (event) => isFinger(event) || this.point(this.near(event)));
    this.canvas.addEventListener("pointerleave", (event) => isFinger(event) || this.point(-1));
    this.canvas.addEventListener("click", (event) => {
      const near = this.near(event);
      if (near >= 0 && (!isFinger(event) || near === this.at)) this.onOpen(this.points[near]);
      else this.point(near);
    });
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (step && this.points.length) {
        event.preventDefault();
        this.point((this.at + step + this.points.length) % this.points.length);
      } else if (event.key === "Enter" && this.at >= 0) this.onOpen(this.points[this.at]);
    });
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  // Points `{x, y, group, ...}`, in the order of x for the keys.
  set(points, xName, yName) {
    this.points = points.filter(({ x, y }) => x !== null && y !== null).sort((a, b) => a.x - b.x || a.y - b.y);
    Object.assign(this, { xName, yName, at: -1 });
    this.canvas.setAttribute("aria-label", `${this.label}: ${yName} against ${xName}, ${this.points.length} models. Arrow keys go from model to model, Enter opens one.`);
    this.draw();
  }

  draw() {
    const width = this.root.clientWidth;
    if (!width || !this.points) return;
    const height = Math.min(420, Math.round(width * 0.72));
    const context = fit(this.canvas, width, height);
    const box = { left: LEFT, top: 10, right: width - 10, bottom: height - BOTTOM };
    const [toX, toY] = frame(
      context, box, padded(extent(this.points.map(({ x }) => x)), 0.06), padded(extent(this.points.map(({ y }) => y)), 0.06),
      this.xName, this.yName, width, height,
    );
    this.places = this.points.map(({ x, y }) => [toX(x), toY(y)]);
    this.points.forEach(({ group }, i) => {
      context.fillStyle = css(colourName(group));
      context.globalAlpha = 0.8;
      context.beginPath();
      context.arc(...this.places[i], 5, 0, 2 * Math.PI);
      context.fill();
    });
    context.globalAlpha = 1;
    if (this.at >= 0) {
      context.strokeStyle = css("--ink");
      context.lineWidth = 2;
      context.beginPath();
      context.arc(...this.places[this.at], 8, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  near(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    let [best, least] = [-1, 16 ** 2];
    (this.places || []).forEach(([a, b], i) => {
      const away = (a - x) ** 2 + (b - y) ** 2;
      if (away < least) [best, least] = [i, away];
    });
    return best;
  }

  point(at) {
    if (at === this.at) return;
    this.at = at;
    this.draw();
    this.onHover(at >= 0 ? this.points[at] : null);
  }
}

// Lines over the same steps, one for each member.
export function drawLines(canvas, steps, lines, yName) {
  const width = canvas.parentElement.clientWidth;
  if (!width || !steps.length) return;
  const height = Math.min(300, Math.round(width * 0.55));
  const context = fit(canvas, width, height);
  const box = { left: LEFT, top: 10, right: width - 10, bottom: height - BOTTOM };
  const tail = lines.map((line) => line.slice(Math.floor(line.length / 20)));  // the first steps would hide the others
  const ys = padded(extent(tail.flat().filter((value) => value !== null)));
  const [toX, toY] = frame(context, box, padded(extent(steps), 0.02), ys, "step", yName, width, height);
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  context.clip();
  lines.forEach((line, at) => {
    context.strokeStyle = css(colourName(at));
    context.lineWidth = 1.6;
    context.beginPath();
    line.forEach((value, i) => {
      if (value !== null) context.lineTo(toX(steps[i]), toY(value));
    });
    context.stroke();
  });
  context.restore();
}

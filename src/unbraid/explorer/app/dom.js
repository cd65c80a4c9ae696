// Elements, numbers as text, and what is said to screen readers.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "text") element.textContent = value;
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function say(words) {
  document.getElementById("said").textContent = words;
}

export function text(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e5 || (size > 0 && size < 1e-3)) return value.toExponential(1).replace("-", "−");
  return String(+value.toPrecision(digits)).replace("-", "−");
}

// A score, with as many decimals as a confidence interval can tell apart.
export function score(value) {
  return value === null || value === undefined || Math.abs(value) >= 1000 ? text(value) : value.toFixed(3).replace("-", "−");
}

export function count(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

// On a narrow screen a view may be far from what leads to it.
export function bringIntoView(element) {
  const { top } = element.getBoundingClientRect();
  if (top < 0 || top > window.innerHeight / 2) element.scrollIntoView({ block: "start" });
}

export function options(select, entries, chosen) {
  select.replaceChildren(
    ...entries.map((entry) =>
      Array.isArray(entry.members)
        ? make("optgroup", { label: entry.label }, ...entry.members.map((one) => option(one, chosen)))
        : option(entry, chosen),
    ),
  );
}

function option({ value, label }, chosen) {
  return make("option", { value, text: label, selected: value === chosen });
}

export function download(bytes, name, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([bytes], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A canvas with as many pixels as the screen has; returns its context, scaled to CSS pixels.
export function fit(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(w / width, 0, 0, h / height, 0, 0);
  return context;
}

// Colours of the style sheet, as a canvas takes them: the browser decides between light and dark.
const colours = new Map();
const probe = document.body.appendChild(make("i", { hidden: true }));

export function css(name) {
  const key = `${name} ${isDark()}`;
  if (!colours.has(key)) {
    probe.style.color = `var(${name})`;
    colours.set(key, getComputedStyle(probe).color);
  }
  return colours.get(key);
}

export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

// The last call wins: while one is under way, only the newest of the others is kept.
export function latest(work) {
  let running = false;
  let waiting = null;
  return async function run(...given) {
    if (running) {
      waiting = given;
      return;
    }
    running = true;
    try {
      await work(...given);
    } finally {
      running = false;
      if (waiting) {
        const next = waiting;
        waiting = null;
        run(...next);
      }
    }
  };
}

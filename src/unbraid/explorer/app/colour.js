// Colours of points by a factor: a ramp for numbers, a wheel for angles, a set for categories.
import { isDark } from "app/dom";

const RAMP = {
  light: ["#2b1a8f", "#7a1fa2", "#c2336f", "#e8683a", "#e0a100"],
  dark: ["#7f74ff", "#b866ef", "#ee6c9f", "#ff9a62", "#ffd85a"],
};
const SET = {
  light: ["#1d5a96", "#d15f00", "#1b7f4b", "#8a3fb0", "#c2243f", "#0d8a94", "#8b6b12", "#c74a98", "#5a6b1f", "#59626d"],
  dark: ["#7db8ee", "#ff9d57", "#6fd39b", "#c79bef", "#ff8a9b", "#5cd3dc", "#d9b85c", "#f49ad0", "#b5cc6a", "#aab4be"],
};
export const N_BINS = 64;
export const NONE = 255;

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function ramp(stops) {
  const ends = stops.map(rgb);
  return Array.from({ length: N_BINS }, (_, i) => {
    const place = (i / (N_BINS - 1)) * (ends.length - 1);
    const at = Math.min(Math.floor(place), ends.length - 2);
    return ends[at].map((from, c) => Math.round(from + (place - at) * (ends[at + 1][c] - from)));
  });
}

// Hues of equal lightness (OKLCH), so that no angle stands out.
function wheel(lightness) {
  return Array.from({ length: N_BINS }, (_, i) => {
    const turn = (2 * Math.PI * i) / N_BINS + 0.4;
    const [a, b] = [0.13 * Math.cos(turn), 0.13 * Math.sin(turn)];
    const [l, m, s] = [
      lightness + 0.3963377774 * a + 0.2158037573 * b,
      lightness - 0.1055613458 * a - 0.0638541728 * b,
      lightness - 0.0894841775 * a - 1.291485548 * b,
    ].map((one) => one ** 3);
    return [
      4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
      -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
      -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
    ].map((linear) => {
      const one = Math.min(1, Math.max(0, linear));
      return Math.round(255 * (one <= 0.0031308 ? 12.92 * one : 1.055 * one ** (1 / 2.4) - 0.055));
    });
  });
}

// Returns for each row the place of its colour, and the colours; without a factor all rows have one colour.
export function colouring(factor, values) {
  const mode = isDark() ? "dark" : "light";
  if (!factor) {
    return { bins: null, colours: [rgb(SET[mode][0])], entries: [] };
  }
  const bins = new Uint8Array(values.length);
  if (factor.kind === "categorical") {
    const colours = SET[mode].map(rgb);
    for (let i = 0; i < bins.length; i++) bins[i] = Number.isNaN(values[i]) ? NONE : values[i] % colours.length;
    const entries = factor.levels
      .slice(0, 24)
      .map((label, at) => ({ label, colour: colours[at % colours.length], value: at }));
    return { bins, colours, entries };
  }
  const turns = factor.kind === "circular";
  const colours = turns ? wheel(mode === "dark" ? 0.76 : 0.62) : ramp(RAMP[mode]);
  const [low, span] = turns ? [0, factor.period] : [factor.low, factor.high - factor.low || 1];
  for (let i = 0; i < bins.length; i++) {
    const share = (values[i] - low) / span;
    if (Number.isNaN(share)) bins[i] = NONE;
    else if (turns) bins[i] = Math.floor((share - Math.floor(share)) * N_BINS) % N_BINS;
    else bins[i] = Math.min(N_BINS - 1, Math.max(0, Math.floor(share * N_BINS)));
  }
  return { bins, colours, entries: [], low, high: low + span, turns };
}

export function cssColour([r, g, b], alpha = 1) {
  return `rgb(${r} ${g} ${b} / ${alpha})`;
}

// Places on an axis, round numbers for its marks, and the columns that axes show.
export function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!(low <= high)) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

export function padded([low, high], share = 0.04) {
  const room = (high - low) * share;
  return [low - room, high + room];
}

export function ticks(low, high, most = 6) {
  const raw = (high - low) / most;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * size).find((one) => one >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return found;
}

// Rows of equal value would hide each other; where a factor has few values, each row is moved a little, always the same.
export function spread(values, factor) {
  const few = factor && factor.n_levels && factor.n_levels <= 64;
  if (!few) return values;
  const step = factor.kind === "categorical" ? 1 : (factor.high - factor.low) / Math.max(1, factor.n_levels - 1);
  const moved = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const noise = (((i * 2654435761) >>> 0) / 4294967296) - 0.5;
    moved[i] = values[i] + 0.55 * step * noise;
  }
  return moved;
}

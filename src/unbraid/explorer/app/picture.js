// Outputs of a decoder on a canvas: pictures pixel by pixel, or numbers as a line.
import { css, fit } from "app/dom";
import { post } from "app/net";

const GAP = 3;

// Decoded outputs, one for each row of codes.
export async function decode(subject, codes) {
  const bytes = await post("decode", { id: subject.id, codes: codes.map((row) => [...row]) });
  return subject.decoder.height ? new Uint8Array(bytes) : new Float32Array(bytes);
}

// Draws the outputs side by side, each `size` wide.
export function paint(canvas, outputs, about, size) {
  const n = outputs.length / (about.height ? about.height * about.width * about.channels : about.numbers);
  const height = about.height ? Math.round((size * about.height) / about.width) : Math.round(size * 0.6);
  const context = fit(canvas, n * size + (n - 1) * GAP, height);
  context.clearRect(0, 0, n * size + (n - 1) * GAP, height);
  for (let at = 0; at < n; at++) {
    const left = at * (size + GAP);
    if (about.height) {
      context.imageSmoothingEnabled = false;
      context.drawImage(bitmap(outputs, about, at), left, 0, size, height);
    } else line(context, outputs.subarray(at * about.numbers, (at + 1) * about.numbers), about, left, size, height);
  }
}

function bitmap(outputs, { height, width, channels }, at) {
  const image = new ImageData(width, height);
  const start = at * height * width * channels;
  for (let i = 0; i < height * width; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = outputs[start + i * channels + (channels === 3 ? c : 0)];
    image.data[4 * i + 3] = 255;
  }
  const small = new OffscreenCanvas(width, height);
  small.getContext("2d").putImageData(image, 0, 0);
  return small;
}

function line(context, numbers, { low, high }, left, size, height) {
  context.fillStyle = css("--panel");
  context.fillRect(left, 0, size, height);
  context.strokeStyle = css("--blue");
  context.lineWidth = 1.5;
  context.beginPath();
  const span = high - low || 1;
  numbers.forEach((value, i) => {
    const x = left + 2 + (i / Math.max(1, numbers.length - 1)) * (size - 4);
    const y = height - 3 - Math.min(1, Math.max(0, (value - low) / span)) * (height - 6);
    if (i) context.lineTo(x, y);
    else context.moveTo(x, y);
  });
  context.stroke();
}

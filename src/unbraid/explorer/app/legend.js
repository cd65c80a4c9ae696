// What the colours of a scatter stand for: a dot for each category, or a strip from low to high.
import { cssColour } from "app/colour";
import { make, text } from "app/dom";

export function fillLegend(root, { data, paint }) {
  root.replaceChildren();
  const tint = data?.colour;
  if (!tint) return;
  const { entries, colours, low, high, turns } = paint;
  root.append(make("b", { text: tint.name }));
  for (const { label, colour } of entries) {
    const dot = make("i", { "aria-hidden": "true" });
    dot.style.background = cssColour(colour);
    root.append(make("span", {}, dot, label));
  }
  if (low === undefined) return;
  const strip = make("i", { class: "strip", "aria-hidden": "true" });
  strip.style.background = `linear-gradient(to right, ${colours.map((one) => cssColour(one)).join(",")})`;
  root.append(make("span", { text: text(low) }), strip, make("span", { text: turns ? `${text(high)} = ${text(low)}` : text(high) }));
}

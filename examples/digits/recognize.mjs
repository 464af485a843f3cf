// Classifies ten images by the compiled model, in Node.js: node recognize.mjs FOLDER; see README.md.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]);
const { load } = await import(pathToFileURL(join(folder, "digits.mjs")));
const model = await load(readFileSync(join(folder, "digits.wasm")));

const header = readFileSync(new URL("digits_images.h", import.meta.url), "utf8");
const numbers = (name) => header.split(`${name}[`)[1].split(";")[0].split("= {")[1].match(/\d+(\.\d+)?/g).map(Number);
const labels = numbers("digits_labels");
const pixels = numbers("digits_images");
const size = pixels.length / labels.length;

let correct = 0;
labels.forEach((label, number) => {
  const image = Float32Array.from(pixels.slice(number * size, (number + 1) * size));
  const { logits } = model.run(image);
  const digit = logits.indexOf(Math.max(...logits));
  console.log(`image ${number}: recognised ${digit}, label ${label}`);
  correct += digit === label;
});
console.log(`${correct} of ${labels.length} correct`);
process.exitCode = correct === labels.length ? 0 : 1;

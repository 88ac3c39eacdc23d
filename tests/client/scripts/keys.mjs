/* Write the keys of words.html as a type, so that the compiler finds each key that has no text. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const WORDS = new URL("../../../pages/templates/pages/words.html", import.meta.url);
const MADE = new URL("made/", import.meta.url);

export const keys = [...readFileSync(WORDS, "utf8").matchAll(/<data value="([^"]+)">/g)].map(([, key]) => key);

mkdirSync(MADE, { recursive: true });
writeFileSync(new URL("keys.d.ts", MADE), `export type Key =\n${keys.map((key) => `  | ${JSON.stringify(key)}\n`).join("")};\n`);

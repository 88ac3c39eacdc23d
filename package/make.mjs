/* Put the npm package together in tests/client/made/package, ready for tsc and `npm pack`: `make package` calls this. */

import { copyFileSync, mkdirSync, readFileSync, writeFileSync, rmSync } from "node:fs";

const ROOT = new URL("..", import.meta.url);
const TARGET = new URL("tests/client/made/package/", ROOT);
// The sections of docs/integrating.md that are about the client. The others are about the API.
const SECTIONS = ["Use the client", "Use it with React or on a server", "Handle limits", "Set up origins and cookies"];

const read = (path) => readFileSync(new URL(path, ROOT), "utf8");
const write = (name, text) => writeFileSync(new URL(name, TARGET), text);

rmSync(TARGET, { recursive: true, force: true });
mkdirSync(TARGET, { recursive: true });
for (const path of ["pages/static/pages/client.js", "package/react.js", "package/calls.d.ts", "CHANGELOG.md"])
  copyFileSync(new URL(path, ROOT), new URL(path.split("/").at(-1), TARGET));
write("schema.js", "export {}; // types only\n");

const { version } = read("pyproject.toml").match(/^version = "(?<version>[^"]+)"/m).groups;
const description = JSON.parse(read("package/package.json"));
write("package.json", JSON.stringify({ ...description, version }, null, 2) + "\n");

const sections = read("docs/integrating.md").split(/^(?=## )/m);
const chosen = SECTIONS.map((title) => {
  const section = sections.find((text) => text.startsWith(`## ${title}\n`));
  if (!section) throw new Error(`docs/integrating.md has no section "${title}"`);
  return section.trim();
});
// Links to other files of the repository lead nowhere from here.
const text = [`# ${description.name}`, `${description.description}.`, ...chosen].join("\n\n");
write("README.md", text.replace(/\[([^\]]+)\]\((?!https?:|#)[^)]+\)/g, "$1") + "\n");

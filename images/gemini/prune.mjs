// Removes from Gemini CLI's bundle what it never loads in an image of ours: chunks that no import reaches (the
// package carries several builds of itself), the browser agent's server (there is no browser), pictures, and
// profiles for another system.
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const bundle = process.argv[2];
const reached = new Set();
const open = ["gemini.js"];
while (open.length > 0) {
  const name = open.pop();
  if (reached.has(name) || !existsSync(join(bundle, name))) continue;
  reached.add(name);
  const source = readFileSync(join(bundle, name), "utf8");
  for (const [, found] of source.matchAll(/["'`]\.\/([\w-]+\.js)["'`]/g)) open.push(found);
}
if (reached.size < 10) throw new Error(`${bundle}: gemini.js imports only ${reached.size} chunks: another layout`);

const unused = readdirSync(bundle).filter(
  (name) => (name.endsWith(".js") && !reached.has(name)) || name.endsWith(".sb"),
);
for (const name of [...unused, "bundled", "docs/assets"]) rmSync(join(bundle, name), { recursive: true, force: true });
console.log(`${reached.size} chunks are used, ${unused.length} files removed`);

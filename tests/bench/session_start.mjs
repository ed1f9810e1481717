// The hook's job at a session start, for Node and Bun: what the bench compares ours with.
import { readFileSync, openSync, readSync, closeSync, constants } from "node:fs";
import { createHash, randomBytes } from "node:crypto";

const root = process.env.PANNIER_ROOT;
const FRESH = new Set(["startup", "clear", "compact", "new"]);
const FILES = [
  ["memory/index.md", 16000],
  ["memory/system/definition.md", 16000],
  ["agent-memory/summary.md", 4000],
];
const REMOVED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function read(path, cap) {
  const file = openSync(`${root}/${path}`, constants.O_RDONLY | constants.O_NOFOLLOW);
  const buffer = Buffer.alloc(65537);
  const length = readSync(file, buffer, 0, buffer.length, 0);
  closeSync(file);
  const text = buffer.toString("utf8", 0, length).replaceAll("\r\n", "\n").replace(REMOVED, "");
  return Array.from(text).slice(0, cap).join("");
}

const input = JSON.parse(readFileSync(0, "utf8"));
if (FRESH.has(input.source)) {
  const texts = FILES.map(([path, cap]) => {
    try {
      return [path, read(path, cap)];
    } catch {
      return [path, null];
    }
  });
  const digest = createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 32);
  const marker = randomBytes(8).toString("hex");
  const body = texts
    .map(([path, text]) => `[${marker}] file ${path}\n${text ?? "unavailable"}\n`)
    .join("");
  const block =
    `-----BEGIN PANNIER MEMORY ${marker}-----\n[${marker}] part 1 of 1, digest ${digest}\n` +
    `${body}-----END PANNIER MEMORY ${marker}-----`;
  process.stdout.write(
    JSON.stringify({
      hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: block },
    }),
  );
}

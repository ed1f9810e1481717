/** Texts of the plugin's (opencode.js) in files, one for each context. The agent can write there. */
import { randomUUID } from "node:crypto"
import { constants } from "node:fs"
import { link, lstat, mkdir, open, readdir, rm } from "node:fs/promises"
import { homedir } from "node:os"
import { join } from "node:path"

/** Where OpenCode keeps its data. */
export const DATA = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
export const MOST_KEPT = 100

const FOLDER = join(DATA, "pannier")
const KEPT_MS = 90 * 24 * 60 * 60 * 1000
const LONGEST = 1 << 20

/** The text of this name; one that `begin` gives, where there is none yet. */
export async function keptText(name, begin, complain) {
  const path = join(FOLDER, encodeURIComponent(name))
  const old = await kept(path).catch(() => "")
  if (old) return old
  const text = await begin()
  return keep(path, text).catch((problem) => {
    complain(problem)
    return text
  })
}

/** What the file holds; "" for something else, since the agent can write here. */
async function kept(path) {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const status = await file.stat()
    if (!status.isFile() || status.size > LONGEST) return ""
    const now = new Date()
    await file.utimes(now, now)
    return await file.readFile("utf8")
  } finally {
    await file.close()
  }
}

/** Keep the text, and return it. Of several processes at once in one context, all get what the first one kept. */
async function keep(path, text) {
  await mkdir(FOLDER, { recursive: true, mode: 0o700 })
  await tidy()
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, "wx", 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path)
    return text
  } catch (problem) {
    if (problem.code !== "EEXIST") throw problem
    return (await kept(path)) || text
  } finally {
    await rm(draft, { force: true })
  }
}

/** Remove what was not used for long, and what is too many. A context that goes on would get the memory anew. */
async function tidy() {
  const used = (path) => lstat(path).then(({ mtimeMs }) => ({ path, at: mtimeMs }), () => ({ path, at: 0 }))
  const files = await Promise.all((await readdir(FOLDER)).map((name) => used(join(FOLDER, name))))
  files.sort((a, b) => b.at - a.at)
  const old = files.filter(({ at }, place) => place >= MOST_KEPT - 1 || at < Date.now() - KEPT_MS)
  await Promise.allSettled(old.map(({ path }) => rm(path, { force: true, recursive: true })))
}

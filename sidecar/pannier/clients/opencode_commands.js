/**
 * Where a tool's result lies whole, of which OpenCode gives its model a part.
 *
 * OpenCode stops reading when a command has ended: what it has not read until then is lost, also in the file that it
 * keeps. So a reader of ours is at the output, and the hook tells of what that kept.
 */
import { randomUUID } from "node:crypto"
import { stat } from "node:fs/promises"
import { join } from "node:path"

const TOOL = "bash"
/** What bash reads before a command: it asks for the reader. */
const BEFORE = "/usr/local/lib/pannier/opencode/command.bash"
const NOTES = join(process.env.PANNIER_ROOT || "/workspace/agent", "files/.pannier/calls")

export function wholeResults() {
  /** By call: in which note the reader says where it kept the output, if it did. */
  const notes = new Map()
  const nameOf = ({ sessionID, callID }) => `${sessionID} ${callID}`

  const before = async (call) => {
    if (call.tool === TOOL) notes.set(nameOf(call), randomUUID())
  }

  // A person's commands have no such call, and a BASH_ENV of their own goes before.
  const environment = async (call, { env }) => {
    const note = notes.get(nameOf(call))
    if (!note || process.env.BASH_ENV || env.BASH_ENV) return
    env.BASH_ENV = BEFORE
    env.PANNIER_OUTPUT_NOTE = note
  }

  /** What to tell the hook of it; undefined if OpenCode has no more than it gives, or no more than `least` bytes. */
  const placeOf = async (call, { metadata }, least) => {
    const note = notes.get(nameOf(call))
    notes.delete(nameOf(call))
    if (note && (await sizeOf(join(NOTES, note)))) return { output_note: note }
    const path = metadata?.truncated && metadata.outputPath
    const size = path ? await sizeOf(path) : 0
    return size > least ? { persistedOutputPath: path, persistedOutputSize: size } : undefined
  }

  return { hooks: { "tool.execute.before": before, "shell.env": environment }, placeOf }
}

const sizeOf = (path) => stat(path).then(({ size }) => size, () => 0)

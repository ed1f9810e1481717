/**
 * A plugin of OpenCode that puts the agent's memory into each of its requests to the model, and tells the hook what was
 * said and done.
 *
 * OpenCode keeps no system text in a session's history, so the memory is added to every request. Within one context it
 * is the same text each time, in whichever process the session goes on: another one would read differently to the
 * model in the middle of its work, and cost the provider's prompt cache. So the text that the hook gave at the
 * beginning of a context is kept in a file.
 *
 * A context is known by the time of its first message. A resumed session and a fork have the same one; a new session,
 * a compaction and an undone first prompt have another.
 *
 * Whatever goes wrong here, the agent's request goes on.
 */
import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { wholeResults } from "./pannier-commands.js"
import { leastThreshold, prune, settingsOf, tuneConfig, tunerOf } from "./pannier-context.js"
import { DATA, keptText, MOST_KEPT } from "./pannier-kept.js"

const CONTEXT = new URL("./pannier-context.json", import.meta.url)
const HOOK = "/usr/local/bin/pannier-hook"
const HOOK_MS = 10_000
const SERVER_MS = 2_000

/** What the container was given: everything below it is a mount. */
const MOUNTS = "/workspace/*"

export default async ({ client }) => {
  const complain = (problem) =>
    client.app.log({ body: { service: "pannier", level: "error", message: String(problem) } }).catch(() => {})
  const guarded = (act) => async (input, output) => {
    try {
      await act(input, output)
    } catch (problem) {
      complain(problem)
    }
  }
  const ask = askerOf()
  const isAside = asideOf(client, ask)
  const contexts = new Map()
  const memories = new Map()

  const memoryIn = (context) => {
    if (!memories.has(context.name)) {
      if (memories.size >= MOST_KEPT) memories.delete(memories.keys().next().value)
      const memory = memoryFor(context, complain)
      memories.set(context.name, memory)
      memory.catch(() => memories.delete(context.name))
    }
    return memories.get(context.name)
  }

  const tell = inOrder(complain)
  const settings = await contextSettings(complain)
  const results = wholeResults()
  const turns = turnsOf(tell, speakerOf(client, ask), results, leastThreshold(settings))
  const tuneModel = tunerOf(settings)
  let ours = {}

  return {
    ...Object.fromEntries(Object.entries({ ...turns, ...results.hooks }).map(([name, act]) => [name, guarded(act)])),

    // OpenCode waits for this when it ends.
    dispose: () => tell("", {}),

    config: guarded(async (config) => {
      openContainer(config)
      tuneConfig(config, settings)
      ours = config
      await wantChoice(config)
    }),

    // Before each request; whether to compact is asked after it.
    "chat.params": guarded(async ({ model }) => tuneModel(model, ours.compaction?.reserved)),

    // OpenCode calls this before the next one, for each request of an agent.
    "experimental.chat.messages.transform": guarded(async (_input, { messages }) => {
      const first = messages[0]
      if (first) contexts.set(first.info.sessionID, contextFrom(first))
      prune(messages, settings)
    }),

    "experimental.chat.system.transform": guarded(async ({ sessionID }, { system }) => {
      if (!sessionID || (await isAside(sessionID, system[0] ?? ""))) return
      const context = contexts.get(sessionID) ?? { name: sessionID, source: "startup" }
      system.push(await memoryIn({ ...context, session: sessionID }))
    }),
  }
}

function contextFrom({ info, parts }) {
  const compacted = parts.some((part) => part.type === "compaction")
  return { name: String(info.time.created), source: compacted ? "compact" : "startup" }
}

/** Asks OpenCode's server something once. */
function askerOf() {
  const known = new Map()
  return async (about, call) => {
    if (!known.has(about)) {
      const { data } = await within(SERVER_MS, call(), {})
      if (!data) return undefined
      known.set(about, data)
    }
    return known.get(about)
  }
}

/**
 * Whether a request is none of the person's agent: a title, a summary, or a sub-agent's, which begins with nothing but
 * what the agent tells it. In doubt it is the agent's.
 */
function asideOf(client, ask) {
  return async (sessionID, prompt) => {
    const agents = (await ask("agents", () => client.app.agents())) ?? []
    const inner = agents.filter((agent) => agent.native && agent.hidden && agent.prompt)
    if (inner.some((agent) => prompt.startsWith(agent.prompt))) return true
    const session = await ask(sessionID, () => client.session.get({ path: { id: sessionID } }))
    return Boolean(session?.parentID)
  }
}

/** Whose session it is, in the hook's words: a sub-agent's belongs to the session that it works for. */
function speakerOf(client, ask) {
  return async (sessionID) => {
    let root = sessionID
    for (let parent = root; parent; ) {
      root = parent
      parent = (await ask(root, () => client.session.get({ path: { id: root } })))?.parentID
    }
    return { session_id: root, agent_id: root === sessionID ? "" : sessionID }
  }
}

/** The group's settings for its context. */
async function contextSettings(complain) {
  const defaults = JSON.parse(await readFile(CONTEXT, "utf8"))
  try {
    return settingsOf(defaults, JSON.parse(process.env.PANNIER_CONTEXT || "{}"))
  } catch (problem) {
    complain(`PANNIER_CONTEXT: ${problem}`)
    return defaults
  }
}

/** What the plugin hears of turns, and tells the hook. A result of no more than `least` bytes is never too large. */
function turnsOf(tell, speaker, results, least) {
  /** By session: its open turn. */
  const open = new Map()
  const latest = new Map()

  const about = async (sessionID, details) => {
    const turn_id = open.get(sessionID)?.id ?? ""
    return { ...(await speaker(sessionID)), turn_id, ...details }
  }

  const heard = {
    "message.part.updated": async ({ part: { type, sessionID, callID, tool, state } }) => {
      const done = type === "tool" && (state.status === "completed" || state.status === "error")
      const turn = open.get(sessionID)
      if (!done || !turn || turn.calls.has(callID)) return
      turn.calls.add(callID)
      const said = state.status === "error" ? { error: state.error } : { tool_response: state.output }
      const call = { tool_name: tool, tool_input: state.input, tool_use_id: callID, ...said }
      tell("post-tool", about(sessionID, call))
    },

    "session.error": async ({ sessionID, error }) => {
      const turn = open.get(sessionID)
      if (turn && error) turn.error = { name: error.name, message: error.data?.message ?? error.name }
    },

    "session.idle": async ({ sessionID }) => {
      const turn = open.get(sessionID)
      if (!turn) return
      const last = latest.get(sessionID) ?? ""
      const ended = { last_assistant_message: last, ...(turn.error && { error: turn.error.message }) }
      // A turn that was broken off has no stop.
      if (turn.error?.name !== "MessageAbortedError") tell("stop", about(sessionID, ended))
      open.delete(sessionID)
      latest.delete(sessionID)
    },

    "session.compacted": async ({ sessionID }) => {
      tell("post-compact", about(sessionID, { compact_summary: latest.get(sessionID) ?? "" }))
      latest.delete(sessionID)
    },
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const said = parts.filter(({ type, synthetic }) => type === "text" && !synthetic).map(({ text }) => text)
      open.set(sessionID, { id: message.id, calls: new Set() })
      latest.delete(sessionID)
      const text = await tell("user-prompt", about(sessionID, { prompt: said.join("\n") }))
      if (!text) return
      // Parts are ordered by their ids.
      const id = `${parts.at(-1)?.id ?? "prt_"}z`
      parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
    },

    "experimental.text.complete": async ({ sessionID }, { text }) => {
      latest.set(sessionID, text)
    },

    "experimental.session.compacting": async ({ sessionID }, { context }) => {
      const guidance = await tell("pre-compact", about(sessionID, {}))
      if (guidance) context.push(guidance)
    },

    // The hook may give another text for a large result. It tells the sidecar of the call at once.
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const place = await results.placeOf({ sessionID, callID }, result, least)
      if (!place && !(Buffer.byteLength(result.output ?? "") > least)) return
      const call = { tool_name: tool, tool_input: args, tool_use_id: callID, ...place, tool_response: result.output }
      const text = await tell("post-tool", about(sessionID, call))
      if (text !== undefined) open.get(sessionID)?.calls.add(callID)
      if (text) result.output = text
    },

    event: async ({ event: { type, properties } }) => {
      await heard[type]?.(properties)
    },
  }
}

/**
 * Calls the hook for one event after the other, in the order of telling. Gives what it prints; undefined if that
 * failed.
 */
function inOrder(complain) {
  let last = Promise.resolve("")
  return (event, details) => {
    const before = last
    last = (async () => {
      await before
      try {
        return event && (await callHook(event, await details))
      } catch (problem) {
        complain(problem)
      }
    })()
    return last
  }
}

function within(ms, promise, otherwise) {
  let timer
  const late = new Promise((done) => (timer = setTimeout(done, ms, otherwise)))
  return Promise.race([promise.catch(() => otherwise), late]).finally(() => clearTimeout(timer))
}

/** The memory as it was when the context began. */
function memoryFor({ name, session, source }, complain) {
  const begin = async () => {
    const text = await callHook("session-start", { session_id: session, source })
    if (!text) throw new Error(`${HOOK} gave no memory`)
    return text
  }
  return keptText(name, begin, complain)
}

/** What the hook prints. */
function callHook(event, details) {
  return new Promise((done, failed) => {
    const argv = [event, "--client", "opencode"]
    const hook = spawn(HOOK, argv, { stdio: ["pipe", "pipe", "ignore"], timeout: HOOK_MS, killSignal: "SIGKILL" })
    const chunks = []
    hook.stdout.on("data", (chunk) => chunks.push(chunk))
    hook.stdin.on("error", () => {})
    hook.on("error", failed)
    hook.on("close", (status) => {
      if (status === 0) done(Buffer.concat(chunks).toString("utf8"))
      else failed(new Error(`${HOOK} ${event} ended with status ${status}`))
    })
    hook.stdin.end(JSON.stringify(details))
  })
}

/**
 * The container is what limits the agent, so it is not asked about paths outside of its working directory; a question
 * that nobody answers would end its turn. What a person's settings say goes before it, but for the mounts: to keep the
 * agent from those, or from memory, takes a rule that names them.
 */
function openContainer(config) {
  const given = config.permission
  const { external_directory: outside, ...rest } = typeof given === "string" ? { "*": given } : (given ?? {})
  const rules = typeof outside === "string" ? { "*": outside } : outside
  // The last rule that fits counts; a rule that is there already keeps its place.
  config.permission = { ...rest, external_directory: { "*": "allow", [MOUNTS]: "allow", ...rules } }
}

/**
 * Without any login or key, OpenCode takes a free model that its makers host, and sends it everything, the memory as
 * well. Here it has to be chosen as any other: by a login, a key, or its name in settings or on the command line.
 */
async function wantChoice(config) {
  const logins = await Promise.resolve(process.env.OPENCODE_AUTH_CONTENT || readFile(join(DATA, "auth.json"), "utf8"))
    .then(JSON.parse)
    .catch(() => ({}))
  const named = JSON.stringify([config, process.argv]).includes('"opencode/')
  if (process.env.OPENCODE_API_KEY || logins.opencode || config.provider?.opencode || named) return
  config.disabled_providers = [...(config.disabled_providers ?? []), "opencode"]
}

/**
 * How OpenCode is held to a group's settings for its context (`context:` in group.yaml).
 *
 * Nothing here talks to anybody; the plugin does (opencode.js).
 */

/** OpenCode leaves room for so many tokens of an answer, at most. */
const LONGEST_ANSWER = 32_000
/** What it keeps free where a model's limit is one of input. */
const ITS_RESERVE = 20_000

/** Results are pruned when that saves a tenth of the window; four characters count as a token. */
const STEP = 0.4
const USUAL_WINDOW = 128_000
const HEAD_SHARE = 2 / 3
const LEAST_ROOM = 60
const LONGEST_NOTE = 1_000
const CLEARED = "[To save room this was taken out: "

/** What the image has by default, and the container was given. */
export function settingsOf(defaults, given) {
  const settings = structuredClone(defaults)
  for (const [name, value] of Object.entries(given)) {
    settings[name] = value !== null && typeof value === "object" ? { ...settings[name], ...value } : value
  }
  settings.spill_buffer.thresholds = { ...defaults.spill_buffer.thresholds, ...settings.spill_buffer.thresholds }
  return settings
}

/** The bytes that a result of any tool may have without a second look. */
export function leastThreshold({ spill_buffer: { enabled, default_threshold, thresholds } }) {
  return enabled ? Math.min(default_threshold, ...Object.values(thresholds)) : Infinity
}

/** Sets what of the settings has a name in OpenCode's. What a person's settings there say goes before it. */
export function tuneConfig(config, { compaction }) {
  if (!compaction.enabled) return
  config.compaction = {
    preserve_recent_tokens: compaction.keep_recent_tokens,
    reserved: compaction.reserve_tokens,
    ...config.compaction,
  }
}

/**
 * Makes OpenCode compact at the right number of tokens. It has no setting for that, but compacts when a request has
 * as many as the model's limit of input, less what is reserved.
 */
export function tunerOf({ window, compaction: { enabled, trigger_percent, reserve_tokens } }) {
  const own = new WeakMap()
  return (model, reserved) => {
    if (!enabled || !model?.limit?.context) return
    if (!own.has(model)) own.set(model, itsLimit(model.limit))
    const size = window ?? model.limit.context
    const fires = Math.min((size * trigger_percent) / 100, size - reserve_tokens, own.get(model))
    model.limit.input = Math.max(1, Math.floor(fires)) + (reserved ?? reserve_tokens)
  }
}

/** At how many tokens OpenCode compacts by itself. */
function itsLimit({ context, input, output }) {
  const answer = Math.min(output || LONGEST_ANSWER, LONGEST_ANSWER)
  return input ? input - Math.min(ITS_RESERVE, answer) : context - answer
}

/**
 * Shortens large results of tools that the model has seen already, in what is sent: what is stored stays.
 *
 * Which ones is told by the messages alone, so that a result once shortened stays as it is from request to request, in
 * whichever process: whenever enough can be saved, all but the latest results are shortened for good.
 */
export function prune(messages, { window, pruning: { trim_tool_results, protect_recent, ...limits } }) {
  if (!trim_tool_results) return
  const worth = STEP * (window ?? USUAL_WINDOW)
  const results = messages.flatMap((message, index) =>
    message.parts.flatMap((part, place) => (isResult(part) ? [{ index, place, part }] : [])),
  )
  const texts = results.map(({ part }) => prunedText(part.state.output, limits))
  let upto = 0
  let saved = 0
  for (let old = 1; old <= results.length - protect_recent; old++) {
    saved += results[old - 1].part.state.output.length - texts[old - 1].length
    if (saved < worth) continue
    upto = old
    saved = 0
  }
  results.slice(0, upto).forEach(({ index, place, part }, number) => {
    const parts = [...messages[index].parts]
    parts[place] = { ...part, state: { ...part.state, output: texts[number] } }
    messages[index] = { ...messages[index], parts }
  })
}

function isResult({ type, state }) {
  return type === "tool" && state.status === "completed" && typeof state.output === "string" && !state.time?.compacted
}

/** A text as agents in Python have it, too (pannier_agents.pruning). */
function prunedText(text, { soft_trim_chars, hard_clear_threshold }) {
  return text.length > hard_clear_threshold ? cleared(text) : trimmed(text, soft_trim_chars)
}

function trimmed(text, longest) {
  if (text.length <= longest) return text
  const room = longest - cut(text.length).length
  if (room < LEAST_ROOM) return cleared(text)
  const head = Math.floor(room * HEAD_SHARE)
  const tail = text.length - (room - head)
  return text.slice(0, between(text, head)) + cut(text.length - room) + text.slice(between(text, tail, 1))
}

function cleared(text) {
  if (text.length <= LONGEST_NOTE && text.startsWith(CLEARED)) return text
  const file = /^\[Pannier: this result is long.*\]\nfile: (\/.*)$/m.exec(text)?.[1]
  const where = file ? `it is in the file ${file}` : "run the call again"
  const note = `${CLEARED}${counted(text.length)} characters stood here. If you need it, ${where}.]`
  return note.length <= LONGEST_NOTE && note.length * 2 <= text.length ? note : text
}

function cut(count) {
  return `\n[… ${counted(count)} characters were cut here to save room …]\n`
}

function counted(number) {
  return number.toLocaleString("en-US")
}

/** A place that is not within a character of two units. */
function between(text, place, step = -1) {
  const unit = text.charCodeAt(place)
  return unit >= 0xdc00 && unit <= 0xdfff ? place + step : place
}

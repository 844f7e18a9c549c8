/** The log on a terminal: a line of JSON becomes a short line for people. Steps that are under way share one line. */

export interface TerminalLog {
  /** @param line one line of the log, as JSON */
  write(line: string): void
  /** Shows text that is not of the log. */
  print(text: string): void
}

interface Abilities {
  hasColors: boolean
  /** Whether the terminal can replace what is on the last line. */
  canReplaceLines: boolean
}

/** @param show writes to the terminal */
export function openTerminalLog(show: (text: string) => void, { hasColors, canReplaceLines }: Abilities): TerminalLog {
  let isUnderWay = false
  const print = (text: string) => {
    show(isUnderWay ? `\n${text}` : text)
    isUnderWay = false
  }
  return {
    print,
    write(line) {
      const entry = entryOf(line)
      if (REPEATED.test(String(entry?.msg))) return
      const text = entry ? readable(entry, hasColors) : withoutControls(line.trimEnd())
      if (!canReplaceLines || entry?.progress !== true) return print(`${text}\n`)
      show(`${isUnderWay ? '\r\x1b[K' : ''}${text}`)
      isUnderWay = true
    },
  }
}

/** What Fastify logs of its addresses. The last lines of a start say it. */
const REPEATED = /^Server listening at /

type Entry = Record<string, unknown>

function entryOf(line: string): Entry | undefined {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'object' && entry !== null ? (entry as Entry) : undefined
  } catch {
    return undefined
  }
}

/** Levels of pino that a reader should notice, with the codes of their colours. */
const LEVELS = [
  { from: 50, name: 'ERROR', color: 31 },
  { from: 40, name: 'WARN', color: 33 },
] as const

/** Parts of an entry that the line shows in another way, or that all lines have. */
const SHOWN = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err', 'progress'])
const OF_AN_ANSWER = new Set(['method', 'route', 'status', 'ms'])

function readable(entry: Entry, isColored: boolean): string {
  const color = (code: number, text: string) => (isColored && text ? `\x1b[${code}m${text}\x1b[0m` : text)
  const { time, level, err } = entry
  const found = LEVELS.find(({ from }) => Number(level) >= from)
  const answer = answerIn(entry)
  const facts = Object.entries(entry).filter(([name]) => !SHOWN.has(name) && !(answer && (OF_AN_ANSWER.has(name) || name === 'request_id')))
  const parts = [
    color(2, clockTime(time)),
    found ? color(found.color, found.name) : '',
    answer ?? withoutControls(String(entry.msg ?? '')),
    color(2, facts.map(([name, value]) => `${name}=${factText(value)}`).join(' ')),
  ]
  return parts.filter(Boolean).join('  ') + errorText(err)
}

/** `GET /api/task/{task_id} 200 3 ms` for the line of an answer. Its request is named if the answer is a fault. */
function answerIn({ msg, method, route, status, ms, request_id }: Entry): string | undefined {
  if (msg !== 'answered') return undefined
  const path = route === 'none' ? '(no such path)' : route
  const fault = Number(status) >= 500 ? `  request_id=${request_id}` : ''
  return withoutControls(`${method} ${path} ${status}  ${ms} ms${fault}`)
}

/** The local time of the machine, as its user reads it. */
const clockTime = (time: unknown): string => (typeof time === 'number' ? new Date(time).toTimeString().slice(0, 8) : '')

const factText = (value: unknown): string =>
  withoutControls(typeof value === 'string' && /^[^\s="]+$/.test(value) ? value : JSON.stringify(value))

function errorText(err: unknown): string {
  const { stack, message } = (err ?? {}) as { stack?: unknown; message?: unknown }
  const text = stack ?? message
  const lines = text === undefined ? [] : String(text).split('\n')
  return lines.map((line) => `\n    ${withoutControls(line)}`).join('')
}

/** What callers have sent must not move the cursor or change the colours of the terminal. */
const withoutControls = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\u{fffd}')

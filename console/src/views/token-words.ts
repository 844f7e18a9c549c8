/** Date tokens in words (docs/queries.md, Dates). */
import { viewTexts } from '../texts/views/views.ts'

const PLAIN: ReadonlyMap<string, string> = new Map(
  Object.entries({
    now: viewTexts.now,
    today: viewTexts.today,
    yesterday: viewTexts.yesterday,
    tomorrow: viewTexts.tomorrow,
  }),
)
const OFFSET = /^([+-])(\d+)([hdwmy])$/
const TOKEN = /^([a-z_]+?)(?:([+-])(\d+)([hdwmy]))?$/
const EDGE = /^(start|end)_of_(?:(last|next)_)?(day|week|month|quarter|year)$/

/** The token in words; null if the text is none. */
export function tokenWords(text: string): string | null {
  const token = text.trim().toLowerCase()
  const offset = OFFSET.exec(token)
  if (offset) {
    const [, sign, count, unit = ''] = offset
    return sign === '-' ? viewTexts.ago(Number(count), unit) : viewTexts.fromNow(Number(count), unit)
  }
  const [, name = '', sign, count, unit = ''] = TOKEN.exec(token) ?? []
  const words = PLAIN.get(name) ?? edgeWords(name)
  if (words === null || sign === undefined) return words
  return viewTexts.shifted(words, sign, Number(count), unit)
}

function edgeWords(name: string): string | null {
  const [, edge, which = 'this', unit] = EDGE.exec(name) ?? []
  return edge && unit ? viewTexts.edge(edge, which, unit) : null
}

const UNIT = /^(hour|day|week|month|year)s?$/
const COUNT = /^(?:(\d{1,6})|an?|one)\s+(\w+)$/
const EDGE_WORDS =
  /^(?:the )?(start|beginning|end) of (?:(?:the )?(this|last|next|previous) )?(day|week|month|quarter|year|today|yesterday|tomorrow)$/
const DAY_OF: ReadonlyMap<string, string> = new Map([
  ['today', 'day'],
  ['yesterday', 'last_day'],
  ['tomorrow', 'next_day'],
])

/** The token that words such as `7 days ago`, `in 2 weeks` or `the start of this month` stand for; null if they stand for none. */
export function readToken(text: string): string | null {
  const words = text.trim().toLowerCase().replaceAll(/\s+/g, ' ')
  const token = words.replaceAll(' ', '')
  if (tokenWords(token) !== null) return token
  const [, past] = /^(.+) ago$/.exec(words) ?? []
  if (past) return offsetOf('-', past)
  const [, ahead] = /^in (.+)$/.exec(words) ?? /^(.+) from (?:now|today)$/.exec(words) ?? []
  if (ahead) return offsetOf('+', ahead)
  const [, base = words, sign, amount = ''] = /^(.+) (plus|minus) (.+)$/.exec(words) ?? []
  const edge = edgeToken(base)
  if (sign === undefined) return edge
  const offset = offsetOf(sign === 'plus' ? '+' : '-', amount)
  return edge !== null && offset !== null ? `${edge}${offset}` : null
}

function offsetOf(sign: string, amount: string): string | null {
  const [, count = '1', unit = ''] = COUNT.exec(amount) ?? []
  const [, name] = UNIT.exec(unit) ?? []
  return name ? `${sign}${Number(count)}${name[0]}` : null
}

function edgeToken(words: string): string | null {
  if (PLAIN.has(words)) return words
  const [, edge, which, unit = ''] = EDGE_WORDS.exec(words) ?? []
  if (!edge) return null
  const before = which === undefined || which === 'this' ? '' : which === 'next' ? 'next_' : 'last_'
  return `${edge === 'end' ? 'end' : 'start'}_of_${DAY_OF.get(unit) ?? `${before}${unit}`}`
}

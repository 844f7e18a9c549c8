/** Values of JSON as literals of a programming language, as a person would write them in a sample. */

export type Language = 'typescript' | 'python'

/** A piece of code in place of a value. */
export class Code {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const WIDTH = 72

/** @param indent the spaces before the line on which the literal begins */
export function literal(value: unknown, language: Language, indent = 0): string {
  const flat = inOneLine(value, language)
  if (flat.length + indent <= WIDTH || value === null || typeof value !== 'object' || value instanceof Code) return flat
  const inner = indent + (language === 'python' ? 4 : 2)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const parts = Array.isArray(value)
    ? value.map((item) => literal(item, language, inner))
    : Object.entries(value).map(([key, item]) => member(key, item, language, literal(item, language, inner)))
  return `${open}\n${parts.map((part) => `${' '.repeat(inner)}${part},\n`).join('')}${' '.repeat(indent)}${close}`
}

function inOneLine(value: unknown, language: Language): string {
  if (value instanceof Code) return value.text
  if (Array.isArray(value)) return `[${value.map((item) => inOneLine(item, language)).join(', ')}]`
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(([key, item]) => member(key, item, language, inOneLine(item, language)))
    if (!members.length) return '{}'
    return language === 'typescript' ? `{ ${members.join(', ')} }` : `{${members.join(', ')}}`
  }
  if (typeof value === 'string') return language === 'typescript' ? singleQuoted(value) : JSON.stringify(value)
  if (language === 'python') return { true: 'True', false: 'False', null: 'None' }[String(value)] ?? String(value)
  return String(value)
}

function member(key: string, value: unknown, language: Language, text: string): string {
  if (language === 'python') return `${JSON.stringify(key)}: ${text}`
  if (value instanceof Code && value.text === key) return key
  return `${/^[A-Za-z_$][\w$]*$/.test(key) ? key : singleQuoted(key)}: ${text}`
}

const singleQuoted = (text: string) => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

/** A text as one word of a shell. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

import { badInputs, type Issue, MOST_ISSUES } from '../../errors.ts'

/**
 * Refuses NUL, which PostgreSQL cannot store, and unpaired surrogates, anywhere in the value (contract.md §1).
 * @throws AppError 400 naming each place, or for a value that is nested too deep
 */
export function refuseInvalidText(value: unknown): void {
  const issues: Issue[] = []
  walk(value, [], issues)
  if (issues.length) throw badInputs(issues)
}

function walk(value: unknown, path: (string | number)[], issues: Issue[]): void {
  if (typeof value === 'string') return void walkText(value, path, issues)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) step(value[index], index, path, issues)
  } else if (value && typeof value === 'object') {
    for (const key of Object.keys(value)) {
      if (!isStorable(key) && issues.length < MOST_ISSUES)
        issues.push({ path: [...path], message: 'must not have keys with NUL or half a surrogate pair' })
      step((value as Record<string, unknown>)[key], key, path, issues)
    }
  }
}

function walkText(text: string, path: (string | number)[], issues: Issue[]): void {
  if (isStorable(text) || issues.length === MOST_ISSUES) return
  issues.push({ path: [...path], message: `must not contain ${text.includes('\0') ? 'NUL' : 'half a surrogate pair'}` })
}

const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed()

function step(value: unknown, key: string | number, path: (string | number)[], issues: Issue[]): void {
  if (value === null || (typeof value !== 'string' && typeof value !== 'object')) return
  if (path.length > MAX_DEPTH) throw badInputs([{ path: path.slice(0, 1), message: `must not be nested deeper than ${MAX_DEPTH}` }])
  path.push(key)
  walk(value, path, issues)
  path.pop()
}

const MAX_DEPTH = 64

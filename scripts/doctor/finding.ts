/** What the doctor reports, and what its checks get to look at. */
import type { Settings } from '../../src/settings.ts'

export interface Finding {
  /** A stable name, such as `schema.column`. */
  check: string
  /** An error loses data or service now or after the next restart; a warning is a risk. */
  severity: 'error' | 'warning'
  problem: string
  /** What the operator should do. */
  advice: string
  /** Some of the rows, objects or files. */
  examples?: string[]
}

/** The open database, in read-only transactions. */
export interface ExaminedDatabase {
  rows<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
}

export interface Examined {
  settings: Settings
  environment: Record<string, string | undefined>
  database: ExaminedDatabase
  /** Returns the objects that the statements make in an empty database (catalogue.ts), or null without a server to try them on. */
  tryOut: (scripts: string[]) => Promise<string[] | null>
}

/** At most this many examples are named. */
const EXAMPLES = 5

/** A finding about several things, of which the first are named. Returns no finding for an empty list. */
export function findingOf(
  things: readonly string[],
  { problem, ...rest }: Omit<Finding, 'examples' | 'problem'> & { problem: (count: number) => string },
): Finding[] {
  if (!things.length) return []
  return [{ ...rest, problem: problem(things.length), examples: things.slice(0, EXAMPLES) }]
}

/** `1 row`, `2 rows`. */
export const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

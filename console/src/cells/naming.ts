/** Reads texts that name what the service knows, for a whole column with few requests. */
import type { Parsed, Value } from './kind.ts'

export type Found<One> = { one: One } | { problem: string }

/**
 * Reads texts, each of which names one thing or several.
 * @param split the names in a text; none for a text that empties the cell
 * @param find finds what names mean, each name once
 * @param asValue the value of a cell that holds these things
 */
export async function parseNames<One>(
  texts: readonly string[],
  split: (text: string) => readonly string[],
  find: (names: readonly string[]) => Promise<ReadonlyMap<string, Found<One>>>,
  asValue: (things: One[]) => Value,
): Promise<Parsed[]> {
  const named = texts.map(split)
  const found = await find([...new Set(named.flat())])
  return named.map((names) => {
    const things: One[] = []
    for (const name of names) {
      const one = found.get(name)
      if (!one) throw new Error(`Nothing was found out about ${name}`)
      if ('problem' in one) return one
      things.push(one.one)
    }
    return { value: asValue(things) }
  })
}

/** Groups of at most so many. */
export function chunksOf<One>(values: readonly One[], size: number): One[][] {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => values.slice(index * size, (index + 1) * size))
}

/** The beginning of a text, for a message. */
export const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** A second implementation of records/aggregate for tests, in plain JavaScript over the rows that callers read (contract.md §9). */
import { compareKeys, compareText, groupOf, type Person, type Row, sortKey, type World } from './reference.ts'

export interface GroupKey {
  column: string
  type: string
  unit?: string
}
export interface AskedMeasure {
  fn: string
  column?: string
  type?: string
}

/** The results of records/aggregate: the groups in the order of their fields, or by a measure. */
export function aggregateOf(
  rows: Row[],
  by: GroupKey[],
  measures: AskedMeasure[],
  order: { measure: number; dir: string } | undefined,
  world: World,
): { group: unknown[]; values: unknown[] }[] {
  const groups = new Map<string, { group: unknown[]; rows: Row[] }>(by.length ? [] : [['[]', { group: [], rows: [] }]])
  for (const row of rows) {
    for (const group of groupsOfRow(row, by, world)) {
      const key = JSON.stringify(group)
      const found = groups.get(key) ?? { group, rows: [] }
      groups.set(key, found)
      found.rows.push(row)
    }
  }
  const results = [...groups.values()].map((each) => ({
    group: each.group,
    values: measures.map((measure) => measured(each.rows, measure)),
  }))
  return results.sort((a, b) => {
    const [one, other] = [a.values[order?.measure ?? 0], b.values[order?.measure ?? 0]] as (string | number | null)[]
    const byMeasure = order ? compareKeys(one ?? null, other ?? null) * (order.dir === 'D' ? -1 : 1) : 0
    return byMeasure || compareGroups(a.group, b.group, by, world)
  })
}

/** All combinations of the values of a row; an empty list is one empty value. */
function groupsOfRow(row: Row, by: GroupKey[], world: World): unknown[][] {
  let combinations: unknown[][] = [[]]
  for (const { column, type, unit } of by) {
    const cell = row[column]
    const values: unknown[] = Array.isArray(cell) ? (cell.length ? cell : [null]) : [groupOf(cell, type, unit, world)]
    combinations = combinations.flatMap((before) => values.map((value) => [...before, value]))
  }
  return combinations
}

function compareGroups(a: unknown[], b: unknown[], by: GroupKey[], world: World): number {
  for (const [index, { type }] of by.entries()) {
    const [one, other] = [a[index], b[index]]
    const difference =
      one === null || other === null ? Number(other === null) - Number(one === null) : compareValues(one, other, type, world)
    if (difference) return difference
  }
  return 0
}

function compareValues(one: unknown, other: unknown, type: string, world: World): number {
  const single = type.replace('multi_', '')
  const byKey = compareKeys(sortKey(single, one, world), sortKey(single, other, world))
  return byKey || (typeof one === 'string' ? compareText(one, other as string) : idOf(one) - idOf(other))
}

const idOf = (value: unknown) => (value as Person | null)?.id ?? 0

function measured(rows: Row[], { fn, column = '', type = '' }: AskedMeasure): unknown {
  const cells = rows.map((row) => row[column])
  const filled = cells.filter((cell) => cell !== null && !(Array.isArray(cell) && !cell.length))
  if (fn === 'count') return rows.length
  if (fn === 'filled') return filled.length
  if (fn === 'empty') return cells.length - filled.length
  if (fn === 'distinct') return new Set(filled.map((cell) => JSON.stringify(cell))).size
  if (fn === 'checked') return cells.filter((cell) => cell === true).length
  if (!filled.length) return null
  if (type !== 'number') return (filled as string[]).sort(compareText).at(fn === 'min' ? 0 : -1)
  const sorted = (filled as number[]).map((cell) => BigInt(Math.round(cell * 1e8))).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const [count, sum] = [BigInt(sorted.length), sorted.reduce((total, value) => total + value, 0n)]
  const [lower, upper] = [sorted[Math.ceil(sorted.length / 2) - 1] as bigint, sorted[Math.floor(sorted.length / 2)] as bigint]
  const exact: Record<string, bigint | undefined> = {
    sum,
    avg: divided(sum, count),
    median: divided(lower + upper, 2n),
    min: sorted[0],
    max: sorted.at(-1),
  }
  return Number(exact[fn]) / 1e8
}

/** Rounded half away from zero. */
function divided(dividend: bigint, divisor: bigint): bigint {
  const size = dividend < 0n ? -dividend : dividend
  const quotient = (2n * size + divisor) / (2n * divisor)
  return dividend < 0n ? -quotient : quotient
}

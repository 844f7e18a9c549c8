/** The rows of a range, of which some may not be loaded. */

import { messageOf } from '../../session/errors.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { Row } from '../pages/row.ts'
import type { Range } from '../selection/selection.ts'
import { type GridModel, say, storedRow } from './grid-model.ts'

/** The rows that one request reads, and the most that are read for one action. */
const BLOCK = 1_000
export const MOST_ROWS = 50_000

export function loadedRows(grid: GridModel, { top, bottom }: Pick<Range, 'top' | 'bottom'>): Row[] | null {
  const rows: Row[] = []
  for (let index = top; index <= bottom; index++) {
    const row = storedRow(grid, index)
    if (!row) return null
    rows.push(row)
  }
  return rows
}

/** The rows of the range, read from the service if some are missing; null if that fails or they are too many, which is said. */
export async function rowsOf(grid: GridModel, range: Pick<Range, 'top' | 'bottom'>): Promise<Row[] | null> {
  const count = range.bottom - range.top + 1
  const loaded = count <= MOST_ROWS ? loadedRows(grid, range) : null
  if (loaded) return loaded
  if (count > MOST_ROWS) {
    say(grid, gridTexts.tooManyRows(count, MOST_ROWS), true)
    return null
  }
  say(grid, gridTexts.readingRows(count))
  try {
    const rows: Row[] = []
    for (let from = range.top; from <= range.bottom; from += BLOCK) {
      rows.push(...(await grid.source.block(from, Math.min(BLOCK, range.bottom - from + 1))))
    }
    grid.update({ notice: null })
    return rows
  } catch (error) {
    say(grid, messageOf(error), true)
    return null
  }
}

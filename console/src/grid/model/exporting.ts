/** The records of a view as a CSV file. */

import { messageOf } from '../../session/errors.ts'
import { gridTexts } from '../../texts/grid.ts'
import { type GridModel, say } from './grid-model.ts'

export async function exportRecords(grid: GridModel, viewId: number): Promise<void> {
  const { client, tableId } = grid.options
  try {
    say(grid, gridTexts.exporting)
    const { table_id: _, view_id: __, append_filters: ___, ...tried } = grid.source.narrowing
    const answer = await client.exportCsv({ table_id: tableId, ...(viewId > 0 && { view_id: viewId }), conditions: tried })
    const name = /filename="?([^";]+)/.exec(answer.headers.get('content-disposition') ?? '')?.[1] ?? `table-${tableId}.csv`
    const address = URL.createObjectURL(await answer.blob())
    const link = document.createElement('a')
    link.href = address
    link.download = name
    link.click()
    URL.revokeObjectURL(address)
  } catch (error) {
    say(grid, messageOf(error), true)
  }
}

/** The grid of a view. It stays the same when the definition of its table or of the view changes, so that nothing that is seen jumps. */
import { useEffect, useRef, useState } from 'react'
import { type Client, useClient } from '../session/client.ts'
import { messageOf } from '../session/errors.ts'
import { type GridOptions, say } from './model/grid-model.ts'
import { redefine } from './model/redefining.ts'
import { type OpenGrid, openGrid, sourceOf } from './open-grid.ts'
import { createLayoutStore, layoutOfView, type TableData, type View } from './table-data.ts'
import { conditionsOf } from './table-search.ts'

interface Definition {
  data: TableData
  view: View
  openRecord: GridOptions['openRecord']
}

/** @param tried conditions and an order beside those of the view, with which the grid is another one */
export function useGrid(data: TableData, view: View | undefined, tried: string | undefined, openRecord: Definition['openRecord']) {
  const client = useClient()
  const [open, setOpen] = useState<OpenGrid | null>(null)
  const latest = useRef<Definition | null>(null)
  latest.current = view ? { data, view, openRecord } : null
  const shown = useRef<Definition | null>(null)
  const tableId = data.table.id
  const viewId = view?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: the grid of another table is another one.
  useEffect(() => {
    const definition = latest.current
    if (!definition || viewId === undefined) return
    const opened: OpenGrid = openGrid(
      optionsOf(client, definition, (error) => say(opened.grid, messageOf(error), true)),
      viewId,
      conditionsOf(tried === undefined ? {} : { tried }),
    )
    shown.current = definition
    setOpen(opened)
    return () => opened.close()
  }, [client, tableId, viewId, tried])

  useEffect(() => {
    const before = shown.current
    if (!open || !view || !before) return
    if (before.data === data && before.view === view && before.openRecord === openRecord) return
    shown.current = { data, view, openRecord }
    const { grid } = open
    const options = optionsOf(client, shown.current, (error) => say(grid, messageOf(error), true))
    const source = sourceOf(options, view.id, conditionsOf(tried === undefined ? {} : { tried }))
    redefine(grid, options, source, {
      isOther: meaningOf(before) !== meaningOf(shown.current),
      isArranged: before.view !== view || before.data.preferences !== data.preferences || before.data.role !== data.role,
    })
  }, [client, open, data, view, tried, openRecord])
  return open?.grid ?? null
}

/** What decides which records a grid shows, and what they have. */
function meaningOf({ data, view }: Definition): string {
  const { config: _, name: __, version: ___, updated_at: ____, ...conditions } = view as View & Record<string, unknown>
  return JSON.stringify([data.table.fields, conditions, [...data.linked]])
}

function optionsOf(client: Client, { data, view, openRecord }: Definition, failed: (error: unknown) => void): GridOptions {
  const { table, role, me, linked } = data
  return {
    ...{ client, spaceId: table.space_id, tableId: table.id, fields: table.fields, role, openRecord, me },
    linkedField: (name) => linked.get(name),
    place: placeOf(me.timezone),
    layout: layoutOfView(data, view),
    layoutStore: createLayoutStore(client, data, view, failed),
  }
}

/** What is called today changes at midnight. */
const placeOf = (zone: string) => ({
  zone,
  locale: navigator.language,
  get now() {
    return new Date()
  },
})

/** Saving, creating, renaming and deleting views. What the service answers is shown at once; other pages are told by it. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Conditions } from '../../grid/pages/record-source.ts'
import { type TableData, tableDataQuery, type View } from '../../grid/table-data.ts'
import { type Client, useClient } from '../../session/client.ts'
import { errorData } from '../../session/errors.ts'
import { overwritten } from '../parts.ts'
import { addressOf } from '../tried.ts'

export type ViewChanges = Omit<Parameters<Client['views']['update']['mutate']>[0], 'table_id' | 'view_id'>
export type NewView = Omit<Parameters<Client['views']['create']['mutate']>[0], 'table_id'>

/** The view as somebody else has saved it meanwhile. */
export class ChangedMeanwhile extends Error {
  readonly now: View
  constructor(now: View) {
    super('The view has changed since')
    this.now = now
  }
}

export interface ViewActions {
  /**
   * Changes the view as it was shown.
   * @throws ChangedMeanwhile if somebody else has changed the same things
   */
  update(view: View, changes: ViewChanges): Promise<View>
  create(view: NewView): Promise<View>
  remove(view: View): Promise<void>
  /** Opens a view, with what is tried there. */
  open(viewId: number, tried?: Conditions): Promise<void>
  /** Shows the view as it is by now. */
  show(view: View): void
}

const byName = (a: View, b: View) => a.name.toLowerCase().localeCompare(b.name.toLowerCase())

export function useViewActions(tableId: number): ViewActions {
  const client = useClient()
  const queries = useQueryClient()
  const navigate = useNavigate()

  const change = (views: (before: View[]) => View[]) => {
    queries.setQueryData<TableData>(
      tableDataQuery(client, queries, tableId).queryKey,
      (data) => data && { ...data, views: views(data.views) },
    )
    void queries.invalidateQueries({ queryKey: ['views', String(tableId)] })
    void queries.invalidateQueries({ queryKey: ['tables'] })
  }
  const show = (view: View) =>
    change((before) => {
      const others = before
        .filter(({ id }) => id !== view.id)
        // A table has one view that it opens first.
        .map((other) => (view.is_table_default ? { ...other, is_table_default: false } : other))
      const [standard, saved] = [others.filter(({ is_default }) => is_default), others.filter(({ is_default }) => !is_default)]
      return [...standard, ...[...saved, view].toSorted(byName)]
    })

  const send = async (view: View, changes: ViewChanges, version: number): Promise<View> => {
    try {
      return await client.views.update.mutate({ table_id: tableId, view_id: view.id, ...changes }, { context: { ifMatch: version } })
    } catch (error) {
      const now = errorData(error)?.current as View | undefined
      if (!now) throw error
      if (overwritten(view, now, Object.keys(changes))) throw new ChangedMeanwhile(now)
      // Something else of the view has changed, such as the width of a column.
      return send(now, changes, now.version)
    }
  }

  return {
    show,
    async update(view, changes) {
      const updated = await send(view, changes, view.version)
      show(updated)
      return updated
    },
    async create(view) {
      const created = await client.views.create.mutate({ table_id: tableId, ...view })
      show(created)
      return created
    },
    async remove(view) {
      await client.views.delete.mutate({ table_id: tableId, view_id: view.id })
      await navigate({ to: '/table/$tableId', params: { tableId: String(tableId) }, search: {} })
      change((before) => before.filter(({ id }) => id !== view.id))
    },
    async open(viewId, tried = {}) {
      const address = addressOf(tried)
      const params = { tableId: String(tableId), viewId: String(viewId) }
      await navigate({ to: '/table/$tableId/view/$viewId', params, search: address ? { tried: address } : {} })
    },
  }
}

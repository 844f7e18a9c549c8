/** Ctrl+K: goes to tables, views, records of the open table and tasks, and does what the keys of the page do. */
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { type Client, useClient } from '../../session/client.ts'
import { usePlaces } from '../../session/places.ts'
import { appTexts } from '../../texts/app.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { Icon } from '../../ui/icons/icon.tsx'
import { useAllKeys } from '../../ui/keys/keys.ts'
import { ChoiceList } from '../../ui/lists/choice-list.tsx'
import { useSearch } from '../../ui/lists/use-search.ts'
import { type Found, fitting } from './found.ts'
import { usePages } from './pages.ts'
import './palette.css'

interface Props {
  close: () => void
  /** What has no key. */
  actions: readonly { does: string; run: () => void }[]
}

export function Palette({ close, actions }: Props) {
  const [text, setText] = useState('')
  const near = useNear(actions)
  const pages = usePages()
  const { found: far, isBusy } = useFar(text)
  const found = useMemo(() => [...fitting([...near, ...pages], text), ...far], [near, pages, far, text])
  const choose = (id: string) => {
    const chosen = found.find((one) => one.id === id)
    if (!chosen) return
    close()
    // The dialog gives the focus back in the next frame; what is opened takes it after that.
    requestAnimationFrame(() => requestAnimationFrame(() => chosen.run()))
  }
  return (
    <DialogBox title={appTexts.palette} close={close}>
      <div className="palette">
        <ChoiceList
          label={appTexts.paletteField}
          text={text}
          onText={setText}
          options={found.map((one) => ({ id: one.id, content: <Shown found={one} /> }))}
          chosen={NOTHING}
          isMultiple={false}
          isBusy={isBusy}
          empty={isBusy ? appTexts.loading : appTexts.nothingFound}
          onChoose={choose}
          onKey={() => {}}
        />
      </div>
    </DialogBox>
  )
}

const NOTHING: ReadonlySet<string> = new Set()

const Shown = ({ found: { icon, name, beside, kind, keys } }: { found: Found }) => (
  <span className="palette-option">
    <Icon name={icon} />
    <span className="name" dir="auto">
      {name}
    </span>
    <small>{beside ?? appTexts.kinds[kind]}</small>
    {keys && <kbd>{keys}</kbd>}
  </span>
)

/** What the page knows by itself. */
function useNear(actions: Props['actions']): readonly Found[] {
  const client = useClient()
  const navigate = useNavigate()
  const { places } = usePlaces()
  const { tableId } = useParams({ strict: false })
  const pages = useAllKeys()
  const { data: views } = useQuery({
    queryKey: ['views', tableId],
    queryFn: async () => (await client.views.list.query({ table_id: Number(tableId) })).rows,
    enabled: tableId !== undefined,
  })
  return useMemo(() => {
    const tables = places.flatMap((space) => space.tables.map((table) => ({ ...table, space: space.name })))
    const open = (id: number) => () => void navigate({ to: '/table/$tableId', params: { tableId: String(id) } })
    const openView = (id: number) => () =>
      void navigate({ to: '/table/$tableId/view/$viewId', params: { tableId: String(tableId), viewId: String(id) } })
    return [
      ...(views ?? []).map(({ id, name }): Found => ({ id: `view-${id}`, kind: 'view', name, icon: 'list-filter', run: openView(id) })),
      ...tables.map(
        ({ id, name, space }): Found => ({ id: `table-${id}`, kind: 'table', name, beside: space, icon: 'layout-grid', run: open(id) }),
      ),
      ...pages.flatMap(({ page, keys }) =>
        keys.flatMap(({ does, keys: pressed, run }) => (run ? [actionOf(page, does, run, pressed)] : [])),
      ),
      ...actions.map(({ does, run }) => actionOf(appTexts.everywhere, does, run)),
    ]
  }, [places, views, pages, actions, tableId, navigate])
}

const actionOf = (page: string, does: string, run: () => void, keys?: string): Found => ({
  ...{ id: `action-${page}-${does}-${keys}`, kind: 'action', name: does, keys, icon: 'corner-down-right' },
  run,
})

const MOST_RECORDS = 8
const MOST_TASKS = 5

/** What the service finds: records of the open table, and tasks. */
function useFar(text: string) {
  const client = useClient()
  const navigate = useNavigate()
  const { tableId } = useParams({ strict: false })
  return useSearch<Found>(text, async (typed, signal) => {
    const search = typed.trim()
    if (!search) return []
    const [records, tasks] = await Promise.all([
      tableId === undefined ? [] : recordsOf(client, Number(tableId), search, signal),
      client.tasks.list.query({ tab: 'all', search, limit: MOST_TASKS }, { signal, context: { alone: true } }),
    ])
    return [
      ...records.map(
        ({ id, name }): Found => ({
          ...{ id: `record-${id}`, kind: 'record', name, icon: 'file' },
          run: () => void navigate({ to: '/table/$tableId/record/$recordId', params: { tableId: String(tableId), recordId: String(id) } }),
        }),
      ),
      ...tasks.rows.map(
        ({ id, title }): Found => ({
          ...{ id: `task-${id}`, kind: 'task', name: title, icon: 'square-check' },
          run: () => void navigate({ to: '/task/$taskId', params: { taskId: String(id) } }),
        }),
      ),
    ]
  })
}

async function recordsOf(client: Client, tableId: number, search: string, signal: AbortSignal): Promise<{ id: number; name: string }[]> {
  const { fields } = await client.tables.get.query({ table_id: tableId }, { signal })
  const title = fields.find(({ type, calc }) => type === 'text' && !calc)?.id
  const { rows } = await client.records.query.query(
    { table_id: tableId, search, fields: title ? [title] : ['id'], limit: MOST_RECORDS },
    { signal, context: { alone: true } },
  )
  return rows.map((row) => {
    const text = title ? (row as Record<string, unknown>)[title] : undefined
    return { id: row.id, name: typeof text === 'string' && text ? text : `#${row.id}` }
  })
}

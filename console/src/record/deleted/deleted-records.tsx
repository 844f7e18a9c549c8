/** The deleted records of a table, the latest first, with a search; each can be brought back as long as it is kept. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { recordTexts } from '../../texts/record/record.ts'
import { announce } from '../../ui/announcer.ts'
import '../../ui/button.css'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { timeWords } from '../../ui/locale/time-words.ts'
import { TextField } from '../../ui/text-field.tsx'
import { bringBack } from './deleting.ts'
import './deleted.css'

interface Props {
  table: { id: number; name: string }
  mayWrite: boolean
  /** A record was brought back. */
  back(recordId: number): void
  open(recordId: number): void
  close(): void
}

const PAGE = 50

export function DeletedRecords({ table, mayWrite, back, open, close }: Props) {
  const [search, setSearch] = useState('')
  const client = useClient()
  const list = useInfiniteQuery({
    queryKey: ['record', table.id, 'deleted', search.trim()],
    queryFn: ({ pageParam, signal }) =>
      client.records.deleted.query(
        {
          table_id: table.id,
          limit: PAGE,
          ...(search.trim() && { search: search.trim().slice(0, 500) }),
          ...(pageParam && { cursor: pageParam }),
        },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    placeholderData: (before) => before,
    staleTime: 0,
    retry: false,
  })
  const rows = list.data?.pages.flatMap((page) => page.rows) ?? []
  return (
    <DialogBox title={recordTexts.deletedOf(table.name)} close={close}>
      <div className="deleted">
        <TextField type="search" label={recordTexts.searchDeleted} value={search} change={setSearch} />
        {list.error && <p role="alert">{messageOf(list.error)}</p>}
        {list.isSuccess && rows.length === 0 && <output>{search ? recordTexts.noneDeletedFound : recordTexts.noneDeleted}</output>}
        <ul aria-label={recordTexts.deletedOf(table.name)} aria-busy={list.isFetching}>
          {rows.map((row) => (
            <DeletedRow key={row.id} {...{ row, table, mayWrite, back, open }} />
          ))}
        </ul>
        {list.hasNextPage && (
          <button type="button" className="button small" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {recordTexts.moreDeleted}
          </button>
        )}
      </div>
    </DialogBox>
  )
}

type Row = { id: number; title: string | null; deleted_at: string; user_name: string | null; kept_until: string }

function DeletedRow({ row, table, mayWrite, back, open }: Pick<Props, 'table' | 'mayWrite' | 'back' | 'open'> & { row: Row }) {
  const client = useClient()
  const queries = useQueryClient()
  const { timezone } = useMe()
  const [state, setState] = useState<'deleted' | 'busy' | 'back'>('deleted')
  const place = { zone: timezone, locale: navigator.language, now: new Date() }
  const title = row.title || recordTexts.untitled(row.id)
  const restore = async () => {
    setState('busy')
    const isBack = await bringBack(client, queries, { tableId: table.id, recordId: row.id, title })
    setState(isBack ? 'back' : 'deleted')
    if (!isBack) return
    announce(recordTexts.restored(title))
    back(row.id)
  }
  return (
    <li>
      <div>
        <strong dir="auto">{title}</strong>
        <span>{recordTexts.deletedBy(row.user_name, timeWords(row.deleted_at, place))}</span>
        <span>{recordTexts.keptUntil(timeWords(row.kept_until, place))}</span>
      </div>
      {state === 'back' ? (
        <button type="button" className="button small" onClick={() => open(row.id)}>
          {recordTexts.openRestored}
          <span className="visually-hidden"> {title}</span>
        </button>
      ) : (
        mayWrite && (
          <button type="button" className="button small" aria-disabled={state === 'busy'} onClick={() => void restore()}>
            {recordTexts.bringBack}
            <span className="visually-hidden"> {title}</span>
          </button>
        )
      )}
    </li>
  )
}

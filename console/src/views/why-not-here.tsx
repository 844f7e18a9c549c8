/** Says why a view does not show a record. */
import { useQuery } from '@tanstack/react-query'
import type { Place } from '../cells/kind.ts'
import type { Conditions } from '../grid/pages/record-source.ts'
import { type TableData, useTableData, viewOf } from '../grid/table-data.ts'
import { type Client, useClient } from '../session/client.ts'
import { errorData, messageOf } from '../session/errors.ts'
import { whyTexts } from '../texts/views/why.ts'
import { instantShown } from '../ui/locale/date-format.ts'
import { type Failed, type Wanting, whyWords } from './explain/why-words.ts'
import { useWording } from './wording.ts'

export interface Asked {
  tableId: number
  /** Left out: the view that the table opens first. */
  viewId?: number | undefined
  recordId: number
  /** What is tried in the address. */
  tried?: Conditions | undefined
}

/** What is known of the record in the view. */
export type Verdict =
  | { kind: 'shown' }
  | { kind: 'excluded'; failed: Failed | null; by: Wanting }
  | { kind: 'deleted'; title: string | null; by: string | null; at: string; until: string }
  | { kind: 'none' }

/** Asks the service. The view is asked first, so that its conditions and those that are tried are told apart. */
export async function verdictOn(client: Client, { tableId, viewId = 0, recordId, tried = {} }: Asked): Promise<Verdict> {
  const { order: _, replaces, ...conditions } = tried
  const ask = (input: object) => client.records.explain.query({ table_id: tableId, record_id: recordId, ...input })
  const inView = viewId > 0 ? { view_id: viewId } : {}
  try {
    if (!replaces) {
      const { record } = await ask(inView)
      if (record && !record.matches) return { kind: 'excluded', failed: record.failed as Failed | null, by: 'view' }
    }
    if (Object.keys(conditions).length === 0) return { kind: 'shown' }
    const { record } = await ask({ ...(!replaces && viewId > 0 && { ...inView, append_filters: true }), ...conditions })
    return record?.matches === false ? { kind: 'excluded', failed: record.failed as Failed | null, by: 'tried' } : { kind: 'shown' }
  } catch (error) {
    if (errorData(error)?.message !== 'Record not found') throw error
    return (await deletedRecord(client, tableId, recordId)) ?? { kind: 'none' }
  }
}

const PAGE = 200
/** Deleted records are listed by their time, so only the latest are looked through. */
const MOST_PAGES = 10

/** The record among those that can be brought back; null for those who may not see them. */
async function deletedRecord(client: Client, tableId: number, recordId: number): Promise<Verdict | null> {
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    try {
      const { rows, next_cursor } = await client.records.deleted.query({ table_id: tableId, limit: PAGE, ...(cursor && { cursor }) })
      const found = rows.find(({ id }) => id === recordId)
      if (found) return { kind: 'deleted', title: found.title, by: found.user_name, at: found.deleted_at, until: found.kept_until }
      if (next_cursor === undefined) return null
      cursor = next_cursor
    } catch (error) {
      if (errorData(error)?.code === 'FORBIDDEN') return null
      throw error
    }
  }
  return null
}

/** @param tried of the address, beside the view */
export function WhyNotHere(asked: Asked) {
  const { data, error } = useTableData(asked.tableId)
  if (error) return <p className="why">{messageOf(error)}</p>
  return data ? <Why data={data} asked={asked} /> : null
}

function Why({ data, asked }: { data: TableData; asked: Asked }) {
  const { text } = useVerdict(data, asked)
  return text === undefined ? null : <p className="why">{text}</p>
}

/** What is known of the record in the view, and the sentence that says it; undefined until the service has answered. */
export function useVerdict(data: TableData, asked: Asked): { verdict: Verdict | undefined; text: string | undefined } {
  const client = useClient()
  const view = viewOf(data, asked.viewId)
  const { data: verdict, error } = useQuery({
    queryKey: ['record', asked.tableId, asked.recordId, 'why', asked.viewId ?? view?.id, view?.version, asked.tried],
    queryFn: () => verdictOn(client, { ...asked, viewId: asked.viewId ?? view?.id }),
    ...{ staleTime: 0, retry: false },
  })
  const place = { zone: data.me.timezone, locale: navigator.language, now: new Date() }
  const failed = verdict?.kind === 'excluded' ? verdict.failed : null
  const wording = useWording(data, place, failed?.column ? [failed] : [])
  if (error) return { verdict: undefined, text: messageOf(error) }
  return { verdict, text: verdict && verdictWords(verdict, asked, place, (reason, by) => whyWords(reason, wording, by)) }
}

function verdictWords(
  verdict: Verdict,
  { recordId, tried }: Asked,
  place: Place,
  because: (failed: Failed, by: Wanting) => string,
): string {
  const hasTried = tried !== undefined && Object.keys(tried).length > 0
  switch (verdict.kind) {
    case 'shown':
      return hasTried ? whyTexts.matchesTried : whyTexts.matches
    case 'excluded':
      return verdict.failed ? because(verdict.failed, verdict.by) : whyTexts.unknown
    case 'deleted':
      return whyTexts.deleted(recordId, verdict.title, verdict.by, instantShown(verdict.at, place), instantShown(verdict.until, place))
    case 'none':
      return whyTexts.noRecord(recordId)
  }
}

/** Reads all that sending needs, for several emails of an integration in a few statements. */
import type { FieldDef } from '../../fields/definition.ts'
import type { Context } from '../../platform/context.ts'
import type { Row } from '../../records/cells/present.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { slugsIn } from '../composing/field-tokens.ts'
import { threadOfReply } from '../composing/replies.ts'
import { type MailThread, NO_THREAD } from '../composing/threading.ts'
import { type OutboundMail, outboundMails, readRecords, threadsOf } from '../queries.ts'
import type { Failure } from '../smtp/failure.ts'
import { suppressedAmong } from '../suppressions/service.ts'
import type { Lease } from './lease.ts'

/** The record of an email, with the fields that tokens name. */
interface MailRecord {
  fields: readonly FieldDef[]
  row: Row
}

export interface LoadedMail {
  /** Undefined if the comment was deleted. */
  mail: OutboundMail | undefined
  /** The suppressed recipients and the reasons, by address in lower case. */
  suppressed: ReadonlyMap<string, Failure>
  thread: MailThread
  /** Undefined if the record or its table was deleted. It rejects if the table cannot be read at the moment. */
  record(): Promise<MailRecord | undefined>
}

/** Tells the records of emails apart. */
export const recordKey = (mail: OutboundMail | undefined): string | undefined => mail && `${mail.table_id} ${mail.record_id}`

/**
 * Reads the first of the emails, which belong to one integration. Of several emails of a record only the first is read, because the next
 * one refers to it once it is sent.
 * @param busy the keys of records with an email on its way, before whose next email the reading ends; without them at least one is read
 */
export async function loadFirst(
  context: Context,
  leases: readonly [Lease, ...Lease[]],
  busy: ReadonlySet<string | undefined>,
): Promise<Map<number, LoadedMail>> {
  const { db } = context
  const found = [
    ...(await outboundMails(
      db,
      leases.map(({ comment_id }) => comment_id),
    )),
  ]
  const keys = found.map(([, mail]) => recordKey(mail))
  const again = keys.findIndex((key, index) => key !== undefined && (busy.has(key) || keys.indexOf(key) < index))
  const first = again < 0 ? found : found.slice(0, again)
  const mails = first.flatMap(([, mail]) => mail ?? [])
  const addresses = mails.flatMap(({ metadata }) => metadata.recipients.map(({ email }) => email))
  const suppressed = addresses.length ? await suppressedAmong(db, leases[0].account_id, addresses) : new Map()
  const threads = mails.length ? await threadsOf(db, mails) : new Map<number, MailThread>()
  for (const mail of mails) {
    const { replyTo } = mail.request
    const answered = replyTo && (await threadOfReply(db, mail, replyTo))
    if (answered) threads.set(mail.comment_id, answered)
  }
  const recordOf = recordsOf(context, mails)
  return new Map(
    first.map(([id, mail]) => [id, { mail, suppressed, thread: threads.get(id) ?? NO_THREAD, record: async () => mail && recordOf(mail) }]),
  )
}

/** Reads the records of the emails, with one statement for each table. */
function recordsOf(context: Context, mails: readonly OutboundMail[]): (mail: OutboundMail) => Promise<MailRecord | undefined> {
  const tables = new Map(
    [...Map.groupBy(mails, ({ table_id }) => table_id)].map(([id, ofTable]) => {
      const version = ofTable[0]?.table_version ?? null
      const reading = version === null ? Promise.resolve(undefined) : readTable(context, { id, version }, ofTable)
      // If a table cannot be read, only its own emails fail, each when its turn comes and it asks for its record.
      reading.catch(() => {})
      return [id, reading]
    }),
  )
  return async ({ table_id, record_id }) => {
    const table = await tables.get(table_id)
    const row = table?.rows.get(record_id)
    return table && row && { fields: table.fields, row }
  }
}

/** Most mails have no tokens, and need only know that their record exists. */
function readTable(context: Context, table: { id: number; version: number }, mails: readonly OutboundMail[]) {
  const slugs = new Set(mails.flatMap(({ request }) => [...slugsIn(request.subject), ...slugsIn(request.body)]))
  const ids = mails.map(({ record_id }) => record_id)
  return readWithDefinition(context, table, async (definition) => {
    const fields = definition.fields.filter(({ id }) => slugs.has(id))
    return { fields, rows: await readRecords(context.db, { ...definition, fields }, ids) }
  })
}

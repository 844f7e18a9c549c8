/** The account at the end: compares what callers were told with what the database, the storage and the mail server hold. */
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Ledger, sha256 } from './ledger.ts'
import type { Stream } from './stream.ts'
import type { World } from './world.ts'

export interface Account {
  lost: string[]
  doubled: string[]
  orphans: string[]
  invalidIndexes: string[]
  /** What the queue could not bring to an end. */
  unfinished: string[]
  /** How many things were compared, by kind. */
  compared: Record<string, number>
  /** What is allowed and worth knowing. */
  notes: string[]
}

interface Held {
  name: string
  id: number
}

/** @param isSettled whether the queue came to rest before; later jobs are of schedules that go on */
export async function auditOf(world: World, ledger: Ledger, stream: Stream, isSettled: boolean): Promise<Account> {
  const account: Account = { lost: [], doubled: [], orphans: [], invalidIndexes: [], unfinished: [], compared: {}, notes: [] }
  await auditRecords(world, ledger, account)
  await auditHistories(world, account)
  await auditComments(world, ledger, account)
  await auditTasks(world, ledger, account, stream)
  await auditMails(world, ledger, account)
  await auditFiles(world, ledger, account)
  await auditOrphans(world, account)
  await auditLeftWork(world, account, isSettled)
  return account
}

/** Compares one kind of thing. @param expected how many there must be; undefined if none or one is right */
function compare(
  account: Account,
  kind: string,
  names: Iterable<string>,
  held: readonly Held[],
  expected: (name: string) => 0 | 1 | undefined,
): void {
  const counts = new Map<string, number>()
  for (const { name } of held) counts.set(name, (counts.get(name) ?? 0) + 1)
  let compared = 0
  for (const name of names) {
    compared++
    const count = counts.get(name) ?? 0
    const wanted = expected(name)
    if (count > 1) account.doubled.push(`${name} is there ${count} times`)
    else if (wanted === 1 && count === 0) account.lost.push(name)
    else if (wanted === 0 && count === 1) account.orphans.push(`${name} was deleted, and is there`)
  }
  account.compared[kind] = compared
}

async function auditRecords({ query, stage }: World, ledger: Ledger, account: Account): Promise<void> {
  const held = await query<Held>(`select name, id from t${stage.table}.records`)
  compare(account, 'records', ledger.records.keys(), held, (name) => {
    const id = ledger.records.get(name)?.id
    if (id === undefined || (ledger.perhapsDeleted.has(id) && !ledger.deleted.has(id))) return undefined
    return ledger.deleted.has(id) ? 0 : 1
  })
}

/** Each version of a record is that of one entry. */
async function auditHistories({ query, stage }: World, account: Account): Promise<void> {
  const rows = await query<{ id: number; version: number; entries: number[] }>(`
    select r.id, r.version, array(select h.version from t${stage.table}.history h where h.record_id = r.id order by 1) as entries
    from t${stage.table}.records r`)
  for (const { id, version, entries } of rows) {
    const isWhole = entries.length === version && entries.every((entry, index) => entry === index + 1)
    if (!isWhole) account.lost.push(`record ${id} has version ${version}, and its history has ${entries.join()}`)
  }
  account.compared.histories = rows.length
}

/** Whether a thing on a record must exist: not if it was never acknowledged, and not after its record was deleted. */
function expectedOn(ledger: Ledger, { id, recordId = 0 }: { id?: number; recordId?: number } = {}): 0 | 1 | undefined {
  if (ledger.deleted.has(recordId)) return 0
  return id === undefined || ledger.perhapsDeleted.has(recordId) ? undefined : 1
}

async function auditComments({ query, stage }: World, ledger: Ledger, account: Account): Promise<void> {
  const held = await query<Held>(`select content as name, id from record_comments where table_id = ${stage.table} and type = 'comment'`)
  compare(account, 'comments', ledger.comments.keys(), held, (name) => expectedOn(ledger, ledger.comments.get(name)))
}

async function auditTasks(world: World, ledger: Ledger, account: Account, stream: Stream): Promise<void> {
  const held = await world.query<Held & { reminders: number; is_missed: boolean }>(`
    select title as name, id, reminder_missed as is_missed,
      (select count(*)::int from notifications n where n.task_id = k.id and n.event_type = 'TASK_REMINDER') as reminders
    from tasks k where table_id = ${world.stage.table}`)
  compare(account, 'tasks', ledger.tasks.keys(), held, (name) => expectedOn(ledger, ledger.tasks.get(name)))
  for (const { name, reminders, is_missed } of held) {
    if (!is_missed && reminders === 0) account.lost.push(`the reminder of ${name}`)
    if (reminders > 1) account.doubled.push(`the reminder of ${name} was sent ${reminders} times`)
  }
  account.compared.reminders = held.length
  // A task that a process with a clock ahead has created too late for its reminder says so.
  const missed = held.filter(({ is_missed }) => is_missed).length
  if (missed) account.notes.push(`${missed} reminders were marked as missed, because a clock was ahead when their task was created`)
  auditEvents(ledger, account, stream)
}

function auditEvents({ tasks }: Ledger, account: Account, stream: Stream): void {
  const created = [...tasks].flatMap(([name, { id }]) => (id === undefined ? [] : [{ name, count: stream.heard(id) }]))
  for (const { name, count } of created) {
    if (count === 0) account.lost.push(`the event of ${name}`)
    if (count > 1) account.doubled.push(`the event of ${name} was heard ${count} times`)
  }
  account.compared.events = created.length
  if (stream.resets()) account.lost.push(`${stream.resets()} times the stream of events could not be continued`)
}

async function auditMails({ query, stage, sink }: World, ledger: Ledger, account: Account): Promise<void> {
  const rows = await query<{ subject: string; email: string; status: string }>(`
    select metadata->>'subject' as subject, r->>'email' as email, r->>'status' as status
    from record_comments, jsonb_array_elements(metadata->'recipients') r where table_id = ${stage.table} and type = 'email_out'`)
  const held = rows.map(({ subject }) => ({ name: subject, id: 0 }))
  compare(account, 'mails', ledger.mails.keys(), held, (name) => expectedOn(ledger, ledger.mails.get(name)))
  for (const { subject, email, status } of rows) {
    const accepted = sink.accepted(subject, email)
    if (status === 'sent' && accepted === 0) account.lost.push(`${subject} counts as sent, and the server has not accepted it`)
    if (status === 'dropped' && accepted > 0) account.doubled.push(`${subject} counts as dropped, and the server has accepted it`)
    if (status === 'queued') account.unfinished.push(`${subject} is still queued`)
  }
  for (const [subject, { to }] of ledger.mails)
    if (sink.accepted(subject, to) > 1) account.doubled.push(`${subject} was delivered ${sink.accepted(subject, to)} times`)
  const unknown = rows.filter(({ status }) => status === 'unknown').length
  if (unknown)
    account.notes.push(`the outcome of ${unknown} mails is unknown and shown as such: the connection broke while they were handed over`)
  if (sink.repeated()) account.notes.push(`${sink.repeated()} notification letters arrived again with the same Message-ID`)
}

async function auditFiles({ query, storage }: World, ledger: Ledger, account: Account): Promise<void> {
  const stored = new Map(
    readdirSync(storage, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => [name, join(parentPath, name)]),
  )
  const rows = await query<{ path: string; storage_key: string | null; is_held: boolean }>(
    'select path, storage_key, dropped_at is null as is_held from stored_files',
  )
  const known = new Set(rows.flatMap(({ path, storage_key }) => [path, storage_key]))
  for (const name of stored.keys()) if (!known.has(name)) account.orphans.push(`the bytes ${name} have no row`)
  for (const { path, storage_key, is_held } of rows)
    if (is_held && !stored.has(storage_key ?? path)) account.lost.push(`the bytes of ${path}`)
  for (const { path, sha256: wanted } of ledger.files.values()) {
    const place = path && stored.get(path)
    if (place && sha256(await readFile(place)) !== wanted) account.lost.push(`the bytes of ${path} are others`)
  }
  account.compared.files = ledger.files.size
  auditCells(ledger, account, rows)
}

/** An acknowledged file is in the cell of its record, and its row counts as held. */
function auditCells(ledger: Ledger, account: Account, rows: { path: string; is_held: boolean }[]): void {
  const held = new Set(rows.filter(({ is_held }) => is_held).map(({ path }) => path))
  for (const [name, { path, recordId = 0 }] of ledger.files)
    if (path && !ledger.deleted.has(recordId) && !ledger.perhapsDeleted.has(recordId) && !held.has(path)) account.lost.push(name)
}

/** Queries for rows that refer to something that is gone; each selects one text. */
const orphansOn = (table: number): Record<string, string> => ({
  tasks: `select title from tasks k where table_id = ${table} and not exists (select from t${table}.records r where r.id = k.record_id)`,
  comments: `select content from record_comments c where table_id = ${table} and not exists (select from t${table}.records r where r.id = c.record_id)`,
  subscriptions: `select record_id::text from subscriptions s where table_id = ${table} and record_id > 0
    and not exists (select from t${table}.records r where r.id = s.record_id)`,
  'held files': `select path from stored_files f where table_id = ${table} and dropped_at is null
    and not exists (select from t${table}.records r where r.id = f.record_id)
    and not exists (select from deleted_records d where d.table_id = f.table_id and d.record_id = f.record_id)`,
  'deleted records': `select record_id::text from deleted_records d where table_id = ${table}
    and exists (select from t${table}.records r where r.id = d.record_id)`,
  'rows of deleted records': `select source from deleted_rows w where not exists (
    select from deleted_records d where d.table_id = w.table_id and d.record_id = w.record_id)`,
  'task comments': 'select content from task_comments c where not exists (select from tasks k where k.id = c.task_id)',
  'outbound mails':
    'select comment_id::text from outbound_emails o where not exists (select from record_comments c where c.id = o.comment_id)',
  schemas: `select nspname::text from pg_namespace where nspname ~ '^t[0-9]+$' and not exists (select from tables where 't' || id = nspname)`,
  'shadow columns': `select a.attname::text from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname ~ '^t[0-9]+$' and a.attnum > 0 and not a.attisdropped and a.attname ~ '^~'`,
})

async function auditOrphans({ query, stage }: World, account: Account): Promise<void> {
  for (const [kind, text] of Object.entries(orphansOn(stage.table))) {
    const rows = await query(text)
    for (const row of rows) account.orphans.push(`${kind}: ${Object.values(row)[0]}`)
  }
  const [total] = await query<{ total: string | null; actual: string }>(`
    select (select sum(change) from record_tallies where table_id = ${stage.large} having bool_or(is_base)) as total,
      (select count(*) from t${stage.large}.records) as actual`)
  if (total?.total && total.total !== total.actual)
    account.lost.push(`the count of records is ${total.total}, and there are ${total.actual}`)
}

/** Jobs that ended in the queue for failures, conversions that did not end, and indexes that are of no use. */
async function auditLeftWork({ query }: World, account: Account, isSettled: boolean): Promise<void> {
  for (const { name, count } of await query<{ name: string; count: number }>(DEAD))
    account.unfinished.push(`${count} jobs of ${name} failed for good`)
  const left = isSettled ? [] : await query<{ name: string; count: number }>(LEFT)
  for (const { name, count } of left) account.unfinished.push(`${count} jobs of ${name} are left`)
  for (const { id } of await query<{ id: number }>(CONVERTING)) account.unfinished.push(`conversion ${id} has not ended`)
  for (const { id } of await query<{ id: number }>(CHANGING)) account.unfinished.push(`the change of many records ${id} has not ended`)
  for (const { name } of await query<{ name: string }>(INVALID)) account.invalidIndexes.push(name)
}

const DEAD = `select name, count(*)::int from pgboss.job where state = 'failed' group by 1`
const LEFT = `select name, count(*)::int from pgboss.job where state in ('created', 'retry', 'active') and name <> 'dead-letters'
  and (start_after <= now() or state in ('retry', 'active')) group by 1`
const CONVERTING = `select id from field_conversions where state in ('queued', 'running')`
const CHANGING = `select id from bulk_changes where state = 'running'`
const INVALID = `select indexrelid::regclass::text as name from pg_index where not indisvalid`

/** How much is still to be done; 0 when everything has settled. */
export async function leftToDo({ query, stage }: World): Promise<number> {
  const [left] = await query<{ count: number }>(`select (
    (select count(*) from tasks where table_id = ${stage.table} and reminder_at is not null and reminder_sent_at is null and not reminder_missed and status = 'open')
    + (select count(*) from record_comments where type = 'email_out' and metadata->>'status' = 'queued')
    + (select count(*) from (${LEFT}) l where l.name not like '\\_\\_pgboss%')
    + (select count(*) from (${CONVERTING}) c) + (select count(*) from (${CHANGING}) b) + (select count(*) from (${INVALID}) i))::int as count`)
  return left?.count ?? 0
}

/** The work of callers while things break: each notes what it was told in the ledger. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from './caller.ts'
import { type Ledger, sha256 } from './ledger.ts'
import type { Stage } from './stage.ts'

/** The load deletes one record in this number, with everything that belongs to it. */
const DELETED_SHARE = 4
const DELETED_AT_ONCE = 10
const CHANGED_AT_ONCE = 10
const MINUTE_MS = 60_000
/** Each caller rests this long between two requests. */
const PAUSE_MS = 20

export interface Load {
  /** Ends after the requests that are under way were acknowledged. */
  stop(): Promise<void>
}

type Deed = (caller: Caller, stage: Stage, ledger: Ledger) => Promise<void>

export function startLoad(caller: Caller, stage: Stage, ledger: Ledger, { callers }: { callers: number }): Load {
  let isOver = false
  const work = async () => {
    while (!isOver) {
      await pick(DEEDS)(caller, stage, ledger)
      await sleep(PAUSE_MS)
    }
  }
  const working = Promise.all(Array.from({ length: callers }, work))
  return {
    async stop() {
      isOver = true
      await working
    },
  }
}

let counter = 0
const nameOf = (kind: string) => `${kind} ${++counter}-${randomBytes(3).toString('hex')}`
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item

const createRecord: Deed = async (caller, { table }, ledger) => {
  const name = nameOf('record')
  ledger.records.set(name, {})
  const reply = await caller.insist(`/api/table/${table}/records/create`, { data: { name, amount: counter } })
  if (reply) ledger.records.set(name, { id: reply.body.id })
}

/** Without an Idempotency-Key a caller cannot repeat the request. If it was acknowledged, the record exists. */
const createOnce: Deed = async (caller, { table }, ledger) => {
  const name = nameOf('once')
  ledger.records.set(name, {})
  const { status, body } = await caller.send(`/api/table/${table}/records/create`, { data: { name } })
  if (status === 200) ledger.records.set(name, { id: body.id })
}

const deleteRecords: Deed = async (caller, { table }, ledger) => {
  const ids = ledger
    .liveRecords()
    .filter((id) => id % DELETED_SHARE === 0)
    .slice(0, DELETED_AT_ONCE)
  if (ids.length < DELETED_AT_ONCE) return
  for (const id of ids) ledger.perhapsDeleted.add(id)
  const reply = await caller.insist(`/api/table/${table}/records/delete_batch`, { record_ids: ids })
  if (reply) for (const id of ids) ledger.deleted.add(id)
}

/** Deletes records, and restores them one by one or by taking the deletion back. What is not acknowledged may be deleted in the end. */
const deleteAndRestore: Deed = async (caller, { table }, ledger) => {
  const ids = ledger
    .liveRecords()
    .filter((id) => id % DELETED_SHARE === 1)
    .slice(0, DELETED_AT_ONCE)
  if (!ids.length) return
  for (const id of ids) ledger.perhapsDeleted.add(id)
  const changeId = await pick([deletedBatch, deletedWhere])(caller, table, ledger, ids)
  if (!changeId) return
  const isUndo = pick([true, false])
  const isBack = isUndo && (await caller.insist(`/api/table/${table}/change/${changeId}/undo`, {})) !== null
  for (const id of ids) if (isBack || (!isUndo && (await isRestored(caller, table, id)))) ledger.perhapsDeleted.delete(id)
}

/** @returns the id of the change; undefined if it was not acknowledged */
type Deletion = (caller: Caller, table: number, ledger: Ledger, ids: readonly number[]) => Promise<number | undefined>

const deletedBatch: Deletion = async (caller, table, _, ids) =>
  (await caller.insist(`/api/table/${table}/records/delete_batch`, { record_ids: ids }))?.body.change_id

const deletedWhere: Deletion = async (caller, table, ledger, ids) => {
  const names = [...ledger.records].flatMap(([name, { id }]) => (ids.includes(id ?? 0) ? [name] : []))
  const where = { filter: { column: 'name', compare: '=', value: names }, expect: ids.length }
  const { status, body } = await caller.send(`/api/table/${table}/records/delete_where`, where)
  return status === 200 ? body.change_id : undefined
}

/** A repetition whose first answer was lost is told that the record is not deleted. */
async function isRestored(caller: Caller, table: number, id: number): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { status } = await caller.send(`/api/table/${table}/record/${id}/restore`, {})
    if (status === 200 || status === 409) return true
    await sleep(PAUSE_MS * 10)
  }
  return false
}

const createTask: Deed = async (caller, { table }, ledger) => {
  const recordId = pick(ledger.liveRecords())
  if (recordId === undefined) return
  const title = nameOf('task')
  // The next full minute that is at least half a minute away.
  const dueAt = Math.ceil((Date.now() + MINUTE_MS / 2) / MINUTE_MS) * MINUTE_MS
  const [date = '', time = ''] = new Date(dueAt).toISOString().split('T')
  const due = { due_date: date, due_time: time.slice(0, 5), reminder_offset_mins: 0 }
  ledger.tasks.set(title, { recordId, dueAt })
  const reply = await caller.insist(`/api/tasks/onRecord/${table}/${recordId}/create`, { title, ...due })
  if (reply) ledger.tasks.set(title, { id: reply.body.id, recordId, dueAt })
}

const createComment: Deed = async (caller, { table }, ledger) => {
  const recordId = pick(ledger.liveRecords())
  if (recordId === undefined) return
  const content = nameOf('comment')
  ledger.comments.set(content, { recordId })
  const reply = await caller.insist(`/api/table/${table}/record/${recordId}/comments/create`, { content })
  if (reply) ledger.comments.set(content, { id: reply.body.id, recordId })
}

const sendMail: Deed = async (caller, { table, smtp }, ledger) => {
  const recordId = pick(ledger.liveRecords())
  if (recordId === undefined) return
  const subject = nameOf('mail')
  const to = `${subject.replace(' ', '-')}@customer.example`
  ledger.mails.set(subject, { recordId, to })
  const reply = await caller.insist('/api/email/send', {
    tableId: table,
    recordId,
    smtpIntegrationId: smtp,
    fromIdentity: { name: 'Chaos', email: 'chaos@example.com' },
    to: [to],
    subject,
    body: '<p>Hello</p>',
  })
  if (reply) ledger.mails.set(subject, { id: reply.body.id, recordId, to })
}

const uploadFile: Deed = async (caller, { table }, ledger) => {
  const recordId = pick(ledger.liveRecords())
  if (recordId === undefined) return
  const name = `${nameOf('file').replace(' ', '-')}.bin`
  const bytes = randomBytes(20_000)
  const entry = { recordId, sha256: sha256(bytes) }
  ledger.files.set(name, entry)
  const upload = { field_id: 'files', name, type: 'application/octet-stream', data: bytes.toString('base64') }
  const reply = await caller.insist(`/api/table/${table}/record/${recordId}/files/create`, upload)
  const stored = reply?.body.find((file: { name: string }) => file.name === name)
  if (stored) ledger.files.set(name, { ...entry, path: stored.path })
}

/** Changes the newest records, and takes the change back. */
const changeAndUndo: Deed = async (caller, { table }, ledger) => {
  const ids = ledger.liveRecords().slice(-CHANGED_AT_ONCE)
  if (!ids.length) return
  const records = ids.map((id) => ({ id, data: { amount: ++counter } }))
  const reply = await caller.insist(`/api/table/${table}/records/update_batch?envelope=true`, { records })
  if (reply?.body.change_id) await caller.insist(`/api/table/${table}/change/${reply.body.change_id}/undo`, {})
}

/** Changes a tenth of the large table by a job, and cancels it or takes it back. */
const changeMany: Deed = async (caller, { large }) => {
  const path = `/api/table/${large}/records/update_where`
  const change = { filter: { column: 'amount', compare: '<', value: 100 }, data: { due: pick(['2026-05-01', '2026-05-02']) } }
  const counted = await caller.send(path, { ...change, dry_run: true })
  if (counted.status !== 200) return
  const { status, body } = await caller.send(path, { ...change, expect: counted.body.matched })
  if (status !== 200 || !body.job_id) return
  await caller.send(pick([`/api/job/${body.job_id}/cancel`, `/api/table/${large}/change/${body.change_id}/undo`]), {})
}

/** Deletes a part of the large table by a job, and takes that back by another once it has ended. */
const deleteMany: Deed = async (caller, { large }) => {
  const path = `/api/table/${large}/records/delete_where`
  const where = { filter: { column: 'amount', compare: '>=', value: 900 } }
  const counted = await caller.send(path, { ...where, dry_run: true })
  if (counted.status !== 200) return
  const { status, body } = await caller.send(path, { ...where, expect: counted.body.matched })
  if (status !== 200 || !body.job_id) return
  const isRunning = async () => (await caller.send(`/api/job/${body.job_id}`)).body.state === 'running'
  for (let waits = 0; waits < 20 && (await isRunning()); waits++) await sleep(1_000)
  await caller.send(`/api/table/${large}/change/${body.change_id}/undo`, {})
}

/** Each new view makes the service build an index, and drop it when the view is gone. */
const changeViews: Deed = async (caller, { large }) => {
  const view = { name: nameOf('view'), type: 'grid', order_by: pick(['name', 'amount', 'due']), order_dir: pick(['A', 'D']) }
  const reply = await caller.insist(`/api/table/${large}/views/create`, view)
  await sleep(1_000)
  if (reply) await caller.insist(`/api/table/${large}/view/${reply.body.id}/delete`, {})
}

/** A conversion and the way back: its job fills a shadow column and swaps it. */
const convertField: Deed = async (caller, { large }) => {
  const { status, body } = await caller.send(`/api/table/${large}/get`)
  const stage = status === 200 && body.fields.find(({ id }: { id: string }) => id === 'stage')
  if (!stage) return
  const target = stage.type === 'text' ? { type: 'select', drop_failing: true } : { type: 'text' }
  await caller.send(`/api/table/${large}/field/stage/changeType`, { ...target, force: true })
}

const query: Deed = async (caller, { table }) => {
  await caller.send(`/api/table/${table}/records/query`, { search: 'record', limit: 20 })
}

/** Each as often as it is listed. */
const DEEDS: readonly Deed[] = [
  ...Array<Deed>(6).fill(createRecord),
  ...Array<Deed>(3).fill(createOnce),
  ...Array<Deed>(4).fill(createTask),
  ...Array<Deed>(3).fill(createComment),
  ...Array<Deed>(3).fill(sendMail),
  ...Array<Deed>(2).fill(uploadFile),
  ...Array<Deed>(2).fill(query),
  deleteRecords,
  deleteAndRestore,
  deleteAndRestore,
  changeAndUndo,
  changeMany,
  deleteMany,
  changeViews,
  convertField,
]

/**
 * Every operation that changes a record leaves an entry of its history and an event for live tables: each is called once, and the records
 * before and after are compared.
 * Nothing else writes records but what contract.md §10 names: the jobs of changed types and of removed options, which run later, deleted
 * fields, which leave the versions of records as they are, and what goes with a table or a space, which is purged days later.
 */
import { describe, expect, test } from 'vitest'
import { historyOf, recordsOf, sql } from '../src/platform/database/database.ts'
import { apiDocument } from '../src/router.ts'
import { type Answer, type Caller, type TestAccount, testApp } from './support/app.ts'
import { callerFor, callRest, callRpc, type Ids, idsFor, idsOf, inputOf, operations } from './support/operations.ts'

const app = await testApp()

type Known = Record<string, Ids>
interface Place {
  account: TestAccount
  known: Known
  /** The path of the record, and its id. */
  record: string
  id: number
}

const data = { company: 'Changed' }
const every = { filter: { all: [] }, expect: 1 }

async function uploaded({ account, record }: Place): Promise<{ field_id: string; path: string }> {
  const upload = { field_id: 'documents', name: 'a.txt', data: 'YQ==' }
  const { body } = await app.as(account.owner).post(`${record}/files/create`, upload)
  return { field_id: upload.field_id, path: body[0].path }
}

async function dropped(place: Place): Promise<{ path: string }> {
  const file = await uploaded(place)
  await app.as(place.account.owner).post(`${place.record}/files/delete`, file)
  return { path: file.path }
}

async function deleted({ account, record }: Place): Promise<object> {
  await app.as(account.owner).post(`${record}/delete`)
  return {}
}

/** What each operation that changes records is given, so that it changes one. */
const INPUTS: Record<string, (place: Place) => object> = {
  'records.create': () => ({ data }),
  'records.update': () => ({ data }),
  'records.delete': () => ({}),
  'records.restore': deleted,
  'records.undo': () => ({}),
  'records.createBatch': () => ({ records: [{ data }, { data }] }),
  'records.updateBatch': ({ id }) => ({ records: [{ id, data }] }),
  'records.updateWhere': () => ({ ...every, data }),
  'records.deleteWhere': () => every,
  'records.deleteBatch': ({ id }) => ({ record_ids: [id] }),
  'files.create': () => ({ field_id: 'documents', name: 'a.txt', data: 'YQ==' }),
  'files.delete': uploaded,
  'files.restore': dropped,
}

async function placed(): Promise<Place> {
  const account = await app.account()
  const known = await idsOf(app, account)
  const { table_id, record_id } = known.shared ?? {}
  return { account, known, record: `/api/table/${table_id}/record/${record_id}`, id: Number(record_id) }
}

interface Changed {
  table: number
  record: number
  /** The version of its entry: that which the record has now, or the next one if it is gone. */
  version: number
}

/** The versions of all records of the account, by table and record. */
async function versionsOf({ id }: TestAccount): Promise<Map<string, number>> {
  const tables = await app.db.read<{ id: number }>(sql`select id from tables where account_id = ${id} order by id`)
  const versions = new Map<string, number>()
  for (const table of tables) {
    const records = await app.db.read<{ id: number; version: number }>(sql`select id, version from ${recordsOf(table.id)}`)
    for (const record of records) versions.set(`${table.id} ${record.id}`, record.version)
  }
  return versions
}

function changedBetween(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): Changed[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [table = 0, record = 0] = key.split(' ').map(Number)
    const [old = 0, now] = [before.get(key), after.get(key)]
    return old === now ? [] : { table, record, version: now ?? old + 1 }
  })
}

/** The changes that have entries for all these records. */
async function changesWith(changed: readonly Changed[]): Promise<Set<number>> {
  const found = new Set<number>()
  for (const { table, record, version } of changed) {
    const entries = await app.db.read<{ change_id: number }>(sql`
      select h.change_id from ${historyOf(table)} h
      where (h.record_id = ${record} and h.version = ${version}) or (h.record_id = 0 and ${version}::int = 1 and h.record_ids @> ${record}::int)`)
    expect(entries, `record ${record} of table ${table} in version ${version}`).toHaveLength(1)
    for (const { change_id } of entries) found.add(change_id)
  }
  return found
}

/** The number of records that the events of the change are about. */
async function toldOf({ id }: TestAccount, change: number): Promise<number> {
  const [row] = await app.db.read<{ records: number }>(sql`
    select coalesce(sum(coalesce(count, 1)), 0)::int as records from events where account_id = ${id} and change_id = ${change}`)
  return row?.records ?? 0
}

/** Calls, and compares the records. @returns the records that have been changed, which all have entries of the change that is answered */
async function enteredBy({ account }: Place, call: () => Promise<Answer>): Promise<Changed[]> {
  const before = await versionsOf(account)
  const { status, headers, body } = await call()
  const changed = changedBetween(before, await versionsOf(account))
  if (!changed.length) return []
  expect(status, JSON.stringify(body)).toBe(200)
  const change = Number(headers.get('x-change-id'))
  expect(await changesWith(changed)).toEqual(new Set([change]))
  expect(await toldOf(account, change), `the records that the event of change ${change} is about`).toBe(changed.length)
  return changed
}

describe('every operation that changes records enters them into their history', () => {
  const mutations = operations.filter(({ type }) => type === 'mutation').map((operation) => [operation.name, operation] as const)
  test.each(mutations)('%s', async (name, operation) => {
    const input = INPUTS[name]
    const isKnown = operation.meta.changesRecords === true
    if (isKnown) expect(input, `${name} needs an input in INPUTS`).toBeDefined()
    for (const call of isKnown ? [callRest, callRpc] : [callRest]) {
      const place = await placed()
      const { account, known } = place
      const given = { ...(input ? await input(place) : inputOf(operation, account, known)) }
      const caller: Caller = isKnown ? account.owner : callerFor(operation, account)
      const changed = await enteredBy(place, () => call(app.as(caller), operation, idsFor(operation, known), given))
      expect(changed.length > 0, `${name} by ${call.name} has changed ${JSON.stringify(changed)}`).toBe(isKnown)
    }
  })

  test('and so does an import', async () => {
    const place = await placed()
    const { table_id } = place.known.shared ?? {}
    const sent = { method: 'POST', body: 'company\na\nb\n', headers: { 'content-type': 'text/csv' } }
    expect(await enteredBy(place, () => app.as(place.account.owner).send(`/api/table/${table_id}/import`, sent))).toHaveLength(2)
  })

  test('and no other path of the document takes anything that may change records', async () => {
    const names = new Set(operations.map(({ name }) => name))
    const { paths } = (await apiDocument()) as { paths: Record<string, Record<string, { operationId: string }>> }
    const others = Object.values(paths).flatMap((methods) =>
      Object.entries(methods).flatMap(([method, { operationId: id }]) => (method === 'post' && !names.has(id) ? id : [])),
    )
    // The new table of an import gets its records from the job of an import.
    expect(others.sort()).toEqual(['csv.import', 'csv.importTable', 'email.receive', 'notifications.unsubscribe'])
  })
})

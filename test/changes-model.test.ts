/**
 * Compares random writes, batches, deletions, restores and undos of several callers with a model that remembers every change (contract.md §10): the answers, the
 * records and their histories. On failure the seed is printed.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { historyOf, recordsOf, sql } from '../src/platform/database/database.ts'
import { type Answer, type Caller, type TestAccount, testApp } from './support/app.ts'
import { makeTable, type TestTable } from './support/tables.ts'

const SEED = 20261129
const SEQUENCES = 6
const STEPS = 80

const app = await testApp()

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Amount', type: 'number', decimals: 2 },
  { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
  { name: 'Tags', type: 'multi_select', options: ['Big', 'Old'] },
  { name: 'Due', type: 'date' },
  { name: 'Secret', type: 'text', admin_only: true },
]
const VALUES: Record<string, readonly unknown[]> = {
  name: ['a', 'b', null],
  amount: [1, '1.00', 2.5, null],
  stage: ['Lead', 'Won', null],
  tags: [['Big'], ['Old', 'Big'], []],
  due: ['2024-02-29', null],
  secret: ['x', null],
}

type Data = Record<string, unknown>
interface ModelRecord {
  version: number
  data: Data
}
/** What a change has done to a record. */
interface Entry {
  version: number
  changes: Record<string, { from: unknown; to: unknown }>
}
interface ModelChange {
  id: number
  kind: 'create' | 'update' | 'delete' | 'restore' | 'undo'
  by: Who
  entries: Map<number, Entry>
  undoes: number | null
}

const PEOPLE = ['member', 'admin', 'key'] as const
type Who = (typeof PEOPLE)[number]

/** What the service should do, in plain JavaScript. */
class Model {
  readonly records = new Map<number, ModelRecord>()
  /** The deleted records, with the change that has deleted each. */
  readonly gone = new Map<number, ModelRecord & { by: number }>()
  readonly changes: ModelChange[] = []

  add(id: number | null, kind: ModelChange['kind'], by: Who, entries: Map<number, Entry>, undoes: number | null = null): void {
    expect(id === null).toBe(entries.size === 0)
    if (id === null) return
    expect(id).toBeGreaterThan(this.changes.at(-1)?.id ?? 0)
    this.changes.push({ id, kind, by, entries, undoes })
    if (kind !== 'delete') return
    for (const recordId of entries.keys()) {
      const gone = this.gone.get(recordId)
      if (gone) gone.by = id
    }
  }

  /** @returns the entry of the deletion */
  remove(id: number): Entry {
    const record = this.records.get(id) as ModelRecord
    this.gone.set(id, { ...record, by: 0 })
    this.records.delete(id)
    return { version: record.version + 1, changes: {} }
  }

  /** @returns the entry of the restore */
  restore(id: number): Entry {
    const { by: _, ...record } = this.gone.get(id) as ModelRecord & { by: number }
    this.gone.delete(id)
    this.records.set(id, { ...record, version: record.version + 2 })
    return { version: record.version + 2, changes: {} }
  }

  /** Writes the data, and returns the fields that became different; undefined if none did. */
  write(id: number, data: Data): Entry | undefined {
    const record = this.records.get(id) as ModelRecord
    const changes: Entry['changes'] = {}
    for (const [field, value] of Object.entries(data)) {
      const to = shown(field, value)
      if (JSON.stringify(to) !== JSON.stringify(record.data[field])) changes[field] = { from: record.data[field], to }
    }
    if (!Object.keys(changes).length) return undefined
    for (const [field, { to }] of Object.entries(changes)) record.data[field] = to
    record.version++
    return { version: record.version, changes }
  }

  /** Takes a change back. @returns what that has done, and what it has left */
  takeBack({ id: changeId, kind, entries: of }: ModelChange, who: Who): { skips: object[]; entries: Map<number, Entry> } {
    const skips: object[] = []
    const entries = new Map<number, Entry>()
    for (const [id, entry] of [...of].sort(([a], [b]) => a - b)) {
      const record = this.records.get(id)
      if (this.gone.get(id)?.by === changeId) entries.set(id, this.restore(id))
      else if (!record) skips.push({ record_id: id, field: null, reason: 'deleted' })
      else if (kind === 'update' || kind === 'undo') {
        const back = this.write(id, this.earlier(id, entry, who, skips))
        if (back) entries.set(id, back)
      } else if (kind === 'delete' || record.version !== entry.version) skips.push({ record_id: id, field: null, reason: 'changed since' })
      else entries.set(id, this.remove(id))
    }
    return { skips, entries }
  }

  /** The values before the change of the fields that still have those after it. */
  earlier(id: number, { changes }: Entry, who: Who, skips: object[]): Data {
    const back: Data = {}
    for (const [field, { from, to }] of Object.entries(changes)) {
      const isSame = JSON.stringify(this.records.get(id)?.data[field]) === JSON.stringify(to)
      if (field === 'secret' && who === 'member') skips.push({ record_id: id, field, reason: 'no right' })
      else if (isSame) back[field] = from
      else skips.push({ record_id: id, field, reason: 'changed since' })
    }
    return back
  }

  isUndone = ({ id }: ModelChange): boolean => this.changes.some((change) => change.undoes === id && !this.isUndone(change))
}

const shown = (field: string, value: unknown) => (field === 'amount' && typeof value === 'string' ? Number(value) : value)
const EMPTY = Object.fromEntries(Object.keys(VALUES).map((id) => [id, id === 'tags' ? [] : null]))

const choice = fc.nat({ max: 1_000_000 })
const data = (fields: readonly string[]) =>
  fc
    .dictionary(fc.constantFrom(...fields), choice)
    .map((picks) =>
      Object.fromEntries(Object.entries(picks).map(([field, pick]) => [field, VALUES[field]?.[pick % (VALUES[field]?.length ?? 1)]])),
    )
const OPEN = Object.keys(VALUES).filter((id) => id !== 'secret')
const someData = fc.oneof({ weight: 3, arbitrary: data(OPEN) }, { weight: 1, arbitrary: data(Object.keys(VALUES)) })
const step = fc.record({
  act: fc.constantFrom(
    ...['create', 'create_batch', 'update', 'update', 'update_batch', 'update_batch', 'update_where'],
    ...['delete', 'delete_batch', 'delete_where', 'restore', 'restore', ...Array(9).fill('undo')],
  ),
  who: fc.constantFrom(...PEOPLE),
  overRpc: fc.boolean(),
  picks: fc.array(choice, { minLength: 1, maxLength: 4 }),
  values: fc.array(someData, { minLength: 4, maxLength: 4 }),
  stale: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
})
type Step = (typeof step)['generate'] extends (...args: never) => { value: infer S } ? S : never

test.each(Array.from({ length: SEQUENCES }, (_, index) => SEED + index))(
  'random changes with the seed %i agree with the model',
  async (seed) => {
    const account = await app.account()
    const table = await makeTable(app, account, { fields: FIELDS })
    const run = new Run(account, table)
    for (const each of fc.sample(step, { seed, numRuns: STEPS })) await run.step(each)
    await run.compareRecords()
    await run.compareHistories()
    expect(run.undone).toBeGreaterThan(0)
  },
)

class Run {
  readonly model = new Model()
  readonly table: TestTable
  readonly callers: Record<Who, Caller>
  undone = 0

  constructor({ member, admin, keys }: TestAccount, table: TestTable) {
    this.table = table
    this.callers = { member, admin, key: keys.account }
  }

  async step(step: Step): Promise<void> {
    const alive = [...this.model.records.keys()]
    const ids = [...new Set(step.picks.map((pick) => alive[pick % alive.length]))].filter((id) => id !== undefined)
    const [id] = ids
    const { act, who, overRpc, picks, values } = step
    if (act === 'undo') return this.undo(picks[0] ?? 0, who, overRpc)
    if (act === 'restore') return this.restore(picks[0] ?? 0, who, overRpc)
    if (act === 'create' || act === 'create_batch' || id === undefined)
      return this.create(values.slice(0, picks.length), who, act === 'create')
    if (act === 'delete') return this.remove(id, who, overRpc)
    if (act === 'delete_batch') return this.removeBatch(ids, who, overRpc)
    if (act === 'delete_where') return this.removeWhere(picks[0] ?? 0, who, overRpc)
    if (act === 'update_where') return this.updateWhere(picks[0] ?? 0, step)
    return act === 'update' ? this.update(id, step) : this.updateBatch(ids, step)
  }

  async update(id: number, { who, overRpc, values: [written = {}] }: Step): Promise<void> {
    const { model } = this
    const path = `record/${id}/update`
    const answer = await this.send(overRpc ? ['records.update', { record_id: id, data: written }] : [path, { data: written }], who, overRpc)
    if (isRefused(who, [written])) return void expect(answer.status).toBe(403)
    const entry = model.write(id, written)
    expect(answer.body).toMatchObject(this.shape(id))
    model.add(answer.body.change_id, 'update', who, new Map(entry ? [[id, entry]] : []))
  }

  async updateBatch(ids: readonly number[], { who, overRpc, values, stale }: Step): Promise<void> {
    const { model } = this
    const records = ids.map((id, index) => ({
      id,
      data: values[index] ?? {},
      ...(index % 2 && { version: (model.records.get(id)?.version ?? 0) - (stale ? 1 : 0) }),
    }))
    const answer = await this.send([overRpc ? 'records.updateBatch' : 'records/update_batch', { records }], who, overRpc)
    if (isRefused(who, values.slice(0, ids.length))) return void expect(answer.status).toBe(403)
    const outdated = stale ? ids.filter((_, index) => index % 2) : []
    if (outdated.length) {
      expect(answer.status).toBe(409)
      return expect(answer.body.stale).toMatchObject(
        outdated.map((id) => ({ id, version: model.records.get(id)?.version, current: this.shape(id) })),
      )
    }
    const entries = new Map<number, Entry>()
    for (const { id, data: written } of records) {
      const entry = model.write(id, written)
      if (entry) entries.set(id, entry)
    }
    expect(rowsOf(answer)).toMatchObject(ids.map((id) => this.shape(id)))
    model.add(changeIdOf(answer), 'update', who, entries)
  }

  shape = (id: number) => ({ id, ...this.model.records.get(id) })

  async create(values: readonly Data[], who: Who, isSingle: boolean): Promise<void> {
    const records = (isSingle ? values.slice(0, 1) : values).map((each) => ({ data: each }))
    const answer = await this.send(isSingle ? ['records/create', records[0]] : ['records/create_batch', { records }], who, false)
    if (
      isRefused(
        who,
        records.map((each) => each.data),
      )
    )
      return void expect(answer.status).toBe(403)
    const rows = isSingle ? [answer.body] : rowsOf(answer)
    const entries = new Map<number, Entry>()
    for (const [index, { id }] of rows.entries()) {
      const written = Object.entries(records[index]?.data ?? {}).map(([field, value]) => [field, shown(field, value)])
      this.model.records.set(id, { version: 1, data: { ...EMPTY, ...Object.fromEntries(written) } })
      entries.set(id, { version: 1, changes: {} })
    }
    expect(rows).toMatchObject(rows.map(({ id }: { id: number }) => this.shape(id)))
    this.model.add(changeIdOf(answer), 'create', who, entries)
  }

  async remove(id: number, who: Who, overRpc: boolean): Promise<void> {
    const answer = await this.send(overRpc ? ['records.delete', { record_id: id }] : [`record/${id}/delete`, undefined], who, overRpc)
    this.model.add(answer.body.change_id, 'delete', who, new Map([[id, this.model.remove(id)]]))
  }

  /** Ids that are not there are no error. */
  async removeBatch(ids: readonly number[], who: Who, overRpc: boolean): Promise<void> {
    const record_ids = [...ids, ...[...this.model.gone.keys()].slice(0, 2)]
    const answer = await this.send([overRpc ? 'records.deleteBatch' : 'records/delete_batch', { record_ids }], who, overRpc)
    expect(answer.body.deleted).toBe(ids.length)
    this.model.add(answer.body.change_id, 'delete', who, new Map(ids.map((id) => [id, this.model.remove(id)])))
  }

  /** The records that have one of the names, and a condition that says so. */
  named(pick: number) {
    const name = VALUES.name?.[pick % 3]
    const where = { name: name === null ? ['is_empty', ''] : name }
    const ids = [...this.model.records].filter(([, record]) => record.data.name === name).map(([id]) => id)
    return { ids, where, expect: ids.length }
  }

  async removeWhere(pick: number, who: Who, overRpc: boolean): Promise<void> {
    const { ids, ...asked } = this.named(pick)
    const answer = await this.send([overRpc ? 'records.deleteWhere' : 'records/delete_where', asked], who, overRpc)
    expect(answer.body).toMatchObject({ matched: ids.length, changed: ids.length })
    this.model.add(answer.body.change_id, 'delete', who, new Map(ids.map((id) => [id, this.model.remove(id)])))
  }

  async updateWhere(pick: number, { who, overRpc, values: [written = {}] }: Step): Promise<void> {
    const { ids, ...asked } = this.named(pick)
    const answer = await this.send([overRpc ? 'records.updateWhere' : 'records/update_where', { ...asked, data: written }], who, overRpc)
    if (!Object.keys(written).length) return void expect(answer.status).toBe(400)
    if (isRefused(who, [written])) return void expect(answer.status).toBe(403)
    const entries = new Map<number, Entry>()
    for (const id of ids) {
      const entry = this.model.write(id, written)
      if (entry) entries.set(id, entry)
    }
    expect(answer.body).toMatchObject({ matched: ids.length, changed: entries.size })
    this.model.add(answer.body.change_id, 'update', who, entries)
  }

  async restore(pick: number, who: Who, overRpc: boolean): Promise<void> {
    const { model } = this
    const ids = [...model.gone.keys(), ...[...model.records.keys()].slice(0, 1)]
    const id = ids[pick % ids.length]
    if (id === undefined) return
    const answer = await this.send(overRpc ? ['records.restore', { record_id: id }] : [`record/${id}/restore`, undefined], who, overRpc)
    if (model.records.has(id)) return void expect(answer.status).toBe(409)
    const entry = model.restore(id)
    expect(answer.body).toMatchObject(this.shape(id))
    model.add(answer.body.change_id, 'restore', who, new Map([[id, entry]]))
  }

  async undo(pick: number, who: Who, overRpc: boolean): Promise<void> {
    const { model } = this
    const change = model.changes[model.changes.length - 1 - (pick % Math.min(model.changes.length, 12))]
    if (!change) return
    const answer = await this.send(
      overRpc ? ['records.undo', { change_id: change.id }] : [`change/${change.id}/undo`, undefined],
      who,
      overRpc,
    )
    if (who === 'member' && change.by !== 'member') return void expect(answer.status).toBe(403)
    if (model.isUndone(change)) return expect(answer.body).toEqual({ undone: 0, skipped: 0, skips: [], change_id: null })
    const { skips, entries } = model.takeBack(change, who)
    const { undone, skipped, change_id } = answer.body
    expect({ undone, skipped }, JSON.stringify(answer.body)).toEqual({ undone: entries.size, skipped: skips.length })
    expect(sorted(answer.body.skips)).toEqual(sorted(skips))
    model.add(change_id, UNDONE_AS[change.kind], who, entries, change.id)
    this.undone += entries.size
  }

  async send([path, body]: [path: string, body: unknown], who: Who, overRpc: boolean): Promise<Answer> {
    const as = app.as(this.callers[who])
    if (!overRpc) return as.post(`${this.table.path}/${path}`, body)
    const answer = await as.post(`/trpc/${path}`, { table_id: this.table.id, ...(body as object) })
    const { result, error } = answer.body
    return { ...answer, body: error ? error.data : result.data }
  }

  async compareRecords(): Promise<void> {
    const { body } = await app.as(this.callers.admin).post(`${this.table.path}/records/query`, { limit: 1_000, include: ['version'] })
    const expected = [...this.model.records].map(([id, { version, data: values }]) => ({ id, _version: version, ...values }))
    expect(body).toMatchObject(expected.sort((a, b) => a.id - b.id))
    expect(body).toHaveLength(expected.length)
    const deleted = (await app.as(this.callers.admin).get(`${this.table.path}/records/deleted?limit=200`)).body
    const gone = [...this.model.gone].map(([id, { by, data: values }]) => ({ id, change_id: by, title: values.name }))
    expect(deleted.sort((a: { id: number }, b: { id: number }) => a.id - b.id)).toMatchObject(gone.sort((a, b) => a.id - b.id))
    expect(deleted).toHaveLength(gone.length)
  }

  /** The entries of each record follow one another without a gap, and have what the model remembers. */
  async compareHistories(): Promise<void> {
    const entries = await app.db.read<{
      record_id: number
      version: number
      change_id: number
      kind: string
      undoes: number
      records: number
    }>(
      sql`select h.record_id, h.version, h.change_id, h.kind, h.undoes, h.records from ${historyOf(this.table.id)} h order by h.change_id, h.record_id`,
    )
    expect(entries).toEqual(
      this.model.changes.flatMap(({ id, kind, undoes, entries: of }) =>
        [...of]
          .sort(([a], [b]) => a - b)
          .map(([record_id, { version }]) => ({ record_id, version, change_id: id, kind, undoes, records: of.size })),
      ),
    )
    const byRecord = Map.groupBy(entries, ({ record_id }) => record_id)
    for (const of of byRecord.values()) expect(of.map(({ version }) => version)).toEqual(of.map((_, index) => index + 1))
    const live = await app.db.read<{ id: number; version: number }>(sql`select r.id, r.version from ${recordsOf(this.table.id)} r`)
    for (const { id, version } of live) expect(byRecord.get(id)?.at(-1)?.version).toBe(version)
  }
}

/** The kind of the entries that take back a change. */
const UNDONE_AS = { create: 'delete', restore: 'delete', delete: 'restore', update: 'undo', undo: 'undo' } as const

const isRefused = (who: Who, written: readonly Data[]) => who === 'member' && written.some((each) => 'secret' in each)
const rowsOf = ({ body }: Answer) => (Array.isArray(body) ? body : body.rows)
const changeIdOf = ({ headers }: Answer) => (headers.has('x-change-id') ? Number(headers.get('x-change-id')) : null)
const sorted = (skips: readonly object[]) => skips.map((skip) => JSON.stringify(Object.entries(skip).sort())).sort()

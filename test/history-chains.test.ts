/** The history of records that many write at once: each entry begins where the one before it has ended (contract.md §10, History). */
import { expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { historyOf as entriesOf, sql } from '../src/platform/database/database.ts'
import { type Answer, type As, type TestAccount, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { everyType, makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()

interface Entry {
  change_id: number
  version: number
  user_id: number
  kind: string
  records: number
  changes?: { field: string; from: unknown; to: unknown }[]
}

/** The whole history of a record, oldest first, walked in small pages. */
async function historyOf(as: As, record: string): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer: Answer = await as.get(`${record}/history?limit=20&cursor=${cursor}`)
    expect(answer.status).toBe(200)
    entries.push(...answer.body)
    cursor = answer.headers.get('x-next-cursor')
  }
  return entries.reverse()
}

/** Plays the entries one after the other, which must fit together. @returns the values at the end */
function played(entries: readonly Entry[], first: Record<string, unknown>): Record<string, unknown> {
  const values = { ...first }
  for (const [index, { version, changes = [] }] of entries.entries()) {
    expect(version).toBe(index + 1)
    if (index) expect(changes, `version ${version}`).not.toEqual([])
    for (const { field, from, to } of changes) {
      expect([version, field, from]).toEqual([version, field, values[field]])
      expect(to).not.toEqual(from)
      values[field] = to
    }
  }
  return values
}

/** Values for the fields of a table with every type; some are those that a record already has. */
function valuesFor({ member, viewer }: TestAccount, { target }: { target: number }): Record<string, readonly unknown[]> {
  return {
    text: ['a', 'B "quoted"', null],
    long_text: ['one\ntwo', 'Ünïcode 🙂', null],
    number: [1.5, '123456789012345.12', 0, null],
    checkbox: [true, false, null],
    date: ['2024-02-29', '2026-03-31', null],
    datetime: ['2026-03-31 09:30:00', null],
    time: ['09:30', '23:59:59', null],
    select: ['Open', 'Done', null],
    multi_select: [['Open'], ['Done', 'Open'], []],
    user: [member.id, viewer.id, null],
    multi_user: [[member.id, viewer.id], [viewer.id], []],
    lookup: [target, null],
    multi_lookup: [[target], []],
  }
}

/** The same pseudo-random numbers in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

type Made = TestTable & { target: number }

/** A random update of the records, in one of the ways that there are. @param changes those until now @returns the change, if there is one */
async function writeOnce(
  as: As,
  account: TestAccount,
  table: Made,
  changes: ReadonlySet<number>,
  next: (below: number) => number,
): Promise<number | null> {
  const all = Object.entries(valuesFor(account, table))
  const chosen = Array.from({ length: 1 + next(3) }, () => all[next(all.length)] as (typeof all)[number])
  const data = Object.fromEntries(chosen.map(([field, values]) => [field, values[next(values.length)]]))
  const [id = 0, other = 0] = next(2) ? table.records : table.records.toReversed()
  const changeOf = ({ status, body, headers }: Answer): number | null => {
    // A member may not undo what others have done.
    expect([200, 403, 404, 409]).toContain(status)
    const header = headers.get('x-change-id')
    if (status === 200 && body.change_id !== undefined) expect(header).toBe(body.change_id === null ? null : String(body.change_id))
    return status === 200 && header !== null ? Number(header) : null
  }
  switch (next(9)) {
    case 0:
      return changeOf(await as.post(`${table.path}/records/update_batch`, { records: [id, other].map((one) => ({ id: one, data })) }))
    case 1:
      return (await as.rpc.records.update.mutate({ table_id: table.id, record_id: id, data })).change_id
    case 2: {
      const version = (await as.get(`${table.path}/record/${id}/get`)).body.version
      return changeOf(await as.post(`${table.path}/record/${id}/update`, { data }, { 'if-match': `"${version}"` }))
    }
    case 3: {
      const upload = { field_id: 'file', name: 'a.txt', type: 'text/plain', data: 'aGVsbG8=' }
      return changeOf(await as.post(`${table.path}/record/${id}/files/create`, upload))
    }
    case 4: {
      const both = { filters: [{ column: 'id', compare: '>', value: 0 }], data }
      return changeOf(await as.post(`${table.path}/records/update_where`, { ...both, expect: 2 }))
    }
    case 6: {
      const known = [...changes]
      const change = known[next(known.length)]
      return change === undefined ? null : changeOf(await as.post(`${table.path}/change/${change}/undo`))
    }
    case 5: {
      const { path } = (await as.get(`${table.path}/record/${id}/get`)).body.data.file[next(3)] ?? {}
      return path ? changeOf(await as.post(`${table.path}/record/${id}/files/delete`, { field_id: 'file', path })) : null
    }
    default:
      return changeOf(await as.post(`${table.path}/record/${id}/update`, { data }))
  }
}

test('of two records that six callers write at once, every version is there, and each begins where the last has ended', async () => {
  const account = await app.account()
  const { owner, admin, member, viewer, outsider, keys } = account
  const table: Made = await everyType(app, account)
  const made = await app.as(owner).post(`${table.path}/records/create_batch`, { records: [{ data: {} }, { data: { text: 'b' } }] })
  const ids: number[] = made.body.map(({ id }: { id: number }) => id)
  table.records = ids
  const firsts: Record<string, unknown>[] = made.body.map(({ data }: { data: Record<string, unknown> }) => data)
  const callers = [owner, admin, member, keys.account, keys.personal, member]
  const changes = new Set<number>()
  await Promise.all(
    callers.map(async (caller, index) => {
      const next = numbers(index + 1)
      for (let count = 0; count < 25; count++) {
        const change = await writeOnce(app.as(caller), account, table, changes, next)
        if (change === null) continue
        expect(changes).not.toContain(change)
        changes.add(change)
      }
    }),
  )
  // Nobody else leaves an entry.
  const refused: [Parameters<typeof app.as>[0], number][] = [
    [viewer, 403],
    [keys.accountReadOnly, 403],
    [keys.personalViewer, 403],
    [outsider, 404],
    [keys.accountOutsider, 404],
    [null, 401],
  ]
  for (const [caller, status] of refused)
    for (const path of [`record/${ids[0]}/update`, 'records/update_batch', 'records/create', `record/${ids[0]}/delete`]) {
      const body = { data: { text: 'x' }, records: [{ id: ids[0], data: { text: 'x' } }] }
      const answer = await app.as(caller).post(`${table.path}/${path}`, path.endsWith('delete') ? {} : body)
      expect([path, answer.status]).toEqual([path, status])
    }

  const seen = new Set<number>()
  for (const [index, id] of ids.entries()) {
    const record = `${table.path}/record/${id}`
    const entries = await historyOf(app.as(viewer), record)
    const { data, version } = (await app.as(viewer).get(`${record}/get`)).body
    expect(entries.length).toBe(version)
    expect(entries[0]).toMatchObject({ kind: 'create', version: 1, user_id: owner.id, records: 2 })
    expect(played(entries, firsts[index] ?? {})).toEqual(data)
    for (const { change_id, kind, records, user_id } of entries.slice(1)) {
      expect([['update', 'undo'].includes(kind), records <= 2, [owner.id, admin.id, member.id].includes(user_id)]).toEqual([
        true,
        true,
        true,
      ])
      seen.add(change_id)
    }
  }
  expect([...seen].sort()).toEqual([...changes].sort())
})

test('calls of one RPC batch are changes of their own, and those that fail leave none', async () => {
  const account = await app.account()
  const table = await everyType(app, account)
  const call = (text: unknown, index: number) => [String(index), { table_id: table.id, data: { text } }]
  const inputs = Object.fromEntries(['a', 'b', 7, 'c'].map(call))
  const path = `/trpc/${Array(4).fill('records.create').join()}?batch=1`
  const send = (key?: string) => app.as(account.keys.account).post(path, inputs, key === undefined ? {} : { 'idempotency-key': key })
  const first = await send('k1,,,k4')
  const results = first.body as { result?: { data: { id: number; change_id: number } }; error?: object }[]
  const made = results.flatMap(({ result }) => result?.data ?? [])
  expect([first.status, results.map(({ error }) => error !== undefined)]).toEqual([207, [false, false, true, false]])
  expect(new Set(made.map(({ change_id }) => change_id)).size).toBe(3)
  for (const { id, change_id } of made) {
    const entries = await historyOf(app.as(account.viewer), `${table.path}/record/${id}`)
    expect(entries).toMatchObject([{ change_id, version: 1, kind: 'create', records: 1 }])
  }
  // The first and the last call are repeated, the one between them is made again.
  const again = (await send('k1,,,k4')).body as typeof results
  const ids = again.flatMap(({ result }) => result?.data.id ?? [])
  expect([ids[0], ids[2]]).toEqual([made[0]?.id, made[2]?.id])
  expect(again.flatMap(({ result }) => result?.data.change_id ?? [])).toEqual([made[0]?.change_id, expect.any(Number), made[2]?.change_id])
})

test('values are shown as they were, whatever has become of their field, options and links', async () => {
  const account = await app.account()
  const { owner, viewer, member } = account
  const as = app.as(owner)
  const ok = async (path: string, body: object = {}) => {
    const answer = await as.post(path, body)
    expect([path, answer.status, answer.body.message]).toEqual([path, 200, undefined])
    return answer.body
  }
  const companies = await makeTable(app, account, { records: [{ name: 'Acme' }, { name: 'Bolt' }] })
  const [acme = 0, bolt = 0] = companies.records
  const table = await makeTable(app, account, {
    fields: [
      { name: 'Size', type: 'text' },
      { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
      { name: 'Company', type: 'lookup', table: companies.id },
      { name: 'Owner', type: 'user' },
      { name: 'Note', type: 'text' },
    ],
  })
  const { id } = await ok(`${table.path}/records/create`, { data: { size: '7', note: 'x', stage: 'Lead' } })
  const update = (data: object) => ok(`${table.path}/record/${id}/update`, { data })
  await update({ size: '12', stage: 'Won', company: acme, owner: member.id, note: 'y' })
  const { job_id } = await ok(`${table.path}/field/size/changeType`, { type: 'number' })
  await runConversion(systemContext(app.deps), job_id)
  await update({ size: 13.5 })
  const [lead, won] = ((await as.get(`${table.path}/get`)).body.fields as { id: string; options?: unknown[] }[]).find(
    (field) => field.id === 'stage',
  )?.options as [string, string]
  expect([lead, won]).toEqual(['Lead', 'Won'])
  await ok(`${table.path}/field/stage/update`, { remove_options: ['Lead'], add_options: ['Lost'], force: true })
  await ok(`${companies.path}/record/${acme}/update`, { data: { name: 'Acme & Sons' } })
  await update({ company: bolt, stage: 'Lost' })
  await ok(`${companies.path}/record/${bolt}/delete`)
  await ok(`${companies.path}/record/${acme}/delete`)
  await ok(`${table.path}/field/note/delete`)
  await ok(`${table.path}/fields/create`, { id: 'note', name: 'Remark', type: 'checkbox' })
  await ok(`${table.path}/field/size/update`, { name: 'Employees' })
  await update({ note: true })

  const entries = (await app.as(viewer).get(`${table.path}/record/${id}/history`)).body as Entry[]
  const person = { id: member.id, email: member.email, name: member.name }
  expect(entries.map(({ changes }) => changes)).toEqual([
    [{ field: 'note', name: 'Remark', from: false, to: true }],
    [
      { field: 'stage', name: 'Stage', from: 'Won', to: 'Lost' },
      { field: 'company', name: 'Company', from: { id: acme, title: 'Acme & Sons' }, to: { id: bolt, title: 'Bolt' } },
    ],
    [{ field: 'size', name: 'Employees', from: 12, to: 13.5 }],
    [
      { field: 'size', name: 'Employees', from: '7', to: '12' },
      { field: 'stage', name: 'Stage', from: 'Lead', to: 'Won' },
      { field: 'company', name: 'Company', from: null, to: { id: acme, title: 'Acme' } },
      { field: 'owner', name: 'Owner', from: null, to: person },
      { field: 'note', name: 'Remark', from: 'x', to: 'y' },
    ],
    undefined,
  ])
})

test('records of an import begin with it, and one entry stands for all of them', async () => {
  const account = await app.account()
  const { owner, member, viewer, keys } = account
  const table = await makeTable(app, account, { fields: [{ name: 'Name', type: 'text' }] })
  const csv = (names: readonly string[]) => ({
    method: 'POST',
    body: `name\n${names.join('\n')}\n`,
    headers: { 'content-type': 'text/csv' },
  })
  const other = await makeTable(app, account)
  const names = Array.from({ length: 1_500 }, (_, index) => `n${index}`)
  // Others create records meanwhile, whose ids lie between those of the import.
  const creating = Array.from({ length: 4 }, async () => {
    const made: Answer[] = []
    for (let count = 0; count < 5; count++)
      made.push(await app.as(owner).post(`${table.path}/records/create`, { data: { name: 'beside' } }))
    return made
  })
  const [first, second, ...others] = await Promise.all([
    app.as(member).send(`${other.path}/import`, csv(names)),
    app.as(keys.account).send(`${table.path}/import`, csv(names.map((name) => `k${name}`))),
    ...creating,
  ])
  const beside = others.flat()
  const changes = [first.body.change_id, second.body.change_id]
  expect([first.status, second.status, new Set(changes).size]).toEqual([200, 200, 2])
  const rows = (
    await app
      .as(viewer)
      .post(`${table.path}/records/query`, { limit: 1_000, filters: [{ column: 'name', compare: 'starts_with', value: 'kn' }] })
  ).body as { id: number }[]
  for (const { id } of [rows[0], rows[499], rows[999]] as { id: number }[]) {
    await app.as(member).post(`${table.path}/record/${id}/update`, { data: { name: 'changed' } })
    const entries = await historyOf(app.as(viewer), `${table.path}/record/${id}`)
    expect(entries).toMatchObject([
      { change_id: changes[1], version: 1, kind: 'create', records: 1_500, user_id: owner.id, user_name: 'API: Test key' },
      { version: 2, kind: 'update', user_id: member.id, changes: [{ field: 'name', to: 'changed' }] },
    ])
    expect(entries[0]).not.toHaveProperty('changes')
  }
  for (const { body } of beside)
    expect(await historyOf(app.as(viewer), `${table.path}/record/${body.id}`)).toMatchObject([{ change_id: body.change_id, records: 1 }])
})

test('of records that are deleted while others change them, each version is there once, and the deletion is the last', async () => {
  const account = await app.account()
  const { owner, member, keys, viewer } = account
  const table = await makeTable(app, account, { records: Array.from({ length: 30 }, (_, index) => ({ name: `r${index}` })) })
  const update = (name: string) => (id: number) => app.as(member).post(`${table.path}/record/${id}/update`, { data: { name } })
  const remove = (id: number) => app.as(owner).post(`${table.path}/record/${id}/delete`)
  const removeTwo = (id: number, index: number) =>
    app.as(keys.account).post(`${table.path}/records/delete_batch`, { record_ids: [id, table.records[(index + 2) % 30]] })
  // Each goes through the records one after the other, all at the same time.
  await Promise.all(
    [update('a'), update('b'), update('c'), remove, removeTwo].map(async (write) => {
      for (const [index, id] of table.records.entries()) {
        const { status, body } = await write(id, index)
        expect([200, 404], JSON.stringify(body)).toContain(status)
      }
    }),
  )
  for (const id of table.records) expect((await app.as(viewer).get(`${table.path}/record/${id}/history`)).status).toBe(404)
  const entries = await app.db.read<{ record_id: number; version: number; kind: string; from: string; to: string }>(sql`
    select record_id, version, kind, changes->'name'->>'from' as "from", changes->'name'->>'to' as "to"
    from ${entriesOf(table.id)} order by record_id, version`)
  for (const [id, of] of Map.groupBy(entries, ({ record_id }) => record_id)) {
    expect([id, of.map(({ version }) => version)]).toEqual([id, of.map((_, index) => index + 1)])
    expect([of[0]?.kind, of.at(-1)?.kind]).toEqual(['create', 'delete'])
    let name = `r${table.records.indexOf(id)}`
    for (const { kind, from, to } of of.slice(1, -1)) {
      expect([kind, from]).toEqual(['update', name])
      name = to
    }
  }
})

/** One letter may have two spellings in Unicode. What is written in one is found and met in the other. */
import { describe, expect, test } from 'vitest'
import { examine } from '../scripts/doctor/doctor.ts'
import { systemContext } from '../src/platform/context.ts'
import { ident, raw, recordsOf, sql } from '../src/platform/database/database.ts'
import { normalizeAll } from '../src/tables/cells/normal-texts.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable, makeView, type TestTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)
const nfd = (text: string) => text.normalize('NFD')

const importCsv = (table: number, body: string) =>
  as.send(`/api/table/${table}/import`, { method: 'POST', body, headers: { 'content-type': 'text/csv' } })
const query = async (table: TestTable, body: object) => (await as.post(`${table.path}/records/query`, body)).body
const idsOf = async (table: TestTable, body: object): Promise<number[]> => (await query(table, body)).map(({ id }: { id: number }) => id)

describe('a text on the way in', () => {
  test.each(['text', 'long_text', 'email', 'url', 'phone'])('is composed in a field of type %s, from every road', async (type) => {
    const fields = [{ name: 'Cell', type }]
    const table = await makeTable(app, account, { fields, records: [{ cell: nfd('Crème brûlée') }] })
    const created = await as.post(`${table.path}/records/create`, { data: { cell: nfd('Ångström') } })
    expect(created.body.data.cell).toBe('Ångström')
    const rpc = await as.rpc.records.create.mutate({ table_id: table.id, data: { cell: nfd('한글') } })
    expect(rpc.data.cell).toBe('한글')
    const updated = await as.post(`${table.path}/record/${rpc.id}/update`, { data: { cell: nfd('がぎ') } })
    expect(updated.body.data.cell).toBe('がぎ')
    expect((await importCsv(table.id, nfd('cell\nprénom\n'))).body).toEqual({ created: 1, change_id: expect.any(Number) })
    expect((await query(table, {})).map(({ cell }: { cell: string }) => cell)).toEqual(['Crème brûlée', 'Ångström', 'がぎ', 'prénom'])
  })

  test('counts its characters in the form in which it is stored', async () => {
    const table = await makeTable(app, account)
    const long = 'é'.repeat(500)
    expect((await as.post(`${table.path}/records/create`, { data: { name: nfd(long) } })).body.title).toBe(long)
    expect((await as.post(`${table.path}/records/create`, { data: { name: nfd(`${long}é`) } })).status).toBe(400)
  })

  test('is composed in names, titles of options, tasks and comments', async () => {
    const name = nfd('Prénom')
    const table = await as.post(`/api/space/${account.space}/tables/create`, {
      name: nfd('Élèves'),
      fields: [
        { name, type: 'text' },
        { name: 'Ville', type: 'select', options: [nfd('Orléans'), 'Paris'] },
      ],
    })
    expect([table.body.name, table.body.fields[1].name, table.body.fields[2].options]).toEqual(['Élèves', 'Prénom', ['Orléans', 'Paris']])
    const view = await makeView(app, account, table.body.id, {
      name: nfd('Été'),
      filters: [{ column: 'ville', compare: '=', value: nfd('Orléans') }],
    })
    expect([view.name, view.filters]).toEqual(['Été', [{ column: 'ville', compare: '=', value: 'Orléans', connector: 'AND' }]])
    const record = await as.post(`/api/table/${table.body.id}/records/create`, { data: {} })
    const task = { title: nfd('Dîner'), details: nfd('Crème'), external_id: nfd('né-1') }
    const made = await as.post(`/api/tasks/onRecord/${table.body.id}/${record.body.id}/create`, task)
    expect(made.body).toMatchObject({ title: 'Dîner', details: 'Crème', external_id: 'né-1' })
    const again = await as.post(`/api/tasks/onRecord/${table.body.id}/${record.body.id}/create`, {
      ...task,
      external_id: 'né-1',
      upsert: true,
    })
    expect(again.body.id).toBe(made.body.id)
    const found = await as.get(`/api/tasks/onRecord/${table.body.id}/${record.body.id}/list`)
    expect(found.body).toHaveLength(1)
    const comment = await as.post(`/api/table/${table.body.id}/record/${record.body.id}/comments/create`, { content: nfd('Très bien') })
    expect(comment.body.content).toBe('Très bien')
  })

  test('is the same name or option in both spellings', async () => {
    const { path, id } = await makeTable(app, account, { fields: [{ name: 'Prénom', type: 'text' }] })
    const options = ['Café', nfd('Café')]
    const twice = await as.post(`${path}/fields/create`, { name: 'Two', type: 'select', options })
    expect([twice.status, twice.body.issues]).toEqual([400, [{ path: ['options'], message: '"Café" is listed twice' }]])
    expect((await as.post(`${path}/fields/create`, { name: nfd('PRÉNOM'), type: 'text' })).status).toBe(409)
    await as.post(`${path}/fields/create`, { name: 'Place', type: 'select', options: ['Café', 'Bar'] })
    const updated = await as.post(`${path}/field/place/update`, { add_options: [nfd('Café'), nfd('Thé')], remove_options: ['Bar'] })
    expect(updated.body.options).toEqual(['Café', 'Thé'])
    expect((await as.post(`${path}/field/place/update`, { options: [{ title: 'X', was: nfd('Café') }] })).body.options).toEqual(['X'])
    await makeView(app, account, id, { name: 'Été' })
    expect((await app.as(account.admin).post(`${path}/views/create`, { name: nfd('été'), type: 'grid' })).status).toBe(409)
  })

  test('names columns, options and records of a file', async () => {
    const linked = await makeTable(app, account, { records: [{ name: 'Zoë' }] })
    const fields = [
      { name: 'Prénom', type: 'text' },
      { name: 'Ville', type: 'select', options: ['Orléans'] },
      { name: 'Tags', type: 'multi_select', options: ['été', 'x'] },
      { name: 'Link', type: 'lookup', table: linked.id },
    ]
    const table = await makeTable(app, account, { fields })
    expect((await importCsv(table.id, nfd('Prénom,ville,tags,link\né,Orléans,"été, x",Zoë\n'))).body).toEqual({
      created: 1,
      change_id: expect.any(Number),
    })
    expect((await query(table, {}))[0]).toMatchObject({
      ...{ prenom: 'é', ville: 'Orléans', tags: ['été', 'x'] },
      link: { title: 'Zoë' },
    })
    const header = await importCsv(table.id, `${nfd('Prénom')},Prénom\na,b\n`)
    expect(header.body.issues[0].message).toBe('is listed twice')
  })

  test('gives a table that a file makes one option for both spellings', async () => {
    const rows = ['été', nfd('été'), 'hiver', 'hiver', 'été', nfd('été')]
    const body = `${nfd('Saison')},Né\n${rows.map((row, index) => `${row},n${index}`).join('\n')}\n`
    const dry = await as.send(`/api/space/${account.space}/tables/import?dry_run=true`, {
      ...{ method: 'POST', body },
      headers: { 'content-type': 'text/csv' },
    })
    expect(dry.body.fields[0]).toMatchObject({ name: 'Saison', type: 'select', options: ['été', 'hiver'] })
  })

  test('stays as it was sent in paths, passwords and keys of requests', async () => {
    const body = { data: { name: 'x' } }
    const table = await makeTable(app, account)
    const create = (key: string) => as.post(`${table.path}/records/create`, body, { 'idempotency-key': encodeURIComponent(key) })
    const [one, other] = [await create('né'), await create(nfd('né'))]
    expect(one.body.id).not.toBe(other.body.id)
  })
})

describe('an operand', () => {
  const CASES: [compare: string, value: string][] = [
    ['=', 'Crème brûlée'],
    ['contains', 'BRÛL'],
    ['starts_with', 'crè'],
    ['ends_with', 'lée'],
  ]
  test.each(CASES)('of %s is found in either spelling: %s', async (compare, value) => {
    const table = await makeTable(app, account, { records: [{ name: nfd('Crème brûlée') }, { name: 'x' }] })
    for (const text of [value, nfd(value)]) {
      expect(await idsOf(table, { filters: [{ column: 'name', compare, value: text }] })).toEqual([1])
      expect(await idsOf(table, { where: { name: [compare, text] } })).toEqual([1])
      expect(await idsOf(table, { filter: { any: [{ column: 'name', compare, value: text }] } })).toEqual([1])
      const view = await makeView(app, account, table.id, { filters: [{ column: 'name', compare, value: text }] })
      expect(await idsOf(table, { view_id: view.id })).toEqual([1])
    }
  })

  test('is found in options, users, titles of linked records, names of files and searches', async () => {
    const linked = await makeTable(app, account, { records: [{ name: 'Zoë' }] })
    const fields = [
      { name: 'Name', type: 'text' },
      { name: 'Ville', type: 'select', options: ['Orléans'] },
      { name: 'Link', type: 'lookup', table: linked.id },
      { name: 'User', type: 'user' },
      { name: 'File', type: 'file' },
    ]
    const member = await app.person(account.id, nfd('Anaïs'))
    await app.db.prisma.spaceMember.create({ data: { spaceId: account.space, userId: member.id, role: 'member', accountId: account.id } })
    const records = [{ name: 'élan vital', ville: nfd('Orléans'), link: linked.records[0], user: member.id }]
    const table = await makeTable(app, account, { fields, records })
    await as.post(`${table.path}/record/1/files/create`, { field_id: 'file', name: nfd('Résumé.txt'), data: 'aGk=' })
    const asked: [string, string, string][] = [
      ['ville', '=', 'Orléans'],
      ['ville', 'contains', 'léa'],
      ['link', 'contains', 'zoë'],
      ['user', 'contains', 'anaïs'],
      ['file', 'contains', 'résumé'],
    ]
    for (const [column, compare, value] of asked)
      for (const text of [value, nfd(value)])
        expect([column, text, await idsOf(table, { filters: [{ column, compare, value: text }] })]).toEqual([column, text, [1]])
    for (const search of ['élan', nfd('élan'), 'é', nfd('é'), nfd('orléans')])
      expect([search, await idsOf(table, { search })]).toEqual([search, [1]])
    const unknown = await as.post(`${table.path}/records/query`, { filters: [{ column: 'ville', compare: '=', value: nfd('Orléans') }] })
    expect(unknown.headers.get('x-unknown-options')).toBe(null)
  })
})

/** Makes the table one of an earlier release: its texts, names and options are decomposed. */
async function decompose({ id }: TestTable, columns: string[]): Promise<void> {
  await app.db.write(sql`update tables set layout = 1, version = version + 1 where id = ${id}`)
  for (const column of columns)
    await app.db.write(sql`update ${recordsOf(id)} set ${ident(column)} = normalize(${ident(column)}, NFD), version = version + 0`)
  await app.db.write(sql`
    update fields set name = normalize(name, NFD), options = normalize(options::text, NFD)::jsonb where table_id = ${id}`)
  await app.db.write(sql`update views set name = normalize(name, NFD) where table_id = ${id}`)
}
const layoutOf = async ({ id }: TestTable) =>
  (await app.db.read<{ layout: number }>(sql`select layout from tables where id = ${id}`))[0]?.layout
const isComposed = async ({ id }: TestTable, column: string) =>
  (await app.db.read(sql`select from ${recordsOf(id)} where ${ident(column)} is not nfc normalized`)).length === 0
const normalize = () => normalizeAll(systemContext(app.deps))

describe('what an earlier release has stored', () => {
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Prénom', type: 'long_text' },
    { name: 'Ville', type: 'select', options: ['Orléans', 'x'] },
  ]
  async function earlier(count = 3) {
    const records = Array.from({ length: count }, (_, index) => ({ name: `Crème ${index}`, prenom: 'Zoë', ville: index ? 'x' : 'Orléans' }))
    const table = await makeTable(app, account, { fields, records: [...records, { name: 'plain' }] })
    const view = await makeView(app, account, table.id, { name: `Été`, filters: [{ column: 'ville', compare: '=', value: 'Orléans' }] })
    await decompose(table, ['name', 'prenom'])
    return { table, view }
  }

  test('is found in both spellings until it is normalised', async () => {
    const { table, view } = await earlier()
    await as.post(`${table.path}/records/create`, { data: { name: 'Crème 0' } })
    const found = (value: string, compare: string) => idsOf(table, { filters: [{ column: 'name', compare, value }] })
    for (const text of ['Crème 0', nfd('Crème 0')]) {
      expect(await found(text, '=')).toEqual([1, 5])
      expect(await found(text, '!=')).toEqual([2, 3, 4])
      expect(await found(text, 'ends_with')).toEqual([1, 5])
      expect(await idsOf(table, { search: text })).toEqual([1, 5])
    }
    for (const text of ['Orléans', nfd('Orléans')]) expect(await idsOf(table, { where: { ville: text } })).toEqual([1])
    for (const text of ['Orléans', nfd('Orléans')]) {
      expect((await as.post(`${table.path}/records/create`, { data: { ville: text } })).status).toBe(200)
    }
    expect(await idsOf(table, { view_id: view.id })).toEqual([1, 6, 7])
    expect((await importCsv(table.id, 'Prénom,Ville\nx,Orléans\n')).body).toEqual({ created: 1, change_id: expect.any(Number) })
    const linking = await makeTable(app, account, { fields: [{ name: 'Link', type: 'lookup', table: table.id }] })
    expect((await importCsv(linking.id, 'link\nCrème 1\n')).body).toEqual({ created: 1, change_id: expect.any(Number) })
    expect(await idsOf(linking, { filters: [{ column: 'link', compare: 'contains', value: 'crème' }] })).toEqual([1])
  })

  test('keeps its options when the whole list is sent back', async () => {
    const { table } = await earlier()
    const { options } = (await as.get(`${table.path}/get`)).body.fields[3]
    expect((await as.post(`${table.path}/field/ville/update`, { options: [...options, 'New'] })).body.options).toEqual([
      'Orléans',
      'x',
      'New',
    ])
    expect((await query(table, {}))[0].ville).toBe('Orléans')
  })

  test('is composed by the job, which leaves the version and the time of the last change', async () => {
    const { table, view } = await earlier()
    const before = await as.get(`${table.path}/record/1/get`)
    await normalize()
    expect([await isComposed(table, 'name'), await isComposed(table, 'prenom'), await layoutOf(table)]).toEqual([true, true, 1])
    await normalize()
    expect(await layoutOf(table)).toBe(2)
    const after = await as.get(`${table.path}/record/1/get`)
    expect(after.body).toMatchObject({ title: 'Crème 0', data: { prenom: 'Zoë', ville: 'Orléans' }, updated_at: before.body.updated_at })
    expect(after.headers.get('etag')).toBe(before.headers.get('etag'))
    const { fields: now } = (await as.get(`${table.path}/get`)).body
    expect([now[2].name, now[3].options]).toEqual(['Prénom', ['Orléans', 'x']])
    const [saved] = (await as.get(`${table.path}/views/list`)).body.slice(1)
    expect([saved.name, saved.filters]).toEqual(['Été', view.filters])
    expect(await idsOf(table, { view_id: view.id })).toEqual([1])
    expect(await idsOf(table, { where: { name: nfd('Crème 1') } })).toEqual([2])
  })

  test('is composed in many records, beside writes, wherever they are', async () => {
    const { table } = await earlier()
    await app.db.write(sql`
      insert into ${recordsOf(table.id)} (created_at, updated_at, name)
      select now(), now(), normalize('Né ' || i, ${raw('NFD')}) from generate_series(1, 3000) i`)
    const [written] = await Promise.all([
      as.post(`${table.path}/record/1/update`, { data: { name: nfd('Né 2') } }),
      normalize(),
      as.post(`${table.path}/records/delete_batch`, { record_ids: [2, 3] }),
    ])
    expect(written.body.title).toBe('Né 2')
    await normalize()
    await normalize()
    expect([await isComposed(table, 'name'), await layoutOf(table)]).toEqual([true, 2])
    expect(await idsOf(table, { where: { name: 'Né 2' } })).toHaveLength(2)
  })

  test('is composed where it becomes another type', async () => {
    const { table } = await earlier()
    for (const change of [{ type: 'email' }, { type: 'select' }]) {
      const { body } = await as.post(`${table.path}/field/prenom/changeType`, change)
      await runConversion(systemContext(app.deps), body.job_id)
      expect((await as.get(`/api/job/${body.job_id}`)).body.state).toBe('done')
    }
    expect((await query(table, {})).map(({ prenom }: { prenom: string }) => prenom)).toEqual(['Zoë', 'Zoë', 'Zoë', null])
    const { body } = await as.post(`${table.path}/field/ville/changeType`, { type: 'text' })
    await runConversion(systemContext(app.deps), body.job_id)
    expect((await query(table, {}))[0].ville).toBe('Orléans')
  })

  test('stays where two names would meet, and the doctor names them', async () => {
    const { table } = await earlier()
    const both = JSON.stringify([
      { id: 1, title: 'Café' },
      { id: 2, title: nfd('Café') },
      { id: 3, title: nfd('Thé') },
    ])
    await app.db.write(sql`update fields set options = ${both}::jsonb where table_id = ${table.id} and id = 'ville'`)
    await app.db.write(sql`update fields set name = 'Prénom' where table_id = ${table.id} and id = 'name'`)
    await normalize()
    await normalize()
    const { fields: now } = (await as.get(`${table.path}/get`)).body
    expect([now[1].name, now[2].name, now[3].options]).toEqual(['Prénom', nfd('Prénom'), ['Café', nfd('Café'), 'Thé']])
    const report = await examine({
      environment: {
        DATABASE_URL: app.settings.databaseUrl,
        DATA_DIR: app.settings.dataDir,
        SECRET_KEY: 'a key for tests, long enough to be one',
      },
      tryOut: async () => null,
    })
    const finding = report.findings.find(({ check }) => check === 'names.spelled_twice')
    expect(finding?.examples).toEqual([
      `field "${nfd('Prénom')}" of table ${table.id}`,
      `option "${nfd('Café')}" of field ville in table ${table.id}`,
    ])
    expect((await as.post(`${table.path}/records/create`, { data: { ville: nfd('Café') } })).body.data.ville).toBe('Café')
  })
})

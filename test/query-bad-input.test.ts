/**
 * Sends bad input to records and views: large and long values, hostile characters, words of SQL, foreign views, and conflicting changes.
 */
import { describe, expect, test } from 'vitest'
import { lowerCased } from '../src/fields/text-match.ts'
import { sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const made = async (path: string, body: object, caller: Caller = account.owner) => {
  const answer = await app.as(caller).post(path, body)
  expect(answer.status, `${path} ${JSON.stringify(answer.body).slice(0, 500)}`).toBe(200)
  return answer.body
}
const tableOf = (name: string, fields: object[]) => makeTable(app, account, { name, fields })
const table = await tableOf('Deals', [
  { name: 'Name', type: 'text' },
  { name: 'Amount', type: 'number' },
  { name: 'Stage', type: 'select', options: ['New', 'Won'] },
])
const path = `/api/table/${table.id}`
await made(`${path}/records/create_batch`, { records: ['a', 'b', 'c'].map((name) => ({ data: { name } })) })
const query = (body: object, caller: Caller = account.viewer) => app.as(caller).post(`${path}/records/query`, body)

/** What an operation needs beside conditions. */
const REQUIRED: Record<string, object> = { groups: { by: 'stage' }, board: { by: 'stage' }, aggregate: { measures: [{ fn: 'count' }] } }

describe('too much input', () => {
  const filter = { column: 'name', compare: '=', value: 'a' }
  const many = Array.from({ length: 10_000 }, () => filter)
  const deep = (levels: number): object => (levels === 0 ? filter : { all: [deep(levels - 1)] })
  const wide = { any: Array.from({ length: 150 }, () => ({ all: [filter, filter] })) }

  test.each<[string, object, string]>([
    ['10,000 filters', { filters: many }, 'filters'],
    ['1,900 in where', { where: Object.fromEntries(many.slice(0, 1_900).map((_, index) => [`f${index}`, 1])) }, 'where'],
    ['10,000 in a group', { filter: { any: many } }, 'filter.any'],
    ['300 spread over groups', { filter: wide }, ''],
    ['200 here and one there', { filters: many.slice(0, 200), where: { name: 'a' } }, ''],
    ['groups nested six deep', { filter: deep(6) }, 'filter.all.0.all.0.all.0.all.0.all.0'],
    ['groups nested a hundred deep', { filter: deep(100) }, 'filter'],
    ['four sort keys', { order: many.slice(0, 4).map(() => ({ field: 'id' })) }, 'order'],
    ['10,000 sort keys', { order: many }, 'order'],
  ])('%s: 400', async (_, body, at) => {
    for (const operation of 'order' in body ? ['query', 'board'] : ['query', 'count', 'groups', 'aggregate', 'board']) {
      const answer = await app.as(account.viewer).post(`${path}/records/${operation}`, { ...body, ...REQUIRED[operation] })
      expect([answer.status, answer.body.issues?.[0]?.path.join('.')], operation).toEqual([400, at])
      expect(answer.body.issues.length).toBeLessThanOrEqual(2)
    }
  })

  test('five groups in one another are answered, with conditions in the innermost', async () => {
    const { status, body } = await query({ filter: deep(5), fields: ['name'] })
    expect([status, body]).toEqual([200, [{ id: expect.any(Number), name: 'a' }]])
  })

  test('a search for 100 words in 300 fields is answered, and a longer one is 400', async () => {
    const fields = Array.from({ length: 300 }, (_, index) => ({ name: `F${index}`, type: 'text' }))
    const wide = `/api/table/${(await tableOf('Wide', fields)).id}/records`
    const words = Array.from({ length: 101 }, (_, index) => String.fromCodePoint(0x4e00 + index))
    const data = { f0: words.join(' ') }
    await made(`${wide}/create_batch`, { records: [{ data }, { data }, { data }, { data: {} }] })
    const search = words.slice(0, 100).join(' ')
    // A page of several index ranges would contain every word once for each of them.
    const keys = [['f0'], ['created_at', 'f0', 'updated_at']]
    for (const order of keys.map((fields) => fields.map((field) => ({ field, dir: 'D' })))) {
      const walk = { search, order, limit: 2, fields: ['id'] }
      const first = await app.as(account.viewer).post(`${wide}/query`, { ...walk, cursor: '' })
      const last = await app.as(account.viewer).post(`${wide}/query`, { ...walk, cursor: first.headers.get('x-next-cursor') })
      expect([first.body, last.body]).toEqual([[{ id: 3 }, { id: 2 }], [{ id: 1 }]])
    }
    for (const operation of ['query', 'count', 'groups']) {
      const asked = { search: words.join(' '), ...(operation === 'groups' && { by: 'created_at' }) }
      const { status, body } = await app.as(account.viewer).post(`${wide}/${operation}`, asked)
      expect([status, body.message], operation).toEqual([400, 'search: must have at most 100 different words'])
    }
  })

  test('a view with 201 filters is not saved', async () => {
    const answer = await app.as(account.owner).post(`${path}/views/create`, { name: 'Long', type: 'grid', filters: many.slice(0, 201) })
    expect([answer.status, answer.body.message]).toEqual([400, 'filters: must have at most 200 filters'])
  })

  test('values of a megabyte are accepted, and a larger body is 413', async () => {
    const long = 'x%_\\'.repeat(200_000)
    for (const compare of ['=', '!=', '<', 'contains', 'ends_with']) {
      const { status, body } = await query({ filters: [{ column: 'name', compare, value: long }] })
      expect([status, body.length], compare).toEqual([200, ['!=', '<'].includes(compare) ? 3 : 0])
    }
    expect((await query({ where: { amount: long } })).body.issues[0].path).toEqual(['where', 'amount'])
    expect((await query({ where: { stage: long } })).body).toEqual([])
    const unknown = await query({ filters: [{ column: long, compare: '=', value: 1 }] })
    expect([unknown.status, unknown.body.message.length < 200]).toEqual([400, true])
    for (const body of [{ order_by: long }, { fields: [long] }, { order: [{ field: long }] }]) {
      const answer = await query(body)
      expect([answer.status, JSON.stringify(answer.body).length < 500]).toEqual([400, true])
    }
    expect((await query({ where: { name: `${long}${'x'.repeat(60_000)}` } })).status).toBe(413)
  })

  test('500 fields of the same name count as one, and an unknown one among them is named', async () => {
    expect((await query({ fields: Array.from({ length: 500 }, () => 'name'), limit: 1 })).body[0]).toEqual({
      id: expect.any(Number),
      name: 'a',
    })
    const unknown = await query({ fields: [...Array.from({ length: 500 }, () => 'name'), 'nope'] })
    expect([unknown.status, unknown.body.issues]).toEqual([
      400,
      [{ path: ['fields', 500], message: "'nope' is not a field of this table" }],
    ])
  })
})

describe('hostile characters', async () => {
  // Every printable ASCII character, and confusable Unicode characters.
  const characters = [
    ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)),
    '\t',
    '\n',
    '\r',
    '\u0001',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u200b',
    '\u2028',
    '\u202e',
    '\ufeff',
    'ß',
    'İ',
    'ı',
    'Σ',
    'ς',
    'é',
    'q\u0301',
    '\uffff',
    '😀',
    '👩‍👩‍👧',
  ]
  const words = characters.map((character) => `<${character}>`)
  const odd = await tableOf('Odd', [
    { name: 'Name', type: 'text' },
    { name: 'Pick', type: 'select', options: words },
  ])
  const oddPath = `/api/table/${odd.id}`
  await made(`${oddPath}/records/create_batch`, { records: words.map((name) => ({ data: { name, pick: name } })) })
  const found = async (body: object) =>
    (await made(`${oddPath}/records/query`, { limit: 1000, ...body }, account.viewer)).map(({ name }: { name: string }) => name) as string[]

  test('are literal in values', async () => {
    for (const word of words) {
      expect(await found({ where: { name: word } }), word).toEqual([word])
      expect(await found({ where: { pick: word } }), word).toEqual([word])
      const alike = words.filter((other) => lowerCased(other) === lowerCased(word))
      for (const compare of ['contains', 'starts_with', 'ends_with'])
        for (const column of ['name', 'pick'])
          expect(await found({ filters: [{ column, compare, value: word }] }), `${column} ${compare} ${word}`).toEqual(alike)
    }
  })

  test('are literal in searches', async () => {
    for (const word of words.filter((each) => !/\s/.test(each)))
      expect(await found({ search: word }), word).toEqual(words.filter((other) => lowerCased(other) === lowerCased(word)))
    expect(await found({ search: '<' })).toHaveLength(words.length)
  })

  test.each([
    ['ΟΔΟΣΑ', ['ΟΔΟΣ', 'οδοσ', 'δοσα'], ['οδος']],
    ['ΟΔΟΣ', ['ΟΔΟΣ', 'οδοσ', 'ΔΟΣ'], ['οδος']],
    ['İstanbul', ['istanbul', 'İSTANBUL', 'Istan'], ['ıstanbul', 'i\u0307s']],
    ['STRASSE', ['strasse'], ['straße']],
    ['Straße', ['STRAßE', 'straẞe'], ['STRASSE']],
  ])('have one lower case in texts and in options: %s', async (title, found, others) => {
    const fields = [
      { name: 'Name', type: 'text' },
      { name: 'Pick', type: 'select', options: [title] },
    ]
    const records = `/api/table/${(await tableOf(`Of ${title}`, fields)).id}/records`
    await made(`${records}/create_batch`, { records: [{ data: { name: title } }, { data: { pick: title } }] })
    const idsOf = async (body: object) =>
      (await made(`${records}/query`, { ...body, fields: ['id'] }, account.viewer)).map(({ id }: { id: number }) => id)
    for (const value of [...found, ...others]) {
      const ids = found.includes(value) ? [1, 2] : []
      expect(await idsOf({ search: value }), value).toEqual(ids)
      for (const column of ['name', 'pick'])
        expect(await idsOf({ filters: [{ column, compare: 'contains', value }] }), `${column} ${value}`).toEqual(
          ids.slice(column === 'name' ? 0 : 1).slice(0, 1),
        )
    }
  })

  test('never become a column, a direction, a compare or a connector', async () => {
    for (const word of [
      ...words,
      ...characters,
      `name" = 'a' or "name`,
      'name; drop table users',
      'name desc',
      'r.name',
      '(select 1)',
      'name--',
      'name\\',
    ]) {
      const refused = await Promise.all([
        query({ where: { [word]: 1 } }),
        query({ filters: [{ column: word, compare: '=', value: 1 }] }),
        query({ order_by: word }),
        query({ order: [{ field: word }] }),
        query({ fields: [word] }),
        query({ filters: [{ column: 'name', compare: `${word}x`, value: 1 }] }),
        query({
          filters: [
            { column: 'name', compare: '=', value: 'a' },
            { column: 'name', compare: '=', value: 'a', connector: `${word}x` },
          ],
        }),
        query({ order_by: 'name', order_dir: `${word}x` }),
        app.as(account.viewer).post(`${path}/records/groups`, { by: word }),
        app.as(account.viewer).post(`${path}/records/board`, { by: word }),
        app.as(account.viewer).post(`${path}/records/aggregate`, { by: [{ field: word }], measures: [{ fn: 'count' }] }),
        app.as(account.viewer).post(`${path}/records/aggregate`, { measures: [{ fn: 'sum', field: word }] }),
      ])
      expect(
        refused.map(({ status }) => status),
        word,
      ).toEqual(refused.map(() => 400))
    }
    expect((await query({})).body).toHaveLength(3)
  })

  test('are allowed in names of fields and views, and their ids are slugs', async () => {
    const names = characters.map((character, index) => `${character} ${index}`)
    const { id, fields } = await tableOf('Named', [{ name: 'Name', type: 'text' }, ...names.map((name) => ({ name, type: 'number' }))])
    const own = fields.filter(({ name }) => names.some((sent) => sent.trim() === name))
    for (const { id: slug } of fields) expect(slug).toMatch(/^[a-z][a-z0-9_]{0,47}$/)
    expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length)
    await made(`/api/table/${id}/records/create`, { data: Object.fromEntries(own.map(({ id }, index) => [id, index])) })
    const where = Object.fromEntries(own.map(({ id }, index) => [id, ['<=', index]]))
    const order = own.slice(0, 3).map(({ id }) => ({ field: id }))
    expect(await made(`/api/table/${id}/records/query`, { where, order }, account.viewer)).toHaveLength(1)
    for (const name of names) {
      const view = await made(`/api/table/${id}/views/create`, {
        name,
        type: 'grid',
        filters: [{ column: own[0]?.id, compare: '=', value: 0 }],
      })
      expect(view.name).toBe(name.trim())
      expect(await made(`/api/table/${id}/records/query`, { view_id: view.id }, account.viewer)).toHaveLength(1)
    }
  })
})

test('fields named like words of SQL are ordinary fields', async () => {
  const words = (await app.db.read<{ word: string }>(sql`select word from pg_get_keywords() order by 1`)).map(({ word }) => word)
  for (let from = 0; from < words.length; from += 250) {
    const names = words.slice(from, from + 250)
    const { id, fields } = await tableOf(`Words ${from}`, [
      { id: 'our_title', name: 'Our title', type: 'text' },
      ...names.map((name) => ({ name, type: 'text' })),
    ])
    const ids = fields
      .map(({ id }) => id)
      .filter((id) => !['id', 'our_title', 'created_at', 'created_by', 'updated_at', 'updated_by'].includes(id))
    expect(ids).toHaveLength(names.length)
    await made(`/api/table/${id}/records/create`, { data: Object.fromEntries(ids.map((id) => [id, `${id}!`])) })
    for (let at = 0; at < ids.length; at += 100) {
      const some = ids.slice(at, at + 100)
      const where = Object.fromEntries(some.map((id) => [id, ['sw', id]]))
      const order = some.slice(0, 3).map((id) => ({ field: id, dir: 'D' }))
      const [row] = await made(`/api/table/${id}/records/query`, { where, order, search: `${some[0]}!` }, account.viewer)
      for (const id of some) expect(row[id]).toBe(`${id}!`)
      expect(await made(`/api/table/${id}/records/query`, { where, order_by: some[0], cursor: '' }, account.viewer)).toHaveLength(1)
    }
  }
})

describe('views of somebody else', async () => {
  const other = await tableOf('Other', [{ name: 'Name', type: 'text' }])
  const view = { name: 'Theirs', type: 'grid', filters: [{ column: 'name', compare: '=', value: 'a' }] }
  const ofOtherTable = await made(`/api/table/${other.id}/views/create`, view)
  const stranger = await app.account()
  const theirs = (
    await app
      .as(stranger.owner)
      .post(`/api/space/${stranger.space}/tables/create`, { name: 'Theirs', fields: [{ name: 'Name', type: 'text' }] })
  ).body
  const ofOtherAccount = (await app.as(stranger.owner).post(`/api/table/${theirs.id}/views/create`, view)).body

  test.each([
    ['of another table', ofOtherTable.id],
    ['of another account', ofOtherAccount.id],
  ])('%s are not found: 500 for a query, 404 elsewhere', async (_, view_id) => {
    expect(view_id).toEqual(expect.any(Number))
    for (const caller of [account.owner, account.keys.account, account.keys.personalViewer]) {
      const asked = await query({ view_id }, caller)
      expect([asked.status, asked.body.message]).toEqual([500, 'View not found'])
      for (const operation of ['count', 'groups', 'aggregate', 'board']) {
        const answer = await app.as(caller).post(`${path}/records/${operation}`, { view_id, ...REQUIRED[operation] })
        expect([answer.status, answer.body.message], operation).toEqual([404, 'View not found'])
      }
      expect((await app.as(caller).get(`${path}/view/${view_id}/get`)).status).toBe(404)
    }
    for (const operation of ['update', 'delete'])
      expect((await app.as(account.owner).post(`${path}/view/${view_id}/${operation}`, {})).status).toBe(404)
    expect((await app.as(stranger.owner).get(`/api/table/${theirs.id}/view/${ofOtherAccount.id}/get`)).status).toBe(200)
  })
})

describe('two concurrent admins', () => {
  const changes = <T>(count: number, change: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, index) => change(index)))

  test('change one view: each change is whole, and with If-Match only the first succeeds', async () => {
    const view = await made(`${path}/views/create`, { name: 'Contested', type: 'grid' })
    const drafts = Array.from({ length: 14 }, (_, index) => ({
      name: `Contested ${index}`,
      filters: [{ column: 'amount', compare: '=', value: index }],
      order_by: index % 2 ? 'name' : 'amount',
    }))
    const change = (index: number, headers = {}) =>
      app.as(index % 2 ? account.owner : account.admin).post(`${path}/view/${view.id}/update`, drafts[index], headers)
    expect((await changes(8, change)).map(({ status }) => status)).toEqual(Array(8).fill(200))
    const { body: last, headers } = await app.as(account.viewer).get(`${path}/view/${view.id}/get`)
    const winner = drafts.find(({ name }) => name === last.name)
    expect(last).toMatchObject({ order_by: winner?.order_by, filters: [{ ...winner?.filters[0], connector: 'AND' }] })

    const ifMatch = { 'if-match': headers.get('etag') ?? '' }
    // The draft differs from the saved view: a change that alters nothing would not make a version stale.
    const statuses = (await changes(6, (index) => change(8 + index, ifMatch))).map(({ status }) => status).sort()
    expect(statuses).toEqual([200, 409, 409, 409, 409, 409])
  })

  test('change one field: each change is whole, and the records do not change', async () => {
    const before = (await query({})).body
    const answers = await changes(8, (index) =>
      app
        .as(index % 2 ? account.owner : account.admin)
        .post(`${path}/field/stage/update`, { name: `Stage ${index}`, options: ['New', 'Won', `Option ${index}`], force: true }),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const { body } = await app.as(account.viewer).get(`${path}/get`)
    const field = body.fields.find(({ id }: { id: string }) => id === 'stage')
    expect(field.options).toEqual(['New', 'Won', `Option ${field.name.slice(-1)}`])
    expect((await query({})).body.map(({ id, name }: { id: number; name: string }) => [id, name])).toEqual(
      before.map(({ id, name }: { id: number; name: string }) => [id, name]),
    )
    expect((await query({ where: { stage: `Option ${field.name.slice(-1)}` } })).body).toEqual([])
  })

  test('delete a field and save a view that needs it: only one succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await made(`${path}/fields/create`, { name: `Brief ${round}`, type: 'number' })
      const [deleted, saved] = await Promise.all([
        app.as(account.owner).post(`${path}/field/${id}/delete`),
        app
          .as(account.admin)
          .post(`${path}/views/create`, { name: `By brief ${round}`, type: 'grid', filters: [{ column: id, compare: '=', value: 1 }] }),
      ])
      expect([
        [200, 400],
        [409, 200],
      ]).toContainEqual([deleted.status, saved.status])
      if (saved.status === 200) expect((await query({ view_id: saved.body.id })).status).toBe(200)
    }
  })
})

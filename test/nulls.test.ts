/** Null for an optional key is the same as leaving it out, in the service and in its document (contract.md §1). */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { apiDocument } from '../src/router.ts'
import { testApp } from './support/app.ts'
import { callerFor, callRest, callRpc, idsFor, idsOf, type Operation, operations } from './support/operations.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const known = await idsOf(app, account)

interface JsonSchema {
  type?: string | string[]
  enum?: unknown[]
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
}

/** Keys whose null means to clear a value that cannot be empty, and is refused (contract.md §4). */
const REFUSED: Record<string, string[]> = { 'tasks.update': ['title', 'assignee_user_id', 'assignee_email'] }

function optionalKeys({ name, input, pathIds, bodyIds, meta }: Operation): string[] {
  const schema = input && (z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' }) as JsonSchema)
  // From a key, the files of a task are refused whatever their value (test/task-attachments.test.ts).
  const others = [...pathIds, ...bodyIds, ...(schema?.required ?? []), ...(REFUSED[name] ?? []), meta.sessionOnlyKey]
  return Object.keys(schema?.properties ?? {}).filter((key) => !others.includes(key))
}

const withOptional = operations.filter((operation) => optionalKeys(operation).length)

describe('null for an optional key is accepted, on REST and RPC', () => {
  test.each(withOptional.map((operation) => [operation.name, operation] as const))('by %s', async (_, operation) => {
    const ids = idsFor(operation, known)
    const as = app.as(callerFor(operation, account))
    // The unknown key keeps the request from changing anything.
    const nulls = Object.fromEntries(optionalKeys(operation).map((key) => [key, null]))
    const answers = [
      await callRpc(as, operation, ids, { ...nulls, no_such_key: 1 }),
      ...(operation.method === 'POST' ? [await callRest(as, operation, ids, { ...nulls, no_such_key: 1 })] : []),
    ]
    for (const { status, body } of answers) {
      expect(status, JSON.stringify(body)).toBe(400)
      expect(body.issues.filter(({ path }: { path: string[] }) => path[0] && path[0] in nulls)).toEqual([])
    }
  })
})

describe('the document allows null for every optional key of a body', async () => {
  const { paths } = (await apiDocument()) as {
    paths: Record<string, Record<string, { operationId: string; requestBody?: { content: Record<string, { schema: JsonSchema }> } }>>
  }
  const bodies = Object.values(paths).flatMap((path) =>
    Object.values(path).flatMap(({ operationId, requestBody }) => {
      const schema = requestBody?.content['application/json']?.schema
      return schema ? [[operationId, schema] as const] : []
    }),
  )

  test.each(bodies)('of %s', (name, schema) => {
    const refusing = keysRefusingNull(schema).filter((path) => !REFUSED[name]?.includes(path))
    expect(refusing).toEqual([])
  })
})

/** The paths of the optional keys that the schema does not allow to be null, at any depth. */
function keysRefusingNull(schema: JsonSchema, path = ''): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const at = path ? `${path}.${key}` : key
    return [...(schema.required?.includes(key) || allowsNull(value) ? [] : [at]), ...keysRefusingNull(value, at)]
  })
  const inner = [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])].flatMap((part) => keysRefusingNull(part, path))
  return [...own, ...inner]
}

function allowsNull({ type, enum: values, anyOf }: JsonSchema): boolean {
  if (values && !values.includes(null)) return anyOf?.some(allowsNull) ?? false
  if (type !== undefined && ![type].flat().includes('null')) return false
  return anyOf?.some(allowsNull) ?? true
}

describe('null means the same as leaving the key out', () => {
  const FIELDS = [
    { name: 'Name', type: 'text' },
    { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
  ]
  const RECORDS = [{ name: 'b', stage: 'Won' }, { name: 'a' }]

  test('in a query, a count and groups', async () => {
    const table = await makeTable(app, account, { fields: FIELDS, records: RECORDS })
    const as = app.as(account.viewer)
    const nulls = Object.fromEntries(
      ['view_id', 'append_filters', 'filters', 'where', 'filter', 'search', 'order_by', 'order_dir', 'order', 'fields', 'limit', 'offset']
        .concat(['cursor', 'count', 'explain', 'record_id'])
        .map((key) => [key, null]),
    )
    const { by: _, ...narrowing } = { by: null, ...Object.fromEntries(Object.entries(nulls).slice(0, 6)) }
    for (const [operation, given, required] of [
      ['query', nulls, {}],
      ['count', nulls, {}],
      ['groups', { ...narrowing, unit: null }, { by: 'stage' }],
      ['board', { ...narrowing, order: null, per_group: null, fields: null, include: null, cursor: null }, { by: 'stage' }],
    ] as const) {
      const path = `/api/table/${table.id}/records/${operation}`
      const [plain, withNulls] = [await as.post(path, required), await as.post(path, { ...given, ...required })]
      expect(withNulls.status, JSON.stringify(withNulls.body)).toBe(200)
      expect(withNulls.body).toEqual(plain.body)
      expect(withNulls.headers.get('x-ignored')).toBeNull()
      const rpc = await as.post(`/trpc/records.${operation}`, { table_id: table.id, ...given, ...required })
      expect(rpc.status, JSON.stringify(rpc.body)).toBe(200)
    }
  })

  test('in a count, which takes the whole body of a query', async () => {
    const table = await makeTable(app, account, { fields: FIELDS, records: RECORDS })
    const body = {
      where: { name: 'a' },
      fields: ['gone'],
      order_by: 'gone',
      order_dir: 'A',
      limit: 1,
      offset: 5,
      count: true,
      record_id: 1,
    }
    const counted = await app.as(account.viewer).post(`/api/table/${table.id}/records/count`, { ...body, cursor: 'x', explain: true })
    expect([counted.status, counted.body]).toMatchObject([200, { count: 1, total: 2 }])
  })

  test('in the parts of conditions and orders', async () => {
    const table = await makeTable(app, account, { fields: FIELDS, records: RECORDS })
    const condition = { column: null, field: 'name', compare: '=', value: 'a', connector: null }
    const { connector: _, ...inGroup } = condition
    const { status, body } = await app.as(account.viewer).post(`/api/table/${table.id}/records/query`, {
      filters: [condition, { field: null, column: 'stage', compare: 'is_empty', value: null }],
      filter: { all: [{ any: [inGroup], all: null }], any: null },
      order: [{ field: 'name', dir: null }],
      fields: ['name'],
    })
    expect([status, body]).toEqual([200, [{ id: 2, name: 'a' }]])
  })

  test('with a view, whose X-Ignored names only what was sent', async () => {
    const table = await makeTable(app, account, { fields: FIELDS, records: RECORDS })
    const view = await app.as(account.owner).post(`/api/table/${table.id}/views/create`, { name: 'All', type: 'grid' })
    const ask = { view_id: view.body.id, filters: null, order: null, where: { name: 'a' } }
    const answer = await app.as(account.viewer).post(`/api/table/${table.id}/records/query`, ask)
    expect([answer.status, answer.headers.get('x-ignored')]).toEqual([200, 'where'])
  })

  test('in updates, where nothing can be cleared', async () => {
    const { body: space } = await app.as(account.owner).post(`/api/space/${account.space}/update`, { name: null })
    expect(space.id).toBe(account.space)
    const { body: profile } = await app.as(account.viewer).post('/api/auth/profile', { name: null, timezone: null, mail_preference: null })
    expect(profile).toMatchObject({ name: 'Vera Viewer', timezone: 'UTC' })
    const table = await makeTable(app, account, { fields: FIELDS })
    const as = app.as(account.owner)
    expect((await as.post(`/api/table/${table.id}/update`, { name: null })).body.id).toBe(table.id)
    const changed = { name: null, required: null, always_hidden: null, admin_only: null, options: null, decimals: null, force: null }
    const field = await as.post(`/api/table/${table.id}/field/name/update`, changed)
    expect([field.status, field.body]).toMatchObject([200, { id: 'name', name: 'Name', type: 'text' }])
    const lists = await as.post('/api/tasks/list', { tab: null, search: null, include_done: null, limit: null, offset: null })
    expect(lists.status, JSON.stringify(lists.body)).toBe(200)
    const { body: key } = await as.post('/api/keys/create', { kind: 'account', name: 'K', read_only: null, space_ids: null })
    expect((await as.post(`/api/key/${key.id}/update`, { name: null, read_only: null })).body).toMatchObject({
      name: 'K',
      read_only: false,
    })
  })

  test('for the files of a new task, from a session', async () => {
    const table = await makeTable(app, account, { fields: FIELDS, records: RECORDS })
    const path = `/api/tasks/onRecord/${table.id}/1`
    const as = app.as(account.member)
    const task = await as.post(`${path}/create`, { title: 'Call', attachments: null })
    expect(task.status, JSON.stringify(task.body)).toBe(200)
    expect((await as.post(`${path}/createMany`, { tasks: [{ title: 'Call', attachments: null }] })).body).toMatchObject([{ ok: true }])
    expect((await as.post(`/api/task/${task.body.id}/comments/create`, { content: 'Hi', attachments: null })).status).toBe(200)
  })
})

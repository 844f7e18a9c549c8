/** Factories for tables, records and views, over HTTP as the owner of the account. */
import { expect } from 'vitest'
import { FIELD_TYPES } from '../../src/fields/registry.ts'
import { sql } from '../../src/platform/database/database.ts'
import type { NewTable } from '../../src/tables/schema.ts'
import type { TestAccount, TestApp } from './app.ts'

type OwnedSpace = Pick<TestAccount, 'owner' | 'space'>

export interface TestTable {
  id: number
  /** The start of its REST paths, such as /api/table/4. */
  path: string
  fields: { id: string; name: string; type: string }[]
  /** The ids of its records, in the order in which they were given. */
  records: number[]
}

export interface TestView {
  id: number
  name: string
  [key: string]: unknown
}

const NAME = { name: 'Name', type: 'text' } as const
let counter = 0
/** A name that no other table or view of the process has. Equally long numbers sort by name in the order in which they were created. */
const newName = (noun: string) => `${noun} ${String(counter++).padStart(5, '0')}`

/** Creates a table, with the one text field `name` unless other fields are given, and its records. */
export async function makeTable(
  app: TestApp,
  account: OwnedSpace,
  { name = newName('Table'), fields = [NAME], records = [] }: { name?: string; fields?: readonly object[]; records?: object[] } = {},
): Promise<TestTable> {
  const { id, fields: created } = await post(app, account, `/api/space/${account.space}/tables/create`, { name, fields })
  return { id, path: `/api/table/${id}`, fields: created, records: records.length ? await makeRecords(app, account, id, records) : [] }
}

/** Creates a record for each row of values. @returns their ids */
export async function makeRecords(
  app: TestApp,
  account: Pick<TestAccount, 'owner'>,
  tableId: number,
  rows: readonly object[],
): Promise<number[]> {
  const created = await post(app, account, `/api/table/${tableId}/records/create_batch`, { records: rows.map((data) => ({ data })) })
  return created.map(({ id }: { id: number }) => id)
}

/**
 * Writes records with one statement, past the service, for tests that need many.
 * @param columns an SQL expression for each field; `i` is the number of the row, from 1 on
 */
export async function fillTable(app: TestApp, tableId: number, count: number, columns: Record<string, string>): Promise<void> {
  const names = ['created_at', 'updated_at', ...Object.keys(columns)].join(', ')
  const values = ['now()', 'now()', ...Object.values(columns)].join(', ')
  const text = `insert into t${tableId}.records (${names}) select ${values} from generate_series(1, ${count}) i`
  await app.db.write(sql([text] as unknown as TemplateStringsArray))
}

/** Saves a view, a grid unless another type is given. */
export function makeView(app: TestApp, account: Pick<TestAccount, 'owner'>, tableId: number, view: object = {}): Promise<TestView> {
  return post(app, account, `/api/table/${tableId}/views/create`, { name: newName('View'), type: 'grid', ...view })
}

async function post(app: TestApp, { owner }: Pick<TestAccount, 'owner'>, path: string, body: object) {
  const answer = await app.as(owner).post(path, body)
  expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(200)
  return answer.body
}

/** Creates a table with a field of every type, named after its type. The lookups refer to the table `other`, which has one record. */
export async function everyType(app: TestApp, account: TestAccount) {
  const other = await makeTable(app, account, { name: 'Other', records: [{ name: 'Target' }] })
  const fields: NewTable['fields'] = FIELD_TYPES.map((type) => ({
    name: type,
    type,
    ...(type.includes('select') && { options: ['Open', 'Done'] }),
    ...(type.includes('lookup') && { table: other.id }),
    ...(type === 'number' && { decimals: 2 }),
  }))
  const table = await makeTable(app, account, { name: 'Everything', fields: fields ?? [] })
  return { ...table, other: other.id, target: other.records[0] as number }
}

/** Tables for tests: one with a field of every type. */
import { FIELD_TYPES } from '../../src/fields/registry.ts'
import type { TestAccount, TestApp } from './app.ts'

/** A table with a field of every type, named after its type, in a space; lookups point to `other`, which has one record. */
export async function everyType(app: TestApp, account: TestAccount) {
  const { rpc } = app.as(account.keys.account)
  const other = await rpc.tables.create.mutate({ space_id: account.space, name: 'Other', fields: [{ name: 'Name', type: 'text' }] })
  const target = await rpc.records.create.mutate({ table_id: other.id, data: { name: 'Target' } })
  const table = await rpc.tables.create.mutate({
    space_id: account.space,
    name: 'Everything',
    fields: FIELD_TYPES.map((type) => ({
      name: type,
      type,
      ...(type.includes('select') && { options: ['Open', 'Done'] }),
      ...(type.includes('lookup') && { table: other.id }),
      ...(type === 'number' && { decimals: 2 }),
    })),
  })
  return { id: table.id, path: `/api/table/${table.id}`, fields: table.fields, other: other.id, target: target.id }
}

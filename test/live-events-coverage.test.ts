/**
 * Every operation that changes what callers see of tables, views or members writes an event for live tables: each is called once, and what
 * they see before and after is compared. history-coverage.test.ts does the same for records.
 */
import { describe, expect, test } from 'vitest'
import { sql } from '../src/platform/database/database.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { liveEvents } from './support/live-events.ts'
import { callerFor, callRest, idsFor, idsOf, inputOf, operations } from './support/operations.ts'

const app = await testApp()
const { told } = liveEvents(app)

/** What callers see of the account's tables, views and members, by what kind of event tells that it has changed. */
async function seenIn({ id }: TestAccount): Promise<Record<'table' | 'view' | 'members', string>> {
  const there = sql`t.account_id = ${id} and t.deleted_at is null and s.deleted_at is null`
  const [row] = await app.db.read<Record<'table' | 'view' | 'members', string>>(sql`select
    (select jsonb_agg(jsonb_build_array(t.id, t.name, (select jsonb_agg(jsonb_build_array(f.id, f.name, f.type, f.options, f.position)
      order by f.position, f.id) from fields f where f.table_id = t.id)) order by t.id)
      from tables t join spaces s on s.id = t.space_id where ${there})::text as "table",
    (select jsonb_agg(to_jsonb(v) order by v.id)
      from views v join tables t on t.id = v.table_id join spaces s on s.id = t.space_id where ${there})::text as view,
    (select jsonb_agg(jsonb_build_array(m.space_id, u.id, u.name, u.email, u.status, m.role, a.owner_user_id) order by m.space_id, u.id)
      from space_members m join users u on u.id = m.user_id join accounts a on a.id = m.account_id
      join spaces s on s.id = m.space_id and s.deleted_at is null where a.id = ${id})::text as members`)
  return row as Record<'table' | 'view' | 'members', string>
}

describe('every operation that changes tables, views or members tells of it', () => {
  const INPUTS: Record<string, (account: TestAccount) => object> = {
    'account.owner': ({ owner, member }) => ({ user_id: member.id, current_password: owner.password }),
    'fields.create': () => ({ name: 'Amount', type: 'number' }),
    'fields.delete': () => ({ force: true }),
    'fields.reorder': () => ({ field_ids: ['documents', 'stage', 'company'] }),
    'fields.update': () => ({ name: 'Step' }),
    'spaces.addMember': () => ({ email: 'new@example.com', role: 'viewer' }),
    'users.erase': ({ owner }) => ({ current_password: owner.password }),
    'views.create': () => ({ name: 'Each', type: 'grid' }),
    'views.update': () => ({ name: 'Some' }),
  }
  /** A job changes the type later, and nobody is disabled. */
  const WITHOUT = ['fields.changeType', 'users.enable', 'views.check']
  const CHANGES = /^(fields|tables|views|users)\.|^spaces\..*ember|^account\.owner$/
  const GROUPS = /^(account|auth|fields|spaces|tables|users|views)\./
  const mutations = operations.filter(({ name, type }) => type === 'mutation' && GROUPS.test(name))

  test.each(mutations.map((operation) => [operation.name, operation] as const))('%s', async (name, operation) => {
    const account = await app.account({ withPassword: true })
    const known = await idsOf(app, account)
    const [before] = [await seenIn(account), await told(account)]
    const given = INPUTS[name]?.(account) ?? inputOf(operation, account, known)
    await callRest(app.as(callerFor(operation, account)), operation, idsFor(operation, known), { ...given })
    const after = await seenIn(account)
    const types = new Set((await told(account)).map(({ type }) => type.split('.')[0]))
    // The views of a deleted table or space are not told apart from it, and a new table has no stream yet.
    const isWhole = ['tables.create', 'tables.delete', 'spaces.create', 'spaces.delete'].includes(name)
    const changed = (['table', 'view', 'members'] as const).filter((kind) => before[kind] !== after[kind])
    if (CHANGES.test(name) && !WITHOUT.includes(name)) expect(changed).not.toEqual([])
    for (const kind of changed) if (!isWhole || (kind === 'table' && name.endsWith('delete'))) expect([...types], kind).toContain(kind)
  })
})

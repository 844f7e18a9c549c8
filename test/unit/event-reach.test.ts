import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StoredEvent } from '../../src/events/order.ts'
import { eventsByUser, maySee, type Reach } from '../../src/events/visibility.ts'
import { type Actor, systemActor } from '../../src/platform/actor.ts'

const few = fc.integer({ min: 1, max: 4 })
const maybe = fc.option(few)
const users = fc.array(few, { maxLength: 3 })
const places = fc.array(fc.tuple(few, users), { maxLength: 4 })

const event = fc.record({ account_id: few, space_id: maybe, table_id: maybe, task_id: maybe, audience: fc.option(users) }).map(
  (parts): StoredEvent => ({
    ...{ xact_id: 1, id: 1, type: 'task.updated', at: '2026-03-31 09:30:00', record_id: null, comment_id: null },
    ...{ user_id: null, change_id: null, count: null, fields: null, view_id: null },
    ...parts,
  }),
)
const reach = fc.record({ tables: users, members: places, people: places }).map(({ tables, members, people }): Reach => {
  const sets = (pairs: [number, number[]][]) => new Map(pairs.map(([id, ids]) => [id, new Set(ids)]))
  return { tables: new Set(tables), members: sets(members), people: sets(people), versions: new Map() }
})
const actor = fc
  .record({
    kind: fc.constantFrom('session', 'account', 'personal'),
    accountId: few,
    userId: few,
    isOwner: fc.boolean(),
    spaceIds: fc.option(users),
  })
  .map((parts): Actor => ({ ...systemActor, ...parts }))

test('no event is withheld from a user who may see it, repeated or delivered out of order', () => {
  fc.assert(
    fc.property(fc.array(event), reach, actor, (events, known, who) => {
      const possible = who.isOwner ? events : (eventsByUser(events, known).get(who.userId) ?? [])
      const told = (among: readonly StoredEvent[]) => among.filter((one) => maySee(who, one, known))
      expect(told(possible)).toEqual(told(events))
    }),
    { numRuns: 2_000 },
  )
})

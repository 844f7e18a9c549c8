/**
 * The users that a page probably names: those whom pages with the same fields have named before. They are read behind the rows in the
 * same round trip, so no name is older than its row. Users whom nobody expected need a round trip of their own.
 */
import type { UserValue } from '../../fields/cell.ts'
import type { FieldDef } from '../../fields/definition.ts'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import type { Database } from '../../platform/database/database.ts'
import type { TrailingRead } from '../../platform/database/statements/statement.ts'
import { memo } from '../../platform/memo.ts'
import { readUsers, selectUsers, usersById } from '../cells/named.ts'

/** More users are not expected, because a page that names one of them reads all. */
const MOST_EXPECTED = 50

/** Tables that were made alike share their fields, so this many of their accounts are told apart. */
const MOST_ACCOUNTS = 1_000

/** By account, the ids of the users whom pages with these fields named, those of the last page first. */
const namedBefore = memo((_fields: readonly FieldDef[]) => new BoundedMap<number, readonly number[]>(MOST_ACCOUNTS))

export class ExpectedUsers {
  readonly #accountId: number
  readonly #namedBefore: BoundedMap<number, readonly number[]>
  readonly #expected: readonly number[]
  #users: Map<number, UserValue> | undefined

  constructor(accountId: number, fields: readonly FieldDef[]) {
    this.#accountId = accountId
    this.#namedBefore = namedBefore(fields)
    this.#expected = this.#namedBefore.get(accountId) ?? []
  }

  /** Reads them behind the statement of the page; undefined if nobody is expected. */
  get trailing(): TrailingRead | undefined {
    if (!this.#expected.length) return undefined
    return {
      statement: selectUsers(this.#accountId, this.#expected),
      answered: (rows) => {
        this.#users = usersById(rows as UserValue[])
      },
    }
  }

  /** The users with the ids that the rows name. Reads those that were not expected. */
  async named(db: Database, ids: readonly number[]): Promise<ReadonlyMap<number, UserValue>> {
    const users = this.#users
    const expected = new Set(this.#expected)
    const others = users ? ids.filter((id) => !expected.has(id)) : ids
    if (users && !others.length) return users
    this.#namedBefore.set(this.#accountId, [...new Set([...ids, ...this.#expected])].slice(0, MOST_EXPECTED))
    const read = await readUsers(db, this.#accountId, others)
    return users ? new Map([...users, ...read]) : read
  }
}

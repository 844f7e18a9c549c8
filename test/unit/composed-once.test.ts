import { describe, expect, test } from 'vitest'
import { composedOnce } from '../../src/platform/database/composed-once.ts'
import { ident, type Sql, sql } from '../../src/platform/database/database.ts'
import { constant } from '../../src/platform/database/prepare.ts'

interface Values {
  id: number
  name: string | null
}

describe('a statement that is composed once', () => {
  test('has the same text for all values, and binds those of each run', () => {
    let composed = 0
    const inner = (id: number): Sql => sql`select ${id}::int`
    const statement = composedOnce<Values>(['id', 'name'], ({ id, name }) => {
      composed++
      return sql`select * from (${inner(id)}) i where name = ${name} and ${constant('fixed')} <> '' and id <> ${id}`
    })
    const [first, second] = [statement({ id: 1, name: 'a' }), statement({ id: 2, name: null })]
    expect(composed).toBe(1)
    expect(first.text).toBe("select * from (select $1::int) i where name = $2 and 'fixed' <> '' and id <> $3")
    expect(second.text).toBe(first.text)
    expect([first.values, second.values]).toEqual([
      [1, 'a', 1],
      [2, null, 2],
    ])
  })

  test('refuses to make a value part of the text', () => {
    expect(() => composedOnce<Values>(['id', 'name'], ({ id }) => sql`select * from ${ident(`t${id}`)}`)).toThrow(
      'id is bound when the statement is run',
    )
  })

  test('refuses a value of its first caller, because all later ones would get it', () => {
    const account = 'a'
    expect(() => composedOnce<Values>(['id'], ({ id }) => sql`select ${id} where account = ${account}`)).toThrow(
      '$2 of a statement that is composed once is neither bound by each run nor a constant',
    )
  })
})

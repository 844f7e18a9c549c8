import { describe, expect, test } from 'vitest'
import { type Sql, sql } from '../../src/platform/database/database.ts'
import { constant, prepare } from '../../src/platform/database/prepare.ts'

interface Values {
  id: number
  name: string | null
}

describe('a prepared statement', () => {
  test('is composed once for a key, and binds the values of each run', () => {
    let composed = 0
    const inner = (id: Sql): Sql => sql`select ${id}::int`
    const statement = prepare<{ from: string }, Values>(2, ({ id, name }, { from }) => {
      composed++
      return sql`select * from (${inner(id)}) i where name = ${name} and ${constant(from)} <> '' and id <> ${id}`
    })
    const [first, second] = [statement({ from: 'a' }, { id: 1, name: 'a' }), statement({ from: 'a' }, { id: 2, name: null })]
    expect(composed).toBe(1)
    expect(first.text).toBe("select * from (select $1::int) i where name = $2 and 'a' <> '' and id <> $3")
    expect(second.text).toBe(first.text)
    expect([first.values, second.values]).toEqual([
      [1, 'a', 1],
      [2, null, 2],
    ])
    expect(statement({ from: "it's" }, { id: 1, name: 'a' }).text).toContain("'it''s' <> ''")
  })

  test('tells objects of a key apart by identity, and keeps those that were used last', () => {
    let composed = 0
    const statement = prepare<{ table: object; isNew: boolean }, Values>(2, ({ id }) => sql`select ${id}, ${constant(++composed)}`)
    const [one, other] = [{ name: 'same' }, { name: 'same' }]
    const composedFor = (table: object, isNew: boolean) => statement({ table, isNew }, { id: 1, name: null }).text
    expect([composedFor(one, true), composedFor(other, true), composedFor(one, true)]).toEqual([
      'select $1, 1',
      'select $1, 2',
      'select $1, 1',
    ])
    expect([composedFor(one, false), composedFor(other, true)]).toEqual(['select $1, 3', 'select $1, 4'])
  })

  test('refuses a value that is neither a parameter nor a constant, because every later run would get that of the first', () => {
    const of = (account: string) => prepare<object, Values>(1, ({ id }) => sql`select ${id} where account = ${account}`)
    expect(() => of('a')({}, { id: 1, name: null })).toThrow('$2 of a prepared statement is neither a parameter nor a constant')
  })

  test('refuses to run without a value', () => {
    const statement = prepare<object, Partial<Values>>(1, ({ id }) => sql`select ${id}`)
    expect(() => statement({}, { name: 'a' })).toThrow('No value for the parameter id')
  })
})

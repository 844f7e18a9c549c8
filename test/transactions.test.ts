/** Transactions of hand-written statements and of Prisma, on a database whose statements are listed. */

import { afterAll, beforeEach, expect, test } from 'vitest'
import { openDatabase, sql } from '../src/platform/database/database.ts'
import { isOutage } from '../src/platform/database/database-errors.ts'
import { labelled } from '../src/platform/database/statements/statement.ts'
import { testDatabase } from './support/database.ts'

const { connection } = await testDatabase()
const texts: string[] = []
const noted = (text: string) => {
  texts.push(text)
  return () => {}
}
const db = openDatabase(connection, { size: 3, observe: noted })
afterAll(() => db.close())
beforeEach(() => {
  texts.length = 0
})

let accounts = 0
const newName = () => `Account ${++accounts}`
const insert = (name: string, label?: string) =>
  db.write<{ id: number }>(labelled(label, sql`insert into accounts (name, created_at) values (${name}, now()) returning id`))
const countOf = async (...names: string[]) => {
  const [row] = await db.read<{ count: number }>(sql`select count(*) from accounts where name = any(${names})`)
  return row?.count
}
const failing = () => db.read(sql`select 1 / ${0}::int`)
/** The statements of a transaction, without their tables. */
const kinds = () => texts.map((text) => /\w+/.exec(text)?.[0]?.toUpperCase())

test('takes no connection until its first statement', async () => {
  const result = await db.transaction(async () => {
    expect(db.inTransaction()).toBe(true)
    expect(db.load().busy).toBe(0)
    return 'done'
  })
  expect([result, texts, db.inTransaction()]).toEqual(['done', [], false])
})

test('is one for statements, for Prisma and for a transaction inside, and sees its own writes', async () => {
  const [own, models, inner] = [newName(), newName(), newName()]
  await db.transaction(async () => {
    await db.prisma.account.create({ data: { name: models, createdAt: new Date() } })
    await insert(own)
    await db.transaction(() => insert(inner))
    expect(await db.prisma.account.count({ where: { name: { in: [own, models, inner] } } })).toBe(3)
    expect(db.load().busy).toBe(1)
  })
  expect(await countOf(own, models, inner)).toBe(3)
  expect(texts.filter((text) => /^(BEGIN|COMMIT)$/.test(text))).toEqual(['BEGIN', 'COMMIT'])
  expect(db.load().busy).toBe(0)
})

test('is rolled back as a whole, with what Prisma makes of several statements', async () => {
  const [own, models] = [newName(), newName()]
  const nested = {
    name: models,
    createdAt: new Date(),
    spaces: { create: { name: 'Inside', createdAt: new Date(), updatedAt: new Date() } },
  }
  const attempt = db.transaction(async () => {
    await insert(own)
    const { spaces } = await db.prisma.account.create({ data: nested, include: { spaces: true } })
    expect(spaces).toMatchObject([{ name: 'Inside' }])
    throw new Error('changed my mind')
  })
  await expect(attempt).rejects.toThrow('changed my mind')
  expect(await countOf(own, models)).toBe(0)
  expect(texts.filter((text) => /^(BEGIN|COMMIT|ROLLBACK)$/.test(text))).toEqual(['BEGIN', 'ROLLBACK'])

  await db.prisma.account.create({ data: nested })
  expect(await countOf(models)).toBe(1)
})

test('of several requests at once are apart, whichever is rolled back', async () => {
  const names = Array.from({ length: 9 }, newName)
  const results = await Promise.allSettled(
    names.map((name, index) =>
      db.transaction(async () => {
        if (index % 2) await insert(name)
        else await db.prisma.account.create({ data: { name, createdAt: new Date() } })
        const found = await db.prisma.account.findFirst({ where: { name } })
        if (index % 3 === 0) throw new Error('no')
        return found?.name
      }),
    ),
  )
  const kept = names.filter((_, index) => index % 3)
  expect(results.map((result) => result.status === 'fulfilled' && result.value)).toEqual(names.map((name) => kept.includes(name) && name))
  expect(await countOf(...names)).toBe(kept.length)
})

test('begins in the round trip of its first statement if that is prepared', async () => {
  for (let use = 0; use < 3; use++) await insert(newName(), 'insert-account')
  texts.length = 0
  const [first, second] = [newName(), newName()]
  const ids = await db.transaction(async () => [...(await insert(first, 'insert-account')), ...(await insert(second))])
  expect(kinds()).toEqual(['INSERT', 'INSERT', 'COMMIT'])
  expect([await countOf(first, second), ids]).toEqual([2, [{ id: expect.any(Number) }, { id: expect.any(Number) }]])

  const attempt = db.transaction(async () => {
    await insert(first, 'insert-account')
    await insert(second, 'insert-account')
    await failing()
  })
  await expect(attempt).rejects.toThrow('division by zero')
  expect(await countOf(first, second)).toBe(2)
})

test('fails by a first statement that is prepared and fails, and the connection serves the next', async () => {
  const refused = () => db.write(labelled('refused', sql`insert into accounts (name, created_at) values (${null}, now())`))
  for (let use = 0; use < 5; use++) {
    await expect(db.transaction(refused)).rejects.toThrow('null value in column "name"')
    expect((await insert(newName(), 'insert-account')).length).toBe(1)
  }
  expect(db.load().busy).toBe(0)
})

test('begins once for statements that are sent together', async () => {
  const names = Array.from({ length: 4 }, newName)
  await db.transaction(() => Promise.all(names.map((name, index) => insert(name, index % 2 ? 'insert-account' : undefined))))
  expect(kinds().filter((kind) => kind === 'BEGIN').length).toBeLessThanOrEqual(1)
  expect(await countOf(...names)).toBe(4)
  const attempt = db.transaction(async () => {
    await Promise.all(names.map((name) => insert(name, 'insert-account')))
    throw new Error('no')
  })
  await expect(attempt).rejects.toThrow('no')
  expect(await countOf(...names)).toBe(4)
})

test('is not taken for committed after an error that its function has swallowed', async () => {
  const name = newName()
  const attempt = db.transaction(async () => {
    await insert(name)
    await failing().catch(() => {})
  })
  await expect(attempt).rejects.toThrow('was rolled back')
  expect([await countOf(name), db.load().busy]).toEqual([0, 0])
})

test('is over for statements that its function did not wait for', async () => {
  const { promise: end, resolve } = Promise.withResolvers<void>()
  const name = newName()
  const { late } = await db.transaction(async () => {
    await insert(newName())
    return { late: end.then(async () => [await insert(name), db.inTransaction()]) }
  })
  resolve()
  expect(await late).toEqual([[{ id: expect.any(Number) }], false])
  expect([await countOf(name), db.load().busy]).toEqual([1, 0])
})

test('fails as an outage if its connection is lost, and the next has another', async () => {
  const name = newName()
  const attempt = db.transaction(async () => {
    await insert(name)
    const [own] = await db.read<{ pid: number }>(sql`select pg_backend_pid() as pid`)
    const other = await db.connect()
    await other.query('select pg_terminate_backend($1::int)', [own?.pid])
    await other.end()
    return insert(name)
  })
  const error = await attempt.catch((thrown: unknown) => thrown)
  expect(isOutage(error)).toBe(true)
  expect(await db.transaction(() => insert(newName()))).toHaveLength(1)
  expect([await countOf(name), db.load().busy]).toEqual([0, 0])
})

test('of one write on records elsewhere is sent without BEGIN and COMMIT, and joins an open one', async () => {
  const [alone, joined] = [newName(), newName()]
  const elsewhere = openDatabase(connection, { observe: noted, placement: { nodeOf: () => db } })
  const write = (name: string) => elsewhere.records(1).write(sql`insert into accounts (name, created_at) values (${name}, now())`)
  try {
    expect((await write(alone)).changed).toBe(1)
    expect(kinds()).toEqual(['INSERT'])
    await expect(elsewhere.records(1).write(sql`select 1 / ${0}::int`)).rejects.toThrow('division by zero')
    const undone = elsewhere.transaction(async () => {
      await write(joined)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect([await countOf(alone, joined), elsewhere.load().busy]).toEqual([1, 0])
  } finally {
    await elsewhere.close()
  }
})

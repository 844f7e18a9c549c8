import { TRPCError } from '@trpc/server'
import { describe, expect, test } from 'vitest'
import { type Database, openDatabase, sql } from '../../src/platform/database/database.ts'
import { shortRead } from '../../src/platform/database/statements/statement.ts'
import { errorAnswer } from '../../src/platform/http/answers/error-answer.ts'

describe('an unexpected error', () => {
  test.each([
    ['in a procedure', new RangeError('Invalid time value')],
    ['for a file that is missing', Object.assign(new Error("ENOENT: no such file or directory, open '/nowhere'"), { code: 'ENOENT' })],
    ['in a schema that fails on an input', new TRPCError({ code: 'BAD_REQUEST', cause: new RangeError('Invalid time value') })],
    [
      'in a schema that reads a property of null',
      new TRPCError({ code: 'BAD_REQUEST', cause: new TypeError('Cannot read properties of null') }),
    ],
  ])('%s is a 500, and keeps its text', (_, thrown) => {
    const { status, body, isFault } = errorAnswer(thrown, 'req-1')
    expect([status, isFault, body]).toEqual([
      500,
      true,
      { message: 'Something went wrong on our side', code: 'INTERNAL_SERVER_ERROR', request_id: 'req-1' },
    ])
  })

  test('does not include the caller’s broken JSON', () => {
    const thrown = new TRPCError({ code: 'BAD_REQUEST', cause: new SyntaxError('Unexpected token') })
    expect(errorAnswer(thrown, 'req-1')).toMatchObject({ status: 400, isFault: false, body: { message: 'The body is not valid JSON' } })
  })
})

describe('a server without its socket', () => {
  test.each<[string, (db: Database) => Promise<unknown>]>([
    ['for a statement', (db) => db.read(sql`select 1`)],
    ['for Prisma', (db) => db.prisma.user.count()],
    ['for a transaction', (db) => db.transaction(() => db.prisma.user.count())],
  ])('is an outage %s', async (_, use) => {
    const db = openDatabase({ host: '/nowhere', user: 'nobody', database: 'none' })
    const error = await use(db).catch((thrown) => thrown)
    expect(errorAnswer(error, 'req-1')).toMatchObject({ status: 503, body: { message: 'The database is not available' } })
    await db.close()
  })
})

describe('a pool that was ended', () => {
  test.each<[string, (db: Database) => Promise<unknown>]>([
    ['for a statement', (db) => db.read(sql`select 1`)],
    ['for a short read', (db) => db.read(shortRead('one', sql`select 1`))],
    ['for a page', (db) => db.page(sql`select 1`)],
    ['for a query that its caller may leave', (db) => db.read(sql`select 1`, { signal: new AbortController().signal })],
    ['for a write', (db) => db.write(sql`delete from users`)],
    ['for Prisma', (db) => db.prisma.user.count()],
    ['for Prisma in a transaction', (db) => db.transaction(() => db.prisma.user.count())],
    ['for a transaction', (db) => db.transaction(() => db.write(sql`delete from users`))],
  ])('is an outage %s', async (_, use) => {
    const db = openDatabase({ host: '/nowhere', user: 'nobody', database: 'none' })
    await db.close()
    const error = await use(db).catch((thrown) => thrown)
    expect(errorAnswer(error, 'req-1')).toMatchObject({
      status: 503,
      isFault: false,
      headers: { 'retry-after': '5' },
      body: { message: 'The database is not available' },
    })
  })
})

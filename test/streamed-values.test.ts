/** Values that are sent to the database while they are read. */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase, type Sql, sql } from '../src/platform/database/database.ts'
import { StreamedValue, streamedWrite } from '../src/platform/database/statements/statement.ts'
import { testDatabase } from './support/database.ts'
import { databaseProxy } from './support/database-proxy.ts'

const { connection } = await testDatabase()
/** One connection, so that each statement shows what the one before has left. */
const db = openDatabase(connection, { size: 1 })
await db.write(sql`create table files (name text primary key, bytes bytea, size int check (size <> 13))`)

/** A value that is given in pieces of this size, each of which overwrites the one before. */
function streamed(bytes: Buffer, { size = 10_000, stated = bytes.length } = {}): StreamedValue {
  return new StreamedValue(stated, async function* () {
    const piece = Buffer.alloc(size)
    for (let at = 0; at < bytes.length; at += size) yield piece.subarray(0, bytes.copy(piece, 0, at, at + size))
  })
}

const failing = (bytes: number) =>
  new StreamedValue(bytes, async function* () {
    yield Buffer.alloc(bytes / 2)
    throw new Error('The disk is gone')
  })

const insert = (name: string, value: StreamedValue, size = 0, on = db) =>
  on.write<{ name: string }>(
    streamedWrite(value, sql`insert into files (name, bytes, size) values (${name}, ${value}, ${size}) returning name`),
  )
const storedAs = async (name: string) => (await db.read<{ bytes: Buffer }>(sql`select bytes from files where name = ${name}`))[0]?.bytes

test.each([0, 1, 9_999, 10_000, 10_001, 3_000_000])('%i bytes arrive as they are', async (count) => {
  const bytes = randomBytes(count)
  expect(await insert(`a ${count}`, streamed(bytes))).toEqual([{ name: `a ${count}` }])
  expect((await storedAs(`a ${count}`))?.equals(bytes)).toBe(true)
})

test.each<[string, (value: StreamedValue, other: Buffer) => Sql]>([
  ['first', (value, other) => sql`insert into files (bytes, name) select ${value}, encode(${other}, 'hex')`],
  ['in the middle', (value, other) => sql`insert into files (name, bytes, size) values (encode(${other}, 'hex'), ${value}, ${7})`],
  ['last', (value, other) => sql`insert into files (name, bytes) values (encode(${other}, 'hex'), ${value})`],
])('the value may be %s among others', async (_, statement) => {
  const [bytes, other] = [randomBytes(50_000), randomBytes(20)]
  const value = streamed(bytes)
  const written = await db.write(streamedWrite(value, statement(value, other)))
  expect(written.changed).toBe(1)
  expect((await storedAs(other.toString('hex')))?.equals(bytes)).toBe(true)
})

test('it is sent again by each statement that has it', async () => {
  const bytes = randomBytes(30_000)
  const value = streamed(bytes)
  for (const name of ['again 1', 'again 2', 'again 3', 'again 4']) await insert(name, value)
  expect((await storedAs('again 4'))?.equals(bytes)).toBe(true)
})

test('it belongs to the transaction of its caller', async () => {
  const gone = db.transaction(async () => {
    await db.write(sql`insert into files (name) values ('before')`)
    await insert('inside', streamed(randomBytes(40_000)))
    throw new Error('Not this time')
  })
  await expect(gone).rejects.toThrow('Not this time')
  expect(await db.read(sql`select name from files where name in ('before', 'inside')`)).toEqual([])
  await db.transaction(async () => {
    await insert('inside', streamed(Buffer.from('kept')))
    await db.write(sql`insert into files (name) values ('after')`)
  })
  expect(await storedAs('inside')).toEqual(Buffer.from('kept'))
})

test('an error of the statement leaves the connection as it is', async () => {
  const process = async () => (await db.read<{ pid: number }>(sql`select pg_backend_pid() as pid`))[0]?.pid
  const before = await process()
  await expect(insert('refused', streamed(randomBytes(2_000_000)), 13)).rejects.toMatchObject({ code: '23514' })
  const value = streamed(randomBytes(2_000_000))
  await expect(db.write(streamedWrite(value, sql`insert into no_table values (${value})`))).rejects.toMatchObject({ code: '42P01' })
  expect(await process()).toBe(before)
})

test.each<[string, StreamedValue, string]>([
  ['that fails', failing(100_000), 'The disk is gone'],
  ['of fewer bytes than it was said to have', streamed(Buffer.alloc(9_000), { stated: 10_000 }), 'and has 9000'],
  ['of more bytes than it was said to have', streamed(Buffer.alloc(30_000), { stated: 10_000 }), 'and has more'],
])('a source %s stores nothing, and the next statement has another connection', async (_, value, message) => {
  await expect(insert('broken', value)).rejects.toThrow(message)
  await expect(db.transaction(() => insert('broken', value))).rejects.toThrow(message)
  expect(await storedAs('broken')).toBeUndefined()
})

test('a connection that is lost meanwhile is the error of the statement', async () => {
  const proxy = await databaseProxy()
  const away = openDatabase({ connectionString: proxy.url }, { size: 1 })
  onTestFinished(() => away.close())
  const value = new StreamedValue(2_000_000, async function* () {
    yield Buffer.alloc(1_000_000)
    await proxy.cut()
    yield Buffer.alloc(1_000_000)
  })
  await expect(insert('lost', value, 0, away)).rejects.toThrow(/connection|ECONNRESET|EPIPE/i)
  await proxy.restore()
  expect(await away.read(sql`select name from files where name = 'lost'`)).toEqual([])
})

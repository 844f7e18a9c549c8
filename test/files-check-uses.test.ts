/** `npm run admin -- files check` compares the rows of files with the cells, comments, mails and tasks that use them. */
import { createHash } from 'node:crypto'
import { utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkFiles } from '../scripts/files-check.ts'
import { faultyUses } from '../src/files/uses/queries.ts'
import { ident, sql } from '../src/platform/database/database.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { fileSupport } from './support/files.ts'
import { makeTable, type TestTable } from './support/tables.ts'

const app = await testApp()
const { isStored, sweepAfter, sweepLeftoversAfter } = fileSupport(app)
const { db, storage } = app.deps

let account: TestAccount
let table: TestTable
let other: TestTable
let task: { id: number }
beforeAll(async () => {
  account = await app.account()
  const fields = ['Name', 'Files', 'More'].map((name) => ({ name, type: name === 'Name' ? 'text' : 'file' }))
  table = await makeTable(app, account, { fields, records: [{}, {}, {}] })
  other = await makeTable(app, account, { fields, records: [{}] })
  task = await post('/api/tasks/create', { title: 'Call' })
})

interface Entry {
  path: string
  name: string
}

async function post(path: string, body: object) {
  const { status, body: answer } = await app.as(account.member).post(path, body)
  expect([path, status]).toEqual([path, 200])
  return answer
}

const record = (index = 0) => `${table.path}/record/${table.records[index]}`
const upload = { name: 'a.txt', data: Buffer.from('hello').toString('base64') }
const inCell = async (of = record(), field_id = 'files'): Promise<Entry> =>
  (await post(`${of}/files/create`, { field_id, ...upload })).at(-1)

async function inComment(of = record()): Promise<{ id: number; file: Entry }> {
  const file = await post(`${of}/comments/upload`, upload)
  const { id } = await post(`${of}/comments/create`, { content: 'See', attachments: [file] })
  return { id, file }
}

async function onTask(): Promise<Entry> {
  const file = await post(`/api/task/${task.id}/upload`, upload)
  await post(`/api/task/${task.id}/update`, { attachments: [file] })
  return file
}

async function inTaskComment(): Promise<{ id: number; file: Entry }> {
  const file = await post(`/api/task/${task.id}/comments/upload`, upload)
  const { id } = await post(`/api/task/${task.id}/comments/create`, { content: 'See', attachments: [file] })
  return { id, file }
}

/** Writes a cell past the service. */
const setCell = (files: Entry[] | null, index = 0, field = 'files') =>
  db.write(sql`
    update ${ident(`t${table.id}`)}.records set ${ident(field)} = ${files && JSON.stringify(files)}::jsonb where id = ${table.records[index]}`)

const deleteRow = ({ path }: Entry) => db.write(sql`delete from stored_files where path = ${path}`)
const rowOf = async ({ path }: Entry) =>
  (
    await db.read<{ is_held: boolean; is_shared: boolean | null; record_id: number | null }>(
      sql`select dropped_at is null as is_held, is_shared, record_id from stored_files where path = ${path}`,
    )
  )[0]
const statusOf = async ({ path }: Entry) => (await app.as(account.member).get(`/api/file/${path}`)).status

async function check(repairs = false) {
  const lines: string[] = []
  const isClean = await checkFiles(app.deps, { repairs, print: (line) => lines.push(line) })
  return { isClean, findings: lines.filter((line) => /^[a-z]+ [\w.()-]+( path\))?:/.test(line)), lines }
}

const CLEAN = { isClean: true, findings: [] }

test('finds nothing wrong with files that are used in every way', async () => {
  const [a, b] = [await inCell(), await inCell()]
  await inComment()
  await onTask()
  await inTaskComment()
  // Shared by two records, by two cells of one, by a cell and a comment.
  await post(`${record(1)}/update`, { data: { files: [a], more: [b] } })
  await post(`${record(2)}/update`, { data: { files: [b], more: [b] } })
  await post(`${record(1)}/comments/create`, { content: 'Again', attachments: [a] })
  expect(await check()).toMatchObject(CLEAN)
  // The record that has uploaded them no longer uses them.
  await post(`${record()}/update`, { data: { files: null } })
  expect(await check()).toMatchObject(CLEAN)
  expect(await check(true)).toMatchObject(CLEAN)
})

describe('a file that nothing uses', () => {
  test('is named, and dropped by the repair, so that an admin finds it', async () => {
    const [cell, comment, mail] = [await inCell(record(2), 'more'), await inComment(), await inComment()]
    const [ofTask, ofTaskComment] = [await onTask(), await inTaskComment()]
    await setCell(null, 2, 'more')
    await db.write(sql`update record_comments set type = 'email_in' where id = ${mail.id}`)
    await db.write(sql`delete from record_comments where id in (${comment.id}, ${mail.id})`)
    await db.write(sql`update tasks set attachments = '[]' where id = ${task.id}`)
    await db.write(sql`delete from task_comments where id = ${ofTaskComment.id}`)
    const files = [cell, comment.file, mail.file, ofTask, ofTaskComment.file]
    const { isClean, findings } = await check()
    expect(isClean).toBe(false)
    // Other tests of this file may have left tasks' files without a use by the statement above.
    expect(findings).toEqual(expect.arrayContaining(files.map(({ path }) => `unused ${path}: nothing uses it`)))
    expect(await Promise.all(files.map(rowOf))).toEqual(files.map(() => expect.objectContaining({ is_held: true })))

    expect((await check(true)).isClean).toBe(true)
    expect(await check()).toMatchObject(CLEAN)
    const dropped = await app.as(account.admin).get(`/api/space/${account.space}/files/dropped`)
    const listed = dropped.body.map(({ path }: Entry) => path)
    expect(listed).toEqual(expect.arrayContaining([cell, comment.file, mail.file].map(({ path }) => path)))
    await sweepAfter(48)
    expect(await Promise.all(files.map(({ path }) => isStored(path)))).toEqual(files.map(() => true))
    await sweepAfter(31 * 24)
    expect(await Promise.all(files.map(({ path }) => isStored(path)))).toEqual(files.map(() => false))
  })

  test('is kept while its table may be restored', async () => {
    const { id } = await makeTable(app, account, { fields: [{ name: 'Files', type: 'file' }], records: [{}] })
    const [{ id: recordId }] = (await db.read<{ id: number }>(sql`select id from ${ident(`t${id}`)}.records`)) as [{ id: number }]
    const file = await inCell(`/api/table/${id}/record/${recordId}`)
    await app.as(account.owner).post(`/api/table/${id}/delete`, {})
    expect(await check(true)).toMatchObject(CLEAN)
    expect(await rowOf(file)).toMatchObject({ is_held: true })
  })
})

describe('a use of a file without a row', () => {
  test('is repaired from the bytes', async () => {
    const [cell, comment, ofTask, ofTaskComment] = [await inCell(), await inComment(), await onTask(), await inTaskComment()]
    const files = [cell, comment.file, ofTask, ofTaskComment.file]
    for (const file of files) await deleteRow(file)
    const { isClean, findings } = await check()
    expect([isClean, findings.toSorted()]).toEqual([
      false,
      [
        `rowless ${cell.path}: field files of record ${table.records[0]} of table ${table.id} names it, and it has no row`,
        `rowless ${comment.file.path}: comment or mail ${comment.id} of record ${table.records[0]} of table ${table.id} names it, and it has no row`,
        `rowless ${ofTask.path}: task ${task.id} names it, and it has no row`,
        `rowless ${ofTaskComment.file.path}: comment or mail ${ofTaskComment.id} of task ${task.id} names it, and it has no row`,
      ].toSorted(),
    ])
    expect((await check(true)).isClean).toBe(true)
    expect(await check()).toMatchObject(CLEAN)
    expect(await Promise.all(files.map(statusOf))).toEqual([200, 200, 200, 200])
    // They are ordinary files again: the last use decides.
    await post(`${record()}/files/delete`, { field_id: 'files', path: cell.path })
    expect(await rowOf(cell)).toMatchObject({ is_held: false })
  })

  test('stays named if its bytes are gone or of another size, and those bytes are never deleted', async () => {
    const [gone, changed] = [await inCell(), await inCell()]
    for (const file of [gone, changed]) await deleteRow(file)
    await storage.remove(gone.path)
    await storage.write(changed.path, Buffer.from('other bytes'))
    const then = new Date(Date.now() - 3 * 86_400_000)
    const folder = createHash('sha256').update(changed.path).digest('hex').slice(0, 2)
    await utimes(join(app.settings.storage, folder, changed.path), then, then)
    for (const repairs of [false, true]) {
      const { isClean, findings } = await check(repairs)
      expect([isClean, findings.map((line) => line.split(':')[0]).toSorted()]).toEqual([
        false,
        [`rowless ${changed.path}`, `rowless ${gone.path}`].toSorted(),
      ])
    }
    await sweepLeftoversAfter(48)
    expect(await isStored(changed.path)).toBe(true)
    for (const { path } of [gone, changed]) await post(`${record()}/files/delete`, { field_id: 'files', path })
    expect((await check(true)).isClean).toBe(true)
    expect(await isStored(changed.path)).toBe(false)
  })

  test('does not become a file of another table by its name', async () => {
    const theirs = await inCell(`${other.path}/record/${other.records[0]}`)
    await deleteRow(theirs)
    await setCell([theirs], 1)
    const { isClean, findings } = await check(true)
    // The record that really has the file gets its row back; the other one names a file of another table then.
    expect([isClean, findings.length]).toEqual([false, 2])
    expect((await check()).findings).toEqual([
      `misplaced ${theirs.path}: field files of record ${table.records[1]} of table ${table.id} names it, and it belongs to another table or task`,
    ])
    expect((await check(true)).isClean).toBe(false)
    await setCell(null, 1)
    expect(await check()).toMatchObject(CLEAN)
  })
})

test('names uses of the files of other tables, tasks and accounts, and leaves them', async () => {
  const stranger = await app.account()
  const strange = await makeTable(app, stranger, { fields: [{ name: 'Files', type: 'file' }], records: [{}] })
  const at = `${strange.path}/record/${strange.records[0]}`
  const { body } = await app.as(stranger.member).post(`${at}/files/create`, { field_id: 'files', ...upload })
  const [theirs, ofTask] = [body.at(-1) as Entry, await onTask()]
  await setCell([theirs, ofTask], 1)
  const { isClean, findings } = await check(true)
  expect([isClean, findings.map((line) => line.split(':')[0]).toSorted()]).toEqual([
    false,
    [`misplaced ${theirs.path}`, `misplaced ${ofTask.path}`].toSorted(),
  ])
  await setCell(null, 1)
  expect(await check()).toMatchObject(CLEAN)
})

test('brings files back that are in use and count as dropped', async () => {
  const [cell, comment, ofTask] = [await inCell(), await inComment(), await onTask()]
  const files = [cell, comment.file, ofTask]
  for (const { path } of files)
    await db.write(sql`update stored_files set dropped_at = now(), was_held = true, is_shared = false where path = ${path}`)
  expect(await Promise.all(files.map(statusOf))).toEqual([404, 404, 404])
  const { isClean, findings } = await check()
  expect([isClean, findings.length]).toEqual([false, 3])
  expect(findings).toContain(
    `dropped ${cell.path}: field files of record ${table.records[0]} of table ${table.id} uses it, and it counts as dropped`,
  )
  expect((await check(true)).isClean).toBe(true)
  expect(await Promise.all(files.map(statusOf))).toEqual([200, 200, 200])
  expect(await check()).toMatchObject(CLEAN)
})

test('counts uses that the row does not know, so that the file is not dropped with the first of them', async () => {
  const [shared, twice] = [await inCell(), await inCell()]
  await setCell([shared], 1)
  await setCell([twice], 0, 'more')
  const { isClean, findings } = await check()
  expect([isClean, findings.toSorted()]).toEqual([
    false,
    [
      `uncounted ${shared.path}: field files of record ${table.records[1]} of table ${table.id} uses it as well, and its row says that it is used once`,
      `uncounted ${twice.path}: is used more than once, and its row says once`,
    ].toSorted(),
  ])
  expect((await check(true)).isClean).toBe(true)
  await post(`${record()}/update`, { data: { files: null } })
  expect(await Promise.all([shared, twice].map(statusOf))).toEqual([200, 200])
  expect(await check()).toMatchObject(CLEAN)
})

test('walks through a table in small steps, and misses no record at their borders', async () => {
  const account = await app.account()
  const fields = ['Files', 'More'].map((name) => ({ name, type: 'file' }))
  const { id } = await makeTable(app, account, { fields, records: Array.from({ length: 7 }, () => ({})) })
  await db.write(sql`
    update ${ident(`t${id}`)}.records set files = ('[{"path":"a-' || id::text || '"}]')::jsonb,
      more = case when id % 2 = 0 then ('[{"path":"b-' || id::text || '"}]')::jsonb end`)
  const expected = (await db.read<{ id: number }>(sql`select id from ${ident(`t${id}`)}.records`)).flatMap(({ id }) =>
    id % 2 === 0 ? [`a-${id}`, `b-${id}`] : [`a-${id}`],
  )
  for (const atOnce of [1, 2, 7, 8]) {
    const found: (string | null)[] = []
    for await (const uses of faultyUses(db, atOnce)) {
      expect(uses.length).toBeLessThanOrEqual(2 * atOnce)
      found.push(...uses.map(({ path }) => path))
    }
    expect(found.toSorted()).toEqual(expected.toSorted())
  }
  await db.write(sql`update ${ident(`t${id}`)}.records set files = null, more = null`)
})

/** Uploads by the typed client, to the service. */
import { createHash, randomBytes } from 'node:crypto'
import { TRPCClientError } from '@trpc/client'
import { describe, expect, test } from 'vitest'
import { UPLOAD_PATHS, type UploadName } from '../src/files/client/upload-request.ts'
import { sql } from '../src/platform/database/database.ts'
import { apiDocument } from '../src/router.ts'
import { type As, testApp } from './support/app.ts'
import { everyType } from './support/tables.ts'

const MB = 1_048_576
const app = await testApp()
const account = await app.account()
const as = app.as(account.member)
const table = await everyType(app, account)
const { id: record_id } = (await as.post(`${table.path}/records/create`, { data: { text: 'Acme' } })).body
const record = { table_id: table.id, record_id }
const { id: task_id } = (await as.post(`/api/tasks/onRecord/${table.id}/${record_id}/create`, { title: 'Call' })).body

/** The uploads, with the last file of each answer. */
const UPLOADS: Record<UploadName, (rpc: As['rpc'], file: File) => Promise<{ name: string; path: string; size: number; type: string }>> = {
  'files.create': async (rpc, file) => {
    const { rows } = await rpc.upload('files.create', { ...record, field_id: 'file' }, file)
    return rows[rows.length - 1] as (typeof rows)[number]
  },
  'comments.upload': (rpc, file) => rpc.upload('comments.upload', record, file),
  'tasks.upload': (rpc, file) => rpc.upload('tasks.upload', { task_id }, file),
  'tasks.comments.upload': (rpc, file) => rpc.upload('tasks.comments.upload', { task_id }, file),
  'tasks.stage': (rpc, file) => rpc.upload('tasks.stage', {}, file),
  'tasks.stageOnRecord': (rpc, file) => rpc.upload('tasks.stageOnRecord', record, file),
}

const failure = (upload: Promise<unknown>) =>
  upload.then(
    () => expect.unreachable('the upload should fail'),
    (error: unknown) => {
      expect(error).toBeInstanceOf(TRPCClientError)
      return error as TRPCClientError<never> & { data?: { code: string; issues?: object[] } }
    },
  )

test('the client knows every operation that takes a file by PUT', async () => {
  const { paths } = (await apiDocument()) as { paths: Record<string, { put?: { operationId: string } }> }
  const putting = Object.entries(paths).filter(([, { put }]) => put)
  expect(putting.map(([path]) => path).sort()).toEqual(Object.values(UPLOAD_PATHS).sort())
})

describe.each(Object.entries(UPLOADS))('%s', (_, upload) => {
  test('stores the bytes of a file under its name and type', async () => {
    const file = new File(['hello'], 'Ängebot "1"; 見.txt', { type: 'text/plain; charset=utf-8' })
    const stored = await upload(as.rpc, file)
    expect(stored).toMatchObject({ name: 'Ängebot "1"; 見.txt', size: 5, type: 'text/plain; charset=utf-8' })
    expect((await as.get(`/api/file/${stored.path}`)).body).toBe('hello')
  })

  test('is refused with the error of the service', async () => {
    const unnamed = await failure(upload(as.rpc, new File([], '..')))
    expect(unnamed.data).toMatchObject({ httpStatus: 400, code: 'BAD_REQUEST', issues: [{ path: ['name'], message: 'must name a file' }] })
    const unknown = await failure(upload(app.as(null).rpc, new File(['x'.repeat(MB)], 'a')))
    expect(unknown.data).toMatchObject({ httpStatus: 401, code: 'UNAUTHORIZED' })
  })
})

test('an upload is refused if another account calls, and if a key calls where only sessions may', async () => {
  const file = new File(['a'], 'a')
  const foreign = await failure(app.as(account.outsider).rpc.upload('comments.upload', record, file))
  expect(foreign.data).toMatchObject({ httpStatus: 404, message: 'Table not found' })
  const byKey = await failure(app.as(account.keys.account).rpc.upload('tasks.upload', { task_id }, file))
  expect(byKey.data).toMatchObject({ httpStatus: 403, message: 'API endpoint not available to API keys' })
})

test('a stream of unknown size is stored whole, with its progress', async () => {
  const chunk = randomBytes(MB)
  const steps: number[] = []
  async function* chunks() {
    for (let index = 0; index < 12; index++) yield chunk
  }
  const onProgress = ({ sent }: { sent: number }) => void steps.push(sent)
  const stored = await as.rpc.upload('comments.upload', record, { name: 'a.bin', content: chunks() }, { onProgress })
  expect([stored.size, steps.at(-1)]).toEqual([12 * MB, 12 * MB])
  const sha256 = createHash('sha256')
  for (let index = 0; index < 12; index++) sha256.update(chunk)
  const rows = await app.db.read(sql`select encode(sha256, 'hex') as sha256 from stored_files where path = ${stored.path}`)
  expect(rows).toEqual([{ sha256: sha256.digest('hex') }])
})

test('one byte over the limit is 413, from bytes and from a stream', async () => {
  const over = Buffer.alloc(50 * MB + 1)
  async function* chunks() {
    for (let start = 0; start < over.length; start += MB) yield over.subarray(start, start + MB)
  }
  for (const content of [over, chunks()]) {
    const { data } = await failure(as.rpc.upload('comments.upload', record, { name: 'a', content }))
    expect(data).toMatchObject({ httpStatus: 413, code: 'PAYLOAD_TOO_LARGE', issues: [{ message: 'must have at most 50 MB' }] })
  }
})

test('an aborted upload leaves nothing', async () => {
  const ending = new AbortController()
  const onProgress = ({ sent }: { sent: number }) => void (sent > 5 * MB && ending.abort())
  const options = { signal: ending.signal, onProgress }
  const error = await failure(as.rpc.upload('comments.upload', record, { name: 'aborted.bin', content: Buffer.alloc(20 * MB) }, options))
  expect((error.cause as Error).name).toBe('AbortError')
  expect(await app.db.read(sql`select 1 from stored_files where name = 'aborted.bin'`)).toEqual([])
  await expect.poll(() => stagedUnder('aborted.bin')).toBe(0)
})

/** How many files of this name are in storage without a row. */
async function stagedUnder(name: string): Promise<number> {
  let found = 0
  for await (const path of app.deps.storage.list('staged-', new Date(Date.now() + 60_000))) if (path.endsWith(name)) found++
  return found
}

test('the same upload with the same key is stored once', async () => {
  const upload = (content: string) => as.rpc.upload('comments.upload', record, new File([content], 'once.txt'), { idempotencyKey: 'once' })
  const first = await upload('hello')
  expect(await upload('hello')).toEqual(first)
  expect((await failure(upload('hellu'))).data).toMatchObject({ httpStatus: 409, code: 'CONFLICT' })
})

/** deploy/backup.sh and deploy/restore.sh: a database of one's own and a bucket, saved beside the running service, and brought back. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, inject, test } from 'vitest'
import { settleAll } from '../src/files/sweep.ts'
import { systemContext } from '../src/platform/context.ts'
import { testApp } from './support/app.ts'
import { startBucket } from './support/bucket.ts'
import { postgresClients } from './support/installed.ts'
import { call, programs } from './support/programs.ts'
import { makeTable } from './support/tables.ts'
import { until } from './support/until.ts'

const CLIENTS = postgresClients()
const root = fileURLToPath(new URL('..', import.meta.url))
const SECRET_KEY = 'a key for tests, long enough to be one'

const bucket = await startBucket()
const app = await testApp({ STORAGE: bucket.setting })
const scratch = mkdtempSync(join(tmpdir(), 'gridpost-own-backup-'))
const folder = join(scratch, 'backups')
const server = inject('postgres')
const admin = new pg.Client({ ...server, database: 'postgres' })
const undo: string[] = []
await admin.connect()
afterAll(async () => {
  for (const statement of undo.reverse()) await admin.query(statement)
  await admin.end()
  rmSync(scratch, { recursive: true, force: true })
})
afterEach(() => {
  bucket.mood = 'well'
})

interface Run {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a script of deploy/ with the settings of the service. */
async function run(script: string, args: string[], environment: Record<string, string>): Promise<Run> {
  const PATH = [scratch, CLIENTS, join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const keys = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' }
  const env = { PATH, HOME: scratch, SECRET_KEY, DATA_DIR: join(scratch, 'data'), LOG_LEVEL: 'warn', ...keys, ...environment }
  const child = spawn(join(root, 'deploy', script), args, { cwd: scratch, env })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, stdout, stderr }
}

const backUp = (environment: Record<string, string> = {}) =>
  run('backup.sh', [folder], { DATABASE_URL: app.settings.databaseUrl ?? '', STORAGE: bucket.setting, ...environment })

const dumps = () => readdirSync(folder).filter((name) => name.startsWith('gridpost-'))

let created = 0

/** An empty database of an ordinary role, as docs/backup.md begins a restore. */
async function emptyDatabase(): Promise<string> {
  const name = `restored_${process.pid}_${created++}`
  await admin.query(`create role ${name} login`)
  undo.push(`drop role ${name}`)
  await admin.query(`create database ${name} owner ${name} encoding 'UTF8' template template0`)
  undo.push(`drop database ${name} with (force)`)
  return `postgresql://${name}@localhost:${server.port}/${name}?host=${encodeURIComponent(server.host)}`
}

/** Lets `work` run between the dump of the database and the copy of the files. */
async function whileDumped(work: () => Promise<void>, backup: () => Promise<Run>): Promise<Run> {
  const [dumped, goOn, wrapper] = ['dumped', 'go-on', 'pg_dump'].map((name) => join(scratch, name)) as [string, string, string]
  const script = `#!/bin/sh\n"${CLIENTS}/pg_dump" "$@" || exit\ntouch "${dumped}"\nwhile [ ! -e "${goOn}" ]; do sleep 0.05; done\n`
  writeFileSync(wrapper, script)
  chmodSync(wrapper, 0o755)
  try {
    const running = backup()
    await until(() => existsSync(dumped), 'for the dump')
    await work()
    writeFileSync(goOn, '')
    return await running
  } finally {
    for (const path of [wrapper, dumped, goOn]) rmSync(path, { force: true })
  }
}

describe('the arguments of backup.sh', () => {
  test.each(['0', '-1', '014', 'all', '1.5'])('KEEP=%s is refused before anything is written', async (KEEP) => {
    const { code, stderr } = await run('backup.sh', [join(scratch, 'none')], { DATABASE_URL: 'postgresql://nowhere.example/x', KEEP })
    expect([code, stderr]).toEqual([1, 'KEEP: must be a whole number, 1 or more\n'])
    expect(existsSync(join(scratch, 'none'))).toBe(false)
  })

  test('folders are taken from where the caller is', async () => {
    const programs = { pg_dump: 'for given; do case $given in --file=*) : >"$(echo "$given" | cut -c 8-)" ;; esac; done', pg_restore: ':' }
    for (const [name, lines] of Object.entries(programs)) writeFileSync(join(scratch, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 })
    try {
      const environment = { DATABASE_URL: app.settings.databaseUrl ?? '', STORAGE: bucket.setting }
      const { code, stdout } = await run('backup.sh', ['near', 'copies of files'], environment)
      expect([code, stdout]).toEqual([0, expect.stringContaining(`; the files are in ${join(scratch, 'copies of files')}\n`)])
      expect(readdirSync(join(scratch, 'near'))).toEqual([expect.stringMatching(/^gridpost-\w+\.dump$/)])
    } finally {
      for (const name of Object.keys(programs)) rmSync(join(scratch, name))
    }
  })
})

describe.skipIf(!CLIENTS)('a database of one’s own and a bucket', () => {
  test('come back as they were when the database was dumped, whatever happened to the files meanwhile', async () => {
    const account = await app.account()
    const as = app.as(account.member)
    const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
    const record = `${path}/record/${records[0]}`
    const upload = async (name: string) => {
      const data = Buffer.from(`bytes of ${name}`).toString('base64')
      const { body } = await as.post(`${record}/files/create`, { field_id: 'file', name, data })
      return body.at(-1) as { path: string }
    }
    const [first, second] = [await upload('first.txt'), await upload('second.txt')]
    const staged = (await as.post('/api/tasks/upload', { name: 'staged.txt', data: 'c3RhZ2Vk' })).body
    const task = (await as.post('/api/tasks/create', { title: 'Call', attachments: [staged] })).body
    const attached = task.attachments[0].path as string

    let third = { path: '' }
    const { code, stderr, stdout } = await whileDumped(async () => {
      await as.post(`${record}/files/delete`, { field_id: 'file', path: second.path })
      third = await upload('third.txt')
      await settleAll(systemContext(app.deps), { paths: [attached] })
      await as.post('/api/tasks/create', { title: 'After the dump' })
    }, backUp)
    expect([code, stderr]).toEqual([0, ''])
    const [dump = ''] = dumps()
    expect([stdout, dumps()]).toEqual([
      expect.stringContaining(`Wrote ${folder}/${dump}`),
      [expect.stringMatching(/^gridpost-\d{8}T\d{6}Z\.dump$/)],
    ])

    const target = { DATABASE_URL: await emptyDatabase(), STORAGE: (await startBucket()).setting }
    const restored = await run('restore.sh', [join(folder, dump), join(folder, 'files')], target)
    expect([restored.code, restored.stdout + restored.stderr]).toEqual([0, expect.stringMatching(/Restored\. Start with ROLE=web/)])

    const keys = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' }
    const program = programs({ ...target, ...keys, SECRET_KEY, ROLE: 'web' })
    try {
      const { url } = await program.start()
      const session = { cookie: `gridpost_session=${account.member.session}` }
      const get = async (at: string) => (await call(url, at, session)).body
      const { data } = await get(`${record}/get`)
      expect(data.file.map((file: { path: string }) => file.path)).toEqual([first.path, second.path])
      const files = await Promise.all([first.path, second.path, attached].map((file) => get(`/api/file/${file}`)))
      expect(files).toEqual(['bytes of first.txt', 'bytes of second.txt', 'staged'])
      expect(await get(`/api/file/${third.path}`)).toMatchObject({ code: 'NOT_FOUND' })
      const { body } = await call(url, '/api/tasks/list', { ...session, body: { tab: 'my' } })
      expect(body.map(({ title }: { title: string }) => title)).toEqual(['Call'])
    } finally {
      await program.cleanUp()
    }

    const again = await run('restore.sh', [join(folder, dump), join(folder, 'files')], target)
    expect([again.code, again.stderr]).toEqual([1, 'The database of DATABASE_URL is not empty: create another one\n'])
  })

  test('a later backup copies what is new, and keeps as many dumps as KEEP says', async () => {
    const before = (await backUp()).stdout
    const { code, stdout } = await backUp({ KEEP: '1' })
    expect([code, JSON.parse(stdout.split('\n')[0] ?? '')]).toEqual([0, { files: 0, bytes: 0, present: expect.any(Number) }])
    expect(stdout).toContain(dumps().join())
    expect(before).not.toContain('files":0,"bytes":0,"present":0')
  })

  test('a backup that cannot copy the files leaves no dump that looks complete', async () => {
    const had = dumps()
    bucket.mood = 403
    const { code, stderr } = await backUp()
    expect([code, stderr]).toEqual([1, 'files copy: AccessDenied: Not now\n'])
    expect(dumps()).toEqual(had)
  })

  test('a restore says which file is missing in the backup', async () => {
    const account = await app.account()
    const { path, records } = await makeTable(app, account, { fields: [{ name: 'File', type: 'file' }], records: [{}] })
    const content = { field_id: 'file', name: 'lost.txt', data: 'bG9zdA==' }
    await app.as(account.member).post(`${path}/record/${records[0]}/files/create`, content)
    expect((await backUp({ KEEP: '1' })).code).toBe(0)
    const incomplete = join(scratch, 'incomplete')
    mkdirSync(incomplete)
    const target = { DATABASE_URL: await emptyDatabase(), STORAGE: join(scratch, 'restored') }
    const { code, stdout } = await run('restore.sh', [join(folder, dumps()[0] ?? ''), incomplete], target)
    expect([code, stdout]).toEqual([1, expect.stringMatching(/missing.*lost\.txt/)])
  })
})

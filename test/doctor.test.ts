/** `npm run admin -- doctor`: each test creates a fault for real, and sees it found, named, and gone when it is undone. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as listenOn, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { generate } from 'selfsigned'
import { afterAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { catalogueAfter } from '../scripts/catalogue.ts'
import { examine, type Report } from '../scripts/doctor/doctor.ts'
import { checkSmtp } from '../scripts/doctor/reach-checks.ts'
import { checkReceiverReach } from '../scripts/doctor/receiver-checks.ts'
import { checkStorage } from '../scripts/doctor/storage-checks.ts'
import { DEAD_LETTERS } from '../src/platform/jobs/queue.ts'
import { readSettings } from '../src/settings.ts'
import { testApp } from './support/app.ts'
import { emptyDatabase, testDatabase } from './support/database.ts'
import { databaseProxy } from './support/database-proxy.ts'
import { prepareData } from './support/prepared-data.ts'
import { programs } from './support/programs.ts'
import { startSmtp } from './support/smtp.ts'
import { makeTable } from './support/tables.ts'

const smtp = await startSmtp()
smtp.login = { user: 'gridpost', password: 'swordfish' }
const app = await testApp()
const account = await app.account()
const table = await makeTable(app, account, {
  records: [{ name: 'Twice' }, { name: 'Twice' }],
  fields: [
    { name: 'Name', type: 'text' },
    { name: 'Documents', type: 'file' },
  ],
})
const { url: DATABASE_URL, connection } = await testDatabase()
const folder = mkdtempSync(join(tmpdir(), 'gridpost-doctor-test-'))
const client = new pg.Client(connection)
await client.connect()
const refuseAuditChange: string = (await client.query(`select pg_get_functiondef('refuse_audit_change()'::regprocedure) as text`)).rows[0]
  .text
afterAll(async () => {
  await client.end()
  await smtp.close()
  rmSync(folder, { recursive: true, force: true })
})

const SECRET_KEY = 'a key for tests, long enough to be one'
const sound = {
  DATABASE_URL,
  SECRET_KEY,
  DATA_DIR: app.settings.dataDir,
  PUBLIC_URL: app.url,
  SMTP_URL: `smtp://gridpost:swordfish@127.0.0.1:${smtp.port}`,
  NODE_ENV: 'production',
}
/** Nothing listens there, so that only settings are looked at. */
const noDatabase = { ...sound, DATABASE_URL: 'postgresql://u@127.0.0.1:1/x' }
/** What is wrong with every database of the tests: its server is made to be fast, and its role is the one that created it. */
const OF_TESTS = ['database.durability', 'database.durability', 'database.superuser', 'settings.catch_domain']

/** What migrations make, by their statements: trying them again would make the same, and takes most of the time of an examination. */
const tried = new Map<string, Promise<string[]>>()

function tryOut(scripts: string[]): Promise<string[]> {
  const statements = scripts.join('\n')
  const made = tried.get(statements) ?? catalogueAfter({ ...inject('postgres'), database: 'postgres' }, 'gridpost_doctor_test', scripts)
  tried.set(statements, made)
  return made
}

const doctor = async (environment: Record<string, string> = sound): Promise<Report> => examine({ environment, tryOut })

/** The findings beside those that all databases of the tests have. The disks of the machine are not part of a test. */
async function found(environment: Record<string, string> = sound) {
  const { findings, skipped } = await doctor(environment)
  expect(skipped).toEqual([])
  return findings.filter(({ check }) => !OF_TESTS.includes(check) && check !== 'disk.low')
}

const run = (statement: string) => client.query(statement)

test('a sound installation has nothing to report, except for what the tests do to their server', async () => {
  const { findings } = await doctor()
  expect(
    findings
      .map(({ check }) => check)
      .filter((check) => check !== 'disk.low')
      .sort(),
  ).toEqual(OF_TESTS)
  expect(findings.find(({ problem }) => problem.startsWith('fsync'))?.advice).toContain('ALTER SYSTEM SET fsync = on')
})

describe('settings', () => {
  test.each([
    ['settings.invalid', { SECRET_KEY: 'short' }, 'SECRET_KEY: must have at least 32 characters'],
    ['settings.secret_key', { SECRET_KEY: 'x'.repeat(40) }, 'SECRET_KEY can be guessed'],
    ['settings.secret_key', { SECRET_KEY: 'change-me-to-a-long-random-text-of-yours' }, 'SECRET_KEY can be guessed'],
    ['settings.secret_key', { SECRET_KEY_PREVIOUS: 'x'.repeat(40) }, 'A key of SECRET_KEY_PREVIOUS can be guessed'],
    ['settings.public_url', { PUBLIC_URL: 'http://gridpost.invalid' }, 'without TLS'],
    ['settings.public_url', { PUBLIC_URL: '' }, 'PUBLIC_URL is not set'],
    ['settings.smtp_tls', { SMTP_URL: 'smtp://u:p@mail.invalid' }, 'reaches mail.invalid without TLS'],
    ['settings.smtp_url', { SMTP_URL: '' }, 'are not mailed'],
    ['settings.database_tls', { DATABASE_URL: 'postgresql://u@database.invalid/x' }, 'reaches database.invalid without TLS'],
    [
      'settings.cors_origins',
      { CORS_ORIGINS: 'http://app.invalid, http://localhost:5173' },
      'CORS_ORIGINS has http://app.invalid without TLS',
    ],
    ['settings.trust_proxy', { TRUST_PROXY: 'true' }, 'can claim any address'],
    ['settings.rate_limits', { RATE_LIMIT_PER_MINUTE: '0', RATE_LIMIT_PER_HOUR: '0' }, 'no caller is limited'],
    ['settings.smtp_allow_private', { SMTP_ALLOW_PRIVATE: 'true' }, 'hosts in your network'],
    ['settings.node_env', { NODE_ENV: 'development' }, 'NODE_ENV is development'],
  ])('%s is found with %j', async (check, changed, text) => {
    const { findings } = await doctor({ ...noDatabase, ...changed })
    expect(findings.filter((finding) => finding.check === check).map(({ problem }) => problem)).toEqual([expect.stringContaining(text)])
  })

  test('that are sound are not reported', async () => {
    const { findings } = await doctor({
      ...noDatabase,
      SECRET_KEY: 'kqB2xN7cT0yVhR4mJ9wZpL6sF3dG8aQe',
      SMTP_URL: 'smtps://u:p@mail.invalid',
      DATABASE_URL: 'postgresql://u@database.invalid/x?sslmode=verify-full',
      PUBLIC_URL: 'https://gridpost.invalid',
      TRUST_PROXY: '10.0.0.0/8',
    })
    expect(findings.map(({ check }) => check).filter((check) => check.startsWith('settings.'))).toEqual(['settings.catch_domain'])
  })

  test('what closes caught mail is said where programs on this machine see it without the token', async () => {
    const DATA_DIR = join(folder, 'caught-mail')
    const notes = async (environment: Record<string, string>) =>
      (await doctor({ DATA_DIR, SECRET_KEY, ...environment })).notes.filter((note) => note.includes('/dev/mail'))
    expect(await notes({})).toEqual([expect.stringContaining('set PUBLIC_URL, which closes it')])
    for (const closed of [{ PUBLIC_URL: 'https://gridpost.invalid' }, { HOST: '0.0.0.0' }, { TRUST_PROXY: 'loopback' }, { DATABASE_URL }])
      expect([closed, await notes(closed)]).toEqual([closed, []])
  })

  test('files with secrets that others can read are found', async () => {
    const dataDir = join(folder, 'readable')
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'secret-key'), 'kqB2xN7cT0yVhR4mJ9wZpL6sF3dG8aQe')
    chmodSync(join(dataDir, 'secret-key'), 0o644)
    const checks = async () => (await doctor({ DATA_DIR: dataDir })).findings.filter(({ check }) => check === 'files.mode')
    expect(await checks()).toMatchObject([
      { severity: 'error', problem: expect.stringContaining('secret-key can be read by other accounts') },
    ])
    chmodSync(join(dataDir, 'secret-key'), 0o600)
    expect(await checks()).toEqual([])
  })

  test('a DATA_DIR without an installation is named, and stays as it is', async () => {
    const dataDir = join(folder, 'nothing')
    mkdirSync(dataDir)
    expect((await doctor({ DATA_DIR: dataDir })).findings).toMatchObject([{ check: 'settings.data_dir', severity: 'error' }])
    expect(readdirSync(dataDir)).toEqual([])
  })
})

describe('what cannot be reached', () => {
  test('the database', async () => {
    expect(await found(noDatabase)).toMatchObject([{ check: 'database.unreachable', problem: expect.stringContaining('ECONNREFUSED') }])
  })

  test('the mail server, and a mail server that refuses the password', async () => {
    expect(await found({ ...noDatabase, SMTP_URL: 'smtp://127.0.0.1:1' })).toContainEqual(
      expect.objectContaining({
        check: 'smtp.unreachable',
        problem: expect.stringContaining('127.0.0.1:1 of SMTP_URL does not take mail: '),
      }),
    )
    const wrong = sound.SMTP_URL.replace('swordfish', 'herring')
    expect((await found({ ...noDatabase, SMTP_URL: wrong })).map(({ check }) => check)).toContain('smtp.unreachable')
    expect((await found(noDatabase)).map(({ check }) => check)).not.toContain('smtp.unreachable')
  })

  test('PUBLIC_URL, and the way of inbound mail behind it', async () => {
    expect(await found({ ...noDatabase, PUBLIC_URL: 'http://127.0.0.1:1' })).toContainEqual(
      expect.objectContaining({ check: 'public_url.unreachable', severity: 'error' }),
    )
    const proxy = createServer(({ url }, response) => response.writeHead(url === '/healthz' ? 200 : 404).end())
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const behind = { ...noDatabase, PUBLIC_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
    expect(await found(behind)).toContainEqual(
      expect.objectContaining({ check: 'inbound.unreachable', problem: expect.stringContaining('answers 404 to GET instead of 405') }),
    )
    proxy.close()
  })

  test('the mail server of CATCH_DOMAIN', async () => {
    expect((await found({ ...noDatabase, CATCH_DOMAIN: 'nowhere.invalid' })).map(({ check }) => check)).toContain('inbound.no_mail_server')
  })

  test('the receiver of mail, by its certificate and by the mail servers in DNS', async () => {
    const receiving = { ...noDatabase, INBOUND_SMTP: '127.0.0.1:0' }
    const about = async (environment: Record<string, string>) =>
      (await found(environment))
        .filter(({ check }) => check.startsWith('receiver'))
        .map(({ check, severity, problem }) => [check, severity, problem])
    expect(await about(receiving)).toEqual([['receiver.no_certificate', 'warning', expect.stringContaining('without encryption')]])
    expect(await about({ ...receiving, INBOUND_SMTP: 'lmtp://127.0.0.1:0' })).toEqual([])
    const files = { INBOUND_SMTP_CERT: join(folder, 'cert.pem'), INBOUND_SMTP_KEY: join(folder, 'key.pem') }
    const write = async (days: number) => {
      const notAfterDate = new Date(Date.now() + days * 86_400_000)
      const notBeforeDate = new Date(Date.now() - 100 * 86_400_000)
      const { private: key, cert } = await generate([{ name: 'commonName', value: 'mx.example.net' }], { notBeforeDate, notAfterDate })
      writeFileSync(files.INBOUND_SMTP_CERT, cert)
      writeFileSync(files.INBOUND_SMTP_KEY, key)
    }
    expect(await about({ ...receiving, ...files })).toEqual([
      ['receiver.certificate', 'error', expect.stringMatching(/^INBOUND_SMTP_\w+: ENOENT/)],
    ])
    await write(90)
    expect(await about({ ...receiving, ...files })).toEqual([])
    await write(5)
    expect(await about({ ...receiving, ...files })).toEqual([
      ['receiver.certificate', 'warning', expect.stringMatching(/mx\.example\.net\) expires in [45] days/)],
    ])
    await write(-3)
    expect(await about({ ...receiving, ...files })).toEqual([['receiver.certificate', 'error', expect.stringContaining('has expired')]])

    const settings = readSettings({ ...receiving, CATCH_DOMAIN: 'reply.example.net' })
    const reached = async (port: number) => checkReceiverReach({ settings }, { port, lookUp: async () => ['127.0.0.1'] })
    expect(await reached(smtp.port)).toEqual([])
    expect((await reached(1)).map(({ check, problem }) => [check, problem])).toEqual([
      ['receiver.unreachable', 'The mail server 127.0.0.1 of reply.example.net (CATCH_DOMAIN) does not answer at port 1'],
    ])
  })

  test('the storage, in a folder or in a bucket', async () => {
    writeFileSync(join(folder, 'a-file'), '')
    expect(await found({ ...sound, STORAGE: join(folder, 'a-file') })).toMatchObject([{ check: 'storage.unreachable', severity: 'error' }])
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'x')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'x')
    const bucket = 's3://files?endpoint=http://127.0.0.1:1&forcePathStyle=true'
    expect(await found({ ...sound, STORAGE: bucket })).toMatchObject([
      { check: 'storage.unreachable', problem: expect.stringMatching(/^The file storage s3:\/\/files cannot be used: /) },
    ])
    vi.unstubAllEnvs()
  })
})

describe('servers that take connections and never answer', () => {
  /** Like a store or a mail server that is suspended: its system takes connections, and the program is silent. */
  async function silentServer(): Promise<number> {
    const sockets: Socket[] = []
    const server = listenOn((socket) => void sockets.push(socket.on('error', () => {})))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return (server.address() as AddressInfo).port
  }

  test('as a bucket and as a mail server', async () => {
    const port = await silentServer()
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'x')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'x')
    onTestFinished(() => void vi.unstubAllEnvs())
    const bucket = `s3://files?endpoint=http://127.0.0.1:${port}&forcePathStyle=true`
    const settings = readSettings({ ...sound, STORAGE: bucket, SMTP_URL: `smtp://127.0.0.1:${port}` })
    const examined = { settings, environment: {}, database: { rows: async () => [] }, tryOut }
    expect(await checkStorage(examined, { pageMs: 200 })).toMatchObject([
      { check: 'storage.unreachable', problem: 'The file storage s3://files cannot be used: no answer within 0.2 s' },
    ])
    expect(await checkSmtp({ settings }, { signInMs: 200 })).toMatchObject([
      { check: 'smtp.unreachable', problem: expect.stringContaining('no answer within 0.2 s') },
    ])
  })

  test('as a database that falls silent during the checks', async () => {
    const proxy = await databaseProxy()
    const falling = async () => {
      proxy.silence()
      return null
    }
    const { findings } = await examine({ environment: { ...sound, DATABASE_URL: proxy.url }, tryOut: falling, databaseSilentMs: 3_000 })
    expect(findings).toContainEqual(
      expect.objectContaining({
        check: 'database.unreachable',
        severity: 'error',
        problem: 'The database stopped answering during the checks: Query read timeout',
      }),
    )
    await proxy.cut()
  })
})

describe('the database', () => {
  test('without tables is named', async () => {
    const { url } = await emptyDatabase()
    expect(await found({ ...sound, DATABASE_URL: url })).toMatchObject([
      { check: 'migrations.missing', problem: 'The database has no tables of this service' },
    ])
  })

  test('with a role that lacks rights is named, and what the role cannot read', async () => {
    const role = `reader_${process.pid}_${Date.now().toString(36)}`
    await run(`create role ${role} login`)
    await run(`grant select on _prisma_migrations to ${role}`)
    const findings = await found({ ...sound, DATABASE_URL: DATABASE_URL.replace(/\/\/[^@]+@/, `//${role}@`) })
    expect(findings[0]).toMatchObject({
      check: 'database.rights',
      advice: expect.stringMatching(/^GRANT CREATE ON DATABASE "test_\w+" TO "reader_/),
    })
    expect(findings.map(({ problem }) => problem)).toContainEqual(
      expect.stringMatching(/^The check of records cannot be made: The database role lacks a right: permission denied for table tables;/),
    )
    await run(`revoke all on _prisma_migrations from ${role}; drop role ${role}`)
  })

  const T = `t${table.id}.records`
  /** The check that finds the fault, its text, the statement that makes it, and the one that undoes it. */
  const faults: [check: string, text: string, make: string, undo: string][] = [
    [
      'migrations.missing',
      '1 migration of this release not applied',
      `update _prisma_migrations set rolled_back_at = now() where migration_name like '%_secret_key_uses'`,
      'update _prisma_migrations set rolled_back_at = null',
    ],
    [
      'migrations.unknown',
      '1 migration applied that this release does not have',
      `insert into _prisma_migrations (id, checksum, migration_name, finished_at) values ('later', '', '29990101000000_later', now())`,
      `delete from _prisma_migrations where id = 'later'`,
    ],
    [
      'migrations.changed',
      'The files of 1 migration changed',
      `update _prisma_migrations set checksum = reverse(checksum) where migration_name like '%_foundation'`,
      `update _prisma_migrations set checksum = reverse(checksum) where migration_name like '%_foundation'`,
    ],
    [
      'schema.column',
      'The column users.timezone is missing',
      'alter table users drop column timezone',
      `alter table users add column timezone text not null default 'UTC'`,
    ],
    [
      'schema.column',
      'and the database has "column users.name character varying(50) not null"',
      'alter table users alter column name type varchar(50)',
      'alter table users alter column name type text',
    ],
    [
      'schema.column',
      'and the database has "column accounts.name text"',
      'alter table accounts alter column name drop not null',
      'alter table accounts alter column name set not null',
    ],
    [
      'schema.index',
      'The index views_one_default_per_table is missing',
      'drop index views_one_default_per_table',
      'create unique index views_one_default_per_table on views (table_id) where is_table_default',
    ],
    [
      'schema.check',
      'The check users.users_status_check is missing',
      'alter table users drop constraint users_status_check',
      `alter table users add constraint users_status_check check (status in ('active', 'invited', 'deleted'))`,
    ],
    [
      'schema.constraint',
      'The constraint sessions.sessions_user_id_fkey is missing',
      'alter table sessions drop constraint sessions_user_id_fkey',
      'alter table sessions add constraint sessions_user_id_fkey foreign key (user_id) references users (id) on update cascade on delete cascade',
    ],
    [
      'schema.function',
      'The function tally_inserts() is missing',
      'alter function tally_inserts() rename to tally_gone',
      'alter function tally_gone() rename to tally_inserts',
    ],
    [
      'schema.trigger',
      'The migrations made "trigger audit_entries.audit_entries_delete always ',
      'alter table audit_entries enable trigger audit_entries_delete',
      'alter table audit_entries enable always trigger audit_entries_delete',
    ],
    [
      'schema.trigger',
      'The migrations made "trigger audit_entries.audit_entries_truncate always ',
      `create or replace trigger audit_entries_truncate before truncate on audit_entries for each statement when (false)
        execute function refuse_audit_change(); alter table audit_entries enable always trigger audit_entries_truncate`,
      `create or replace trigger audit_entries_truncate before truncate on audit_entries for each statement
        execute function refuse_audit_change(); alter table audit_entries enable always trigger audit_entries_truncate`,
    ],
    [
      'schema.function',
      'The migrations made "function refuse_audit_change() ',
      'alter function refuse_audit_change() reset search_path',
      'alter function refuse_audit_change() set search_path = pg_catalog',
    ],
    [
      'schema.function',
      'The migrations made "function refuse_audit_change() ',
      `create or replace function refuse_audit_change() returns trigger language plpgsql set search_path = pg_catalog as 'begin return null; end'`,
      refuseAuditChange,
    ],
    [
      'schema.unknown',
      '1 object on system tables that no migration made',
      'alter table users add column nickname text',
      'alter table users drop column nickname',
    ],
    ['triggers.disabled', 'turned off', 'alter table sessions disable trigger all', 'alter table sessions enable trigger all'],
    [
      'triggers.missing',
      '3 triggers missing',
      `insert into record_tallies (table_id, change, is_base) values (${table.id}, 2, true)`,
      'delete from record_tallies',
    ],
    [
      'records.missing',
      'The records or the history of 1 table are missing',
      `alter schema t${table.id} rename to moved_away`,
      `alter schema moved_away rename to t${table.id}`,
    ],
    [
      'records.missing',
      'The records or the history of 1 table are missing',
      `alter table t${table.id}.history rename to moved_away`,
      `alter table t${table.id}.moved_away rename to history`,
    ],
    [
      'records.columns',
      '1 column of records different',
      `alter table ${T} alter column version type bigint`,
      `alter table ${T} alter column version type int`,
    ],
    ['records.columns', '1 column of records different', `alter table ${T} add column stray text`, `alter table ${T} drop column stray`],
    [
      'records.columns',
      '2 columns of records different',
      `alter table ${T} rename column documents to gone`,
      `alter table ${T} rename column gone to documents`,
    ],
    ['records.leftover', '1 column left by conversions', `alter table ${T} add column "~77" int`, `alter table ${T} drop column "~77"`],
    [
      'orphans.schemas',
      '1 schema of records without their table',
      'create schema t99999999 create table records (id int)',
      'drop schema t99999999 cascade',
    ],
    [
      'orphans.rows',
      '1 kind of rows',
      `insert into subscriptions (user_id, table_id, record_id, account_id) values (${account.owner.id}, ${table.id}, 999999, ${account.id})`,
      'delete from subscriptions where record_id = 999999',
    ],
    [
      'orphans.rows',
      '1 kind of rows',
      `insert into email_opens (comment_id, class) values (999999, 'human')`,
      'delete from email_opens where comment_id = 999999',
    ],
  ]

  test.each(faults)('%s: %s', async (check, text, make, undo) => {
    await run(make)
    try {
      const findings = (await found()).filter((finding) => finding.check === check)
      expect(findings.map(({ problem }) => problem)).toEqual([expect.stringContaining(text)])
      expect(findings[0]?.advice).toMatch(/\w{3,}.*[\w;)…'"]\.?$/)
    } finally {
      await run(undo)
    }
    expect(await found()).toEqual([])
  })

  test('an index whose build failed is found, of records and of the system', async () => {
    for (const [on, severity, where] of [
      [`${T} (name)`, 'warning', `t${table.id}`],
      [`users (status)`, 'error', 'public'],
    ] as const) {
      await expect(run(`create unique index concurrently not_unique on ${on}`)).rejects.toThrow('could not create unique index')
      const invalid = (await found()).filter(({ check }) => check === 'indexes.invalid')
      expect(invalid).toMatchObject([{ severity, examples: [`${where}.not_unique`] }])
      // A node has removed its part, and only the coordinator still has the index.
      await run(`drop index if exists ${where}.not_unique`)
    }
    expect(await found()).toEqual([])
  })

  test('jobs that failed for good are found', async () => {
    await app.deps.jobs.send({ name: DEAD_LETTERS, schema: z.object({}) }, {})
    expect(await found()).toMatchObject([{ check: 'queue.dead_letters', problem: '1 job failed for good' }])
    await run(`delete from pgboss.job where name = '${DEAD_LETTERS}'`)
  })

  test('a previous key that nobody needs is found, and one that a process uses is not', async () => {
    const OLD = 'the key that was in use for years'
    const withOld = { ...sound, SECRET_KEY_PREVIOUS: OLD }
    expect(await found(withOld)).toMatchObject([{ check: 'settings.secret_key_previous', severity: 'warning' }])
    const other = await testApp({ SECRET_KEY: OLD })
    expect(await found(withOld)).toEqual([])
    await other.stop()
  })

  test('secrets that no key can read are found', async () => {
    const { status, body } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, {
      label: 'Desk',
      host: '127.0.0.1',
      port: smtp.port,
      tls: 'none',
      username: 'desk',
      password: 'swordfish',
      from_domains: ['example.com'],
    })
    expect(status).toBe(200)
    expect(await found({ ...sound, SECRET_KEY: 'another key, which is long enough too' })).toMatchObject([
      {
        check: 'secrets.unreadable',
        severity: 'error',
        problem: '1 passwords of SMTP integrations cannot be read: they were encrypted with another SECRET_KEY',
        examples: [`smtp_integrations.id ${body.id}`],
      },
    ])
    await app.as(account.admin).post(`/api/smtp/${body.id}/delete`, {})
  })
})

test('files without their bytes and bytes without their file are found, but not those of requests that still run', async () => {
  const add = await app.as(account.owner).post(`${table.path}/record/${table.records[0]}/files/create`, {
    field_id: 'documents',
    name: 'offer.txt',
    type: 'text/plain',
    data: 'aGVsbG8=',
  })
  const [{ path }] = add.body
  expect(await found()).toEqual([])
  const files = app.settings.storage
  const [place = ''] = readdirSync(files, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(path))
  rmSync(join(files, place))
  writeFileSync(join(files, 'stray.bin'), 'x'.repeat(2 ** 20))
  expect(await found()).toEqual([])

  await run(`update stored_files set created_at = created_at - interval '2 hours' where path = '${path}'`)
  const earlier = new Date(Date.now() - 7_200_000)
  utimesSync(join(files, 'stray.bin'), earlier, earlier)
  // A thumbnail has no row. It belongs to its file.
  const thumbnail = join(files, `thumb-160-${path}`)
  writeFileSync(thumbnail, 'x')
  utimesSync(thumbnail, earlier, earlier)
  expect(await found()).toMatchObject([
    { check: 'orphans.files_without_bytes', severity: 'error', examples: [path] },
    {
      check: 'orphans.bytes_without_file',
      severity: 'warning',
      problem: '1 stored file (1.0 MB) that no row refers to',
      examples: ['stray.bin'],
    },
  ])
  rmSync(join(files, 'stray.bin'))
  rmSync(thumbnail)
})

/** Whether this account may mount a small file system of its own. */
const mayMount = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'true']).status === 0

test.runIf(mayMount)('a disk that is nearly full is found', async () => {
  const small = join(folder, 'small')
  mkdirSync(small)
  const script = `mount -t tmpfs -o size=4m tmpfs ${small} && (cat /dev/zero > ${small}/full 2>&- || true) && exec node_modules/.bin/node scripts/admin.ts doctor --json`
  const { status, stdout, stderr } = spawnSync('unshare', ['--user', '--map-root-user', '--mount', 'sh', '-c', script], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { PATH: process.env.PATH ?? '', ...noDatabase, DATA_DIR: small, PUBLIC_URL: '', SMTP_URL: '' },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([1, ''])
  const { findings } = JSON.parse(stdout) as Report
  expect(findings.find(({ check }) => check === 'disk.low')).toMatchObject({
    severity: 'error',
    problem: expect.stringContaining(`The disk of ${small} has 0.00 of 0.00 GB left`),
  })
})

describe('the command', () => {
  test('says for each finding what to do, and ends with 1 if one of them is an error', async () => {
    const here = programs(noDatabase)
    const { code, stdout, stderr } = await here.run('admin', ['doctor'])
    expect([code, stderr]).toEqual([1, ''])
    expect(stdout).toMatch(/^error {2}database\.unreachable: The database cannot be reached: .*\n {9}Look at DATABASE_URL/)
    expect(stdout).toMatch(/\nwarning {2}settings\.catch_domain: .*\n {9}Set it to a domain/)
    expect(stdout).toMatch(/\n\d errors?, \d warnings?\n$/)
    await here.cleanUp()
  })

  test('examines the embedded default with a server of its own to try the migrations, and changes nothing', async () => {
    const own = programs()
    prepareData(own.dataDir, { withDemo: false })
    const service = await own.start()
    const { code, stdout, stderr } = await own.run('admin', ['doctor', '--json'])
    const report = JSON.parse(stdout) as Report
    expect([report.findings.filter(({ check }) => check !== 'disk.low'), report.skipped, stderr]).toEqual([[], [], ''])
    expect(code).toBe(report.findings.some(({ severity }) => severity === 'error') ? 1 : 0)
    await service.stop()
    await own.cleanUp()
  })
})

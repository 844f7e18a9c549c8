/** Runs `npm run admin` on real databases. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Seeded } from '../scripts/seed-account.ts'
import { prepareData } from './support/prepared-data.ts'
import { call, programs, type Service, signIn } from './support/programs.ts'

const own = programs()
const elsewhere = programs()
const backup = join(own.dataDir, 'all.tar.gz')
let service: Service
let seeded: Seeded

beforeAll(async () => {
  prepareData(own.dataDir)
  service = await own.start()
  seeded = JSON.parse((await own.run('seed', ['--json'])).stdout) as Seeded
})
afterAll(async () => {
  await own.cleanUp()
  await elsewhere.cleanUp()
})

const admin = (args: string[], input?: string) => own.run('admin', args, input)

async function made(args: string[], input?: string) {
  const { code, stdout, stderr } = await admin(args, input)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

async function refusal(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await admin(args)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  return stderr.trimEnd()
}

test('the commands create an account with users, a space and working keys', async () => {
  const { account_id, owner } = await made(['create-account', '--name', 'Acme', '--owner', 'Ann', '--email', 'ann@acme.example'])
  const account = ['--account', String(account_id)]
  await signIn(service.url, owner)
  await made(
    ['create-user', ...account, '--name', 'Bob', '--email', 'Bob@acme.example', '--timezone', 'Asia/Tokyo', '--password-stdin'],
    'a password of his own\n',
  )
  const cookie = await signIn(service.url, { email: 'bob@acme.example', password: 'a password of his own' })
  expect((await call(service.url, '/api/auth/me', { cookie })).body).toMatchObject({ account_id, name: 'Bob', timezone: 'Asia/Tokyo' })

  const space = await made(['create-space', ...account, '--name', 'Work'])
  const key = await made(['create-key', ...account, '--name', 'Sync', '--read-only', '--spaces', String(space.id)])
  expect((await call(service.url, '/api/spaces/list', { key: key.secret })).body).toMatchObject([{ id: space.id, name: 'Work' }])
  const personal = await made(['create-key', '--user', 'bob@acme.example', '--name', 'Mine'])
  expect((await call(service.url, '/api/key/self', { key: personal.secret })).body.acts_as.email).toBe('bob@acme.example')

  const reader = await made(['create-key', ...account, '--name', 'Auditor', '--read-only'])
  const { body: log } = await call(service.url, '/api/audit/list', { key: reader.secret })
  const ofOperator = log.filter(({ actor_user_id }: { actor_user_id: number | null }) => actor_user_id === null)
  expect(ofOperator.map(({ action }: { action: string }) => action).toReversed()).toEqual([
    'account.created',
    'user.created',
    'space.created',
    'key.created',
    'key.created',
    'key.created',
  ])
})

test('a table is exported as CSV and imported again beside the service, and a refused file changes nothing', async () => {
  const key = seeded.keys.account
  const table = (
    await call(service.url, `/api/space/${seeded.space_id}/tables/create`, {
      key,
      body: {
        name: 'Moved',
        fields: [
          { name: 'Name', type: 'text' },
          { name: 'Amount', type: 'number' },
        ],
      },
    })
  ).body.id as number
  const [file, again] = [join(own.dataDir, 'in.csv'), join(own.dataDir, 'out.csv')]
  writeFileSync(file, `ID,Name,Amount\n${Array.from({ length: 2_500 }, (_, index) => `${index},"N ${index}",${index}\n`).join('')}`)
  const imported = await admin(['import', '--table', String(table), file])
  expect(JSON.parse(imported.stdout)).toEqual({ created: 2_500, change_id: expect.any(Number), ignored: ['ID'] })
  expect(imported.stderr).toMatch(/^2500 rows, \d+ rows\/s, 0\.\d MB\n$/)

  const exported = await admin(['export', '--table', String(table), again])
  expect(JSON.parse(exported.stdout)).toEqual({ exported: 2_500, bytes: statSync(again).size })
  const lines = readFileSync(again, 'utf8').split('\r\n')
  expect(lines.length).toBe(2_502)
  expect(lines[2_500]).toMatch(/^2500,N 2499,2499,/)

  writeFileSync(file, 'Name,Amount\nx,1\ny,two\nz,3,four\n')
  const refused = await admin(['import', '--table', String(table), file])
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('Nothing was imported\nrow 3, Amount: must be a number\nrow 4: has 3 cells, the header has 2\n')
  const counted = await call(service.url, `/api/table/${table}/records/count`, { key, body: {} })
  expect(counted.body.count).toBe(2_500)
  expect(await refusal(['export', '--table', '999999', join(own.dataDir, 'none.csv')])).toBe('There is no table 999999')
  expect(await refusal(['export', '--table', String(table), again])).toBe(`${again} exists already: name another file`)
  expect(await refusal(['import', '--table', String(table), join(own.dataDir, 'none.csv')])).toContain('There is no file')
  const nowhere = join(own.dataDir, 'nowhere', 'x.csv')
  expect(await refusal(['export', '--table', String(table), nowhere])).toBe(`${nowhere} cannot be written: there is no such folder`)
  writeFileSync(`${file}.new.partial`, 'kept')
  expect(await refusal(['export', '--table', String(table), `${file}.new`])).toBe(
    `${file}.new.partial exists already: another export writes it, or one was broken off; remove it or name another file`,
  )
  expect(readFileSync(`${file}.new.partial`, 'utf8')).toBe('kept')
  expect(existsSync(`${file}.new`)).toBe(false)

  writeFileSync(file, 'Name\nx\n')
  expect((await admin(['import', '--table', String(table), file])).stderr).toMatch(/^1 row, \d+ rows\/s, 0\.0 MB\n$/)
})

test('a new password ends the existing sessions', async () => {
  const { email } = seeded.viewer
  const before = await signIn(service.url, seeded.viewer)
  const { password } = await made(['set-password', email])
  expect((await call(service.url, '/api/auth/me', { cookie: before })).status).toBe(401)
  await expect(signIn(service.url, seeded.viewer)).rejects.toThrow('Wrong email or password')
  seeded.viewer = { ...seeded.viewer, password }
  await signIn(service.url, seeded.viewer)
})

test('accounts, users and keys are listed, a user is disabled and enabled, and an account is handed over', async () => {
  const { account_id, owner } = await made(['create-account', '--name', 'Beech', '--owner', 'Bea', '--email', 'bea@beech.example'])
  const account = ['--account', String(account_id)]
  const bob = await made(['create-user', ...account, '--name', 'Bob', '--email', 'bob@beech.example'])
  const space = await made(['create-space', ...account, '--name', 'Work'])
  const key = await made(['create-key', '--user', 'bob@beech.example', '--name', 'Mine'])
  const listed = async (what: string, args = account) => (await made([what, 'list', ...args])) as Record<string, unknown>[]

  expect((await listed('account', [])).find(({ id }) => id === account_id)).toEqual({
    ...{ id: account_id, name: 'Beech', users: 2, spaces: 1, keys: 1, created_at: expect.any(String) },
    owner: { id: owner.id, name: 'Bea', email: 'bea@beech.example' },
  })
  expect(await listed('user')).toEqual([
    {
      ...{ account_id, id: owner.id, name: 'Bea', email: 'bea@beech.example', status: 'active', last_seen_at: null, is_owner: true },
      spaces: [{ space_id: space.id, role: 'admin' }],
    },
    {
      ...{ account_id, id: bob.id, name: 'Bob', email: 'bob@beech.example', status: 'active', last_seen_at: null, is_owner: false },
      spaces: [],
    },
  ])
  expect(await listed('key')).toMatchObject([{ id: key.id, account_id, kind: 'personal', name: 'Mine', email: 'bob@beech.example' }])
  expect(JSON.stringify(await listed('key', []))).not.toContain(key.secret.slice(-20))
  expect((await admin(['user', 'list', ...account])).stdout.trimEnd().split('\n')).toHaveLength(4)

  const stateOf = (status: string) => ({ id: bob.id, email: 'bob@beech.example', status })
  expect(await made(['user', 'disable', 'Bob@beech.example'])).toEqual(stateOf('disabled'))
  expect(await made(['user', 'disable', String(bob.id)])).toEqual(stateOf('disabled'))
  expect(await listed('key')).toEqual([])
  expect((await call(service.url, '/api/key/self', { key: key.secret })).status).toBe(401)
  expect(await refusal(['set-password', 'bob@beech.example'])).toBe('The user is disabled; enable them first')
  expect(await refusal(['account', 'owner', String(account_id), 'bob@beech.example'])).toBe(
    'Only an active user can own the account; this one is disabled',
  )
  expect(await made(['user', 'enable', String(bob.id)])).toEqual(stateOf('active'))
  expect(await refusal(['user', 'disable', 'bea@beech.example'])).toBe(
    "The account's owner cannot be disabled; hand the account to another user first",
  )
  const handed = await made(['account', 'owner', String(account_id), 'bob@beech.example'])
  expect(handed).toEqual({ account_id, owner: { id: bob.id, email: 'bob@beech.example' } })
  expect(await refusal(['account', 'owner', String(account_id), String(bob.id)])).toBe('The user is the owner of the account already')
  expect(await refusal(['account', 'owner', '1', 'bob@beech.example'])).toBe(
    `bob@beech.example is a user of account ${account_id}, not of account 1`,
  )
  expect(await refusal(['user', 'disable', 'nobody@beech.example'])).toBe('There is no user nobody@beech.example')
  expect(await refusal(['user', 'list', '--account', '999999'])).toBe('There is no account 999999')
  expect(await refusal(['user', 'enable'])).toMatch(/^user enable: needs one argument, <email\|id>/)

  expect(await refusal(['user', 'erase', 'bea@beech.example'])).toBe(
    `user erase: bea@beech.example (user ${owner.id}) cannot be brought back; repeat the command with --yes`,
  )
  expect(await made(['user', 'erase', 'bea@beech.example', '--yes'])).toEqual({ id: owner.id, email: null, status: 'erased' })
  expect(await refusal(['user', 'erase', 'bea@beech.example', '--yes'])).toBe('There is no user bea@beech.example')
  expect(await refusal(['user', 'erase', String(owner.id), '--yes'])).toBe('The user was erased')
  expect(await refusal(['user', 'enable', String(owner.id)])).toBe('The user was erased')
  expect(await refusal(['user', 'erase', String(bob.id), '--yes'])).toBe(
    "The account's owner cannot be erased; hand the account to another user first",
  )
  expect((await listed('user')).at(-1)).toMatchObject({ id: owner.id, name: `Deleted user ${owner.id}`, email: null, status: 'erased' })

  const cookie = await signIn(service.url, bob)
  const { body: log } = await call(service.url, '/api/audit/list', { cookie })
  expect(log.filter(({ actor_user_id }: { actor_user_id: number | null }) => actor_user_id === null).slice(0, 4)).toMatchObject([
    { action: 'user.erased', object: { type: 'user', id: String(owner.id) } },
    { action: 'account.owner_changed', detail: { owner: bob.id, before: owner.id } },
    { action: 'user.enabled', object: { type: 'user', id: String(bob.id) } },
    { action: 'user.disabled', object: { type: 'user', id: String(bob.id) } },
  ])
})

test('a deleted table and a deleted space are restored with their records', async () => {
  const { table_id, space_id, keys } = seeded
  const path = `/api/table/${table_id}/get`
  const status = async () => (await call(service.url, path, { key: keys.account })).status
  await call(service.url, `/api/table/${table_id}/delete`, { key: keys.account, body: {} })
  expect(await status()).toBe(404)
  await made(['restore-table', String(table_id)])
  expect(await status()).toBe(200)

  await call(service.url, `/api/table/${table_id}/delete`, { key: keys.account, body: {} })
  await call(service.url, `/api/space/${space_id}/delete`, { key: keys.account, body: {} })
  expect(await refusal(['restore-table', String(table_id)])).toBe(`Its space ${space_id} is deleted, too: restore that first`)
  await made(['restore-space', String(space_id)])
  await made(['restore-table', String(table_id)])
  const { body } = await call(service.url, `/api/table/${table_id}/records/count`, { key: keys.account, body: {} })
  expect(body.total).toBe(25)
})

test.each([
  [['no-such-command'], /^There is no command no-such-command: npm run admin -- --help lists them$/],
  [['create-space', '--account', '1'], /^name is missing$/],
  [['restore-table', '999999'], /^Deleted table not found$/],
  [['create-space', '--account', '999999', '--name', 'x'], /^There is no account 999999$/],
  [['create-space', '--colour', 'red'], /^create-space: Unknown option '--colour'; npm run admin -- --help/],
  [['create-user', '--account', '1', '--name', 'x', '--email', 'owner@demo.example'], /belongs to a user already$/],
  [['backup'], /^backup: needs one argument, <file\.tar\.gz>/],
  [['space', 'place', '1'], /^space place: needs 2 arguments, <id> <node>; npm run admin/],
  [
    ['space', 'place', '1', 'db2:5432'],
    /^The database of this service has no nodes: DATABASE_URL must name the coordinator of a Citus cluster/,
  ],
  [['backup', '/no/such/folder/x.tar.gz'], /cannot be written: there is no such folder$/],
  [[], /^A command is needed: npm run admin -- --help lists them$/],
  [['constructor'], /^There is no command constructor: /],
  [['import', '--table', '1', ''], /^import: needs one argument, <file\.csv>/],
  [['import', '--table', 'one', 'x.csv'], /^table must be a whole number$/],
])('%j is refused in one line', async (args, line) => {
  expect(await refusal(args)).toMatch(line)
})

test('a file that cannot be imported is refused in one line', async () => {
  const importing = (file: string) => refusal(['import', '--table', String(seeded.table_id), file])
  expect(await importing(own.dataDir)).toBe(`${own.dataDir} cannot be read: it is a folder`)
  const file = join(own.dataDir, 'bytes.csv')
  expect(await importing(join(file, 'x.csv'))).toBe(`There is no file ${join(file, 'x.csv')}`)
  writeFileSync(file, Buffer.from([0x4e, 0xe9, 0, 0x90]))
  expect(await importing(join(file, 'x.csv'))).toMatch(/x\.csv cannot be read: ENOTDIR/)
  expect(await importing(file)).toBe('The file is not valid UTF-8 or windows-1252')
  writeFileSync(file, '')
  expect(await importing(file)).toBe('The file is empty: its first row must name the fields')
})

test.each([
  ['migrate', [], /^A command is needed: npm run migrate -- --help lists them$/],
  ['migrate', ['constructor'], /^There is no command constructor: /],
  ['migrate', ['new'], /^A migration is named in a-z, 0-9 and _/],
  ['migrate', ['deploy', 'x'], /^deploy takes no argument; /],
  ['migrate', ['new', 'x', 'y'], /^new takes one argument, the name; /],
  ['seed', ['--colour'], /^Unknown option '--colour'; npm run seed -- --help$/],
  ['seed', ['x'], /^Unexpected argument 'x'; npm run seed -- --help$/],
  ['demo', ['x'], /^Unexpected argument 'x': npm run demo takes --who, or none$/],
])('%s %j is refused in one line', async (script, args, line) => {
  const { code, stdout, stderr } = await own.run(script, args)
  expect([code, stdout, stderr.split('\n').length]).toEqual([1, '', 2])
  expect(stderr.trimEnd()).toMatch(line)
})

test.each(['migrate', 'seed', 'demo'])('%s says how it is used', async (script) => {
  const { code, stdout, stderr } = await own.run(script, ['--help'])
  expect([code, stdout.startsWith(`npm run ${script}`), stderr]).toEqual([0, true, ''])
})

test('an unreachable database and an unusable DATA_DIR are reported in one line', async () => {
  const settings = { DATABASE_URL: 'postgresql://a:secret@127.0.0.1:1/x', SECRET_KEY: 'a key for tests, long enough to be one' }
  const nowhere = programs(settings)
  const file = join(own.dataDir, 'a-file')
  writeFileSync(file, '')
  const onFile = programs({ DATA_DIR: file })
  for (const [script, ...args] of [['migrate', 'status'], ['migrate', 'deploy'], ['seed'], ['admin', 'restore-space', '1']] as const) {
    for (const [place, line] of [
      [nowhere, /^The database cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:1\n$/],
      [onFile, /^DATA_DIR: ENOTDIR: .+\n$/],
    ] as const) {
      const { code, stdout, stderr } = await place.run(script, args)
      expect([script, code, stdout]).toEqual([script, 1, ''])
      expect(stderr).toMatch(line)
    }
  }
  await nowhere.cleanUp()
  await onFile.cleanUp()
})

test('--help lists the commands', async () => {
  const { code, stdout } = await admin(['--help'])
  expect(code).toBe(0)
  for (const command of ['create-account', 'set-password', 'restore-table', 'backup', 'restore']) expect(stdout).toContain(`  ${command} `)
})

test('a backup taken while users work restores everything elsewhere, files included', async () => {
  const { table_id, record_ids, keys, member } = seeded
  const { body: record } = await call(service.url, `/api/table/${table_id}/record/${record_ids[0]}/get`, { key: keys.account })
  const before = [...record_ids, await writeRecord()]
  await writeUntil(admin(['backup', backup]))
  expect(statSync(backup).mode & 0o077).toBe(0)
  expect(readdirSync(own.dataDir).filter((name) => name.startsWith('backup-'))).toEqual([])

  const { code, stdout, stderr } = await elsewhere.run('admin', ['restore', backup])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^Restored the state of .+ into .+: 5 accounts, 12 users\n$/)
  const restored = await elsewhere.start()
  await signIn(restored.url, member)
  const { body: rows } = await call(restored.url, `/api/table/${table_id}/records/query`, { key: keys.account, body: { limit: 1000 } })
  const ids = new Set(rows.map(({ id }: { id: number }) => id))
  expect(before.filter((id) => !ids.has(id))).toEqual([])
  expect((await call(restored.url, `/api/table/${table_id}/record/${record_ids[0]}/get`, { key: keys.account })).body).toEqual(record)
  const path = `/api/file/${record.data.file[0].path}`
  expect((await call(restored.url, path, { key: keys.account })).body).toContain('umlaut')
  await restored.stop()
})

test('a backup that is stopped leaves nothing behind, and the next one removes what a killed one has left', async () => {
  const file = join(own.dataDir, 'stopped.tar.gz')
  const copies = () => readdirSync(own.dataDir).filter((name) => name.startsWith('backup-'))
  const begun = async () => {
    const child = spawn('node_modules/.bin/node', ['scripts/admin.ts', 'backup', file], {
      env: { ...process.env, DATA_DIR: own.dataDir },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const said = text(child.stderr)
    const ended = once(child, 'close') as Promise<[number | null, string | null]>
    await expect.poll(() => copies(), { interval: 2 }).toHaveLength(1)
    return { child, said, ended }
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { child, said, ended } = await begun()
    child.kill(signal)
    expect([await ended, await said]).toEqual([[1, null], `The backup was broken off by ${signal}; nothing is left of it\n`])
    expect([copies(), existsSync(file), existsSync(`${file}.partial`)]).toEqual([[], false, false])
  }

  const { child, ended } = await begun()
  child.kill('SIGKILL')
  await ended
  const [left = ''] = copies()
  writeFileSync(`${file}.partial`, 'half an archive')
  writeFileSync(join(own.dataDir, left, 'target'), file)
  // Another one that is still being written.
  mkdirSync(join(own.dataDir, `backup-${process.pid}-abcdef`))
  expect((await own.run('admin', ['doctor', '--json'])).stdout).toContain(`"examples":["${join(own.dataDir, left)}"]`)
  expect((await admin(['backup', `${file}.new.tar.gz`])).code).toBe(0)
  expect([copies(), existsSync(`${file}.partial`)]).toEqual([[`backup-${process.pid}-abcdef`], false])
  rmdirSync(join(own.dataDir, `backup-${process.pid}-abcdef`))
})

async function writeRecord(): Promise<number> {
  const { body } = await call(service.url, `/api/table/${seeded.table_id}/records/create`, {
    key: seeded.keys.account,
    body: { data: { text: 'written meanwhile', long_text: 'x'.repeat(5_000) } },
  })
  return body.id
}

/** Writes records until the work is done. */
async function writeUntil(ending: Promise<{ code: number | null; stderr: string }>): Promise<void> {
  let ended: { code: number | null; stderr: string } | undefined
  ending.then((result) => {
    ended = result
  })
  while (!ended) await writeRecord()
  expect(ended).toMatchObject({ code: 0, stderr: '' })
}

test('a backup replaces existing data only on request, and never under a running service', async () => {
  expect(await refusal(['backup', backup])).toMatch(/all\.tar\.gz exists already: name another file$/)
  expect(await refusal(['restore', backup])).toMatch(/holds a database already: add --replace, and it is put aside$/)
  expect(await refusal(['restore', backup, '--replace'])).toMatch(/is in use: stop the service first$/)
  await service.stop()

  const garbage = join(own.dataDir, 'garbage.tar.gz')
  writeFileSync(garbage, 'no archive')
  expect(await refusal(['restore', garbage, '--replace'])).toMatch(/^tar failed: /)
  const { code, stdout } = await admin(['restore', backup, '--replace'])
  expect(code).toBe(0)
  const [, aside = ''] = /What was there before is in (\S+):/.exec(stdout) ?? []
  expect(existsSync(join(aside, 'postgres', 'PG_VERSION'))).toBe(true)
  service = await own.start()
  await signIn(service.url, seeded.viewer)
  await service.stop()
})

test('replay reads stored messages again, and names what is neither an id nor an instant', async () => {
  expect(await refusal(['replay', 'yesterday'])).toContain('yesterday is neither the id of a message nor an instant')
  expect(await refusal(['replay', '2147483000'])).toBe('There is no message 2147483000')
  expect(await made(['replay', '2026-01-01'])).toMatchObject({ changed: [], failed: [] })
})

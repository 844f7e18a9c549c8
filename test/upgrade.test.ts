/** An upgrade as docs/upgrades.md describes it: processes of the previous release and of this one on the same database. */
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { call, programs } from './support/programs.ts'
import { openReleases } from './support/releases.ts'

const releases = await openReleases()
const { previous, smtp, query, run, url } = releases
const { keys, space_id } = previous.login
const scripts = programs(releases.environment)
afterAll(async () => {
  await releases.close()
  await scripts.cleanUp()
})

/** Writes that were acknowledged, by what was written. */
const written = { records: [] as string[], comments: [] as string[], tasks: [] as string[], mails: [] as string[] }
/** How many writes each address has acknowledged. */
const answered = new Map<string, number>()
/** Fails if a write was answered as no process may answer it. */
let writing: Promise<unknown> = Promise.resolve()
/** The addresses that the proxy sends requests to. */
let upstreams: string[] = []

/** Sends a write as a proxy does: if a process refuses it or ends, another one gets it, under the same Idempotency-Key. */
async function write(path: string, body: object) {
  const headers = { 'idempotency-key': randomUUID() }
  for (let attempt = 0; ; attempt++) {
    const upstream = upstreams[Math.floor(Math.random() * upstreams.length)] ?? ''
    const answer = await call(upstream, path, { key: keys.account, body, headers }).catch(() => undefined)
    if (answer && answer.status < 300) {
      answered.set(upstream, (answered.get(upstream) ?? 0) + 1)
      return answer.body
    }
    // 409: the process that has ended the connection is still at work on the same request.
    const mayRepeat = !answer || answer.headers.has('retry-after') || (answer.status === 409 && attempt > 0)
    if (!mayRepeat) throw new Error(`${path} at ${upstream}: ${answer.status} ${JSON.stringify(answer.body)}`)
    await sleep(50)
  }
}

async function keepWriting(table: number, integration: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const name = randomUUID()
    const { id } = await write(`/api/table/${table}/records/create`, { data: { name, company: 'Upgraders' } })
    written.records.push(name)
    await write(`/api/table/${table}/record/${id}/comments/create`, { content: name })
    written.comments.push(name)
    await write(`/api/tasks/onRecord/${table}/${id}/create`, { title: name })
    written.tasks.push(name)
    const address = `${name}@customer.example`
    const mail = { tableId: table, recordId: id, smtpIntegrationId: integration, fromIdentity: { email: 'sales@demo.example' } }
    await write('/api/email/send', { ...mail, to: [address], subject: 'Offer for {{field:company}}', body: '<p>Hello</p>' })
    written.mails.push(address)
  }
}

/** Waits until some more writes have been acknowledged at an address. */
async function untilAnswered(name: Parameters<typeof url>[0]): Promise<void> {
  const before = answered.get(url(name)) ?? 0
  await Promise.race([writing.then(() => {}), expect.poll(() => answered.get(url(name)) ?? 0).toBeGreaterThan(before + 12)])
}

test('loses no acknowledged write while the processes are replaced one by one, and put back', async () => {
  await run('previous all')
  upstreams = [url('previous all')]
  const tables = await call(url('previous all'), `/api/space/${space_id}/tables/list`, { key: keys.account })
  const { id: table } = tables.body.find(({ name }: { name: string }) => name === 'Contacts')
  const [integration] = (await call(url('previous all'), '/api/email/smtpOptions', { key: keys.account, body: { tableId: table } })).body
  const ending = new AbortController()
  writing = Promise.all([1, 2].map(() => keepWriting(table, integration.id, ending.signal)))

  await untilAnswered('previous all')
  const migrated = await scripts.run('migrate', ['deploy'])
  expect(migrated).toEqual({ code: 0, stderr: '', stdout: expect.stringMatching(/\d+ applied\.\n$/) })
  await untilAnswered('previous all')

  await run('previous all', 'current all')
  upstreams = [url('previous all'), url('current all')]
  await Promise.all([untilAnswered('previous all'), untilAnswered('current all')])

  upstreams = [url('current all')]
  await run('current all')
  await untilAnswered('current all')

  // The way back: the database stays as it is.
  await run('current all', 'previous all')
  upstreams = [url('previous all')]
  await run('previous all')
  await untilAnswered('previous all')
  ending.abort()
  await writing

  // Members of the demo may get notifications at the same time.
  const mailed = () =>
    smtp.received
      .flatMap(({ envelopeTo }) => envelopeTo)
      .filter((address) => address.endsWith('@customer.example'))
      .sort()
  await expect.poll(() => mailed().length).toBeGreaterThanOrEqual(written.mails.length)
  expect(mailed()).toEqual(written.mails.sort())
  const stored = async (table: string, column: string) =>
    (await query<{ found: string }>(`select ${column} as found from ${table} where ${column} = any($1) order by 1`, [names])).map(
      ({ found }) => found,
    )
  const names = written.records
  expect(await stored(`t${table}.records`, 'name')).toEqual(written.records.sort())
  expect(await stored('record_comments', 'content')).toEqual(written.comments.sort())
  expect(await stored('tasks', 'title')).toEqual(written.tasks.sort())
  expect(releases.troubles()).toEqual([])
  const doctor = await scripts.run('admin', ['doctor', '--json'])
  const { findings, skipped } = JSON.parse(doctor.stdout) as { findings: { check: string }[]; skipped: unknown[] }
  expect(skipped).toEqual([])
  expect(findings.filter(({ check }) => !/^(settings|smtp|inbound|public_url|disk|files|database)\./.test(check))).toEqual([])
})

const [tagged] =
  spawnSync('git', ['rev-parse', '-q', '--verify', `${previous.tag}^{commit}`], { encoding: 'utf8' }).stdout?.split('\n') ?? []

// A clone without tags, or a copy without git, has only the archive.
if (!tagged) console.log(`Not compared with the tag ${previous.tag}, which this clone does not have`)
test.skipIf(!tagged)(`runs the source of the tag ${previous.tag}`, () => {
  const paths = ['package.json', 'src', 'prisma/migrations']
  const tree = spawnSync('git', ['ls-tree', '-r', '-z', '--format=%(objectname) %(path)', tagged ?? '', ...paths], { encoding: 'utf8' })
  const files = tree.stdout.split('\0').filter(Boolean)
  expect(files.length).toBeGreaterThan(100)
  const hashes = spawnSync('git', ['hash-object', '--no-filters', '--stdin-paths'], {
    input: files.map((file) => join(previous.root, file.slice(file.indexOf(' ') + 1))).join('\n'),
    encoding: 'utf8',
  })
  expect(hashes.stdout.trim().split('\n')).toEqual(files.map((file) => file.slice(0, file.indexOf(' '))))
})

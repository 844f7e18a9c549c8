/** The running service for tests, over real HTTP. Each test creates its own account. */
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, afterEach } from 'vitest'
import { createUser } from '../../src/accounts/service.ts'
import { buildApp } from '../../src/app.ts'
import { startSession } from '../../src/auth/sessions.ts'
import { works } from '../../src/background.ts'
import { type Client, createClient } from '../../src/client.ts'
import { openDeps } from '../../src/deps.ts'
import type { NewKey } from '../../src/keys/schema.ts'
import { insertKey } from '../../src/keys/service.ts'
import type { Deps } from '../../src/platform/context.ts'
import { startWork } from '../../src/platform/jobs/worker.ts'
import type { Letter, Mailer } from '../../src/platform/mail/mailer.ts'
import { readSettings } from '../../src/settings.ts'
import { insertAccounts, KEY_NAME, newPerson, newSpaceName, type Person, withoutPassword } from './accounts.ts'
import { testDatabase } from './database.ts'
import { undocumented } from './documented.ts'
import { everySpaceElsewhere } from './elsewhere.ts'
import { untilStopped } from './running-apps.ts'

export type { Person }

/** The sender of a request: the secret of a key, a person with their session, or nobody. */
export type Caller = string | Person | null

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape.
  body: any
}

export interface As {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Sends any request as it is. */
  send(path: string, init: RequestInit): Promise<Answer>
  rpc: Client
}

/** What the services of this process have logged in the test that runs. The first errors are most likely why it fails. */
let errors: string[] = []
const MOST_ERRORS = 5

/** A log that shows errors of the service below the failure of a test, and none of a test that passes. TEST_LOG prints all from a level on. */
function logOfTests(): pino.Logger {
  const level = process.env.TEST_LOG
  if (level) return pino({ level })
  afterEach(({ task }) => {
    const logged = errors
    errors = []
    if (task.result?.state === 'fail' && logged.length) throw new Error(`The service has logged:\n${logged.join('')}`)
  })
  return pino({ level: 'error' }, { write: (line) => void (errors.length < MOST_ERRORS && errors.push(line)) })
}

interface TestOptions {
  worker?: boolean
  databaseSilentMs?: number
  replicaSteadyMs?: number
  storageLimitMs?: number
  /** Whether all spaces are on a node (elsewhere.ts). With TEST_SPACES=elsewhere those of all tests are. */
  isElsewhere?: boolean
}

/** Starts the service on its own port for the tests of one file, opened as src/main.ts opens it. @param environment settings that differ */
export async function testApp(
  environment: Record<string, string> = {},
  {
    worker = false,
    databaseSilentMs,
    replicaSteadyMs,
    storageLimitMs,
    isElsewhere = process.env.TEST_SPACES === 'elsewhere',
  }: TestOptions = {},
) {
  const { url: databaseUrl, connection } = await testDatabase()
  const elsewhere = isElsewhere ? await everySpaceElsewhere(connection) : undefined
  const dataDir = await mkdtemp(join(tmpdir(), 'gridpost-files-'))
  const settings = readSettings({
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    SECRET_KEY: 'a key for tests, long enough to be one',
    RATE_LIMIT_PER_MINUTE: '0',
    RATE_LIMIT_PER_HOUR: '0',
    LOG_LEVEL: process.env.TEST_LOG ?? 'silent',
    SMTP_ALLOW_PRIVATE: 'true',
    ...environment,
  })
  const letters: Letter[] = []
  let now: Date | null = null
  let url = 'http://localhost'
  const collector: Mailer = { isConfigured: true, send: async (letter) => void letters.push(letter), close: () => {} }
  const { deps, close } = await openDeps(settings, {
    log: logOfTests() as unknown as Deps['log'],
    publicUrl: () => settings.publicUrl ?? url,
    isWorker: worker,
    overrides: {
      clock: () => now ?? new Date(),
      ...(databaseSilentMs && { databaseSilentMs }),
      ...(replicaSteadyMs !== undefined && { replicaSteadyMs }),
      ...(storageLimitMs && { storageLimitMs }),
      ...(elsewhere && { placement: elsewhere.placement }),
      ...(!settings.smtpUrl && { mailer: collector }),
    },
  })
  const { db } = deps
  const server = await buildApp(deps)
  await server.listen({ port: 0, host: '127.0.0.1' })
  url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`
  if (worker) await startWork(deps, works)
  const stop = untilStopped(async () => {
    await server.close()
    await close()
    await elsewhere?.close()
    await rm(dataDir, { recursive: true, force: true })
  })
  afterAll(stop)

  function as(caller: Caller): As {
    const credentials: Record<string, string> =
      caller === null
        ? {}
        : typeof caller === 'string'
          ? { authorization: `Bearer ${caller}` }
          : { cookie: `gridpost_session=${caller.session}` }
    async function send(path: string, init: RequestInit): Promise<Answer> {
      const response = await fetch(url + path, { ...init, headers: { ...credentials, ...(init.headers as Record<string, string>) } })
      const text = await response.text()
      const [mediaType = ''] = (response.headers.get('content-type') ?? '').split(';')
      const body = mediaType === 'application/json' && text ? JSON.parse(text) : text
      const difference = undocumented(init.method ?? 'GET', path, { status: response.status, mediaType, body })
      if (difference) throw new Error(difference)
      return { status: response.status, headers: response.headers, body }
    }
    return {
      send,
      get: (path, headers = {}) => send(path, { method: 'GET', headers }),
      post: (path, body, headers = {}) =>
        send(path, {
          method: 'POST',
          ...(body === undefined
            ? { headers }
            : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } }),
        }),
      rpc: createClient({ baseUrl: url, headers: credentials }),
    }
  }

  async function person(accountId: number, name: string, timezone = 'UTC'): Promise<Person> {
    const user = newPerson(name, timezone)
    const id = await createUser(db, accountId, withoutPassword(user), deps.clock())
    return { ...user, id, session: await startSession(deps, id, deps.clock()) }
  }

  /** Creates an account with a space where every role has a member, a second space, keys, and a stranger in another account. */
  async function account({ timezone = 'UTC', withPassword = false }: { timezone?: string; withPassword?: boolean } = {}) {
    const at = deps.clock()
    const accounts = await insertAccounts(deps, { timezone, withPassword })
    const keyOf = async (actor: { accountId: number; userId: number }, input: Partial<NewKey> & Pick<NewKey, 'kind'>) =>
      (await insertKey(db, actor, { name: KEY_NAME, ...input }, at)).secret
    return { ...accounts, keyOf }
  }

  async function makeSpace(accountId: number, ownerId: number, roles: Record<number, string>): Promise<number> {
    const { id } = await db.prisma.space.create({ data: { accountId, name: newSpaceName() } })
    const members = [
      { userId: ownerId, role: 'admin' },
      ...Object.entries(roles).map(([userId, role]) => ({ userId: Number(userId), role })),
    ]
    await db.prisma.spaceMember.createMany({ data: members.map((member) => ({ ...member, spaceId: id, accountId })) })
    return id
  }

  return {
    url,
    deps,
    db,
    settings,
    /** The letters that the operator's mailer was given. With SMTP_URL they are sent there instead. */
    letters,
    as,
    account,
    person,
    makeSpace,
    /** Stops the service before the end of the tests. */
    stop,
    /** Stops the service's clock at an instant; null lets it run again. */
    setClock: (instant: Date | null) => {
      now = instant
    },
  }
}

export type TestApp = Awaited<ReturnType<typeof testApp>>
export type TestAccount = Awaited<ReturnType<TestApp['account']>>

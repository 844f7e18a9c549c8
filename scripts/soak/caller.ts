/** An account with a table, records and tasks, and the mix of requests that it sends. */
import { createAccount } from '../../src/accounts/service.ts'
import { SESSION_COOKIE, startSession } from '../../src/auth/sessions.ts'
import { insertKey } from '../../src/keys/service.ts'
import type { Database } from '../../src/platform/database/database.ts'
import { api } from '../bench/api.ts'
import { type Filled, fill, newTask } from '../bench/foundation/data.ts'

/** All that is needed to send the requests of an account. */
export interface Caller extends Filled {
  port: number
  secret: string
}

const RECORDS = 1_000

export async function makeCaller(db: Database, url: string, name: string): Promise<Caller> {
  const now = new Date()
  const { accountId, ownerId } = await createAccount(db, name, { email: `${name}@example.com`, name }, now)
  const { secret } = await insertKey(db, { accountId, userId: ownerId }, { kind: 'account', name }, now)
  const cookie = `${SESSION_COOKIE}=${await startSession({ db, settings: { keepSessionsDays: 1 } }, ownerId, now)}`
  const ground = {
    db,
    url,
    account: { accountId, ownerId, secret },
    key: api(url, { authorization: `Bearer ${secret}` }),
    browser: api(url, { cookie }),
  }
  return { ...(await fill(ground, { records: RECORDS })), port: Number(new URL(url).port), secret }
}

/**
 * The bytes of a request. Of 20 requests 13 read one row, 4 query a page, 2 change a record and 1 a task. The tables do not grow, so the capacity
 * stays the same.
 */
export function requestOf({ tableId, viewId, recordIds, taskIds, secret }: Caller, index: number): string {
  const record = `/api/table/${tableId}/record/${recordIds[(index * 7) % recordIds.length]}`
  const task = `/api/task/${taskIds[(index * 7) % taskIds.length]}`
  const kind = index % 20
  if (kind % 5 === 4) return post(`/api/table/${tableId}/records/query`, secret, { view_id: viewId, limit: 25 })
  if (kind === 0 || kind === 10) return post(`${record}/update`, secret, { data: { amount: index % 1_000 } })
  if (kind === 5) return post(`${task}/update`, secret, { details: `${newTask().details} ${index}` })
  return get(kind % 2 ? `${record}/get` : `${task}/get`, secret)
}

const head = (method: string, path: string, secret: string) =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${secret}\r\n`

const get = (path: string, secret: string) => `${head('GET', path, secret)}\r\n`

function post(path: string, secret: string, body: object): string {
  const text = JSON.stringify(body)
  return `${head('POST', path, secret)}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

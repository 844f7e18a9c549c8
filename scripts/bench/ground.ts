/** The account of a suite, and the connections through which its data are created. */
import { createAccount } from '../../src/accounts/service.ts'
import { SESSION_COOKIE, startSession } from '../../src/auth/sessions.ts'
import { insertKey } from '../../src/keys/service.ts'
import type { Database } from '../../src/platform/database/database.ts'
import { api } from './api.ts'
import type { Account, Ground } from './case.ts'

export async function makeAccount(db: Database): Promise<Account> {
  const now = new Date()
  const { accountId, ownerId } = await createAccount(db, 'Bench', { email: `bench.${Date.now()}@example.com`, name: 'Ben Bench' }, now)
  const { secret } = await insertKey(db, { accountId, userId: ownerId }, { kind: 'account', name: 'Bench' }, now)
  return { accountId, ownerId, secret }
}

export async function groundOn(db: Database, url: string, account: Account): Promise<Ground> {
  return {
    db,
    url,
    account,
    key: api(url, { authorization: `Bearer ${account.secret}` }),
    browser: api(url, {
      cookie: `${SESSION_COOKIE}=${await startSession({ db, settings: { keepSessionsDays: 1 } }, account.ownerId, new Date())}`,
    }),
  }
}

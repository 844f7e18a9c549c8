/** A DATA_DIR with a database, for tests whose subject is not a first start: initdb and the migrations take a fifth of its time. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import { keepLogin } from '../../src/demo/login.ts'

/**
 * Puts a migrated database without accounts into a new DATA_DIR: the next start continues as if it had just been created. Like a replica,
 * the copy says that it is the same database system as the server of the run.
 * @param options.withDemo false if the demo is to be left out, which takes half of the CPU time of a first start
 */
export function prepareData(dataDir: string, { withDemo = true } = {}): void {
  mkdirSync(dataDir, { recursive: true })
  execFileSync('cp', ['-a', inject('preparedDatabase'), join(dataDir, 'postgres')])
  // A start with a login creates none.
  if (!withDemo) keepLogin(dataDir, NO_LOGIN)
}

const NOBODY = { name: 'Nobody', email: 'nobody@demo.example', password: 'none' }
const NO_LOGIN = { account_id: 0, space_id: 0, owner: NOBODY, member: NOBODY, viewer: NOBODY, keys: { account: 'none', personal: 'none' } }

/** A DATA_DIR with a database, for tests whose subject is not a first start: initdb and the migrations take a fifth of its time. */
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'

/**
 * Puts a migrated database without accounts into a new DATA_DIR: the next start continues as if it had just been created. Like a replica,
 * the copy says that it is the same database system as the server of the run.
 */
export function prepareData(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true })
  execFileSync('cp', ['-a', inject('preparedDatabase'), join(dataDir, 'postgres')])
}

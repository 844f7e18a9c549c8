/** Programs of the system that some tests run where they are installed. */
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPostgresPrograms } from '../../src/platform/database/embedded/binaries.ts'

/** The path of a program; undefined if it is not installed. Debian keeps servers in folders that are not on everybody's PATH. */
export function programAt(name: string): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin']
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/**
 * The folder of `pg_dump`, `pg_restore`, `psql` and `pg_basebackup` for the server that tests run on, which the npm package does not have:
 * POSTGRES_BIN, or that on the PATH. Undefined if there are none, or older ones, which refuse the server.
 */
export function postgresClients(): string | undefined {
  const folder = process.env.POSTGRES_BIN || dirname(programAt('pg_dump') ?? '')
  const { stdout } = spawnSync(join(folder, 'pg_dump'), ['--version'], { encoding: 'utf8' })
  const major = Number(/\) (\d+)/.exec(stdout ?? '')?.[1])
  return major >= findPostgresPrograms().majorVersion ? folder : undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

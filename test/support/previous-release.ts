/** The previous release: its source, which runs with the packages of this one, and its demo (test/fixtures/previous-release). */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import pg from 'pg'
import { type DemoLogin, readLogin } from '../../src/demo/login.ts'
import { emptyDatabase, type TestDatabase } from './database.ts'

const ARCHIVE = new URL('../fixtures/previous-release/release.tar.br', import.meta.url)
const PACKAGES = new URL('../../node_modules', import.meta.url)

export interface PreviousRelease {
  /** The folder of its source. */
  root: string
  /** The tag of its commit, such as v0.1.0. */
  tag: string
  /** The settings with which it has created its demo. */
  environment: { DATA_DIR: string; SECRET_KEY: string }
  login: DemoLogin
  /** Creates another database as the release has left it. */
  restore(): Promise<TestDatabase>
  remove(): void
}

/** Unpacks the release into a temporary folder. */
export function unpackPreviousRelease(): PreviousRelease {
  const root = mkdtempSync(join(tmpdir(), 'gridpost-previous-'))
  const { status, stderr } = spawnSync('tar', ['x', '-C', root], { input: brotliDecompressSync(readFileSync(ARCHIVE)), encoding: 'utf8' })
  if (status !== 0) throw new Error(`The previous release cannot be unpacked: ${stderr}`)
  symlinkSync(PACKAGES.pathname, join(root, 'node_modules'))
  const dataDir = join(root, 'data')
  const login = readLogin(dataDir)
  if (!login) throw new Error('The previous release has no demo')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return {
    root,
    tag: `v${version}`,
    environment: { DATA_DIR: dataDir, SECRET_KEY: readFileSync(join(dataDir, 'secret-key'), 'utf8').trim() },
    login,
    async restore() {
      const database = await emptyDatabase()
      const client = new pg.Client(database.connection)
      await client.connect()
      try {
        await client.query(readFileSync(join(root, 'database.sql'), 'utf8'))
      } finally {
        await client.end()
      }
      return database
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}

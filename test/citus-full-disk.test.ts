/** A node of a Citus cluster whose disk is really full. Skipped without CITUS_DIR, and where no small disk can be mounted. */
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { placeSpace } from '../src/tables/elsewhere/placement.ts'
import { type TestAccount, type TestApp, testApp } from './support/app.ts'
import { CITUS_DIR, type CitusCluster, inDatabase, startCitus, withCitus } from './support/citus.ts'

/** Has room for an empty table, and not for the records of the tests. */
const SMALL = 4 * 2 ** 20
const RECORDS = 20_000

function mountSmallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'gridpost-small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL}`, 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    // Only the superuser of a machine may do that, and not in every container.
    rmdirSync(folder)
    return undefined
  }
}

const disk = CITUS_DIR ? mountSmallDisk() : undefined

describe.skipIf(!disk)(withCitus('on a cluster of three, of which one node has a small disk'), () => {
  let cluster: CitusCluster
  let app: TestApp
  let account: TestAccount
  let small = ''
  const folder = disk as string

  beforeAll(async () => {
    cluster = await startCitus()
    const [, node] = cluster.workers
    small = cluster.nameOf(node)
    const { uid, gid } = statSync(node.connection.host)
    chownSync(folder, uid, gid)
    chmodSync(folder, 0o700)
    await inDatabase(node, node.connection.database, [
      'set citus.enable_ddl_propagation = off',
      `create tablespace small location '${folder}'`,
      "alter system set default_tablespace = 'small'",
      'select pg_reload_conf()',
    ])
    app = await testApp({ DATABASE_URL: cluster.coordinator.url })
    account = await app.account()
  })
  afterAll(async () => {
    await app?.stop()
    await cluster?.stop()
    execFileSync('umount', [folder])
    rmdirSync(folder)
  })

  const owner = () => app.as(account.owner)
  async function spaceWithRecords(): Promise<{ space: number; id: number }> {
    const space = await app.makeSpace(account.id, account.owner.id, {})
    const fields = [{ name: 'Title', type: 'text' }]
    const { body } = await owner().post(`/api/space/${space}/tables/create`, { name: 'Cases', fields })
    await cluster.coordinator.query(`
      insert into t${body.id}.records (created_at, updated_at, title) select now(), now(), repeat('x', 500) from generate_series(1, ${RECORDS})`)
    return { space, id: body.id }
  }
  const count = async (id: number) => (await owner().post(`/api/table/${id}/records/count`, {})).body.count

  test('a space is not placed on it, and keeps its records', async () => {
    const { space, id } = await spaceWithRecords()
    await expect(placeSpace(systemContext(app.deps), space, small)).rejects.toThrow(`Space ${space} was not placed: a node is full`)
    expect(await count(id)).toBe(RECORDS)
  })
})

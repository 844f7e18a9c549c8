/**
 * Places the records of a space on a node of a Citus cluster, and moves them (docs/scaling.md). Each placed space has an anchor, an empty
 * table: the records of the space are on the node of the anchor, and move with it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { auditing, type NewAuditEntry } from '../../audit/log.ts'
import type { Context } from '../../platform/context.ts'
import { historyOf, raw, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import { sqlState } from '../../platform/database/database-errors.ts'
import { askNode, nameOfNode } from '../../platform/database/nodes/nodes.ts'
import { NODES_SCHEMA, TWO_PHASES_TABLE } from '../../platform/database/nodes/two-phases.ts'
import { AppError, conflict } from '../../platform/errors.ts'
import { forgetRowCounts } from '../row-counts.ts'
import { anchorOf, distribute } from './anchors.ts'

/** The anchor of a space that is being placed. New tables do not follow it yet. */
const preparedName = (spaceId: number) => `s${spaceId}_prepared`

export interface Placed {
  space_id: number
  node: string
  tables: number
  /** False if the space was on the node before. */
  is_changed: boolean
}

/**
 * Puts the tables of a space on a node, all or none, and lets new ones follow. Nobody reads or writes the space meanwhile. May be repeated
 * after it was killed.
 * @param node `host:port`, as Citus knows it
 * @throws AppError with one line that says why nothing was changed
 */
export function placeSpace(context: Context, spaceId: number, node: string): Promise<Placed> {
  return asOnlyCommand(context, spaceId, 'placed', async (run, audited) => {
    const target = await requireNode(context, run, node)
    const anchor = await anchorAt(run, anchorOf(spaceId))
    if (anchor && nameOfNode(anchor) !== nameOfNode(target))
      throw conflict(`Space ${spaceId} is on ${nameOfNode(anchor)} already: npm run admin -- space move ${spaceId} ${nameOfNode(target)}`)
    if (!anchor) {
      await prepareAnchor(run, spaceId, target)
      await placeTables(run, spaceId, auditing(context, 'space.placed', { ...audited, detail: { node: nameOfNode(target) } }))
    }
    return { space_id: spaceId, node: nameOfNode(target), tables: (await tablesOf(run, spaceId)).length, is_changed: !anchor }
  })
}

/**
 * Moves a placed space to another node while it is read and written. If the move is killed or fails, the space is where it was, and the
 * move can be repeated.
 * @throws AppError as `placeSpace`
 */
export function moveSpace(context: Context, spaceId: number, node: string): Promise<Placed> {
  return asOnlyCommand(context, spaceId, 'moved', async (run, audited) => {
    const target = await requireNode(context, run, node)
    const anchor = await anchorAt(run, anchorOf(spaceId))
    if (!anchor) throw conflict(`Space ${spaceId} is on no node yet: npm run admin -- space place ${spaceId} ${nameOfNode(target)}`)
    const [before, after] = [nameOfNode(anchor), nameOfNode(target)]
    const isChanged = before !== after
    if (isChanged) {
      await run(ONE_AT_A_TIME)
      await requireAnswer(context, anchor)
      await whileWoken(context, run, () =>
        inTransaction(run, async () => {
          await moveAnchor(run, anchor, target, 'force_logical')
          await run(auditing(context, 'space.moved', { ...audited, detail: { node: after, before } }))
        }),
      )
    }
    return { space_id: spaceId, node: nameOfNode(target), tables: (await tablesOf(run, spaceId)).length, is_changed: isChanged }
  })
}

type Run = <Row extends object>(statement: Sql) => Promise<Row[]>

interface Address {
  host: string
  port: number
}

/** The space, as the audit log names it. */
type Audited = Pick<NewAuditEntry, 'id' | 'spaceId' | 'accountId'>

/** The first key of the advisory lock of a command; no other lock with two keys uses it. */
const PLACING = 7_203

/**
 * Runs the work on a connection of its own, because it may take hours. The server checks every second whether the client is still
 * connected: otherwise a function of Citus would run to its end after the command was killed, and its lock would refuse the next command.
 */
async function asOnlyCommand<T>(
  { db }: Context,
  spaceId: number,
  done: string,
  work: (run: Run, audited: Audited) => Promise<T>,
): Promise<T> {
  const client = await db.connect(Number.POSITIVE_INFINITY)
  const run: Run = async ({ text, values }) => (await client.query({ text, values })).rows
  try {
    await run(sql`select set_config('statement_timeout', '0', false), set_config('client_min_messages', 'warning', false)`)
    await run(sql`select set_config('client_connection_check_interval', '1s', false)`)
    if (!db.hasNodes) throw conflict('The database of this service has no nodes: DATABASE_URL must name the coordinator of a Citus cluster')
    const [lock] = await run<{ is_ours: boolean }>(sql`select pg_try_advisory_lock(${PLACING}::int, ${spaceId}::int) as is_ours`)
    if (!lock?.is_ours) throw conflict(`Space ${spaceId} is being placed or moved by another command`)
    const [space] = await run<{ account_id: number }>(sql`select account_id from spaces where id = ${spaceId} and deleted_at is null`)
    if (!space) throw conflict(`There is no space ${spaceId}`)
    return await work(run, { id: spaceId, spaceId, accountId: space.account_id })
  } catch (error) {
    throw inOneLine(error, `Space ${spaceId} was not ${done}`)
  } finally {
    await client.end().catch(() => {})
  }
}

/** 53100: a node has no room on its disk. */
const DISK_FULL = '53100'
/** If the disk of the target node is full, Citus (14.0.1) passes on the text of the error, but not its SQLSTATE. */
const NO_SPACE = 'No space left on device'

function inOneLine(error: unknown, failed: string): unknown {
  if (error instanceof AppError || !(error instanceof pg.DatabaseError)) return error
  const [line] = error.message.split('\n')
  const isFull = sqlState(error) === DISK_FULL || error.message.includes(NO_SPACE)
  return new AppError('CONFLICT', `${failed}: ${isFull ? 'a node is full' : line}`, { cause: error })
}

async function requireNode(context: Context, run: Run, given: string): Promise<Address> {
  const nodes = await run<Address & { takes_shards: boolean }>(sql`
    select nodename as host, nodeport as port, shouldhaveshards and isactive as takes_shards from pg_dist_node
    where noderole = 'primary' and groupid > 0 order by 1, 2`)
  const node = nodes.find((each) => nameOfNode(each) === given || (each.host === given && each.port === 5_432))
  if (!node)
    throw conflict(
      `There is no node ${given}: ${nodes.length ? `there are ${nodes.map(nameOfNode).join(', ')}` : 'add one with citus_add_node'}`,
    )
  if (!node.takes_shards) throw conflict(`The node ${nameOfNode(node)} takes no spaces: it is disabled, or its shouldhaveshards is false`)
  await requireAnswer(context, node)
  return node
}

/** A function of Citus would wait for ever for a node that is frozen. */
async function requireAnswer({ settings }: Context, node: Address): Promise<void> {
  await askNode({ connectionString: settings.databaseUrl }, node, 'select').catch((error: Error) => {
    throw conflict(`The node ${nameOfNode(node)} does not answer`, { cause: error })
  })
}

/** The shard of an anchor, and its node; undefined if there is no such anchor. */
async function anchorAt(run: Run, anchor: string): Promise<(Address & { shard: string }) | undefined> {
  const [found] = await run<Address & { shard: string }>(sql`
    select s.shardid as shard, d.nodename as host, d.nodeport as port
    from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid
      join pg_dist_node d on d.groupid = p.groupid and d.noderole = 'primary'
    where s.logicalrelid = to_regclass(${anchor})`)
  return found
}

/** An anchor that an earlier command has left is used. */
async function prepareAnchor(run: Run, spaceId: number, target: Address): Promise<void> {
  const prepared = `${NODES_SCHEMA}.${preparedName(spaceId)}`
  for (const statement of TWO_PHASES_TABLE) await run(raw(statement))
  await run(sql`create table if not exists ${raw(prepared)} (id int primary key)`)
  if (!(await anchorAt(run, prepared))) await run(sql`select create_distributed_table(${prepared}, null, colocate_with => 'none')`)
  const anchor = await anchorAt(run, prepared)
  if (anchor && nameOfNode(anchor) !== nameOfNode(target)) await moveAnchor(run, anchor, target, 'block_writes')
}

const moveAnchor = (run: Run, from: Address & { shard: string }, to: Address, mode: 'block_writes' | 'force_logical') =>
  run(sql`
    select citus_move_shard_placement(${from.shard}::int8, ${from.host}::text, ${from.port}::int,
      ${to.host}::text, ${to.port}::int, ${mode})`)

/**
 * Citus copies tables and builds their indexes on the node over so many connections, 16 by default. All indexes at once would take all
 * cores of a small node from the requests.
 */
const ONE_AT_A_TIME = sql`select set_config('citus.max_adaptive_executor_pool_size', '1', false)`

const WAKE_EVERY_MS = 20
const CHANNEL = 'gridpost_moves'

/**
 * Wakes the session of a move while it blocks writes. Citus (14.0.1) then checks whether the new copy has caught up, and sleeps for a
 * second between two checks. A notification ends the sleep early, so that writes are blocked for a shorter time.
 */
async function whileWoken(context: Context, run: Run, move: () => Promise<void>): Promise<void> {
  const [session] = await run<{ pid: number }>(sql`select pg_backend_pid() as pid`)
  await run(raw(`listen ${CHANNEL}`))
  const moved = new AbortController()
  // If waking fails, the move only takes longer.
  const waking = wakeUntil(moved.signal, context, session?.pid ?? 0).catch(() => {})
  try {
    await move()
  } finally {
    moved.abort()
    await waking
  }
}

async function wakeUntil(moved: AbortSignal, { db }: Context, pid: number): Promise<void> {
  const client = await db.connect()
  try {
    while (!moved.aborted) {
      await client.query(WAKE, [CHANNEL, pid])
      await sleep(WAKE_EVERY_MS, undefined, { signal: moved })
    }
  } finally {
    await client.end()
  }
}

/** The advisory lock on the metadata of a shard, which every write shares. Citus distinguishes its locks by `objsubid`. */
const WAKE = `
  select pg_notify($1, '') where exists (
    select from pg_locks where pid = $2 and locktype = 'advisory' and objsubid = 4 and mode = 'ExclusiveLock' and granted)`

function placeTables(run: Run, spaceId: number, audit: Sql): Promise<void> {
  return inTransaction(run, async () => {
    await run(sql`select set_config('lock_timeout', '5s', true)`)
    // Tables that are being created have locked the row of the space as well: they are there before, or see the anchor.
    await run(sql`select from spaces where id = ${spaceId} for update`)
    await run(sql`update tables set version = version + 1 where space_id = ${spaceId}`)
    const prepared = preparedName(spaceId)
    for (const { id, has_history } of await tablesOf(run, spaceId)) {
      for (const statement of forgetRowCounts(id)) await run(statement)
      for (const relation of has_history ? [recordsOf(id), historyOf(id)] : [recordsOf(id)]) {
        await run(distribute(relation, `${NODES_SCHEMA}.${prepared}`))
        await run(sql`select truncate_local_data_after_distributing_table(${relation.sql}::text::regclass)`)
      }
    }
    await run(sql`alter table ${raw(`${NODES_SCHEMA}.${prepared}`)} rename to ${raw(`s${spaceId}`)}`)
    await run(audit)
  })
}

async function inTransaction(run: Run, work: () => Promise<void>): Promise<void> {
  await run(sql`begin`)
  try {
    await work()
    await run(sql`commit`)
  } catch (error) {
    await run(sql`rollback`).catch(() => {})
    throw error
  }
}

/** The tables of the space, also deleted ones that can be restored. */
const tablesOf = (run: Run, spaceId: number) =>
  run<{ id: number; has_history: boolean }>(sql`
    select id, has_history from tables where space_id = ${spaceId} and to_regclass(format('t%s.records', id)) is not null order by id`)

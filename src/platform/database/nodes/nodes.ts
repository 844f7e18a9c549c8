/**
 * The nodes of a Citus cluster: which has the records of a table, and reads that are asked of it directly. Without Citus there are none,
 * and nothing of this runs after the start (docs/decisions/0032-spaces-on-nodes.md).
 */

import pg from 'pg'
import { withinTime } from '../../concurrency/time-limit.ts'
import { type Database, raw, sql } from '../database.ts'
import { isDatabaseAway, sqlState } from '../database-errors.ts'
import type { PlacedRecords, Placement, RecordsNode } from '../records-plane.ts'
import { cutConnection } from '../statements/silent-connections.ts'
import type { Statement } from '../statements/statement.ts'
import { shortRead } from '../statements/statement.ts'
import { openTransaction, WRITES_NOTHING } from '../transactions.ts'
import { HAS_TWO_PHASES, IN_TWO_PHASES } from './two-phases.ts'
import { type NodeOptions, WatchedNode } from './watched-node.ts'

declare module '../../context.ts' {
  interface Shared {
    /** Of the cluster that the main server coordinates. */
    nodes?: Nodes | undefined
  }
}

/** How long a process may ask the main server for records that have just been placed elsewhere. */
const CHECK_EVERY_MS = 1_000

export interface Nodes extends Placement {
  /** Asks whether the main server coordinates nodes, and follows their tables from then on if it does. */
  follow(main: Database): Promise<void>
  /** The nodes that have records. */
  readonly all: readonly Pick<WatchedNode, 'name' | 'isAway' | 'database'>[]
  close(): Promise<void>
}

export interface NodeAddress {
  host: string
  port: number
}

/** The name of a node, as `npm run admin -- space place` takes it. */
export const nameOfNode = ({ host, port }: NodeAddress): string => `${host}:${port}`

/** @param config of the main server; its role, password and database are those of the nodes, too */
export function openNodes(config: pg.PoolConfig, options: NodeOptions): Nodes {
  const nodes = new Map<string, WatchedNode>()
  let main: Database | undefined
  let placed = new Map<number, string>()
  let mark: string | undefined
  let hasTwoPhases = false
  let timer: NodeJS.Timeout | undefined
  let refreshing: Promise<void> | undefined
  let isClosed = false
  /** Whether the last check failed. The log has the first failure only, because a main server that is away fails every check. */
  let isWarned = false

  async function refresh(database: Database): Promise<void> {
    const [present] = await database.read<{ mark: string; has_two_phases: boolean }>(shortRead('nodes:mark', MARK))
    hasTwoPhases = present?.has_two_phases ?? false
    if (present?.mark === mark) return
    const rows = await database.read<NodeAddress & { table_id: number }>(PLACED)
    for (const row of rows) {
      const name = nameOfNode(row)
      if (!nodes.has(name)) nodes.set(name, new WatchedNode(name, configAt(config, row), options))
    }
    placed = new Map(rows.map((row) => [row.table_id, nameOfNode(row)]))
    const used = new Set(placed.values())
    for (const node of nodes.values()) node.isUsed = used.has(node.name)
    mark = present?.mark
  }

  /** All who ask at once share one answer. */
  function refreshOnce(): Promise<void> {
    refreshing ??= (main ? refresh(main) : Promise.resolve()).finally(() => {
      refreshing = undefined
    })
    return refreshing
  }

  /** An answer that is on its way may be older than what the caller has just committed. */
  async function refreshAfter(): Promise<void> {
    await refreshing?.catch(() => {})
    await refreshOnce()
  }

  async function check(): Promise<void> {
    try {
      await refreshOnce()
      isWarned = false
    } catch (error) {
      if (!isWarned) options.log.warn({ err: error }, 'the nodes of the records were not read')
      isWarned = true
    }
    if (!isClosed) timer = setTimeout(check, CHECK_EVERY_MS).unref()
  }

  const nodeWith = (tableId: number) => nodes.get(placed.get(tableId) ?? '')

  /** Runs the read on the table's node. If that fails because of the node, the table may have been moved: it is looked for once more. */
  async function read<T>(tableId: number, run: (on: RecordsNode) => Promise<T>): Promise<T> {
    const asked = nodeWith(tableId)
    if (!asked) return run(main as Database)
    asked.requireAnswers()
    try {
      return await run(asked.database)
    } catch (error) {
      if (!isOfNode(error)) throw asked.explainRead(error)
      await refreshAfter()
      const found = nodeWith(tableId)
      if (found !== asked) return run(found?.database ?? (main as Database))
      throw asked.explainRead(error)
    }
  }

  /** Before a statement on the main server that reaches the node. */
  async function enlist(tableId: number, statement: Statement): Promise<void> {
    const [node, transaction] = [nodeWith(tableId), openTransaction()]
    if (!transaction) return node?.requireAnswers()
    node?.join(transaction)
    if (WRITES_NOTHING.test(statement.text)) return
    transaction.nodeWrites++
    if (hasTwoPhases) transaction.beforeCommit = IN_TWO_PHASES
  }

  function enlistAll(tableId: number): void {
    const [own, transaction] = [nodeWith(tableId), openTransaction()]
    if (!transaction) return
    own?.join(transaction)
    for (const node of nodes.values()) if (node.isUsed && node !== own) node.joinAsOther(transaction)
  }

  const recordsOn = (tableId: number): PlacedRecords => ({
    enlist: (statement) => enlist(tableId, statement),
    read: (...asked) => read(tableId, (on) => on.read(...asked)),
    page: (...asked) => read(tableId, (on) => on.page(...asked)),
  })

  return {
    get hasNodes() {
      return main !== undefined
    },
    get all() {
      return [...nodes.values()].filter(({ isUsed }) => isUsed)
    },
    nodeOf: (tableId) => (placed.has(tableId) ? recordsOn(tableId) : undefined),
    enlistAll,
    refresh: refreshAfter,
    async follow(database) {
      const [citus] = await database.read(sql`select from pg_extension where extname = 'citus'`)
      if (!citus) return
      main = database
      await check()
    },
    async close() {
      clearTimeout(timer)
      isClosed = true
      await Promise.all([...nodes.values()].map((node) => node.close()))
    },
  }
}

/** True if another node may answer, because this one does not answer or does not have the table. */
const isOfNode = (error: unknown) => isDatabaseAway(error) || sqlState(error) === '42P01' || sqlState(error) === '3F000'

/** Changes with every table that is placed, moved or dropped, and with the address of a node, which a standby that takes over changes. */
const MARK = sql`
  select concat_ws(' ', count(*), sum(placementid), sum(placementid * groupid),
    (select string_agg(concat_ws(' ', groupid, nodename, nodeport), ' ' order by groupid)
      from pg_dist_node where noderole = 'primary')) as mark,
    ${raw(HAS_TWO_PHASES)} as has_two_phases
  from pg_dist_placement`

/** The tables of records on nodes other than the main server, whose group is 0. */
const PLACED = sql`
  select substr(n.nspname, 2)::int as table_id, d.nodename as host, d.nodeport as port
  from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid and c.relname = 'records'
  join pg_namespace n on n.oid = c.relnamespace and n.nspname ~ '^t[1-9][0-9]{0,9}$'
  join pg_dist_placement p on p.shardid = s.shardid join pg_dist_node d on d.groupid = p.groupid and d.noderole = 'primary'
  where p.groupid > 0`

/**
 * Asks a node on a connection of its own.
 * @param config of the main server
 * @throws Error if it does not answer in time
 */
export async function askNode<Row extends object>(
  config: pg.PoolConfig,
  address: NodeAddress,
  text: string,
  limitMs = ASKED_WITHIN_MS,
): Promise<Row[]> {
  const client = new pg.Client({ ...configAt(config, address), connectionTimeoutMillis: limitMs })
  client.on('error', () => {})
  try {
    await client.connect()
    const answer = await withinTime(client.query<Row>(text), limitMs, undefined)
    if (!answer) throw new Error(`no answer within ${limitMs} ms`)
    return answer.rows
  } finally {
    // A node that does not answer does not end the connection either.
    cutConnection(client)
  }
}

const ASKED_WITHIN_MS = 3_000

/** The same role and database at another address. The name of a node may be the folder of a socket. */
function configAt(config: pg.PoolConfig, { host, port }: NodeAddress): pg.PoolConfig {
  // Statistics and sizes of the records are those of shards, which Citus hides from the catalogue by default.
  const options = '-c citus.override_table_visibility=off'
  if (!config.connectionString) return { ...config, host, port, options }
  const url = new URL(config.connectionString)
  url.hostname = host.startsWith('/') ? 'localhost' : host.includes(':') ? `[${host}]` : host
  url.port = String(port)
  if (host.startsWith('/')) url.searchParams.set('host', host)
  else url.searchParams.delete('host')
  return { ...config, connectionString: url.href, options }
}

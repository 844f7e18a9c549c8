/** The nodes of a Citus cluster: what is where, how full they are, and what a command that was killed has left. */
import pg from 'pg'
import { isDatabaseAway } from '../../src/platform/database/database-errors.ts'
import { askNode, type NodeAddress, nameOfNode } from '../../src/platform/database/nodes/nodes.ts'
import { memo } from '../../src/platform/memo.ts'
import { counted, type Examined, type ExaminedDatabase, type Finding, findingOf } from './finding.ts'

/** Nodes that do not answer or refuse the service, spaces that are only partly placed, and anchors of commands that did not end. */
export async function checkNodes(examined: Examined): Promise<Finding[]> {
  const { database } = examined
  if (!(await hasCitus(database))) return []
  const nodes = await nodesOf(examined)
  const strays = await database.rows<{ name: string }>(`
    select format('t%s.%s of space %s', t.id, r.relname, t.space_id) as name from public.tables t
    join pg_class r on r.oid in (to_regclass(format('t%s.records', t.id)), to_regclass(format('t%s.history', t.id)))
    left join pg_dist_partition a on a.logicalrelid = to_regclass(format('gridpost_spaces.s%s', t.space_id))
    left join pg_dist_partition p on p.logicalrelid = r.oid
    where p.colocationid is distinct from a.colocationid order by t.id, r.relname desc`)
  const prepared = await database.rows<{ space: string }>(`
    select substring(c.relname from '^s([0-9]+)_prepared$') as space from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'gridpost_spaces' and c.relname ~ '^s[0-9]+_prepared$' and c.relkind = 'r' order by 1`)
  return [
    ...findingOf(nodes.filter(({ isAway }) => isAway).map(nameOfNode), {
      check: 'nodes.away',
      severity: 'error',
      problem: (count) => `${counted(count, 'node')} not answering: their spaces answer 503, and no table of a placed space can be changed`,
      advice: 'Start the node, or promote its standby and tell Citus with citus_update_node.',
    }),
    ...findingOf(
      nodes.flatMap((node) => (node.refusal === undefined ? [] : [`${nameOfNode(node)}: ${node.refusal}`])),
      {
        check: 'nodes.refused',
        severity: 'error',
        problem: (count) => `${counted(count, 'node')} refusing the database role of the service: records of their spaces cannot be read`,
        advice: 'Give the role the same access on the node as on the coordinator: its line in pg_hba.conf, LOGIN and its password.',
      },
    ),
    ...findingOf(
      nodes.flatMap((node) => (node.lacks === undefined ? [] : [`${nameOfNode(node)}: ${node.lacks}`])),
      {
        check: 'nodes.rights',
        severity: 'error',
        problem: (count) => `${counted(count, 'node')} where the database role of the service lacks a right`,
        advice: 'Run the GRANT on the coordinator: Citus repeats it on the nodes (docs/scaling.md, Spaces on nodes).',
      },
    ),
    ...findingOf(
      strays.map(({ name }) => name),
      {
        check: 'nodes.strays',
        severity: 'error',
        problem: (count) => `${counted(count, 'table')} not where the space is`,
        advice: 'This happens only by hand: undo it (undistribute_table), then place the space again (docs/scaling.md, Spaces on nodes).',
      },
    ),
    ...findingOf(
      prepared.map(({ space }) => `space ${space}`),
      {
        check: 'nodes.prepared',
        severity: 'warning',
        problem: (count) => `${counted(count, 'space')} whose placing did not end; the records are where they were`,
        advice: 'Run npm run admin -- space place again for each, or drop gridpost_spaces.s<id>_prepared.',
      },
    ),
  ]
}

/** One line for each node: its spaces and the bytes of their records with indexes. */
export async function describeNodes(examined: Examined): Promise<string[]> {
  const { database } = examined
  if (!(await hasCitus(database))) return []
  const placed = await database.rows<{ name: string; spaces: string | null; tables: number }>(`
    select n.nodename || ':' || n.nodeport as name, count(distinct t.id)::int as tables, string_agg(distinct t.space_id::text, ', ') as spaces
    from pg_dist_node n left join pg_dist_placement p on p.groupid = n.groupid left join pg_dist_shard s on s.shardid = p.shardid
    left join public.tables t on to_regclass(format('t%s.records', t.id)) = s.logicalrelid
    where n.noderole = 'primary' and n.groupid > 0 group by 1 order by 1`)
  const sizes = new Map((await nodesOf(examined)).map((node) => [nameOfNode(node), node.bytes]))
  return placed.map(({ name, spaces, tables }) => {
    const bytes = sizes.get(name)
    const size = bytes === undefined ? 'its size is not known' : `${Math.ceil(bytes / 1_024)} kB`
    return `node     ${name}: ${spaces ? `spaces ${spaces}, ${counted(tables, 'table')}` : 'no spaces'}, ${size}`
  })
}

/** The ids of the tables whose records are on a node. */
export async function placedTables(database: ExaminedDatabase): Promise<Set<number>> {
  if (!(await hasCitus(database))) return new Set()
  const placed = await database.rows<{ id: number }>(`
    select t.id from public.tables t join pg_dist_partition p on p.logicalrelid = to_regclass(format('t%s.records', t.id))`)
  return new Set(placed.map(({ id }) => id))
}

/** The condition that the records of a table `t` can be read. A statement on a node that is frozen would wait for it without an end. */
export async function onAnsweringNodes(examined: Examined): Promise<string> {
  if (!(await hasCitus(examined.database))) return 'true'
  const away = (await nodesOf(examined)).filter(({ isAway }) => isAway).map(({ id }) => Number(id))
  return `not exists (select from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid join pg_dist_node n on n.groupid = p.groupid
    where s.logicalrelid = to_regclass(format('t%s.records', t.id)) and n.nodeid = any('{${away.join(',')}}'))`
}

interface ExaminedNode extends NodeAddress {
  id: number
  /** The bytes of the records on the node with their indexes; undefined if the node did not tell. */
  bytes?: number
  isAway: boolean
  /** The node's words, if it answers but does not let the role in. */
  refusal?: string
  /** What the role may not do there. */
  lacks?: string
}

/** Each node is asked once, as the role of the service on a connection of its own. */
const nodesOf = memo(async ({ database, settings }: Examined): Promise<ExaminedNode[]> => {
  const nodes = await database.rows<NodeAddress & { id: number }>(`
    select nodeid as id, nodename as host, nodeport as port from pg_dist_node
    where noderole = 'primary' and groupid > 0 order by host, port`)
  return Promise.all(nodes.map(async (node) => ({ ...node, ...(await answerOf(settings, node)) })))
})

async function answerOf({ databaseUrl }: Examined['settings'], node: NodeAddress): Promise<Omit<ExaminedNode, keyof NodeAddress | 'id'>> {
  try {
    const [told] = await askNode<{ bytes: string; lacks: string | null }>({ connectionString: databaseUrl }, node, ASKED)
    return { isAway: false, bytes: Number(told?.bytes ?? 0), ...(told?.lacks && { lacks: told.lacks }) }
  } catch (error) {
    if (error instanceof pg.DatabaseError && !isDatabaseAway(error)) return { isAway: false, refusal: error.message }
    return { isAway: true }
  }
}

/** Asked of a node: the bytes of the shards of records, and whether tables can be made there. */
const ASKED = `
  select coalesce(sum(pg_total_relation_size(c.oid)), 0)::text as bytes,
    case when not has_database_privilege(current_database(), 'create')
      then format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user) end as lacks
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname ~ '^t[1-9][0-9]{0,9}$' and c.relkind = 'r' and c.relname ~ '^records_[0-9]+$'`

const hasCitus = async (database: ExaminedDatabase) => (await database.rows("select from pg_extension where extname = 'citus'")).length > 0

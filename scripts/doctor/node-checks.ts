/** The nodes of a Citus cluster: what is where, how full they are, and what a command that was killed has left. */
import { counted, type Examined, type ExaminedDatabase, type Finding, findingOf } from './finding.ts'

/** Nodes that do not answer, spaces that are only partly placed, and anchors of commands that did not end. */
export async function checkNodes({ database }: Examined): Promise<Finding[]> {
  if (!(await hasCitus(database))) return []
  const nodes = await database.rows<{ name: string; answers: boolean }>(`
    select nodename || ':' || nodeport as name, isactive and citus_check_connection_to_node(nodename, nodeport) as answers
    from pg_dist_node where noderole = 'primary' and groupid > 0 order by 1`)
  const strays = await database.rows<{ name: string }>(`
    select format('t%s.records of space %s', t.id, t.space_id) as name from public.tables t
    join pg_class r on r.oid = to_regclass(format('t%s.records', t.id))
    left join pg_dist_partition a on a.logicalrelid = to_regclass(format('gridpost_spaces.s%s', t.space_id))
    left join pg_dist_partition p on p.logicalrelid = r.oid
    where p.colocationid is distinct from a.colocationid order by t.id`)
  const prepared = await database.rows<{ space: string }>(`
    select substring(c.relname from '^s([0-9]+)_prepared$') as space from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'gridpost_spaces' and c.relname ~ '^s[0-9]+_prepared$' and c.relkind = 'r' order by 1`)
  return [
    ...findingOf(
      nodes.filter(({ answers }) => !answers).map(({ name }) => name),
      {
        check: 'nodes.away',
        severity: 'error',
        problem: (count) =>
          `${counted(count, 'node')} not answering: their spaces answer 503, and no table of a placed space can be changed`,
        advice: 'Start the node, or promote its standby and tell Citus with citus_update_node.',
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
export async function describeNodes(database: ExaminedDatabase): Promise<string[]> {
  if (!(await hasCitus(database))) return []
  const nodes = await database.rows<{ name: string; spaces: string | null; tables: number; size: string }>(`
    select n.nodename || ':' || n.nodeport as name, count(distinct t.id)::int as tables, pg_size_pretty(coalesce(sum(z.size), 0)) as size,
      string_agg(distinct t.space_id::text, ', ') as spaces
    from pg_dist_node n left join pg_dist_placement p on p.groupid = n.groupid left join pg_dist_shard s on s.shardid = p.shardid
    left join public.tables t on to_regclass(format('t%s.records', t.id)) = s.logicalrelid
    left join citus_shard_sizes() z on z.shard_id = s.shardid
    where n.noderole = 'primary' and n.groupid > 0 group by 1 order by 1`)
  return nodes.map(
    ({ name, spaces, tables, size }) =>
      `node     ${name}: ${spaces ? `spaces ${spaces}, ${counted(tables, 'table')}, ${size}` : 'no spaces'}`,
  )
}

/** The ids of the tables whose records are on a node. */
export async function placedTables(database: ExaminedDatabase): Promise<Set<number>> {
  if (!(await hasCitus(database))) return new Set()
  const placed = await database.rows<{ id: number }>(`
    select t.id from public.tables t join pg_dist_partition p on p.logicalrelid = to_regclass(format('t%s.records', t.id))`)
  return new Set(placed.map(({ id }) => id))
}

const hasCitus = async (database: ExaminedDatabase) => (await database.rows("select from pg_extension where extname = 'citus'")).length > 0

/** Asks Postgres how it would run a statement. */
import { type Sql, sql } from './database.ts'
import type { RecordsNode } from './records-plane.ts'

/** A step of a plan, as far as it is read here; EXPLAIN has more about each. */
export interface PlanNode {
  'Node Type': string
  'Total Cost': number
  Schema?: string
  'Relation Name'?: string
  'Index Name'?: string
  Plans?: PlanNode[]
  /** Of a statement on records that are on a node: the plan of the server that runs it. */
  'Distributed Query'?: { Job: { Tasks: { 'Remote Plan': [[{ Plan: PlanNode }]] }[] } }
}

/** The plan of the server that has the records, with the names of tables and indexes as the service knows them. */
export async function planOf(db: Pick<RecordsNode, 'read'>, statement: Sql): Promise<PlanNode | undefined> {
  const [row] = await db.read<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(sql`explain (format json, verbose) ${statement}`)
  const plan = row?.['QUERY PLAN'][0].Plan
  const [task] = plan?.['Distributed Query']?.Job.Tasks ?? []
  return task ? withoutShards(task['Remote Plan'][0][0].Plan) : plan
}

/** On its node, `records` is named `records_102008`, and its indexes end alike. */
function withoutShards(plan: PlanNode, shard = shardIn(plan)): PlanNode {
  if (!shard) return plan
  const plain = (name: string | undefined) => (name?.endsWith(shard) ? name.slice(0, -shard.length) : name)
  const { 'Index Name': index, 'Relation Name': relation, Plans = [] } = plan
  return {
    ...plan,
    ...(relation !== undefined && { 'Relation Name': plain(relation) }),
    ...(index !== undefined && { 'Index Name': plain(index) }),
    Plans: Plans.map((inner) => withoutShards(inner, shard)),
  } as PlanNode
}

/** The end of the name of the first table of records in the plan. */
function shardIn({ 'Relation Name': relation, Plans = [] }: PlanNode): string | undefined {
  return /^records(_\d+)$/.exec(relation ?? '')?.[1] ?? Plans.map((inner) => shardIn(inner)).find((shard) => shard !== undefined)
}

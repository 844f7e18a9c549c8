/**
 * Read-your-writes with replicas. The answer to a request that may have written carries a position, in the header X-Position and for a
 * session in a cookie. A caller who sends it back reads from replicas that have replayed it; for one who does not, and in a session that
 * has just written, the primary is asked how far it is, in the round trip of the access check, and a replica must have replayed that.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Access } from '../../access/authorize.ts'
import type { Replicas } from '../../database/replicas/replicas.ts'
import type { WalPosition } from '../../database/replicas/wal-position.ts'
import type { RequestContext } from './request-context.ts'
import { decodePosition, encodePosition } from './signed-position.ts'

export const POSITION_HEADER = 'x-position'
const POSITION_COOKIE = 'gridpost_position'
/**
 * A browser has this cookie for a while after each answer. Answers to two writes at once may overtake each other, and POSITION_COOKIE is
 * then the earlier position. So it counts only once every replica that is read has replayed the later one as well.
 */
const WROTE_COOKIE = 'gridpost_wrote'
/** Beyond `REPLICA_MAX_LAG_MS`: the lag of a replica is measured five times a second, and a check may take long. */
const LATE_CHECK_SECONDS = 3
/** In place of a position that is not known. Like any text that is no position, it counts as none when it is sent back. */
const UNKNOWN = 'unknown'
/** Longer than any replica that is read may lag. */
const COOKIE_SECONDS = 3_600
/** A replica has usually replayed a commit before its caller comes back. Beyond this the primary answers sooner. */
const PATIENCE_MS = 5
/** A query that takes long itself loses nothing by this. */
const LONG_PATIENCE_MS = 300

/** Begins to find out what the reads of the request need, so that it costs no round trip of its own. */
function expectReads(ctx: RequestContext): void {
  const { replicas } = ctx.deps
  if (!replicas || !('tokenHash' in ctx.credentials)) return
  ctx.needed ??= sentPosition(ctx, replicas) ?? replicas.currentPosition().catch(() => undefined)
}

/** Notes whether a procedure may write; of one that reads, begins to find out what it needs. */
export function noteCall(ctx: RequestContext, type: string): void {
  if (!ctx.deps.replicas) return
  ctx.mayHaveWritten ||= type === 'mutation'
  if (type === 'query') expectReads(ctx)
}

/** Runs the call of a procedure: the reads of a query may go to a replica. */
export function readingWhere<T>(
  { deps: { replicas }, needed }: RequestContext,
  { type, access, row }: { type: string; access: Access; row: object },
  run: () => T,
): T {
  if (!replicas || type !== 'query' || !needed || access.readsPrimary) return run()
  const { table_id: id, table_version: version } = row as { table_id?: number; table_version?: number }
  const table = id && version ? { table: { id, version } } : {}
  const patienceMs = access.prefersReplica ? LONG_PATIENCE_MS : PATIENCE_MS
  return replicas.reading({ position: needed, patienceMs, ...table }, run)
}

/** The latest of the positions that the caller has sent, those of their own writes; undefined without any, or if one may be missing. */
function sentPosition(ctx: RequestContext, { systemId }: Replicas): Promise<WalPosition> | undefined {
  const { position: header = '', credentials, deps } = ctx
  if (systemId === undefined || !('tokenHash' in credentials)) return undefined
  const isSession = credentials.kind === 'session'
  if (isSession && ctx.cookie(WROTE_COOKIE) !== undefined) return undefined
  const cookie = isSession ? ctx.cookie(POSITION_COOKIE) : undefined
  const sent = [...header.split(',').slice(0, MOST_SENT), cookie ?? '']
  const holder = { systemId, tokenHash: credentials.tokenHash }
  const positions = sent.flatMap((text) => decodePosition(text.trim(), holder, deps.settings.secretKeys) ?? [])
  const [first, ...others] = positions
  if (!first) return undefined
  const isLater = (one: WalPosition, other: WalPosition) =>
    one.timeline > other.timeline || (one.timeline === other.timeline && one.lsn > other.lsn)
  return Promise.resolve(others.reduce((latest, one) => (isLater(one, latest) ? one : latest), first))
}

const MOST_SENT = 10

/** Adds the position to the answers of requests that may have written. */
export function answerPositions(app: FastifyInstance, replicas: Replicas): void {
  app.addHook('onSend', (request, reply, _, done) => {
    const { context: ctx } = request
    if (!ctx?.isCallerKnown || !('tokenHash' in ctx.credentials) || !mayHaveWritten(request)) return done()
    const { kind, tokenHash } = ctx.credentials
    void positionText(request, replicas, tokenHash).then((text) => {
      reply.header(POSITION_HEADER, text)
      if (kind === 'session') {
        ctx.setCookie(POSITION_COOKIE, text, { maxAgeSeconds: COOKIE_SECONDS })
        ctx.setCookie(WROTE_COOKIE, '1', { maxAgeSeconds: Math.ceil(ctx.deps.settings.replicaMaxLagMs / 1_000) + LATE_CHECK_SECONDS })
      }
      done()
    })
  })
}

/** A plain route that is no GET may have written. */
function mayHaveWritten({ context, method }: FastifyRequest): boolean {
  return context.mayHaveWritten ?? (method !== 'GET' && method !== 'HEAD')
}

async function positionText({ headers, context }: FastifyRequest, replicas: Replicas, tokenHash: Uint8Array): Promise<string> {
  // The headers of a streamed batch are sent before its calls have run.
  const isStreamed = headers['trpc-accept'] === 'application/jsonl'
  const position = isStreamed ? undefined : await replicas.currentPosition().catch(() => undefined)
  const { systemId } = replicas
  return position && systemId !== undefined ? encodePosition(position, { systemId, tokenHash }, context.deps.settings.secretKeys) : UNKNOWN
}

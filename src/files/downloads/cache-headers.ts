/** Headers that tell a caller's cache how long it may keep a file, and how it can ask whether the file has changed. */
import type { FastifyReply } from 'fastify'

/**
 * The bytes under a path never change, so a gallery shows them again without asking. Only the caller's own cache may keep them, for this
 * time at most, because a caller whose right to read has ended can still see a cached copy.
 */
const CACHED = 'private, max-age=300, immutable'

/** The headers of an answer that a cache may keep, and of the 304 that says so again. */
export const cacheHeaders = (reply: FastifyReply, etag: string) => ({ etag, 'cache-control': CACHED, vary: varyOf(reply) })

/** A cached file is used only for requests with the same credentials, so the right of the browser's next user is checked. */
function varyOf(reply: FastifyReply): string {
  const others = reply.getHeader('vary')
  return [...(others === undefined ? [] : [others].flat()), 'Authorization, Cookie'].join(', ')
}

/**
 * True if `If-None-Match` names the tag, so that the caller has the bytes already (RFC 9110, 13.1.2): `*` names any, and a list may
 * hold weak tags, which count like strong ones here.
 */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch?.trim() === '*') return true
  return ifNoneMatch?.match(/"[^"]*"/g)?.some((named) => named === tag) ?? false
}

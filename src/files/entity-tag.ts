/**
 * True if `If-None-Match` names the tag, so that the caller has the bytes already (RFC 9110, 13.1.2): `*` names any, and a list may
 * hold weak tags, which count like strong ones here.
 */
export function namesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch?.trim() === '*') return true
  return ifNoneMatch?.match(/"[^"]*"/g)?.some((named) => named === tag) ?? false
}

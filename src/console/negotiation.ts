/** What a request accepts (RFC 9110, 12.4 and 12.5), as far as the console needs it. */

/** The quality of each entry of the header, by its name in lower case. */
function qualities(header: string | undefined): Map<string, number> {
  const found = new Map<string, number>()
  for (const entry of (header ?? '').split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    const quality = parameters.find((one) => one.startsWith('q='))?.slice(2)
    if (name) found.set(name, quality === undefined ? 1 : Number(quality) || 0)
  }
  return found
}

/** Whether the request names text/html, as a browser does that opens a page. Programs accept any type, if they say anything. */
export const asksForPage = (accept: string | undefined): boolean => (qualities(accept).get('text/html') ?? 0) > 0

/** The best of the codings that the request accepts, in the order given; undefined if it accepts none of them. */
export function acceptedCoding<Coding extends string>(acceptEncoding: string | undefined, codings: readonly Coding[]): Coding | undefined {
  const accepted = qualities(acceptEncoding)
  const qualityOf = (coding: string) => accepted.get(coding) ?? accepted.get('*') ?? 0
  return codings.filter((coding) => qualityOf(coding) > 0).toSorted((a, b) => qualityOf(b) - qualityOf(a))[0]
}

/** Whether the client has the version with this tag, by its If-None-Match. */
export const hasVersion = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch?.split(/\s*,\s*/).some((known) => known === '*' || known.replace(/^W\//, '') === etag.replace(/^W\//, '')) ?? false

/** The headers of answers in the OpenAPI document. */

export const HEADERS: Record<string, object> = {
  'X-API-Version': header('The version of the API.', 'string'),
  'X-Request-Id': header('The id of the request in the log.', 'string'),
  'X-RateLimit-Limit': header('Requests that one window allows.', 'integer'),
  'X-RateLimit-Remaining': header('Requests left in the window.', 'integer'),
  'X-RateLimit-Reset': header('Seconds until the window ends.', 'integer'),
  'X-RateLimit-Scope': header('The owner of the window: account, user, or the address of a caller without valid credentials.', 'string'),
  'X-Total-Count': header('The number of rows in all pages.', 'integer'),
  'X-Next-Cursor': header('The cursor of the next page; absent on the last page.', 'string'),
  ETag: header('The version of the row, for If-Match.', 'string'),
  'X-Change-Id': header('The id of the change of records that the request has made; absent if it has changed nothing.', 'integer'),
  'X-Ignored': header('The inputs that the server ignored because of a rule, comma-separated; absent if there are none.', 'string'),
  'X-Unknown-Options': header(
    'The first ten titles in conditions of the request that no option has, as `field=title`, comma-separated and percent-encoded.',
    'string',
  ),
  'X-Position': header(
    'Only where the service reads from replicas: what this request has written. Send it back in `X-Position`, and later reads show it.',
    'string',
  ),
  'WWW-Authenticate': header('Always Bearer.', 'string'),
  'Retry-After': header('Seconds to wait before the next request.', 'integer'),
}
/** The headers of every answer. */
export const COMMON = ['X-API-Version', 'X-Request-Id']
/** The further headers of every answer to a request that has a rate limit. */
export const RATE = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-RateLimit-Scope']

function header(description: string, type: 'string' | 'integer') {
  return { description, schema: { type } }
}

export const headerRefs = (names: string[]) => Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

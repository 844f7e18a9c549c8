/**
 * Prints all records of a table as JSON lines, over plain REST: paging with a cursor, and waiting when told to.
 *
 *   GRIDPOST_KEY=gp_… npx node examples/copy-records.ts <table id> > records.jsonl
 */
import { setTimeout as sleep } from 'node:timers/promises'

const baseUrl = process.env.GRIDPOST_URL ?? 'http://127.0.0.1:3000'
const headers = { authorization: `Bearer ${process.env.GRIDPOST_KEY}`, 'content-type': 'application/json' }
const tableId = process.argv[2] ?? '4'

// An empty cursor starts the walk. Each answer names the next one; the last page has none.
let cursor: string | null = ''
while (cursor !== null) {
  const response = await post(`/api/table/${tableId}/records/query`, { limit: 1000, cursor })
  for (const row of (await response.json()) as object[]) console.log(JSON.stringify(row))
  cursor = response.headers.get('x-next-cursor')
}

/** Retries a request that was refused because of load (503) or the rate limit (429). Any other error ends the program. */
async function post(path: string, body: unknown): Promise<Response> {
  const response = await fetch(baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status === 429 || response.status === 503) {
    await sleep(Number(response.headers.get('retry-after') ?? 1) * 1000)
    return post(path, body)
  }
  if (!response.ok) {
    const error = (await response.json()) as { message: string; code: string; request_id: string }
    throw new Error(`${response.status} ${error.code}: ${error.message} (request ${error.request_id})`)
  }
  return response
}

/** `gridpost-client types`: reads the tables of a service over REST, and returns the declarations that give the client its `Schema`. */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type DeclaredTable, declarationsOf } from './declarations.ts'

/** Why the command cannot do its work, in one line. */
export class CommandError extends Error {}

export const TYPES_USAGE = `npx gridpost-client types --url https://gridpost.example.com --key gp_… > gridpost.d.ts

Writes the types of the tables that the key may read, for createClient<Schema>.

  --url    the address of the service; or GRIDPOST_URL
  --key    an API key; or GRIDPOST_KEY, which other users of the machine cannot see
  --space  the id of a space: only its tables`

const PATIENCE_SECONDS = 30
/** The spaces whose tables are asked for at the same time. */
const AT_ONCE = 4

interface Service {
  url: string
  key: string
  space: number | undefined
}

/**
 * Returns the text of the declaration file.
 * @throws CommandError naming the argument that is wrong, or what the service answered
 */
export async function typesOf(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<string> {
  const service = serviceOf(args, environment)
  const { url, space } = service
  const spaces = space === undefined ? await readList(service, '/api/spaces/list', isSpace) : [{ id: space }]
  const lists = await inTurns(spaces, ({ id }) => readList(service, `/api/space/${id}/tables/list?include=fields,views`, isDeclared))
  const command = `npx gridpost-client types --url ${url} --key …${space === undefined ? '' : ` --space ${space}`} > gridpost.d.ts`
  return declarationsOf(lists.flat(), command)
}

/** Does the work for each item, a few at a time. @returns the results, in the order of the items */
async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  const waiting = items.entries()
  const worker = async () => {
    for (const [index, item] of waiting) results[index] = await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}

const isSpace = (row: Partial<{ id: number }>): row is { id: number } => typeof row?.id === 'number'
const isDeclared = (row: Partial<DeclaredTable>): row is DeclaredTable =>
  typeof row?.id === 'number' && Array.isArray(row.fields) && Array.isArray(row.views)

// ── arguments ───────────────────────────────────────────────────────────────

function serviceOf(args: readonly string[], environment: NodeJS.ProcessEnv): Service {
  const { url = environment.GRIDPOST_URL, key = environment.GRIDPOST_KEY, space } = optionsOf(args)
  if (!url) throw new CommandError('--url is missing: the address of the service, such as https://gridpost.example.com')
  if (!key) throw new CommandError('--key is missing: an API key (gp_…), here or in GRIDPOST_KEY')
  // A header takes no other characters, and every key is made of these.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CommandError('--key has characters that no key has')
  if (space !== undefined && !/^[1-9]\d{0,9}$/.test(space)) throw new CommandError('--space must be the id of a space, such as 1')
  return { url: addressOf(url), key, space: space === undefined ? undefined : Number(space) }
}

function optionsOf(args: readonly string[]): { url?: string; key?: string; space?: string } {
  const text = { type: 'string' } as const
  try {
    return parseArgs({ args: [...args], options: { url: text, key: text, space: text } }).values
  } catch (error) {
    throw new CommandError(`${(error as Error).message.split('. ')[0]}; npx gridpost-client types --help`)
  }
}

/** @throws CommandError for anything but the address of a web server */
function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new CommandError('--url must be an address such as https://gridpost.example.com')
  if (url.username || url.password) throw new CommandError('--url must have no user name and no password')
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

// ── requests ────────────────────────────────────────────────────────────────

/** Reads a list of the API. Waits as long as the service asks if the key has made too many requests. */
async function readList<Row>(service: Service, path: string, isRow: (row: Partial<Row>) => row is Row): Promise<Row[]> {
  const { url, key } = service
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json' }
  const { status, retryAfterSeconds, location, text } = await answer(url + path, headers).catch((error: Error) => {
    throw new CommandError(`Cannot reach ${url}: ${reasonOf(error)}`)
  })
  if (status === 429 && retryAfterSeconds > 0) {
    process.stderr.write(`The key has made as many requests as it may; waiting for ${retryAfterSeconds} s\n`)
    await pause(retryAfterSeconds * 1000)
    return readList(service, path, isRow)
  }
  if (location !== null) throw new CommandError(`${url} redirects to ${location}; give that address as --url`)
  const body = parsed(text)
  if (status === 200 && Array.isArray(body) && body.every(isRow)) return body
  throw new CommandError(refusal(service, path, status, body))
}

/** A redirect is not followed, because fetch leaves out the key at another host. */
async function answer(address: string, headers: Record<string, string>) {
  const response = await fetch(address, { headers, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_SECONDS * 1000) })
  const { status } = response
  const [retryAfterSeconds, location] = [Number(response.headers.get('retry-after')), response.headers.get('location')]
  return { status, retryAfterSeconds, location, text: await response.text() }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function refusal({ url, space }: Service, path: string, status: number, body: unknown): string {
  const { message } = (body ?? {}) as { message?: string }
  if (message === undefined) return `${url} is no Gridpost service of this version: it answered GET ${path} with status ${status}`
  if (status === 401) return `${url} refuses the key: ${message}`
  if (status === 404 && path.startsWith('/api/space/')) return `The key reaches no space ${space}: ${message}`
  return `${url} answered GET ${path} with status ${status}: ${message}`
}

/** What fetch itself says is only "fetch failed"; the cause is within. */
function reasonOf(error: Error): string {
  if (error.name === 'TimeoutError') return `no answer within ${PATIENCE_SECONDS} s`
  const { cause } = error as { cause?: Error & { code?: string; errors?: Error[] } }
  if (cause?.code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'it answers without TLS; give its address with http://'
  return cause?.message || cause?.errors?.[0]?.message || cause?.code || error.message
}

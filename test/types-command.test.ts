/** Tests `gridpost-client types`: what it writes of odd names, what it asks the service, and that each failure is one line and exit code 1. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { testApp } from './support/app.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
const app = await testApp()
const account = await app.account()
const KEY = account.keys.account

interface Run {
  code: number
  stdout: string
  stderr: string
}

/** Runs the command. @param environment of the process, beside its path */
async function command(args: string[], environment: Record<string, string> = {}): Promise<Run> {
  const env = { PATH: process.env.PATH ?? '', ...environment }
  return run(process.execPath, [join(root, 'src/records/client/command-line.ts'), ...args], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Run) => ({ code, stdout, stderr }),
  )
}
const types = (...args: string[]) => command(['types', ...args])
const failure = (line: string) => ({ code: 1, stdout: '', stderr: `${line}\n` })

const servers: (() => void)[] = []
afterAll(() => {
  for (const stop of servers) stop()
})

/** Starts a server that answers by a function. @returns its address */
async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  servers.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts a server that answers each request with one body. */
const answering = (status: number, body: string, headers: Record<string, string> = {}) =>
  serve((_, response) => response.writeHead(status, headers).end(body))

const field = (id: string, more: object = {}) => ({
  ...{ id, name: id, type: 'text', required: false, always_hidden: false, admin_only: false },
  ...more,
})
const ID = field('id', { type: 'number', key: true })
const table = (id: number, name: string, fields: object[] = [], views: object[] = []) => ({ id, name, fields: [ID, ...fields], views })

/** What the command writes of tables that a service has in its space 1. */
async function written(...tables: object[]): Promise<string> {
  const url = await answering(200, JSON.stringify(tables))
  const { code, stdout, stderr } = await types('--url', url, '--key', KEY, '--space', '1')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

/** The errors of the strict compiler for a declaration file. */
async function errorsOf(declarations: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gridpost-types-'))
  try {
    await writeFile(join(folder, 'gridpost.d.ts'), declarations)
    const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '--singleThreaded', '--strict', '--noEmit', '--ignoreConfig', '--types', '']
    const { stdout } = await run(process.execPath, [...tsc, join(folder, 'gridpost.d.ts')]).catch((error: { stdout: string }) => error)
    return stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

describe('what is written', () => {
  test('quotes field ids that are no identifiers, and texts with quotes and line breaks', async () => {
    const options = ["it's", 'say "hi"', 'back\\slash"', 'two\r\nlines', '*/', 'a\u2028b', '\u0000', '🦉']
    const text = await written(
      table(
        1,
        'Odd */ "names"\nhere',
        [
          field('is-open', { type: 'checkbox', name: 'Open?\n*/ export type A = 1' }),
          field("o'clock", { type: 'time' }),
          field('1st', { required: true }),
          field('class'),
          field('größe'),
          field('stage', { type: 'select', options }),
          field('tags', { type: 'multi_select', options }),
          field('none', { type: 'select', options: [] }),
          field('nothing', { type: 'multi_select', options: [] }),
          field('stars', { type: 'rating' }),
        ],
        [
          { id: 0, name: 'Default' },
          { id: 7, name: "Mine 'n' yours\n" },
        ],
      ),
    )
    const union = String.raw`'it\'s' | 'say "hi"' | 'back\\slash"' | 'two\r\nlines' | '*/' | 'a\u2028b' | '\u0000' | '🦉'`
    expect(text).toBe(`// The tables of a Gridpost service. When one of them has changed, make the file again:
//   ${/npx .+/.exec(text)?.[0]}

/** A record of table 1, Odd * / "names" here. */
export interface OddNamesHere {
  /** id: number */
  id: number
  /** Open? * / export type A = 1: checkbox */
  'is-open': boolean
  /** o'clock: time */
  'o\\'clock': string | null
  /** 1st: text, required */
  '1st': string | null
  /** class: text */
  class: string | null
  /** größe: text */
  'größe': string | null
  /** stage: select */
  stage: ${union} | null
  /** tags: multi_select */
  tags: (${union})[]
  /** none: select */
  none: null
  /** nothing: multi_select */
  nothing: (never)[]
  /** stars: rating */
  stars: unknown
}

/** The tables by id, for \`createClient<Schema>\`. */
export interface Schema {
  /** Odd * / "names" here */
  1: {
    record: OddNamesHere
    types: {
      id: 'number'
      'is-open': 'checkbox'
      'o\\'clock': 'time'
      '1st': 'text'
      class: 'text'
      'größe': 'text'
      stage: 'select'
      tags: 'multi_select'
      none: 'select'
      nothing: 'multi_select'
      stars: 'rating'
    }
    required: '1st'
    calculated: 'id'
    views: {
      7: 'Mine \\'n\\' yours\\n'
    }
  }
}
`)
    expect(await errorsOf(text)).toBe('')
  })

  test('names each interface after its table, and those of equal names by their ids', async () => {
    const names = ['sales leads (EU)', 'Sales leads EU', 'Schema', '2026', '表', '!', 'Array', 'élan_vital', 'ǅ']
    const text = await written(...names.map((name, index) => table(index + 1, name)).toReversed())
    expect([...text.matchAll(/^export interface (\S+)/gm)].map(([, name]) => name)).toEqual([
      ...['SalesLeadsEU_1', 'SalesLeadsEU_2', 'Schema_3', 'Table2026', '表', 'Table6', 'Array', 'ÉlanVital', 'Ǆ', 'Schema'],
    ])
    expect(await errorsOf(text)).toBe('')
  })

  test('is a Schema without tables for a space that has none', async () => {
    const text = await written()
    expect(text).toContain('export interface Schema {\n}\n')
    expect(await errorsOf(text)).toBe('')
  })
})

describe('what is asked', () => {
  test('is one list for each space, for 300 tables too, at an address with a path', async () => {
    const { rpc } = app.as(KEY)
    const { id: space_id } = await rpc.spaces.create.mutate({ name: 'Many' })
    const names = Array.from({ length: 300 }, (_, index) => `Table ${index + 1}`)
    for (const name of names) await rpc.tables.create.mutate({ space_id, name, fields: [{ name: 'Title', type: 'text' }] })
    const asked: string[] = []
    const url = await serve(async ({ url: path = '', headers }, response) => {
      asked.push(path)
      const { authorization = '' } = headers
      const answer = await fetch(app.url + path.replace('/gridpost', ''), { headers: { authorization } })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
    const one = await types('--url', `${url}/gridpost/`, '--key', KEY, '--space', String(space_id))
    expect(one).toMatchObject({ code: 0, stderr: '' })
    expect(one.stdout).toContain(`//   npx gridpost-client types --url ${url}/gridpost --key … --space ${space_id} > gridpost.d.ts\n`)
    expect(one.stdout.match(/^export interface Table\d+ /gm)).toHaveLength(300)
    expect(asked).toEqual([`/gridpost/api/space/${space_id}/tables/list?include=fields,views`])

    asked.length = 0
    const all = await command(['types'], { GRIDPOST_URL: `${url}/gridpost`, GRIDPOST_KEY: KEY })
    expect(all.stdout.match(/^export interface Table\d+ /gm)).toHaveLength(300)
    const spaces = [account.space, account.otherSpace, space_id].map((id) => `/gridpost/api/space/${id}/tables/list?include=fields,views`)
    expect(asked.toSorted()).toEqual([...spaces, '/gridpost/api/spaces/list'].toSorted())
  })

  test('waits when the key has made too many requests', async () => {
    let asked = 0
    const url = await serve((_, response) => {
      asked += 1
      if (asked === 1) response.writeHead(429, { 'retry-after': '1' }).end('{"message":"Too many requests"}')
      else response.end('[]')
    })
    const { code, stdout, stderr } = await types('--url', url, '--key', KEY, '--space', '1')
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'The key has made as many requests as it may; waiting for 1 s\n' })
    expect(stdout).toContain('export interface Schema {')
  })
})

describe('a failure', () => {
  const HELP = 'npx gridpost-client types --help'
  test.each<[string, string[], string]>([
    ['no --url', ['types', '--key', KEY], '--url is missing: the address of the service, such as https://gridpost.example.com'],
    [
      'an empty --url',
      ['types', '--url', '', '--key', KEY],
      '--url is missing: the address of the service, such as https://gridpost.example.com',
    ],
    ['no --key', ['types', '--url', app.url], '--key is missing: an API key (gp_…), here or in GRIDPOST_KEY'],
    ['a --url that is none', ['types', '--url', 'gridpost', '--key', KEY], '--url must be an address such as https://gridpost.example.com'],
    ['another protocol', ['types', '--url', 'ftp://a', '--key', KEY], '--url must be an address such as https://gridpost.example.com'],
    ['a password in --url', ['types', '--url', 'http://a:b@c', '--key', KEY], '--url must have no user name and no password'],
    ['a --key with a line break', ['types', '--url', app.url, '--key', 'gp_\n'], '--key has characters that no key has'],
    [
      'a --space that is no id',
      ['types', '--url', app.url, '--key', KEY, '--space', 'Sales'],
      '--space must be the id of a space, such as 1',
    ],
    ['a --space of 0', ['types', '--url', app.url, '--key', KEY, '--space', '0'], '--space must be the id of a space, such as 1'],
    ['an unknown option', ['types', '--spaces', '1'], `Unknown option '--spaces'; ${HELP}`],
    ['an option without its value', ['types', '--url'], `Option '--url <value>' argument missing; ${HELP}`],
    ['another argument', ['types', 'records'], `Unexpected argument 'records'; ${HELP}`],
    ['another command', ['tables'], 'There is no command tables; npx gridpost-client --help'],
    ['a wrong key', ['types', '--url', app.url, '--key', 'gp_wrong'], `${app.url} refuses the key: The API key is not valid`],
    [
      'a space that the key does not reach',
      ['types', '--url', app.url, '--key', KEY, '--space', '987654'],
      'The key reaches no space 987654: Space not found',
    ],
    [
      'a space of another account',
      ['types', '--url', app.url, '--key', account.keys.accountOutsider, '--space', String(account.space)],
      `The key reaches no space ${account.space}: Space not found`,
    ],
  ])('is one line, and nothing else, for %s', async (_, args, line) => {
    expect(await command(args)).toEqual(failure(line))
  })

  test('says that a service cannot be reached', async () => {
    const closed = await serve(() => {})
    servers.pop()?.()
    const refused = failure(`Cannot reach ${closed}: connect ECONNREFUSED ${closed.replace('http://', '')}`)
    expect(await types('--url', closed, '--key', KEY)).toEqual(refused)
    const silent = await serve(({ socket }) => void socket.destroy())
    expect(await types('--url', silent, '--key', KEY)).toEqual(failure(`Cannot reach ${silent}: other side closed`))
    const plain = (await serve(() => {})).replace('http:', 'https:')
    const withoutTls = `Cannot reach ${plain}: it answers without TLS; give its address with http://`
    expect(await types('--url', plain, '--key', KEY)).toEqual(failure(withoutTls))
    expect(await types('--url', 'http://nowhere.invalid', '--key', KEY)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^Cannot reach http:\/\/nowhere\.invalid: getaddrinfo \w+ nowhere\.invalid\n$/),
    })
  })

  test.each<[string, number, string]>([
    ['a page', 200, '<!doctype html><title>Welcome</title>'],
    ['an object', 200, '{"rows":[]}'],
    ['a list of something else', 200, '[{"id":"a"},null]'],
    ['tables without fields', 200, '[{"id":1,"name":"Deals"}]'],
    ['an error page', 502, '<h1>Bad gateway</h1>'],
  ])('says that %s is not the answer of a service', async (_, status, body) => {
    const url = await answering(status, body)
    const line = `${url} is no Gridpost service of this version: it answered GET /api/space/1/tables/list?include=fields,views with status ${status}`
    expect(await types('--url', url, '--key', KEY, '--space', '1')).toEqual(failure(line))
  })

  test('tells what a service answers, and where it redirects to', async () => {
    const busy = await answering(503, '{"message":"Too busy; retry"}')
    expect(await types('--url', busy, '--key', KEY)).toEqual(
      failure(`${busy} answered GET /api/spaces/list with status 503: Too busy; retry`),
    )
    const moved = await answering(301, '', { location: 'https://gridpost.example.com/api/spaces/list' })
    expect(await types('--url', moved, '--key', KEY)).toEqual(
      failure(`${moved} redirects to https://gridpost.example.com/api/spaces/list; give that address as --url`),
    )
  })

  test('is no failure to ask for help', async () => {
    for (const args of [[], ['--help'], ['help'], ['types', '--help'], ['types', '-h']]) {
      const { code, stdout, stderr } = await command(args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/^npx gridpost-client types --url .+ --key gp_… > gridpost\.d\.ts\n/)
    }
  })
})

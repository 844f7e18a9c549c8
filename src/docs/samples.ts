/** The code samples of an operation: curl, TypeScript with the typed client, and Python with requests. */
import { Code, literal, shellWord } from './literals.ts'

/** Stands in a sample for the address of the service, which the reader's browser knows. */
export const BASE = '{{base}}'

export interface SampledParameter {
  name?: string
  in?: string
  required?: boolean
}

/** An operation of the document, with what a sample needs of it. */
export interface SampledOperation {
  method: string
  path: string
  operationId: string
  security?: Record<string, unknown>[]
  parameters?: SampledParameter[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<string, { content?: Record<string, unknown> }>
}

/** How an operation is called by the typed client; undefined for a plain route. */
export type CallKind = 'query' | 'mutation' | 'upload' | 'subscription' | undefined

export interface Sample {
  lang: 'shell' | 'typescript' | 'python'
  label: string
  source: string
}

interface Call {
  operation: SampledOperation
  /** The path with ids filled in. */
  path: string
  ids: Record<string, number | string>
  body: unknown
  /** The media type of a body of bytes; undefined for JSON and without a body. */
  bytes: string | undefined
  /** The environment variable with the bearer token; undefined if there is none. */
  variable: string | undefined
  isForSessions: boolean
  answersJson: boolean
  isStream: boolean
}

export function samplesOf(operation: SampledOperation, kind: CallKind): Sample[] {
  const call = callOf(operation)
  return [
    { lang: 'shell', label: 'curl', source: curl(call) },
    { lang: 'typescript', label: 'TypeScript', source: typescript(call, kind) },
    { lang: 'python', label: 'Python', source: python(call) },
  ]
}

/** Inputs as in the demo account: its table of contacts is 4, and the view of those due this week is 8. */
const INPUTS: Record<string, number | string> = {
  table_id: 4,
  view_id: 8,
  field_id: 'documents',
  name: 'offer.pdf',
  path: '1-4-nkZYCFKqmtlBZy_w-roof.jpg',
  token: 'nkZYCFKqmtlBZy_w',
}

function callOf(operation: SampledOperation): Call {
  const ids = inputsIn(operation, ({ in: place }) => place === 'path')
  // What a body of bytes leaves to the address: the name of the file, and what it cannot be stored without.
  const query = inputsIn(operation, ({ in: place, name, required }) => place === 'query' && (required || name === 'name'))
  const content = operation.requestBody?.content ?? {}
  const json = content['application/json']
  const [media] = Object.keys(content)
  const bytes = json || !media ? undefined : media === '*/*' ? 'application/pdf' : media
  const schemes = (operation.security ?? []).flatMap((one) => Object.keys(one))
  const answers = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
  return {
    operation,
    path: operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(ids[name])) + queryString(bytes ? query : {}),
    ids: { ...ids, ...(bytes && query) },
    body: json ? (json.example ?? {}) : undefined,
    bytes,
    variable: schemes.includes('key') ? 'GRIDPOST_KEY' : schemes.includes('metrics') ? 'METRICS_TOKEN' : undefined,
    isForSessions: schemes.length === 1 && schemes[0] === 'session',
    answersJson: 'application/json' in answers,
    isStream: 'text/event-stream' in answers,
  }
}

const inputsIn = ({ parameters = [] }: SampledOperation, isGiven: (parameter: SampledParameter) => boolean | undefined) =>
  Object.fromEntries(parameters.filter(isGiven).map(({ name = '' }) => [name, INPUTS[name] ?? 1]))

function queryString(query: Record<string, number | string>): string {
  const text = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return text.length ? `?${text.join('&')}` : ''
}

const FILES: Record<string, string> = { 'text/csv': 'contacts.csv', 'text/raw': 'message.eml' }
const fileOf = (media: string) => FILES[media] ?? 'offer.pdf'

function curl({ operation: { method }, path, body, bytes, variable, isForSessions, answersJson, isStream }: Call): string {
  const address = path.includes('?') ? `'${BASE}${path}'` : `${BASE}${path}`
  const lines = [
    `curl ${isStream ? '-N ' : ''}${verbOf(method, body !== undefined || bytes !== undefined)}${address}`,
    ...(isForSessions ? ['-b cookies.txt'] : []),
    ...(variable ? [`-H "Authorization: Bearer $${variable}"`] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${shellWord(shellJson(body))}`]),
    ...(bytes ? [`-H 'Content-Type: ${bytes}'`, `--data-binary @${fileOf(bytes)}`] : []),
    ...(answersJson || isStream ? [] : ['-o answer']),
  ]
  const signIn = isForSessions ? `# cookies.txt is written by a sign-in: curl -c cookies.txt ${BASE}/api/auth/login …\n` : ''
  return signIn + lines.join(' \\\n  ')
}

/** curl sends a POST when it is given a body. */
function verbOf(method: string, hasBody: boolean): string {
  return method === 'get' || (method === 'post' && hasBody) ? '' : `-X ${method.toUpperCase()} `
}

function shellJson(body: unknown): string {
  const flat = JSON.stringify(body)
  return flat.length > 72 ? JSON.stringify(body, null, 2) : flat
}

function typescript(call: Call, kind: CallKind): string {
  const { operation, ids, body, variable, isForSessions } = call
  if (!kind) return plainFetch(call)
  const key = variable ? `, apiKey: process.env.${variable}` : ''
  const cookie = isForSessions ? ' // in a browser that is signed in' : ''
  const setUp = `import { createClient } from 'gridpost-client'\n\nconst client = createClient({ baseUrl: '${BASE}'${key} })${cookie}\n`
  if (kind === 'subscription') return `${setUp}client.events.subscribe({}, { onData: ({ data }) => console.log(data) })`
  if (kind === 'upload') {
    const file = { name: 'offer.pdf', content: new Code("createReadStream('offer.pdf')") }
    const { name: _, ...input } = ids
    const given = [new Code(`'${operation.operationId.replace(/\.put$/, '')}'`), input, file].map((value) => literal(value, 'typescript'))
    return `import { createReadStream } from 'node:fs'\n${setUp}const answer = await client.upload(${given.join(', ')})`
  }
  const verb = kind === 'query' ? 'query' : 'mutate'
  const input = { ...ids, ...(body as object | undefined) }
  return `${setUp}const answer = await client.${operation.operationId}.${verb}(${literal(input, 'typescript')})`
}

function plainFetch({ operation: { method }, path, body, bytes, variable, answersJson }: Call): string {
  const bearer = variable && new Code(`\`Bearer \${process.env.${variable}}\``)
  const headers = { ...(bearer && { authorization: bearer }), ...(bytes && { 'content-type': bytes }) }
  const options = {
    ...(method !== 'get' && { method: method.toUpperCase() }),
    ...(Object.keys(headers).length && { headers }),
    ...(bytes && { body: new Code(`await readFile('${fileOf(bytes)}')`) }),
    ...(body !== undefined && { body: new Code(`JSON.stringify(${literal(body, 'typescript', 2)})`) }),
  }
  const given = Object.keys(options).length ? `, ${literal(options, 'typescript')}` : ''
  const reading = `const answer = await response.${answersJson ? 'json' : 'text'}()`
  const imports = bytes ? "import { readFile } from 'node:fs/promises'\n\n" : ''
  return `${imports}const response = await fetch('${BASE}${path}'${given})\n${reading}`
}

const SIGN_IN = `gridpost = requests.Session()
gridpost.post("${BASE}/api/auth/login", json={"email": "ada@example.com", "password": "…"})
`
const SHOW_STREAM = 'for line in response.iter_lines():\n    print(line.decode())'

function python({ operation: { method }, path, body, bytes, variable, isForSessions, answersJson, isStream }: Call): string {
  const bearer = variable && new Code(`f"Bearer {os.environ['${variable}']}"`)
  const headers = { ...(bearer && { Authorization: bearer }), ...(bytes && { 'Content-Type': bytes }) }
  const given = [
    `"${BASE}${path}"`,
    ...(Object.keys(headers).length ? [`headers=${literal(headers, 'python', 4)}`] : []),
    ...(body === undefined ? [] : [`json=${literal(body, 'python', 4)}`]),
    ...(bytes ? [`data=open("${fileOf(bytes)}", "rb")`] : []),
    ...(isStream ? ['stream=True'] : []),
  ]
  const inputs = given.length === 1 ? given[0] : `\n${given.map((line) => `    ${line},\n`).join('')}`
  const show = isStream ? SHOW_STREAM : `print(response.${answersJson ? 'json()' : 'text'})`
  return `${variable ? 'import os\n\n' : ''}import requests

${isForSessions ? SIGN_IN : ''}response = ${isForSessions ? 'gridpost' : 'requests'}.${method}(${inputs})
response.raise_for_status()
${show}`
}

/** `npm run demo`: walks through the main tasks over HTTP against the running service, and prints each step and its result. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type DemoLogin, loginFile, readLogin } from '../src/demo/login.ts'
import { DUE_VIEW } from '../src/demo/views.ts'
import { demoLines, mailAddress, openMailLines } from '../src/demo/welcome.ts'
import { catcherToken } from '../src/email/catcher/access.ts'
import { newHexToken } from '../src/platform/secrets/secrets.ts'
import { readSettings } from '../src/settings.ts'
import { asksForHelp, findService, runScript, ScriptError } from './runtime.ts'

const USAGE = `npm run demo             walk the main job over HTTP, on the demo account of the service that runs
npm run demo -- --who    show the addresses of the service, and the passwords and keys of the demo account`

// Polling until the timeout takes less than half of the default requests per minute of a personal key.
const POLL_MS = 250
const PATIENCE_MS = 15_000

interface Row {
  id: number
  [column: string]: unknown
}
interface RecordComment {
  id: number
  type: string
  content: string
  user_name: string
  metadata: { status?: string; messageId?: string; readAt?: string; parentCommentId?: number; visibleText?: string } | null
}
interface CaughtMail {
  messageId: string
  envelopeTo: string[]
  from: string
  subject: string
  headers: Record<string, string>
  html: string | null
}

await runScript(async () => {
  const args = process.argv.slice(2)
  if (asksForHelp(args)) return console.log(USAGE)
  const unknown = args.find((arg) => arg !== '--who')
  if (unknown !== undefined) throw new ScriptError(`Unexpected argument '${unknown}': npm run demo takes --who, or none`)
  const settings = readSettings()
  const { baseUrl } = findService(settings)
  await requireService(baseUrl)
  const login = readLogin(settings.dataDir)
  if (!login)
    throw new ScriptError(
      `${loginFile(settings.dataDir)} is missing: npm run demo uses the demo account, which the first npm start makes without DATABASE_URL`,
    )
  if (!args.length) return walk(baseUrl, login, catcherToken(settings))
  const mail = mailAddress(settings, baseUrl)
  const lines = [
    `Gridpost listens on ${baseUrl}; mail is caught at ${mail}`,
    ...openMailLines(settings),
    ...demoLines(settings, login, baseUrl),
  ]
  console.log(lines.join('\n'))
})

async function requireService(baseUrl: string): Promise<void> {
  const ready = await fetch(`${baseUrl}/readyz`).catch(() => undefined)
  if (!ready) throw new ScriptError(`No service answers at ${baseUrl}: run npm start in another terminal, then npm run demo`)
  const checks = (await ready.json().catch(() => null)) as { ok?: unknown; database?: unknown } | null
  if (typeof checks?.database !== 'boolean') throw new ScriptError(`What answers at ${baseUrl} is no Gridpost: set PORT to its port`)
  if (checks.ok !== true) throw new ScriptError(`The service at ${baseUrl} is not ready: ${baseUrl}/readyz says what is missing`)
}

async function walk(baseUrl: string, { space_id, member, keys }: DemoLogin, mailToken: string): Promise<void> {
  seen(`a service that is ready at ${baseUrl}`)
  const { get, post } = caller(baseUrl, { authorization: `Bearer ${keys.personal}` })

  step('Sign in')
  const { id: userId, timezone } = await caller(baseUrl).post<{ id: number; timezone: string }>('/api/auth/login', {
    email: member.email,
    password: member.password,
  })
  seen(`${member.name} is user ${userId}, in ${timezone}; from here on their personal key does the work`)

  step('Query a table through a saved view')
  const tables = await get<{ id: number; name: string }[]>(`/api/space/${space_id}/tables/list`)
  seen(`the tables ${tables.map(({ name }) => name).join(', ')}`)
  const { id: tableId } = named(tables, 'Contacts')
  const views = await get<{ id: number; name: string; type: string }[]>(`/api/table/${tableId}/views/list`)
  seen(`the views of Contacts: ${views.map(({ name, type }) => `${name} (${type})`).join(', ')}`)
  const rows = await post<Row[]>(`/api/table/${tableId}/records/query`, { view_id: named(views, DUE_VIEW).id, limit: 5 })
  for (const row of rows) seen(`${row.next_contact}  ${row.name}, ${row.company}`)
  const record = rows.find(({ email }) => email)
  if (!record) throw new ScriptError(`The view ${DUE_VIEW} shows nobody with an email address: put a date into Next contact of a contact`)

  step(`Put a task on ${record.name}`)
  const today = new Date().toISOString().slice(0, 10)
  const task = await post<Row>(`/api/tasks/onRecord/${tableId}/${record.id}/create`, {
    title: `Write to ${record.name}`,
    due_date: today,
    due_time: '23:30',
    reminder_offset_mins: 30,
  })
  seen(`task ${task.id}, ${task.status}, due ${task.due_date} ${task.due_time} UTC, reminder at ${task.reminder_at}`)
  const marked = await post<{ ok: boolean; status: string }>(`/api/task/${task.id}/markDone`)
  seen(`marked: ${JSON.stringify(marked)}; marked again: ${JSON.stringify(await post(`/api/task/${task.id}/markDone`))}`)

  step('Send an email from the record')
  const [smtp] = await post<{ id: number; label: string; fromIdentities: { name: string; email: string }[] }[]>('/api/email/smtpOptions', {
    tableId,
  })
  const from = smtp?.fromIdentities[0]
  if (!smtp || !from) throw new ScriptError('The space has no SMTP integration with somebody to send as')
  const sent = await post<{ id: number; status: string }>('/api/email/send', {
    tableId,
    recordId: record.id,
    smtpIntegrationId: smtp.id,
    fromIdentity: from,
    to: [record.email],
    subject: 'Our talk about {{field:company}}',
    body: '<p>Dear {{field:name}},</p><p>shall we talk this week?</p>',
  })
  seen(`comment ${sent.id} is ${sent.status}, through "${smtp.label}"`)
  const commentsPath = `/api/table/${tableId}/record/${record.id}/comments/get`
  const email = await seeing('the mail sent', async () => (await commentOf(sent.id, 'sent')) ?? (await commentOf(sent.id, 'read')))
  seen(`the SMTP server has taken it: status ${email.metadata?.status}, ${email.metadata?.messageId}`)

  step('Look into the mail catcher (/dev/mail)')
  const catcher = caller(baseUrl, { authorization: `Bearer ${mailToken}` })
  const mail = await seeing('the mail in /dev/mail.json', async () =>
    (await catcher.get<CaughtMail[]>('/dev/mail.json')).find(({ messageId }) => messageId === email.metadata?.messageId),
  )
  const replyTo = mail.headers['reply-to'] ?? ''
  seen(`"${mail.subject}" from ${mail.from} to ${mail.envelopeTo.join(', ')}`)
  seen(`replies go to ${replyTo}`)

  step('Open the mail, as a mail program would')
  const pixel = /src="([^"]*\/email\/pixel\/[^"]+\.png)"/.exec(mail.html ?? '')?.[1]
  if (!pixel) throw new ScriptError('The mail has no tracking pixel')
  const image = await fetch(pixel, { headers: { 'user-agent': 'Thunderbird' } }).catch(() => undefined)
  if (!image?.ok) throw new ScriptError(`${pixel} cannot be fetched: does PUBLIC_URL lead to the service?`)
  seen(`${pixel} is ${image.headers.get('content-type')}`)
  const read = await seeing('the mail read', () => commentOf(sent.id, 'read'))
  seen(`status ${read.metadata?.status}, first opened at ${read.metadata?.readAt} UTC`)

  step(`Reply as ${record.name}`)
  await receive(baseUrl, replyOf({ from: `${record.name} <${record.email}>`, to: replyTo, mail }))
  const reply = await seeing('the reply on the record', async () =>
    (await get<RecordComment[]>(commentsPath)).find(({ type, metadata }) => type === 'email_in' && metadata?.parentCommentId === sent.id),
  )
  seen(`comment ${reply.id} (${reply.type}) by ${reply.user_name}: "${reply.content.trim()}"`)

  console.log(`\nThat is the main job. The API is described at ${baseUrl}/docs, caught mail is at ${baseUrl}/dev/mail?token=${mailToken}`)

  async function commentOf(id: number, status: string): Promise<RecordComment | undefined> {
    const comments = await get<RecordComment[]>(commentsPath)
    return comments.find((comment) => comment.id === id && comment.metadata?.status === status)
  }
}

/** Calls the API. An error ends the demo with its message. */
function caller(baseUrl: string, headers: Record<string, string> = {}) {
  async function send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const request = fetch(baseUrl + path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const response = await request.catch(() => {
      throw new ScriptError(`${method} ${path} was not answered: the service has stopped`)
    })
    const answer = (await response.json().catch(() => ({ message: 'no JSON' }))) as T
    if (!response.ok)
      throw new ScriptError(`${method} ${path} was answered ${response.status}: ${(answer as { message?: string }).message}`)
    return answer
  }
  return {
    get: <T>(path: string) => send<T>('GET', path),
    post: <T>(path: string, body?: unknown) => send<T>('POST', path, body),
  }
}

/** A reply with the quoted mail below it, as mail programs write it. */
function replyOf({ from, to, mail }: { from: string; to: string; mail: CaughtMail }): string {
  const encoded = from.replace(/^(.*) </, (_, name: string) => `=?utf-8?B?${Buffer.from(name).toString('base64')}?= <`)
  return [
    `From: ${encoded}`,
    `To: ${to}`,
    `Subject: Re: =?utf-8?B?${Buffer.from(mail.subject).toString('base64')}?=`,
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${newHexToken(12)}@demo.example>`,
    `In-Reply-To: ${mail.messageId}`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    'Yes, Thursday at ten suits me.',
    '',
    `On ${new Date().toDateString()}, ${mail.from} wrote:`,
    '> shall we talk this week?',
    '',
  ].join('\r\n')
}

async function receive(baseUrl: string, raw: string): Promise<void> {
  const { status } = await fetch(`${baseUrl}/webhooks/email_receive`, {
    method: 'POST',
    headers: { 'content-type': 'text/raw' },
    body: raw,
  })
  if (status !== 200) throw new ScriptError(`POST /webhooks/email_receive was answered ${status}`)
  seen(`the webhook has taken it: ${status}`)
}

/** Polls until there is a result. @throws ScriptError after the timeout */
async function seeing<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    const found = await look()
    if (found !== undefined) return found
  }
  throw new ScriptError(`Waited ${PATIENCE_MS / 1000} s in vain to see ${what}`)
}

function named<T extends { name: string }>(rows: T[], name: string): T {
  const row = rows.find((one) => one.name === name)
  if (!row) throw new ScriptError(`The demo account has no "${name}" any more`)
  return row
}

function step(title: string): void {
  console.log(`\n${title}`)
}

function seen(what: string): void {
  console.log(`  ✓ ${what}`)
}

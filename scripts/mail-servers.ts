/**
 * Sends mail through real mail servers, with the lines of docs/mail.md: curl, Postfix and Exim, to the webhook and to the receiver.
 * `node scripts/mail-servers.ts`. It needs root on Debian, because each mail server is installed into a root of its own, which lies over
 * that of the machine and is gone at the end.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readLogin } from '../src/demo/login.ts'
import { until } from '../test/support/until.ts'
import { freePort } from './free-port.ts'
import { asksForHelp, runScript, ScriptError } from './runtime.ts'

const USAGE = `node scripts/mail-servers.ts   send mail through curl, Postfix and Exim as docs/mail.md has them (root on Debian)`
const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** For one mail server, installation included. */
const SERVER_MS = 240_000
const PATIENCE = { withinMs: 60_000, everyMs: 250 }
const DOMAIN = 'reply.example.com'

interface Page {
  /** Files by path, as the section of the page has them. */
  files(section: string, program: 'postfix' | 'exim'): Map<string, string>
}

interface Service {
  url: string
  receiver: number
  stop(): Promise<void>
}

/** Starts the service on an embedded database, with a receiver for LMTP. */
async function startService(dir: string): Promise<Service> {
  const receiver = await freePort()
  const { PATH = '', HOME = '' } = process.env
  const env = {
    PATH,
    HOME,
    DATA_DIR: join(dir, 'data'),
    PORT: '0',
    LOG_LEVEL: 'warn',
    CATCH_DOMAIN: DOMAIN,
    INBOUND_SMTP: `lmtp://127.0.0.1:${receiver}`,
  }
  const child = spawn(process.execPath, [join(ROOT, 'src/main.ts')], { env, cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let output = ''
  child.stdout.on('data', (bytes) => {
    output += bytes
    const [, url] = /listens on (http:\S+?);/.exec(output) ?? []
    if (url) resolve(url)
  })
  void ended.then(() => reject(new ScriptError(`The service has ended: ${output}`)))
  return {
    url: await promise,
    receiver,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function tryAll(dir: string, service: Service): Promise<void> {
  const page = readPage(service)
  const thread = await openThread(join(dir, 'data'), service.url)
  const failures: string[] = []
  const attempt = async (way: string, send: (text: string) => Promise<void>) => {
    const text = `By way of ${way}`
    const startedAt = performance.now()
    try {
      await send(text)
      await thread.hasReceived(text)
      console.log(`ok      ${way} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
    } catch (error) {
      failures.push(way)
      console.log(`FAILED  ${way}: ${(error as Error).message}`)
    }
  }
  const message = (text: string) =>
    `From: Ann <ann@customer.example>\nTo: ${thread.address}\nSubject: Re: Offer\nMessage-ID: <${Date.now()}@customer.example>\n\n${text}\n`
  await attempt('curl to the webhook', async (text) => {
    const file = join(dir, 'reply.eml')
    writeFileSync(file, message(text))
    await run('sh', ['-c', page.curl.replace('@reply.eml', `@${file}`)])
  })
  for (const program of ['postfix', 'exim'] as const)
    for (const section of ['LMTP', 'the webhook'])
      await attempt(`${program} to ${section}`, (text) =>
        inOwnRoot(join(dir, `${program}-${section === 'LMTP' ? 'lmtp' : 'webhook'}`), {
          program,
          files: page.files(section, program),
          message: message(text),
          recipient: thread.address,
        }),
      )
  if (failures.length) throw new ScriptError(`${failures.length} ways failed: ${failures.join(', ')}`)
}

/** The lines of docs/mail.md, with the address of this service in place of those of the page. */
function readPage({ url, receiver }: Service): Page & { curl: string } {
  const text = readFileSync(join(ROOT, 'docs/mail.md'), 'utf8')
    .replaceAll('https://gridpost.example.com', url)
    .replaceAll('127.0.0.1:2424', `127.0.0.1:${receiver}`)
    .replaceAll('port = 2424', `port = ${receiver}`)
  const sectionOf = (name: string) => text.split(/^## /m).find((section) => section.includes(`front: ${name}`)) ?? ''
  const filesIn = (section: string) =>
    [...section.matchAll(/^# (\/\S+)\n([\s\S]*?)(?=\n# \/|\n```)/gm)].map(([, path = '', content = '']) => [path, content] as const)
  const curl = /```sh\n(curl .*)\n```/.exec(sectionOf('the webhook'))?.[1]
  if (!curl) throw new ScriptError('docs/mail.md has no line for curl')
  return {
    curl,
    files: (section, program) =>
      new Map(filesIn(sectionOf(section)).filter(([path]) => path.startsWith('/usr/local/') || path.startsWith(`/etc/${program}`))),
  }
}

/** A mail that the demo account has sent from a record. */
async function openThread(dataDir: string, url: string) {
  const login = readLogin(dataDir)
  if (!login) throw new ScriptError('The demo account was not created')
  const call = async <Answer>(path: string, body?: object): Promise<Answer> => {
    const response = await fetch(url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${login.keys.account}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new ScriptError(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }
  const [table] = await call<[{ id: number }]>(`/api/space/${login.space_id}/tables/list`)
  const [record] = await call<[{ id: number }]>(`/api/table/${table.id}/records/query`, { limit: 1 })
  const place = { tableId: table.id, recordId: record.id }
  const [server] = await call<[{ id: number; fromDomains: string[] }]>('/api/email/smtpOptions', { tableId: table.id })
  await call('/api/email/send', {
    ...place,
    smtpIntegrationId: server.id,
    fromIdentity: { email: `desk@${server.fromDomains[0]}` },
    to: ['ann@customer.example'],
    subject: 'Offer',
  })
  const caught = async () => {
    const mails = await call<{ headers: Record<string, string> }[]>('/dev/mail.json')
    return /reply-[0-9a-f]{16}@reply\.example\.com/.exec(mails[0]?.headers['reply-to'] ?? '')?.[0]
  }
  const address = await until(caught, 'for the mail to be sent', PATIENCE)
  const find = async (text: string) => {
    const comments = await call<{ content: string }[]>(`/api/table/${table.id}/record/${record.id}/comments/get?limit=100`)
    return comments.find(({ content }) => content === text)
  }
  return { address, hasReceived: (text: string) => until(() => find(text), 'for the comment', PATIENCE) }
}

interface Installation {
  program: 'postfix' | 'exim'
  files: Map<string, string>
  message: string
  recipient: string
}

const INSTALL = 'export DEBIAN_FRONTEND=noninteractive; apt-get install -y -qq --no-install-recommends'
/** How the files of the page are put in place, the server started, and a mail handed in. */
const STEPS = {
  postfix: `
${INSTALL} postfix >/install.log 2>&1 || { cat /install.log >&2; exit 1; }
postconf -e 'inet_interfaces = loopback-only' 'master_service_disable = inet' 'maillog_file = /var/log/postfix.log' 'maillog_file_prefixes = /var'
cat /page/etc/postfix/main.cf >>/etc/postfix/main.cf
[ -f /page/etc/postfix/master.cf ] && cat /page/etc/postfix/master.cf >>/etc/postfix/master.cf
postfix start >&2
/usr/sbin/sendmail -f ann@customer.example "$1" </page/message
sleep 1
for n in $(seq 100); do postqueue -p | grep -q 'is empty' && break; sleep 0.2; done`,
  exim: `
${INSTALL} exim4-daemon-light exim4-config exim4-base >/install.log 2>&1 || { cat /install.log >&2; exit 1; }
sed -i "s/^dc_use_split_config=.*/dc_use_split_config='true'/; s/^dc_relay_domains=.*/dc_relay_domains='${DOMAIN}'/" /etc/exim4/update-exim4.conf.conf
cp -r /page/etc/exim4/. /etc/exim4/
update-exim4.conf
/usr/sbin/exim4 -odf -f ann@customer.example "$1" </page/message`,
}

/** Installs a mail server in a root over that of the machine, and sends the message through it. Everything in the root ends with it. */
async function inOwnRoot(dir: string, { program, files, message, recipient }: Installation): Promise<void> {
  const root = join(dir, 'root')
  const script = `
set -e
mount -t tmpfs tmpfs ${dir}
mkdir -p ${root} ${dir}/upper ${dir}/work
mount -t overlay overlay -o lowerdir=/,upperdir=${dir}/upper,workdir=${dir}/work ${root}
mount --bind /dev ${root}/dev
mount -t proc proc ${root}/proc
mkdir -p ${root}/page
cp -r ${dir}.page/. ${root}/page/
if [ -d ${root}/page/usr ]; then cp -r ${root}/page/usr/. ${root}/usr/; chmod 755 ${root}/usr/local/bin/gridpost-deliver; fi
chroot ${root} sh -c '${STEPS[program].replaceAll("'", `'\\''`)}' sh "$1"
cat ${root}/var/log/postfix.log ${root}/var/log/exim4/mainlog 2>/dev/null | tail -20 >&2 || true`
  mkdirSync(dir, { recursive: true })
  for (const [path, content] of [...files, ['/message', message] as const]) {
    const file = join(`${dir}.page`, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${content.trimEnd()}\n`)
  }
  // With a process namespace of its own, what the mail server has started ends with the shell.
  await run('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', script, 'sh', recipient])
}

const execute = promisify(execFile)

async function run(file: string, args: string[]): Promise<void> {
  const { stderr } = await execute(file, args, { timeout: SERVER_MS, killSignal: 'SIGKILL' })
  if (process.env.VERBOSE) console.error(stderr)
}

await runScript(async () => {
  if (asksForHelp(process.argv.slice(2))) return console.log(USAGE)
  if (process.getuid?.() !== 0) throw new ScriptError('mail-servers needs root, to install mail servers into a root of their own')
  const dir = mkdtempSync(join(tmpdir(), 'gridpost-mail-servers-'))
  const service = await startService(dir)
  try {
    await tryAll(dir, service)
  } finally {
    await service.stop()
    rmSync(dir, { recursive: true, force: true })
  }
})

/** Settings that are weak or unfinished, and files that others can read. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isForThisMachine } from '../../src/platform/http/procedures/local-callers.ts'
import type { Settings } from '../../src/settings.ts'
import type { Examined, Finding } from './finding.ts'

type Given = Pick<Examined, 'settings' | 'environment'>

/** Keys and passwords are worth nothing beside one of these. */
const SAMPLE = /change.?(me|this|it)|your.?(secret|key)|example|password|replace.?(me|this|it)|secret.?key|0123456789|abcdefgh/i
/** A key of 32 random letters has some 20 different ones. */
const FEWEST_CHARACTERS = 12

export function checkSettings({ settings, environment }: Given): Finding[] {
  return [
    ...[settings.secretKeys.current, ...settings.secretKeys.previous].flatMap((key, index) => weakKey(key.toString(), index > 0)),
    ...plainConnections(settings, environment),
    ...openDoors(settings),
    ...(settings.databaseUrl ? unfinished(settings, environment) : []),
    ...readableFiles(settings),
  ]
}

function weakKey(key: string, isPrevious: boolean): Finding[] {
  if (new Set(key).size >= FEWEST_CHARACTERS && !SAMPLE.test(key)) return []
  return [
    {
      check: 'settings.secret_key',
      severity: 'error',
      problem: `${isPrevious ? 'A key of SECRET_KEY_PREVIOUS' : 'SECRET_KEY'} can be guessed: it looks like a sample or has few different characters`,
      advice: isPrevious
        ? 'Run npm run admin -- rotate-secrets, and remove the key as soon as it may go.'
        : 'Replace it by the output of `openssl rand -base64 32`, as docs/operations.md (Replacing SECRET_KEY) describes.',
    },
  ]
}

const isLocal = (host: string) => host === '' || host === 'localhost' || host === '[::1]' || /^127\./.test(host) || host.startsWith('/')

function plainConnections({ publicUrl, smtpUrl, databaseUrl, corsOrigins }: Settings, { DATABASE_URL }: Given['environment']): Finding[] {
  const findings: Finding[] = []
  if (publicUrl?.startsWith('http:') && !isLocal(new URL(publicUrl).hostname))
    findings.push({
      check: 'settings.public_url',
      severity: 'error',
      problem: `PUBLIC_URL is ${publicUrl}, without TLS: passwords, keys and cookies can be read on the way`,
      advice: 'Put a proxy with TLS in front (docs/operations.md, Behind a proxy), and set PUBLIC_URL to its https:// address.',
    })
  const smtp = smtpUrl ? new URL(smtpUrl) : undefined
  if (smtp?.protocol === 'smtp:' && !isLocal(smtp.hostname) && smtp.searchParams.get('requireTLS') !== 'true')
    findings.push({
      check: 'settings.smtp_tls',
      severity: 'warning',
      problem: `SMTP_URL reaches ${smtp.hostname} without TLS if somebody on the way removes it`,
      advice: 'Use smtps:// (usually port 465), or add ?requireTLS=true to the URL.',
    })
  const database = databaseUrl ? new URL(DATABASE_URL ?? databaseUrl) : undefined
  const host = database?.searchParams.get('host') ?? database?.hostname ?? ''
  const mode = database?.searchParams.get('sslmode') ?? 'disable'
  if (database && !isLocal(host) && !['require', 'verify-ca', 'verify-full'].includes(mode))
    findings.push({
      check: 'settings.database_tls',
      severity: 'warning',
      problem: `DATABASE_URL reaches ${host} without TLS`,
      advice: 'Add ?sslmode=verify-full to the URL, unless nobody else can listen on that network.',
    })
  const plain = corsOrigins.filter((origin) => origin.startsWith('http:') && !isLocal(new URL(origin).hostname))
  if (plain.length)
    findings.push({
      check: 'settings.cors_origins',
      severity: 'warning',
      problem: `CORS_ORIGINS has ${plain.join(', ')} without TLS: somebody on the way can act in the sessions of its users`,
      advice: 'Serve that page with https, and name its https:// origin.',
    })
  return findings
}

function openDoors({ trustProxy, rateLimitPerMinute, rateLimitPerHour, smtpAllowPrivate, databaseUrl }: Settings): Finding[] {
  const findings: Finding[] = []
  if (trustProxy === true)
    findings.push({
      check: 'settings.trust_proxy',
      severity: 'warning',
      problem: 'TRUST_PROXY is true: a caller can claim any address, and pass the allowlists of keys',
      advice: 'Name the addresses or networks of your proxies in TRUST_PROXY.',
    })
  if (rateLimitPerMinute === 0 && rateLimitPerHour === 0)
    findings.push({
      check: 'settings.rate_limits',
      severity: 'warning',
      problem: 'RATE_LIMIT_PER_MINUTE and RATE_LIMIT_PER_HOUR are 0: no caller is limited',
      advice: 'Set at least one of them.',
    })
  if (smtpAllowPrivate && databaseUrl)
    findings.push({
      check: 'settings.smtp_allow_private',
      severity: 'warning',
      problem: 'SMTP_ALLOW_PRIVATE is true: admins of a space can make the service connect to hosts in your network',
      advice: 'Remove it, unless all admins of spaces may reach that network.',
    })
  return findings
}

/** What an installation with a database of its own should have. */
function unfinished({ publicUrl, smtpUrl, catchDomain }: Settings, { NODE_ENV }: Given['environment']): Finding[] {
  const findings: Finding[] = []
  if (!publicUrl)
    findings.push({
      check: 'settings.public_url',
      severity: 'warning',
      problem: 'PUBLIC_URL is not set: links and tracking pixels in mails name the address that the service listens on',
      advice: 'Set it to the https:// address at which callers reach the service.',
    })
  if (!smtpUrl)
    findings.push({
      check: 'settings.smtp_url',
      severity: 'warning',
      problem: 'SMTP_URL is not set: invitations and notifications are not mailed',
      advice: 'Set SMTP_URL and MAIL_FROM.',
    })
  if (catchDomain.endsWith('.localhost'))
    findings.push({
      check: 'settings.catch_domain',
      severity: 'warning',
      problem: `CATCH_DOMAIN is ${catchDomain}: nobody can reply to mails from records`,
      advice: 'Set it to a domain whose mail comes to the service, through its receiver or a mail server (docs/mail.md).',
    })
  if (NODE_ENV !== 'production')
    findings.push({
      check: 'settings.node_env',
      severity: 'warning',
      problem: `NODE_ENV is ${NODE_ENV || 'not set'}: libraries of the service run in their mode for development`,
      advice: 'Set NODE_ENV=production.',
    })
  return findings
}

/** A note, because nothing shows whether there is a proxy. */
export const describeCaughtMail = (settings: Settings): string[] =>
  isForThisMachine(settings)
    ? [
        'mail     /dev/mail shows caught mail, with links that set passwords, to programs on this machine without a token, and to all ' +
          'callers of a proxy that adds no header: if there is a proxy, set PUBLIC_URL, which closes it (docs/mail.md).',
      ]
    : []

/** The files with secrets in DATA_DIR. */
const SECRET_FILES = ['secret-key', 'demo.json', 'service.json']

function readableFiles({ dataDir }: Settings): Finding[] {
  return SECRET_FILES.map((name) => join(dataDir, name))
    .filter((path) => existsSync(path) && (statSync(path).mode & 0o077) !== 0)
    .map((path) => ({
      check: 'files.mode',
      severity: 'error',
      problem: `${path} can be read by other accounts of this machine (mode ${(statSync(path).mode & 0o777).toString(8)})`,
      advice: `chmod 600 ${path}; if others may have read the secret key, replace it (docs/operations.md, Replacing SECRET_KEY).`,
    }))
}

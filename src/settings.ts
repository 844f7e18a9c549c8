import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'

const Port = z.coerce.number().int().min(0).max(65535)
const Count = z.coerce.number().int().min(0)
/** `auto` is one process for each core that may be used. */
const Processes = z
  .string()
  .regex(/^(auto|[1-9]\d?|1[01]\d|12[0-8])$/, 'must be a whole number from 1 to 128, or auto')
  .transform((text) => (text === 'auto' ? Math.min(availableParallelism(), 128) : Number(text)))

const Days = z.coerce.number().int().min(1).max(36_500)
const YesNo = z.enum(['true', 'false']).transform((text) => text === 'true')
const List = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean),
)

const DatabaseUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgresql:// URL' })
const LEAST_KEY_LENGTH = 32
const SecretKey = z.string().min(LEAST_KEY_LENGTH, `must have at least ${LEAST_KEY_LENGTH} characters`)

/**
 * The keys of the list, and other readings of it: SECRET_KEY is taken as it is, so a key can have commas, or end in the line break of the
 * file that it came from. Trying a key that never existed does no harm.
 */
const PreviousKeys = z.string().transform((text, context) => {
  const parts = text.split(',').filter((part) => part.trim() !== '')
  const trimmed = parts.map((part) => part.trim())
  const isKey = ({ length }: string) => length >= LEAST_KEY_LENGTH
  const listed = trimmed.every(isKey) ? trimmed : [text.trim()]
  if (!listed.every(isKey)) context.addIssue({ code: 'custom', message: `each key must have at least ${LEAST_KEY_LENGTH} characters` })
  const readings = [...trimmed, ...parts.map((part) => part.trimStart()), text.trim(), text].filter(isKey)
  return { listed, guesses: readings.filter((key) => !listed.includes(key)) }
})

/** The values that Fastify accepts for trustProxy. It throws for any other. */
const isProxies = (text: string) => text === 'true' || text === 'false' || text.split(',').every((part) => isProxy(part.trim()))

function isProxy(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && (bits === undefined || (Number(bits) >= 1 && Number(bits) <= (family === 6 ? 128 : 32)))
}

/** True for an origin as browsers send it: without a path or a trailing slash. */
const isOrigin = (text: string) => URL.canParse(text) && new URL(text).origin === text

/** The address of the receiver of mail: `host:port`, with `smtp://` or `lmtp://` in front or without. An IPv6 address is in brackets. */
const InboundSmtp = z.string().transform((text, context): InboundSmtp => {
  const [, protocol = 'smtp', literal, name = '', digits] = /^(?:(smtp|lmtp):\/\/)?(?:\[([^\]]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  const isHost = literal === undefined ? name !== '' : isIP(literal) === 6
  if (!isHost || !(port <= 65_535))
    context.addIssue({ code: 'custom', message: 'must be host:port, such as 0.0.0.0:25 or lmtp://127.0.0.1:2424' })
  return { protocol: protocol as InboundSmtp['protocol'], host: literal ?? name, port }
})

const CONTACT = 'must be an email address, mailto: with one, or an https:// URL'

/** A contact of RFC 9116, 2.5.3, as the URI that it asks for: an address alone gets `mailto:` in front. */
const SecurityContact = z.string().transform((text, context) => {
  if (/^https:\/\/\S+$/i.test(text) && URL.canParse(text)) return new URL(text).href
  const [, address, query = ''] = /^(?:mailto:)?([^?\s]+)(\?[\x21-\x7e]+)?$/i.exec(text) ?? []
  if (z.email().safeParse(address).success) return `mailto:${address}${query}`
  context.addIssue({ code: 'custom', message: CONTACT })
  return z.NEVER
})

/** The environment variables, as docs/operations.md lists them. An empty variable counts as absent. */
export const Environment = z.object({
  PORT: Port.default(3000),
  HOST: z.string().default('127.0.0.1'),
  METRICS_PORT: Port.optional(),
  METRICS_TOKEN: z.string().regex(/^\S+$/, 'must not contain spaces').optional(),
  DATA_DIR: z.string().default('.data'),
  DATABASE_URL: DatabaseUrl.optional(),
  DATABASE_REPLICA_URLS: List.pipe(z.array(DatabaseUrl)).default([]),
  REPLICA_MAX_LAG_MS: Count.min(100).max(60_000).default(1_000),
  SECRET_KEY: SecretKey.optional(),
  SECRET_KEY_PREVIOUS: PreviousKeys.optional(),
  PUBLIC_URL: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' }).optional(),
  CATCH_DOMAIN: z.hostname('must be a host name').default('reply.localhost'),
  ROLE: z.enum(['web', 'worker', 'all']).default('all'),
  PROCESSES: Processes.default(1),
  DATABASE_POOL: Count.min(2).default(10),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  RATE_LIMIT_PER_MINUTE: Count.default(600),
  RATE_LIMIT_PER_HOUR: Count.default(20_000),
  EVENT_STREAMS_PER_CALLER: Count.min(1).default(1000),
  MAX_CONNECTIONS: Count.min(10).default(10_000),
  INBOUND_SMTP: InboundSmtp.optional(),
  INBOUND_SMTP_CERT: z.string().optional(),
  INBOUND_SMTP_KEY: z.string().optional(),
  AUTHSERV_ID: z
    .string()
    .regex(/^[\w.-]+$/, 'must be the name that your mail server writes into Authentication-Results, such as mx.example.com')
    .optional(),
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// URL' }).optional(),
  MAIL_FROM: z.string().default('Gridpost <gridpost@localhost>'),
  SECURITY_CONTACT: SecurityContact.optional(),
  TRUST_PROXY: z.string().refine(isProxies, 'must be true, false, or addresses and CIDR ranges, comma-separated').optional(),
  CORS_ORIGINS: List.refine(
    (origins) => origins.every(isOrigin),
    'must be origins such as https://app.example.com, comma-separated',
  ).default([]),
  SMTP_ALLOW_PRIVATE: YesNo.optional(),
  STORAGE: z.string().optional(),
  STORAGE_PREVIOUS: z.string().optional(),
  STORAGE_LINKS: z.enum(['proxied', 'signed']).default('proxied'),
  PERSONAL_KEYS_ON_STANDALONE_TASKS: YesNo.default(true),
  REMEMBER_ACCESS: YesNo.default(true),
  KEEP_SESSIONS_DAYS: Days.default(30),
  KEEP_EVENTS_HOURS: z.coerce.number().int().min(1).max(720).default(24),
  KEEP_OPENS_DAYS: Days.default(365),
  KEEP_AUDIT_DAYS: Days.default(365),
  KEEP_HISTORY_DAYS: Days.default(180),
  KEEP_RAW_MAIL_DAYS: Days.optional(),
  KEEP_DROPPED_FILES_DAYS: Days.default(30),
  KEEP_DELETED_RECORDS_DAYS: Days.default(30),
  STORAGE_LIMIT_MB: z.coerce.number().int().min(1).optional(),
  IMPORT_MAX_MB: z.coerce.number().int().min(1).default(1_024),
})

/** Everything is written with the current key, and read with any of them. */
export interface SecretKeys {
  /** SECRET_KEY. */
  readonly current: Buffer
  /** SECRET_KEY_PREVIOUS: replaced keys, or one that is about to become the current one. */
  readonly previous: readonly Buffer[]
  /** Other readings of SECRET_KEY_PREVIOUS, some of which may be keys. */
  readonly guesses?: readonly Buffer[]
}

/** Where the service receives mail itself. */
export interface InboundSmtp {
  /** lmtp: from a mail server of the operator, which has checked the sender. smtp: from anybody. */
  protocol: 'smtp' | 'lmtp'
  host: string
  port: number
}

/** The paths of a certificate with its chain, and of its key, in PEM. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** The settings of the service, which come from the environment only. */
export interface Settings {
  port: number
  host: string
  /** The port of health and metrics alone; undefined opens none. */
  metricsPort: number | undefined
  /** The bearer token for /metrics on `port`; undefined closes it there. */
  metricsToken: string | undefined
  dataDir: string
  /** Undefined for the embedded PostgreSQL. */
  databaseUrl: string | undefined
  /** Streaming replicas of the database, for reads that may be a moment old. */
  replicaUrls: string[]
  /** A replica that is further behind is not read. */
  replicaMaxLagMs: number
  secretKeys: SecretKeys
  /** Without a trailing slash. If undefined, the address that the service listens on is used. */
  publicUrl: string | undefined
  catchDomain: string
  role: 'web' | 'worker' | 'all'
  /** How many processes answer requests, on one port. */
  processes: number
  /** The connections of the pool, of all these processes together. */
  databasePool: number
  logLevel: string
  /** 0 means no limit. */
  rateLimitPerMinute: number
  rateLimitPerHour: number
  /** The most event streams that one key or user may have open. */
  streamsPerCaller: number
  /** The most connections that are accepted at the same time. */
  maxConnections: number
  /** Undefined: mail comes through the webhook only. */
  inboundSmtp: InboundSmtp | undefined
  /** The certificate of the receiver; undefined: it offers no STARTTLS. */
  inboundCertificate: CertificateFiles | undefined
  /** The mail server whose Authentication-Results count, in lower case; undefined: those of no server. */
  authservId: string | undefined
  smtpUrl: string | undefined
  mailFrom: string
  /** The URI of /.well-known/security.txt; undefined: there is no such file. */
  securityContact: string | undefined
  trustProxy: boolean | string
  corsOrigins: string[]
  smtpAllowPrivate: boolean
  /** The path of a folder, or s3://bucket?endpoint=…&region=…. */
  storage: string
  /** A second storage in which the service looks for files while they are moved; undefined if there is none. */
  storagePrevious: string | undefined
  /** `signed` redirects downloads to links of the bucket. */
  storageLinks: 'proxied' | 'signed'
  personalKeysOnStandaloneTasks: boolean
  /** Whether a process remembers who its callers are. What they may do is asked for each request in any case. */
  remembersAccess: boolean
  /** The time from a session's last use to its expiry. */
  keepSessionsDays: number
  /** The time for which events are kept, and a stream can be resumed. */
  keepEventsHours: number
  keepOpensDays: number
  /** The least time for which rows of the audit log are kept. */
  keepAuditDays: number
  keepHistoryDays: number
  /** How long the raw bytes of inbound messages are kept; undefined keeps them for ever. */
  keepRawMailDays: number | undefined
  /** The time in which a dropped file can be restored. */
  keepDroppedFilesDays: number
  /** The time in which a deleted record can be restored. */
  keepDeletedRecordsDays: number
  /** The most that the files of an account may take; undefined for no limit. */
  storageLimitMb: number | undefined
  /** The largest CSV file that can be imported over HTTP. */
  importMaxMb: number
}

/** Names an invalid setting, in a message of one line. */
export class SettingsError extends Error {}

/**
 * Reads and validates the settings. Without DATABASE_URL, the secret key may be absent: one is then created and kept in DATA_DIR.
 * @throws SettingsError naming each invalid variable
 */
export function readSettings(environment: Record<string, string | undefined> = process.env): Settings {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''))
  const parsed = Environment.safeParse(present)
  if (!parsed.success) throw new SettingsError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '))
  const env = parsed.data
  const dataDir = resolve(env.DATA_DIR)
  if (env.METRICS_PORT && env.METRICS_PORT === env.PORT && env.ROLE !== 'worker')
    throw new SettingsError('METRICS_PORT: must differ from PORT')
  checkStorage(env)
  if (env.DATABASE_URL && !env.SECRET_KEY) throw new SettingsError('SECRET_KEY: is required with DATABASE_URL')
  if (env.DATABASE_REPLICA_URLS.length && !env.DATABASE_URL) throw new SettingsError('DATABASE_REPLICA_URLS: needs DATABASE_URL')
  return {
    port: env.PORT,
    host: env.HOST,
    metricsPort: env.METRICS_PORT,
    metricsToken: env.METRICS_TOKEN,
    dataDir,
    databaseUrl: env.DATABASE_URL,
    replicaUrls: env.DATABASE_REPLICA_URLS,
    replicaMaxLagMs: env.REPLICA_MAX_LAG_MS,
    secretKeys: secretKeysOf(env.SECRET_KEY ?? keptSecretKey(dataDir), env.SECRET_KEY_PREVIOUS),
    publicUrl: env.PUBLIC_URL?.replace(/\/+$/, ''),
    catchDomain: env.CATCH_DOMAIN.toLowerCase(),
    role: env.ROLE,
    processes: env.ROLE === 'worker' ? 1 : env.PROCESSES,
    databasePool: env.DATABASE_POOL,
    logLevel: env.LOG_LEVEL,
    rateLimitPerMinute: env.RATE_LIMIT_PER_MINUTE,
    rateLimitPerHour: env.RATE_LIMIT_PER_HOUR,
    streamsPerCaller: env.EVENT_STREAMS_PER_CALLER,
    maxConnections: env.MAX_CONNECTIONS,
    inboundSmtp: env.INBOUND_SMTP,
    inboundCertificate: certificateFiles(env),
    authservId: env.AUTHSERV_ID?.toLowerCase(),
    smtpUrl: env.SMTP_URL,
    mailFrom: env.MAIL_FROM,
    securityContact: env.SECURITY_CONTACT,
    trustProxy: env.TRUST_PROXY === 'true' ? true : env.TRUST_PROXY === 'false' ? false : (env.TRUST_PROXY ?? false),
    corsOrigins: env.CORS_ORIGINS,
    smtpAllowPrivate: env.SMTP_ALLOW_PRIVATE ?? !env.DATABASE_URL,
    storage: env.STORAGE ?? join(dataDir, 'files'),
    storagePrevious: env.STORAGE_PREVIOUS,
    storageLinks: env.STORAGE_LINKS,
    personalKeysOnStandaloneTasks: env.PERSONAL_KEYS_ON_STANDALONE_TASKS,
    remembersAccess: env.REMEMBER_ACCESS,
    keepSessionsDays: env.KEEP_SESSIONS_DAYS,
    keepEventsHours: env.KEEP_EVENTS_HOURS,
    keepOpensDays: env.KEEP_OPENS_DAYS,
    keepAuditDays: env.KEEP_AUDIT_DAYS,
    keepHistoryDays: env.KEEP_HISTORY_DAYS,
    keepRawMailDays: env.KEEP_RAW_MAIL_DAYS,
    keepDroppedFilesDays: env.KEEP_DROPPED_FILES_DAYS,
    keepDeletedRecordsDays: env.KEEP_DELETED_RECORDS_DAYS,
    storageLimitMb: env.STORAGE_LIMIT_MB,
    importMaxMb: env.IMPORT_MAX_MB,
  }
}

function checkStorage({ STORAGE, STORAGE_PREVIOUS, STORAGE_LINKS }: z.infer<typeof Environment>): void {
  if (STORAGE_LINKS === 'signed' && !STORAGE?.startsWith('s3://'))
    throw new SettingsError('STORAGE_LINKS: signed needs a bucket as STORAGE, because a folder has no links')
  if (STORAGE_PREVIOUS && STORAGE_PREVIOUS === STORAGE) throw new SettingsError('STORAGE_PREVIOUS: must differ from STORAGE')
}

function certificateFiles({ INBOUND_SMTP_CERT: cert, INBOUND_SMTP_KEY: key }: z.infer<typeof Environment>): CertificateFiles | undefined {
  if (cert && key) return { cert, key }
  if (cert) throw new SettingsError('INBOUND_SMTP_KEY: is required with INBOUND_SMTP_CERT')
  if (key) throw new SettingsError('INBOUND_SMTP_CERT: is required with INBOUND_SMTP_KEY')
  return undefined
}

function secretKeysOf(current: string, { listed, guesses }: z.infer<typeof PreviousKeys> = { listed: [], guesses: [] }): SecretKeys {
  const others = (keys: string[]) => [...new Set(keys)].filter((key) => key !== current).map((key) => Buffer.from(key))
  return { current: Buffer.from(current), previous: others(listed), guesses: others(guesses) }
}

/** Reads or creates the key file. Of two processes that start together one creates it, and the other reads it. */
function keptSecretKey(dataDir: string): string {
  const path = join(dataDir, 'secret-key')
  try {
    // Other accounts may enter but not list it: if root starts the service, the embedded PostgreSQL runs as another account.
    mkdirSync(dataDir, { recursive: true, mode: 0o711 })
    writeFileSync(path, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw new SettingsError(`DATA_DIR: ${(error as Error).message}`)
  }
  const key = readSecretKey(path)
  if (key.length < 32) throw new SettingsError(`DATA_DIR: ${path} does not hold a secret key`)
  return key
}

function readSecretKey(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SettingsError(`DATA_DIR: ${(error as Error).message}`)
  }
}

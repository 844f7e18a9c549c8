/** The fields of the form of a mail server, and what the service is asked with them. */
import { errorData } from '../../session/errors.ts'
import { Refused } from '../../session/form.ts'
import { integrationTexts } from '../../texts/manage/integrations.ts'
import type { Integration } from './integrations-query.ts'
import { linesOf, readSenders, withDomainsOf, writtenSender } from './senders.ts'

export interface Values {
  label: string
  host: string
  port: string
  tls: Integration['tls']
  username: string
  password: string
  senders: string
  from_domains: string
  isEveryTable: boolean
  table_ids: readonly number[]
  hasPixel: boolean
  reply_as_envelope: boolean
  max_connections: string
  rate_per_minute: string
  /** The domain that signs. */
  dkim: string
  selector: string
}

const NEW: Values = {
  ...{ label: '', host: '', port: '587', tls: 'starttls', username: '', password: '', senders: '', from_domains: '' },
  ...{ isEveryTable: true, table_ids: [], hasPixel: true, reply_as_envelope: true, max_connections: '3', rate_per_minute: '' },
  ...{ dkim: '', selector: 'gridpost' },
}

export function valuesOf(of: Integration | null): Values {
  if (!of) return NEW
  const { label, host, port, tls, username, from_identities, from_domains, table_ids, disable_pixel, reply_as_envelope } = of
  return {
    ...{ label, host, port: String(port), tls, username: username ?? '', password: '' },
    senders: from_identities.map(writtenSender).join('\n'),
    from_domains: from_domains.join('\n'),
    ...{ isEveryTable: table_ids === null, table_ids: table_ids ?? [], hasPixel: !disable_pixel, reply_as_envelope },
    max_connections: String(of.max_connections),
    rate_per_minute: of.rate_per_minute === null ? '' : String(of.rate_per_minute),
    ...{ dkim: of.dkim?.domain ?? '', selector: of.dkim?.selector ?? NEW.selector },
  }
}

/** What the service is asked. @throws Refused for numbers that are none, and without a table */
export function inputOf(values: Values, of: Integration | null) {
  const { label, host, tls, username, password, isEveryTable, table_ids, hasPixel, reply_as_envelope, dkim, selector } = values
  const problems: Record<string, string> = {}
  const whole = (name: 'port' | 'max_connections' | 'rate_per_minute', problem: string): number => {
    const text = values[name].trim()
    if (!/^\d{1,9}$/.test(text)) problems[name] = problem
    return Number(text)
  }
  const port = whole('port', integrationTexts.noPort)
  const max_connections = whole('max_connections', integrationTexts.noNumber)
  const rate_per_minute = values.rate_per_minute.trim() ? whole('rate_per_minute', integrationTexts.noNumber) : null
  if (!isEveryTable && !table_ids.length) problems.table_ids = integrationTexts.chooseTable
  if (Object.keys(problems).length) throw new Refused(problems)
  const from_identities = readSenders(values.senders)
  return {
    ...{ label, host, port, tls, username: username.trim() || null, from_identities, max_connections, rate_per_minute, reply_as_envelope },
    from_domains: withDomainsOf(from_identities, linesOf(values.from_domains)),
    disable_pixel: !hasPixel,
    table_ids: isEveryTable ? null : [...table_ids],
    dkim: dkim.trim() ? { domain: dkim.trim(), selector: selector.trim() } : null,
    // An empty field keeps the password, unless nobody signs in any more.
    ...(password ? { password } : of?.has_password && !username.trim() ? { password: null } : {}),
  }
}

interface Issue {
  path?: unknown[]
  message: string
}

/** Which of the lines is refused is said by its number. */
export function withLines(error: unknown, values: Values): unknown {
  const issues = (errorData(error)?.issues ?? []) as Issue[]
  const problems: Record<string, string> = {}
  for (const issue of issues) {
    const [name, problem] = atField(issue, linesOf(values.from_domains).length)
    if (name in values) problems[name] ??= problem
  }
  return Object.keys(problems).length ? new Refused(problems) : error
}

/** Senders are identities for the service, the selector is a part of dkim, and domains after those that were typed are of senders. */
function atField({ path: [name, part] = [], message }: Issue, typedDomains: number): [field: string, problem: string] {
  const inLine = typeof part === 'number' ? integrationTexts.inLine(part + 1, message) : message
  if (name === 'dkim' && part === 'selector') return ['selector', message]
  if (name === 'from_identities') return ['senders', inLine]
  if (name !== 'from_domains') return [String(name), message]
  return typeof part === 'number' && part >= typedDomains ? ['senders', message] : ['from_domains', inLine]
}

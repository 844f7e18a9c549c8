/** SMTP integrations: the servers that a space sends email through. Its admins manage them in a browser session. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { audit, differing } from '../audit/log.ts'
import type { Resource, Role } from '../platform/access/authorize.ts'
import { checkSpace } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { type Database, type Sql, sql, toTheSecond } from '../platform/database/database.ts'
import { badInput, badInputs, conflict } from '../platform/errors.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { formatInstant } from '../platform/time/time.ts'
import { domainOf, parseMailbox } from './address.ts'
import { dkimColumns, isSameKey, replaceKey } from './authenticity/dkim-keys.ts'
import { resume } from './outbound/faults.ts'
import { withdrawLeases } from './outbound/lease.ts'
import {
  DEFAULT_MAX_CONNECTIONS,
  type NewSmtpIntegration,
  type SmtpIntegration,
  type SmtpIntegrationUpdate,
  type SmtpOption,
  type SmtpTest,
} from './schema.ts'
import { DeliveryError } from './smtp/failure.ts'
import { allowedAddresses } from './smtp/host-addresses.ts'
import { readServer, serverOf, setPassword } from './smtp/stored-server.ts'
import { probe } from './smtp/transport.ts'

export interface IntegrationRow {
  integration_id: number
  space_id: number
  account_id: number
  member_role: Role | null
}

export const integrationResource: Resource<IntegrationRow> = {
  ids: [{ name: 'id', thing: 'SMTP integration', found: 'integration_id' }],
  select: ({ id }) => sql`
    select i.id as integration_id, i.space_id, i.account_id, m.role as member_role
    from smtp_integrations i
    join spaces s on s.id = i.space_id and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = p.p_user_id
    where i.id = ${id} and i.account_id = p.p_account_id`,
  check: checkSpace,
}

const failing = sql`case when failing_since is not null then
  jsonb_build_object('since', to_char(failing_since, 'YYYY-MM-DD HH24:MI:SS'), 'message', failing_message) end`
const columns = sql`id, space_id, label, host, port, tls, username, from_domains, from_identities, disable_pixel, reply_as_envelope,
  max_connections, rate_per_minute, ${dkimColumns}, ${failing} as failing,
  case when all_tables then null else table_ids end as table_ids, password_encrypted is not null as has_password, created_at, updated_at`

/** By label. */
export async function list({ db }: Context, space: { id: number }): Promise<{ rows: SmtpIntegration[]; total: number }> {
  const rows = await db.read<SmtpIntegration>(
    sql`select ${columns} from smtp_integrations where space_id = ${space.id} order by lower(label collate "pg_c_utf8"), id`,
  )
  return { rows, total: rows.length }
}

/** @throws AppError 400 for a host at a private address, a table of another space, or a sender outside the from_domains */
export async function create(
  context: Context,
  space: { id: number; account_id: number },
  input: NewSmtpIntegration,
): Promise<SmtpIntegration> {
  await checkHost(context, input.host)
  await checkTables(context, space.id, input.table_ids)
  checkSenders(input.from_domains ?? [], input.from_identities ?? [])
  const at = formatInstant(context.now)
  return context.transaction(async () => {
    const [row] = await context.db.write<SmtpIntegration>(sql`
      insert into smtp_integrations (account_id, space_id, label, host, port, tls, username, from_domains, from_identities,
        disable_pixel, reply_as_envelope, max_connections, rate_per_minute, all_tables, table_ids, created_at, updated_at)
      values (${space.account_id}, ${space.id}, ${input.label}, ${input.host}, ${input.port},
        ${input.tls ?? (input.port === 465 ? 'tls' : 'starttls')}, ${input.username ?? null},
        ${input.from_domains ?? []}, ${JSON.stringify(input.from_identities ?? [])}::jsonb, ${input.disable_pixel ?? false},
        ${input.reply_as_envelope ?? true}, ${input.max_connections ?? DEFAULT_MAX_CONNECTIONS}, ${input.rate_per_minute ?? null},
        ${!input.table_ids}, ${input.table_ids ?? []}, ${at}::timestamp, ${at}::timestamp)
      returning ${columns}`)
    const created = row as SmtpIntegration
    const { id, label, host, port, tls } = created
    await audit(context, 'integration.created', { id, name: label, spaceId: space.id, detail: { host, port, tls } })
    // The ciphertexts are bound to the id, so the row is inserted first.
    await setSecrets(context, id, input)
    return (await readIntegration(context.db, id)) ?? created
  })
}

/**
 * An absent key keeps its value, null clears it. An update without a difference keeps `updated_at`.
 * @throws AppError 400 as for `create`, and when the stored password would go to another server; 409 for one that was just deleted
 */
export async function update(
  context: Context,
  { integration_id, space_id }: IntegrationRow,
  input: SmtpIntegrationUpdate,
): Promise<SmtpIntegration> {
  const { db, now } = context
  if (input.host !== undefined) await checkHost(context, input.host)
  await checkTables(context, space_id, input.table_ids)
  const { password, dkim, ...named } = input
  let isOtherDialogue = false
  const after = await context.transaction(async () => {
    await resume(db, integration_id)
    const present = await readIntegration(db, integration_id, sql`for update`)
    if (!present) throw conflict('The SMTP integration has just been deleted')
    const next = { ...present, ...defined(named), has_password: password === undefined ? present.has_password : password !== null }
    checkUpdate(present, next, input)
    const isKeyReplaced = dkim !== undefined && !isSameKey(present.dkim, dkim)
    // A given password counts as a change, because it cannot be compared with the encrypted one.
    if (typeof password !== 'string' && !isKeyReplaced && isDeepStrictEqual(next, present)) return present
    isOtherDialogue = differing(present, next).some((key) => OF_DIALOGUE.has(key))
    await context.db.prisma.smtpIntegration.update({
      where: { id: integration_id },
      data: {
        label: next.label,
        host: next.host,
        port: next.port,
        tls: next.tls,
        username: next.username,
        fromDomains: next.from_domains,
        disablePixel: next.disable_pixel,
        replyAsEnvelope: next.reply_as_envelope,
        maxConnections: next.max_connections,
        ratePerMinute: next.rate_per_minute,
        fromIdentities: next.from_identities,
        allTables: next.table_ids === null,
        tableIds: next.table_ids ?? [],
        ...(password === null && { passwordEncrypted: null }),
        version: { increment: 1 },
        updatedAt: toTheSecond(now),
      },
    })
    await setSecrets(context, integration_id, { password, dkim: isKeyReplaced ? dkim : undefined })
    const updated = (await readIntegration(db, integration_id)) as SmtpIntegration
    const changed = changedKeys(present, { ...next, dkim: updated.dkim }, password)
    await audit(context, 'integration.updated', { id: integration_id, name: next.label, spaceId: space_id, detail: { changed } })
    return updated
  })
  // Until the commit, attempts begin with the integration as it was.
  if (isOtherDialogue) await withdrawLeases(db, integration_id)
  return after
}

/** @throws AppError 400 */
function checkUpdate(before: SmtpIntegration, after: SmtpIntegration, input: SmtpIntegrationUpdate): void {
  // Senders and domains must agree after the update, whichever of the two it changes.
  if (input.from_domains || input.from_identities) checkSenders(after.from_domains, after.from_identities)
  const isOtherHost = after.host.toLowerCase() !== before.host.toLowerCase()
  const isUnproven = after.tls === 'none' && (before.tls !== 'none' || after.port !== before.port)
  // Somebody who does not know the stored password could otherwise have it sent to a server of their own.
  if (before.has_password && input.password === undefined && (isOtherHost || isUnproven))
    throw badInput('password', 'must be given again for another host, and where no certificate proves that the server is the same')
}

/** Stores the secrets that are given. */
async function setSecrets(
  context: Context,
  id: number,
  { password, dkim }: Pick<SmtpIntegrationUpdate, 'password' | 'dkim'>,
): Promise<void> {
  if (typeof password === 'string') await context.db.write(setPassword(context, id, password))
  if (dkim !== undefined) await context.db.write(await replaceKey(context, id, dkim))
}

/**
 * The keys that say to which server an email goes, and whether it may. When one of them changes, emails on their way to the server are
 * stopped before the end of their content, and sent as the integration is then.
 */
const OF_DIALOGUE: ReadonlySet<string> = new Set(['host', 'port', 'tls', 'username', 'from_domains', 'table_ids'])

async function readIntegration(db: Database, id: number, lock: Sql = sql``): Promise<SmtpIntegration | undefined> {
  const [row] = await db.read<SmtpIntegration>(sql`select ${columns} from smtp_integrations where id = ${id} ${lock}`)
  return row
}

const changedKeys = (before: SmtpIntegration, after: SmtpIntegration, password: string | null | undefined): string[] =>
  typeof password === 'string' ? [...differing(before, after), 'password'] : differing(before, after)

type Senders = Pick<SmtpIntegration, 'from_domains' | 'from_identities'>

/** @throws AppError 400 for a sender that `send` would refuse because of its domain */
function checkSenders(domains: Senders['from_domains'], identities: Senders['from_identities']): void {
  const issues = identities.flatMap(({ email }, index) => {
    const domain = domainOf(parseMailbox(email)?.email ?? email)
    return domains.includes(domain)
      ? []
      : [{ path: ['from_identities', index, 'email'], message: `has a domain outside from_domains: ${domain}` }]
  })
  if (issues.length) throw badInputs(issues)
}

/**
 * Emails that are queued for the integration are dropped by their next attempt. Those on their way to its server are stopped before the end
 * of their content.
 */
export async function remove(context: Context, { integration_id: id, space_id: spaceId }: IntegrationRow): Promise<void> {
  await context.transaction(async () => {
    const [row] = await context.db.write<{ label: string }>(sql`delete from smtp_integrations where id = ${id} returning label`)
    if (row) await audit(context, 'integration.deleted', { id, name: row.label, spaceId })
  })
  // Until the commit, attempts begin with the integration.
  await withdrawLeases(context.db, id)
}

/** Moves the integrations that name the mail catcher of the embedded default to its new port. @returns how many there are */
export async function followCatcher(
  db: Database,
  from: { host: string; port: number },
  to: { host: string; port: number },
): Promise<number> {
  const { changed } = await db.write(sql`
    update smtp_integrations set host = ${to.host}, port = ${to.port}, version = version + 1
    where host = ${from.host} and port = ${from.port} and tls = 'none' and username is null`)
  return changed
}

/** Takes an address, in lower case, out of the senders that the integrations of an account offer. */
export async function removeIdentities({ db, now, ...context }: Context, accountId: number, address: string): Promise<void> {
  const isOther = ({ email }: Senders['from_identities'][number]) => (parseMailbox(email)?.email ?? email).toLowerCase() !== address
  const offering = sql`account_id = ${accountId} and jsonb_array_length(from_identities) > 0`
  for (const { id } of await db.read<{ id: number }>(sql`select id from smtp_integrations where ${offering} order by id`))
    await context.transaction(async () => {
      const row = await readIntegration(db, id, sql`for update`)
      const left = row?.from_identities.filter(isOther) ?? []
      if (!row || left.length === row.from_identities.length) return
      await db.write(sql`
        update smtp_integrations set from_identities = ${JSON.stringify(left)}::jsonb, version = version + 1,
          updated_at = ${formatInstant(now)}::timestamp
        where id = ${id}`)
      const detail = { changed: ['from_identities'] }
      await audit({ ...context, db, now }, 'integration.updated', { id, name: row.label, spaceId: row.space_id, accountId, detail })
    })
}

export const forgetSpaces = defineQueue({ name: 'email.forget-spaces', schema: z.object({}) })

/** Deletes the integrations of spaces that no longer exist, with their passwords. */
export async function removeOrphans({ db }: Context): Promise<void> {
  await db.write(sql`delete from smtp_integrations i where not exists (select 1 from spaces s where s.id = i.space_id)`)
}

/** Connects and signs in, without sending an email. */
export async function test(context: Context, { integration_id }: IntegrationRow): Promise<SmtpTest> {
  const row = await readServer(context.db, integration_id)
  if (!row) throw conflict('The SMTP integration has just been deleted')
  try {
    await probe(serverOf(context, row), { allowPrivate: context.settings.smtpAllowPrivate })
    await resume(context.db, integration_id)
    return { ok: true, error: null }
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    const { code, enhanced, message } = error.failure
    return { ok: false, error: { code, enhanced, message } }
  }
}

/** The integrations that the table may use and that have a domain to send from. */
export async function options({ db }: Context, table: { id: number; space_id: number }): Promise<{ rows: SmtpOption[]; total: number }> {
  const rows = await db.read<SmtpOption>(sql`
    select id, label, from_domains as "fromDomains", from_identities as "fromIdentities", disable_pixel as "disablePixel",
      ${failing} as failing
    from smtp_integrations
    where space_id = ${table.space_id} and cardinality(from_domains) > 0 and ${usableOn(table.id)}
    order by lower(label collate "pg_c_utf8"), id`)
  return { rows, total: rows.length }
}

/** The condition on a row of smtp_integrations under which the table may use it. */
export const usableOn = (tableId: number): Sql => sql`(all_tables or ${tableId} = any(table_ids))`

/** @throws AppError 400 for a host at a private address. An unknown host is accepted, because it may exist later. */
async function checkHost({ settings }: Context, host: string): Promise<void> {
  try {
    await allowedAddresses(host, settings.smtpAllowPrivate)
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    if (error.failure.code === 'PRIVATE_ADDRESS') throw badInput('host', 'must not be at a private, loopback or link-local address')
  }
}

async function checkTables({ db }: Context, spaceId: number, tableIds: number[] | null | undefined): Promise<void> {
  if (!tableIds?.length) return
  const rows = await db.read<{ id: number }>(
    sql`select id from tables where space_id = ${spaceId} and deleted_at is null and id = any(${tableIds}::int[])`,
  )
  const found = new Set(rows.map(({ id }) => id))
  const index = tableIds.findIndex((id) => !found.has(id))
  if (index >= 0) throw badInput(['table_ids', index], 'is not a table of this space')
}

/** The object without its undefined keys. */
function defined<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never
}

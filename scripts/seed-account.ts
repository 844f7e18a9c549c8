/** Creates an account for trials: people of every role, keys of every kind, a table with every type of field. */
import { createAccount, createUser } from '../src/accounts/service.ts'
import { create as createIntegration } from '../src/email/integrations.ts'
import { addToField } from '../src/files/service.ts'
import { insertKey } from '../src/keys/service.ts'
import type { SpaceRef, TableRef } from '../src/platform/access/resources.ts'
import { type Context, type Deps, userContext } from '../src/platform/context.ts'
import { newHexToken, newToken } from '../src/platform/secrets/secrets.ts'
import { createBatch } from '../src/records/service.ts'
import { addMember, create as createSpace } from '../src/spaces/service.ts'
import type { NewTable } from '../src/tables/schema.ts'
import { create as createTable } from '../src/tables/service.ts'
import { everyTypeFiles, everyTypeRecords, everyTypeTable, otherRecords, otherTable } from './every-type.ts'

/** The sender of all mail of the account. */
const MAIL_DOMAIN = 'example.com'

export interface Person {
  id: number
  email: string
  password: string
  name: string
  timezone: string
}

export type Seeded = Awaited<ReturnType<typeof seedAccount>>

/**
 * Creates the account in one transaction.
 * @param server the SMTP server of the account's integration
 */
export async function seedAccount(deps: Deps, server: { host: string; port: number }) {
  const { db } = deps
  return db.transaction(async () => {
    const suffix = newHexToken(4)
    const now = deps.clock()
    const ownerUser = newPerson('Olga Owner', 'Europe/Berlin', suffix)
    const { accountId, ownerId } = await createAccount(db, `Seed ${suffix}`, ownerUser, now)
    const owner: Person = { id: ownerId, ...ownerUser }
    const addPerson = async (name: string, timezone: string): Promise<Person> => {
      const person = newPerson(name, timezone, suffix)
      return { id: await createUser(db, accountId, person, now), ...person }
    }
    const admin = await addPerson('Ada Admin', 'America/New_York')
    const member = await addPerson('Max Member', 'Asia/Kolkata')
    const viewer = await addPerson('Vera Viewer', 'Pacific/Auckland')
    const outsiderUser = newPerson('Otto Outsider', 'UTC', suffix)
    const elsewhere = await createAccount(db, `Seed ${suffix}, elsewhere`, outsiderUser, now)
    const outsider: Person = { id: elsewhere.ownerId, ...outsiderUser }

    const context = ownerScope(deps, accountId, owner)
    const space = await createSpace(context, { name: 'Main' })
    const otherSpace = await createSpace(context, { name: 'Other' })
    await addMember(context, space, { email: admin.email, role: 'admin' })
    await addMember(context, space, { email: member.email, role: 'member' })
    await addMember(context, space, { email: viewer.email, role: 'viewer' })

    const other = await makeTable(context, space, otherTable, otherRecords)
    const users = [owner, admin, member, viewer].map(({ id }) => id)
    const records = everyTypeRecords(now, { users, others: other.recordIds })
    const table = await makeTable(context, space, everyTypeTable(other.ref.id), records)
    for (const { at, ...file } of everyTypeFiles)
      await addToField(context, table.ref, { id: table.recordIds[at] ?? 0, version: 1 }, { field_id: 'file', ...file })
    const smtp = await createIntegration(context, space, {
      label: 'Seed',
      ...server,
      tls: 'none',
      from_domains: [MAIL_DOMAIN],
      from_identities: [{ name: 'Seed', email: `hello@${MAIL_DOMAIN}` }],
    })

    const ofAccount = { accountId, userId: ownerId }
    const keys = {
      account: await insertKey(db, ofAccount, { kind: 'account', name: 'Account' }, now),
      account_read_only: await insertKey(db, ofAccount, { kind: 'account', name: 'Read-only', read_only: true }, now),
      account_other_space: await insertKey(db, ofAccount, { kind: 'account', name: 'Other space', space_ids: [otherSpace.id] }, now),
      personal: await insertKey(db, { accountId, userId: member.id }, { kind: 'personal', name: 'Member' }, now),
      personal_viewer: await insertKey(db, { accountId, userId: viewer.id }, { kind: 'personal', name: 'Viewer' }, now),
      personal_outsider: await insertKey(
        db,
        { accountId: elsewhere.accountId, userId: outsider.id },
        { kind: 'personal', name: 'Outsider' },
        now,
      ),
    }
    return {
      account_id: accountId,
      ...{ owner, admin, member, viewer, outsider },
      space_id: space.id,
      other_space_id: otherSpace.id,
      table_id: table.ref.id,
      other_table_id: other.ref.id,
      record_ids: table.recordIds,
      keys: secretsOf(keys),
      smtp: { id: smtp.id, from_domain: MAIL_DOMAIN, ...server },
    }
  })
}

function newPerson(name: string, timezone: string, suffix: string): Omit<Person, 'id'> {
  const [first = ''] = name.toLowerCase().split(' ')
  return { email: `${first}.${suffix}@example.com`, password: newToken(12), name, timezone }
}

/** The operator runs the script and may allow a server in a private network. */
function ownerScope(deps: Deps, accountId: number, { id, email, name, timezone }: Person): Context {
  const context = userContext(deps, { accountId, userId: id, email, name, timeZone: timezone, isOwner: true })
  return { ...context, settings: { ...context.settings, smtpAllowPrivate: true } }
}

async function makeTable(context: Context, space: SpaceRef, definition: NewTable, rows: Record<string, unknown>[]) {
  const { id, name } = await createTable(context, space, definition)
  const ref: TableRef = { ...space, id, name, space_id: space.id, version: 1 }
  const records = await createBatch(context, ref, { records: rows.map((data) => ({ data })) })
  return { ref, recordIds: records.rows.map((record) => record.id) }
}

function secretsOf<Name extends string>(keys: Record<Name, { secret: string }>): Record<Name, string> {
  return Object.fromEntries(Object.entries<{ secret: string }>(keys).map(([name, { secret }]) => [name, secret])) as Record<Name, string>
}

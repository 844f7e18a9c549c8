/** Creates the demo account on the first start: real data, people, views, tasks, and a way to send mail. */
import { createAccount, createUser, type NewUser } from '../accounts/service.ts'
import { onRecord } from '../comments/record-subject.ts'
import { create as createComment } from '../comments/service.ts'
import { create as createIntegration } from '../email/integrations.ts'
import { addToField } from '../files/service.ts'
import { insertKey } from '../keys/service.ts'
import type { SpaceRef, TableRef } from '../platform/access/resources.ts'
import { type Context, type Deps, userContext } from '../platform/context.ts'
import { AppError } from '../platform/errors.ts'
import { newToken } from '../platform/secrets/secrets.ts'
import { addDays } from '../platform/time/time.ts'
import { localDate } from '../platform/time/time-zones.ts'
import { update as keepPreference } from '../preferences/service.ts'
import type { DataRecord } from '../records/schema.ts'
import { createBatch } from '../records/service.ts'
import { addMember, create as createSpace } from '../spaces/service.ts'
import type { NewTable } from '../tables/schema.ts'
import { create as createTable } from '../tables/service.ts'
import { mark } from '../tasks/changes.ts'
import { onTask } from '../tasks/comments/task-subject.ts'
import type { NewTask, Task } from '../tasks/schema.ts'
import { create as createTask } from '../tasks/sync/upsert.ts'
import type { NewView } from '../views/schema.ts'
import { create as createView } from '../views/service.ts'
import { type DemoLogin, forgetLogin, keepLogin, readLogin } from './login.ts'
import { cities, contacts, countries, holidays } from './tables.ts'
import { cityViews, contactViews, countryViews, holidayViews } from './views.ts'

/** A reserved domain: no mail can reach it. */
const DOMAIN = 'demo.example'

/**
 * Creates the demo account, once per DATA_DIR, in one transaction with the file that contains the login.
 * @param catcher the SMTP server of its integration
 * @returns the login, or null if the account exists already
 */
export async function createDemo(deps: Deps, catcher: { host: string; port: number }): Promise<DemoLogin | null> {
  const { dataDir } = deps.settings
  if (readLogin(dataDir)) return null
  let isKept = false
  try {
    return await deps.db.transaction(async () => {
      const login = await makeAccount(deps, catcher)
      // The file is written before the commit: without it nobody would know the login of the account, which is created only once.
      keepLogin(dataDir, login)
      isKept = true
      return login
    })
  } catch (error) {
    if (isKept) forgetLogin(dataDir)
    // The address of the owner is taken: the account exists, or another process has just created it.
    if (error instanceof AppError && error.code === 'CONFLICT') return null
    throw error
  }
}

async function makeAccount(deps: Deps, catcher: { host: string; port: number }): Promise<DemoLogin> {
  const { db } = deps
  const now = deps.clock()
  const owner = newPerson('Olivia Owner', 'owner')
  const member = newPerson('Marco Member', 'member')
  const viewer = newPerson('Vera Viewer', 'viewer')
  const { accountId, ownerId } = await createAccount(db, 'Demo', owner, now)
  const memberId = await createUser(db, accountId, member, now)
  const viewerId = await createUser(db, accountId, viewer, now)

  const serviceContext = (userId: number, { email, name }: NewUser) =>
    userContext(deps, { accountId, userId, email, name, timeZone: 'UTC', isOwner: userId === ownerId })
  const asOwner = serviceContext(ownerId, owner)
  const asMember = serviceContext(memberId, member)
  const space = await createSpace(asOwner, { name: 'Sales' })
  await addMember(asOwner, space, { email: member.email, role: 'member' })
  await addMember(asOwner, space, { email: viewer.email, role: 'viewer' })

  const { table, records } = await fillSpace(asOwner, space, [ownerId, memberId])
  await addDocuments(asMember, table, records)
  await addTasks(asOwner, asMember, table, records)
  await createComment(asOwner, onRecord(table, { id: records[0]?.id ?? 0 }), { content: `@{${memberId}:${member.name}} she prefers mail.` })
  // The console begins with the table that was open last, which is the one with tasks and mails.
  for (const context of [asOwner, asMember, serviceContext(viewerId, viewer)]) {
    await keepPreference(context, { name: 'console.recent', value: JSON.stringify([table.id]) })
  }
  await createIntegration(asOwner, space, {
    label: 'Mail catcher',
    ...catcher,
    tls: 'none',
    from_domains: [DOMAIN],
    from_identities: [{ name: 'Gridpost Sales', email: `sales@${DOMAIN}` }],
  })

  const account = await insertKey(db, { accountId, userId: ownerId }, { kind: 'account', name: 'Demo integration' }, now)
  const personal = await insertKey(db, { accountId, userId: memberId }, { kind: 'personal', name: 'Demo of Marco' }, now)
  const keys = { account: account.secret, personal: personal.secret }
  return { account_id: accountId, space_id: space.id, owner, member, viewer, keys }
}

function newPerson(name: string, role: string): { name: string; email: string; password: string } {
  return { name, email: `${role}@${DOMAIN}`, password: newToken(9) }
}

interface Filled {
  table: TableRef
  records: DataRecord[]
}

/** Creates the tables, each with its records and views. @returns the contacts */
async function fillSpace(context: Context, space: SpaceRef, owners: number[]): Promise<Filled> {
  const today = localDate(context.now, context.actor.timeZone)
  const country = await makeTable(context, space, countries(), countryViews)
  const countryIds = new Map(country.records.map(({ id, data }) => [data.code, id]))
  const codes = new Map(country.records.map(({ id, data }) => [id, data.code]))
  const city = await makeTable(context, space, cities(country.table.id, countryIds), cityViews)
  const cityIds = new Map(city.records.map(({ id, title, data }) => [`${title}, ${codes.get((data.country as { id: number }).id)}`, id]))
  await makeTable(context, space, holidays(country.table.id, countryIds), holidayViews)
  const lookups = { countryTable: country.table.id, countryIds, cityTable: city.table.id, cityIds }
  return makeTable(context, space, contacts(lookups, owners, today), contactViews)
}

async function makeTable(
  context: Context,
  space: SpaceRef,
  { table: definition, rows }: { table: NewTable; rows: Record<string, unknown>[] },
  views: NewView[],
): Promise<Filled> {
  const { id, name } = await createTable(context, space, definition)
  const table: TableRef = { ...space, id, name, space_id: space.id, version: 1 }
  const { rows: records } = await createBatch(context, table, { records: rows.map((data) => ({ data })) })
  for (const view of views) await createView(context, table, view)
  return { table, records }
}

/** Attaches a file to each of the first contacts, so that the gallery shows images. */
async function addDocuments(context: Context, table: TableRef, records: DataRecord[]): Promise<void> {
  for (const { id, data } of records.slice(0, 3)) {
    const note = `Offer for ${data.company}\n\nPrepared by ${context.actor.name}.\n`
    const file = { name: `Offer ${data.company}.txt`, type: 'text/plain', data: Buffer.from(note).toString('base64') }
    await addToField(context, table, { id, version: 1 }, { field_id: 'documents', ...file })
  }
}

/** Creates tasks in every state, on contacts and standalone, by both people, two of them with comments. */
async function addTasks(asOwner: Context, asMember: Context, table: TableRef, records: DataRecord[]): Promise<void> {
  const today = localDate(asOwner.now, asOwner.actor.timeZone)
  const onContact = async (context: Context, index: number, task: NewTask): Promise<Task> => {
    const place = { space_id: table.space_id, table_id: table.id, record_id: records[index]?.id ?? 0 }
    return (await createTask(context, place, task)).value
  }
  const { userId: memberId, name: memberName } = asMember.actor

  const offer = await onContact(asOwner, 0, {
    title: 'Send the offer for 40 vehicles',
    details: 'With the price per truck and year, and the data sheet of the sensor.',
    assignee_user_id: memberId,
    due_date: addDays(today, 2),
    due_time: '15:00:00',
    reminder_offset_mins: 60,
  })
  await comment(asOwner, offer, `@{${memberId}:${memberName}} can you take the prices of the last offer?`)
  await comment(asMember, offer, 'Yes, it goes out tomorrow.')
  await onContact(asMember, 1, { title: 'Prepare the visit in Osaka', due_date: addDays(today, 5), reminder_time: '07:00:00' })
  await onContact(asOwner, 4, { title: 'Send the sample report', assignee_user_id: memberId, due_date: addDays(today, -3) })
  await onContact(asMember, 8, { title: 'Get the data processing agreement signed', due_date: today })
  const done = await onContact(asOwner, 2, { title: 'Ask whether we may name them', due_date: addDays(today, -10) })
  await mark(asOwner, taskRow(done, table), 'done')
  await createTask(asMember, null, { title: 'Book the train to the fair', due_date: addDays(today, 9) })
  await createTask(asOwner, null, { title: 'Review the pipeline', assignee_user_id: memberId, due_date: addDays(today, 1) })

  async function comment(context: Context, task: Task, content: string): Promise<void> {
    await createComment(context, onTask({ ...task, task_id: task.id }, context.actor), { content })
  }
}

/** The task in the form in which a procedure passes it to services. */
const taskRow = (task: Task, table: TableRef) => ({
  ...task,
  task_id: task.id,
  task_account_id: task.account_id,
  table_version: table.version,
  table_name: table.name,
  member_role: table.role,
  is_subscriber: true,
})

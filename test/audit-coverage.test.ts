/** Every operation that changes something is audited, or has a reason here why it is not. */
import { expect, test } from 'vitest'
import type { Action } from '../src/audit/actions.ts'
import { mailAddressLink } from '../src/auth/address-letters.ts'
import { mailReset } from '../src/auth/password-reset.ts'
import { createInvite } from '../src/auth/service.ts'
import { startSession } from '../src/auth/sessions.ts'
import { unsubscribePath } from '../src/notifications/unsubscribe.ts'
import { systemContext } from '../src/platform/context.ts'
import { raw, sql } from '../src/platform/database/database.ts'
import { apiDocument } from '../src/router.ts'
import { type Answer, testApp } from './support/app.ts'
import { operations } from './support/operations.ts'

const app = await testApp()

const RECORD = 'an ordinary write, which the record, task or comment shows itself'
const OWN = 'a choice of the caller that concerns nobody else'

/** The changes that are not audited, each with its reason. */
const UNAUDITED: Record<string, string> = {
  'auth.forgot': 'the job that mails the link is audited, because only then an account is known (test/password-reset.test.ts)',
  'auth.setup': 'audited where there is no user yet (test/first-owner.test.ts)',
  'auth.demo': 'audited where there is a demo account (test/demo-sign-in.test.ts)',
  'records.create': RECORD,
  'records.createBatch': RECORD,
  'records.update': RECORD,
  'records.updateWhere': RECORD,
  'jobs.cancel': 'what the job has changed is audited or in the history of its records',
  'records.updateBatch': RECORD,
  'records.undo': 'an ordinary write, which the history shows; what it deletes is audited as a deletion (test/undo.test.ts)',
  'files.create': RECORD,
  'files.create.put': RECORD,
  'comments.create': RECORD,
  'comments.update': RECORD,
  'comments.upload': RECORD,
  'comments.upload.put': RECORD,
  'tasks.create': RECORD,
  'tasks.createMany': RECORD,
  'tasks.createOnRecord': RECORD,
  'tasks.createManyOnRecord': RECORD,
  'tasks.update': RECORD,
  'tasks.markDone': RECORD,
  'tasks.markUndone': RECORD,
  'tasks.upload': RECORD,
  'tasks.upload.put': RECORD,
  'tasks.stage': RECORD,
  'tasks.stage.put': RECORD,
  'tasks.stageOnRecord': RECORD,
  'tasks.stageOnRecord.put': RECORD,
  'tasks.comments.create': RECORD,
  'tasks.comments.update': RECORD,
  'tasks.comments.upload': RECORD,
  'tasks.comments.upload.put': RECORD,
  'email.send': 'its comment says who sent what to whom, and when',
  'email.receive': 'mail from outside, which its comment shows',
  'smtp.test': 'changes nothing',
  'preferences.update': OWN,
  'tasks.subscribe': OWN,
  'tasks.unsubscribe': OWN,
  'subscriptions.subscribe': OWN,
  'subscriptions.subscribeTable': OWN,
  'subscriptions.unsubscribe': OWN,
  'subscriptions.unsubscribeTable': OWN,
  'notifications.markRead': OWN,
  'notifications.markUnread': OWN,
  'notifications.markAllRead': OWN,
  'notifications.markRecordRead': OWN,
}

/** Operations that change nothing and are audited all the same. */
const AUDITED_READS = ['audit.export', 'csv.export', 'users.export']

async function changes(): Promise<string[]> {
  const procedures = new Map(operations.map(({ name, type }) => [name, type]))
  const { paths } = (await apiDocument()) as { paths: Record<string, Record<string, { operationId: string }>> }
  return Object.values(paths).flatMap((methods) =>
    Object.entries(methods).flatMap(([method, { operationId }]) => {
      const isChange = procedures.get(operationId) ? procedures.get(operationId) === 'mutation' : method !== 'get'
      return isChange ? [operationId] : []
    }),
  )
}

/** A further session of the user, for a call that ends it. */
async function endedSession(userId: number): Promise<{ id: number }> {
  await startSession(app.deps, userId, new Date())
  const [row] = await app.db.read<{ id: number }>(sql`select max(id) as id from sessions where user_id = ${userId}`)
  return { id: row?.id ?? 0 }
}

/** The token of a link for a new password, as it is mailed. */
async function resetToken(email: string): Promise<string> {
  await mailReset(systemContext(app.deps), { email, ip: '192.0.2.1' })
  return /#([\w-]+)/.exec(app.letters.at(-1)?.text ?? '')?.[1] ?? ''
}

/** The token of the link to the new address that the user has asked for, as it is mailed. */
async function addressLink(userId: number): Promise<string> {
  const [change] = await app.db.read<{ id: number }>(sql`select max(id) as id from address_changes where user_id = ${userId}`)
  await mailAddressLink(systemContext(app.deps), { change_id: change?.id ?? 0 })
  return /#([\w-]+)/.exec(app.letters.at(-1)?.text ?? '')?.[1] ?? ''
}

interface Row {
  action: Action
  actor_user_id: number | null
  space_id: number | null
  table_id: number | null
  object: { type: string; id: string } | null
}

test('audits every change in its transaction, or says why not', async () => {
  const account = await app.account({ withPassword: true })
  const { owner, viewer, space, keys } = account
  await app.db.write(sql`
    create function break_audit() returns trigger language plpgsql as $$ begin raise exception 'no audit log'; end $$`)
  await app.db.write(sql`create trigger broken before insert on audit_entries execute function break_audit()`)
  const setBroken = (isBroken: boolean) => app.db.write(raw(`alter table audit_entries ${isBroken ? 'enable' : 'disable'} trigger broken`))
  const lastId = async () => (await app.db.read<{ id: number }>(sql`select coalesce(max(id), 0) as id from audit_entries`))[0]?.id ?? 0
  const done = new Set<string>()

  /** Calls once while the log cannot be written, which must have no effect, and once more. @param expected of the answer's row */
  async function audited(
    operation: string,
    call: () => Promise<Answer>,
    expected: (body: Answer['body']) => Partial<Row>,
  ): Promise<Answer> {
    done.add(operation)
    await setBroken(true)
    expect([operation, (await call()).status]).toEqual([operation, 500])
    await setBroken(false)
    const before = await lastId()
    const answer = await call()
    expect([operation, answer.status, answer.body.message]).toEqual([operation, 200, undefined])
    const rows = await app.db.read<Row>(sql`
      select action, actor_user_id, space_id, table_id, object from audit_entries where id > ${before} and account_id = ${account.id}`)
    expect([operation, rows]).toEqual([operation, [expect.objectContaining(expected(answer.body))]])
    return answer
  }
  const object = (type: string, id: unknown) => expect.objectContaining({ type, id: String(id) })
  const post = (path: string, body: object = {}, caller: Parameters<typeof app.as>[0] = owner) => app.as(caller).post(path, body)

  // Sign-in
  await setBroken(false)
  const actor = { actor_user_id: owner.id }
  const ofOwner = { ...actor, object: object('user', owner.id) }
  const signedIn = await audited(
    'auth.login',
    () => post('/api/auth/login', { email: owner.email, password: owner.password }, null),
    () => ({
      action: 'sign_in.succeeded',
      ...ofOwner,
    }),
  )
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  await audited(
    'auth.logout',
    () => app.as(null).post('/api/auth/logout', {}, { cookie }),
    () => ({ action: 'session.ended', ...actor }),
  )
  await audited(
    'auth.profile',
    () => post('/api/auth/profile', { name: 'Olga' }),
    () => ({ action: 'user.updated', ...ofOwner }),
  )
  const passwords = { current_password: owner.password, new_password: 'staple battery horse' }
  await audited(
    'auth.password',
    () => post('/api/auth/password', passwords),
    () => ({ action: 'password.changed', ...ofOwner }),
  )
  await audited(
    'auth.email',
    () => post('/api/auth/email', { email: `new.${owner.email}`, current_password: passwords.new_password }),
    () => ({ action: 'address.change_requested', ...ofOwner }),
  )
  const addressToken = await addressLink(owner.id)
  await audited(
    'auth.confirmEmail',
    () => post('/api/auth/email/confirm', { token: addressToken }, null),
    () => ({ action: 'address.changed', ...ofOwner }),
  )
  const { id: sessionId } = await endedSession(owner.id)
  await audited(
    'sessions.end',
    () => post(`/api/auth/session/${sessionId}/end`),
    () => ({ action: 'session.ended', ...actor, object: object('session', sessionId) }),
  )
  const link = await resetToken(account.admin.email)
  await audited(
    'auth.reset',
    () => post('/api/auth/reset', { token: link, password: 'staple battery horse' }, null),
    () => ({ action: 'password.reset', actor_user_id: account.admin.id, object: object('user', account.admin.id) }),
  )
  // Only somebody without a password of their own can accept.
  await app.db.write(sql`update users set status = 'invited' where id = ${viewer.id}`)
  const token = await createInvite(app.db, viewer.id, new Date())
  const accepted = { token, name: 'Vera', password: 'correct horse battery' }
  const ofViewer = { object: object('user', viewer.id) }
  await audited(
    'auth.acceptInvite',
    () => post('/api/auth/acceptInvite', accepted, null),
    () => ({
      action: 'invitation.accepted',
      actor_user_id: viewer.id,
      ...ofViewer,
    }),
  )
  const unsubscribe = () => app.as(null).send(unsubscribePath(app.settings.secretKeys, viewer.id), { method: 'POST' })
  await audited('notifications.unsubscribe', unsubscribe, () => ({ action: 'user.updated', actor_user_id: null, ...ofViewer }))

  // People
  const ofMember = { ...actor, object: object('user', account.member.id) }
  await audited(
    'users.disable',
    () => post(`/api/user/${account.member.id}/disable`),
    () => ({ action: 'user.disabled', ...ofMember }),
  )
  await audited(
    'users.enable',
    () => post(`/api/user/${account.member.id}/enable`),
    () => ({ action: 'user.enabled', ...ofMember }),
  )

  // Keys
  const key = await audited(
    'keys.create',
    () => post('/api/keys/create', { kind: 'account', name: 'Sync' }),
    ({ id }) => ({
      action: 'key.created',
      ...actor,
      object: object('key', id),
    }),
  )
  const keyPath = `/api/key/${key.body.id}`
  const ofKey = { ...actor, object: object('key', key.body.id) }
  await audited(
    'keys.update',
    () => post(`${keyPath}/update`, { read_only: true }),
    () => ({ action: 'key.updated', ...ofKey }),
  )
  await audited(
    'keys.rotate',
    () => post(`${keyPath}/rotate`),
    () => ({ action: 'key.rotated', ...ofKey }),
  )
  await audited(
    'keys.delete',
    () => post(`${keyPath}/delete`),
    () => ({ action: 'key.deleted', ...ofKey }),
  )

  // Spaces
  const made = await audited(
    'spaces.create',
    () => post('/api/spaces/create', { name: 'Sales' }, keys.account),
    ({ id }) => ({
      action: 'space.created',
      ...actor,
      space_id: id,
      object: object('space', id),
    }),
  )
  const spacePath = `/api/space/${made.body.id}`
  const inSpace = { ...actor, space_id: made.body.id }
  const ofSpace = { ...inSpace, object: object('space', made.body.id) }
  await audited(
    'spaces.update',
    () => post(`${spacePath}/update`, { name: 'Sales EU' }),
    () => ({ action: 'space.updated', ...ofSpace }),
  )
  const member = { email: viewer.email, role: 'viewer' }
  await audited(
    'spaces.addMember',
    () => post(`${spacePath}/members/add`, member),
    () => ({ action: 'member.added', ...inSpace, ...ofViewer }),
  )
  const memberPath = `${spacePath}/member/${viewer.id}`
  const asAdmin = () => post(`${memberPath}/update`, { role: 'admin' })
  await audited('spaces.updateMember', asAdmin, () => ({ action: 'member.updated', ...inSpace, ...ofViewer }))
  await audited(
    'spaces.removeMember',
    () => post(`${memberPath}/remove`),
    () => ({ action: 'member.removed', ...inSpace, ...ofViewer }),
  )
  await audited(
    'spaces.delete',
    () => post(`${spacePath}/delete`),
    () => ({ action: 'space.deleted', ...ofSpace }),
  )

  // Tables, fields and views
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Documents', type: 'file' },
  ]
  const newTable = { name: 'Deals', fields }
  const { body: table } = await audited(
    'tables.create',
    () => post(`/api/space/${space}/tables/create`, newTable),
    ({ id }) => ({
      action: 'table.created',
      ...actor,
      space_id: space,
      table_id: id,
      object: object('table', id),
    }),
  )
  const path = `/api/table/${table.id}`
  const inTable = { ...actor, space_id: space, table_id: table.id }
  const ofTable = { ...inTable, object: object('table', table.id) }
  const ofField = { ...inTable, object: object('field', 'stage') }
  await audited(
    'tables.update',
    () => post(`${path}/update`, { name: 'Offers' }),
    () => ({ action: 'table.updated', ...ofTable }),
  )
  const stage = { name: 'Stage', type: 'text' }
  await audited(
    'fields.create',
    () => post(`${path}/fields/create`, stage),
    () => ({ action: 'field.created', ...ofField }),
  )
  await audited(
    'fields.update',
    () => post(`${path}/field/stage/update`, { required: true }),
    () => ({ action: 'field.updated', ...ofField }),
  )
  const order = { field_ids: ['stage', 'name', 'documents'] }
  await audited(
    'fields.reorder',
    () => post(`${path}/fields/reorder`, order),
    () => ({ action: 'fields.reordered', ...ofTable }),
  )
  const changeType = () => post(`${path}/field/name/changeType`, { type: 'long_text' })
  await audited('fields.changeType', changeType, () => ({
    action: 'field.conversion_started',
    ...inTable,
    object: object('field', 'name'),
  }))
  await audited(
    'fields.delete',
    () => post(`${path}/field/stage/delete`),
    () => ({ action: 'field.deleted', ...ofField }),
  )
  const newView = { name: 'All', type: 'grid', config: {} }
  const view = await audited(
    'views.create',
    () => post(`${path}/views/create`, newView),
    ({ id }) => ({
      action: 'view.created',
      ...inTable,
      object: object('view', id),
    }),
  )
  const viewPath = `${path}/view/${view.body.id}`
  const ofView = { ...inTable, object: object('view', view.body.id) }
  await audited(
    'views.update',
    () => post(`${viewPath}/update`, { name: 'Every' }),
    () => ({ action: 'view.updated', ...ofView }),
  )
  await audited(
    'views.delete',
    () => post(`${viewPath}/delete`),
    () => ({ action: 'view.deleted', ...ofView }),
  )

  // Integrations and signatures
  const server = { label: 'Mail', host: '127.0.0.1', port: 25, tls: 'none', from_domains: ['example.com'] }
  const smtp = await audited(
    'smtp.create',
    () => post(`/api/space/${space}/smtp/create`, server),
    ({ id }) => ({
      action: 'integration.created',
      ...actor,
      space_id: space,
      object: object('integration', id),
    }),
  )
  const smtpPath = `/api/smtp/${smtp.body.id}`
  const ofSmtp = { ...actor, space_id: space, object: object('integration', smtp.body.id) }
  await audited(
    'smtp.update',
    () => post(`${smtpPath}/update`, { port: 26 }),
    () => ({ action: 'integration.updated', ...ofSmtp }),
  )
  const email = {
    tableId: table.id,
    recordId: (await post(`${path}/records/create`, { data: { name: 'Offer' } })).body.id,
    smtpIntegrationId: smtp.body.id,
    fromIdentity: { email: 'desk@example.com' },
    to: ['ann@customer.example'],
  }
  const { body: mail } = await post('/api/email/send', email)
  const ofMail = { ...inTable, object: object('email', mail.id) }
  await audited(
    'email.cancel',
    () => post(`/api/email/${mail.id}/cancel`),
    () => ({ action: 'email.cancelled', ...ofMail }),
  )
  await audited(
    'email.retry',
    () => post(`/api/email/${mail.id}/retry`),
    () => ({ action: 'email.retried', ...ofMail }),
  )
  const suppressed = 'ann@customer.example'
  const [suppression] = await app.db.write<{ id: number }>(sql`
    insert into email_suppressions (account_id, email, reason) values (${account.id}, ${suppressed}, 'complaint') returning id`)
  await audited(
    'suppressions.remove',
    () => post('/api/email/suppressions/remove', { email: suppressed }),
    () => ({ action: 'suppression.removed', object: object('suppression', suppression?.id) }),
  )
  await audited(
    'smtp.delete',
    () => post(`${smtpPath}/delete`),
    () => ({ action: 'integration.deleted', ...ofSmtp }),
  )
  const html = { name: 'Short', html: '<p>Olga</p>' }
  const signature = await audited(
    'signatures.create',
    () => post('/api/email/signatures/create', html),
    ({ id }) => ({
      action: 'signature.created',
      ...actor,
      object: object('signature', id),
    }),
  )
  const signaturePath = `/api/email/signature/${signature.body.id}`
  const ofSignature = { ...actor, object: object('signature', signature.body.id) }
  const renamed = () => post(`${signaturePath}/update`, { name: 'Long' })
  await audited('signatures.update', renamed, () => ({ action: 'signature.updated', ...ofSignature }))
  await audited(
    'signatures.delete',
    () => post(`${signaturePath}/delete`),
    () => ({ action: 'signature.deleted', ...ofSignature }),
  )

  // Deletions. What they delete is created without a row.
  const unaudited = await lastId()
  const create = async (what: string, body: object) => {
    const answer = await post(what, body)
    expect([what, answer.status]).toEqual([what, 200])
    return answer.body
  }
  const records = await create(`${path}/records/create_batch`, { records: [1, 2, 3].map((n) => ({ data: { name: `Record ${n}` } })) })
  const [first, second, third] = records.map(({ id }: { id: number }) => id)
  const recordPath = `${path}/record/${first}`
  const upload = { field_id: 'documents', name: 'note.txt', type: 'text/plain', data: 'SGk=' }
  const [file] = await create(`${recordPath}/files/create`, upload)
  const comment = await create(`${recordPath}/comments/create`, { content: 'Hello' })
  const task = await create(`/api/tasks/onRecord/${table.id}/${first}/create`, { title: 'Call' })
  const answer = await create(`/api/task/${task.id}/comments/create`, { content: 'Done?' })
  expect(await lastId()).toBe(unaudited)
  const ofRecord = { ...inTable, object: object('record', first) }
  const removal = { field_id: 'documents', path: file.path }
  await audited(
    'files.delete',
    () => post(`${recordPath}/files/delete`, removal),
    () => ({ action: 'file.deleted', ...ofRecord }),
  )
  await audited(
    'files.restore',
    () => post('/api/file/restore', { path: removal.path }),
    () => ({ action: 'file.restored', ...inTable, object: object('file', removal.path) }),
  )
  await audited(
    'comments.delete',
    () => post(`${recordPath}/comment/${comment.id}/delete`),
    () => ({
      action: 'comment.deleted',
      ...inTable,
      object: object('comment', comment.id),
    }),
  )
  await audited(
    'tasks.comments.delete',
    () => post(`/api/task/${task.id}/comment/${answer.id}/delete`),
    () => ({
      action: 'comment.deleted',
      ...inTable,
      object: object('comment', answer.id),
    }),
  )
  await audited(
    'tasks.delete',
    () => post(`/api/task/${task.id}/delete`),
    () => ({
      action: 'task.deleted',
      ...inTable,
      object: object('task', task.id),
    }),
  )
  await audited(
    'records.delete',
    () => post(`${recordPath}/delete`),
    () => ({ action: 'records.deleted', ...ofRecord }),
  )
  const several = () => post(`${path}/records/delete_batch`, { record_ids: [second, third] })
  await audited('records.deleteBatch', several, () => ({ action: 'records.deleted', ...inTable, object: null }))
  await audited(
    'records.restore',
    () => post(`${path}/record/${third}/restore`),
    () => ({ action: 'records.restored', ...inTable, object: object('record', third) }),
  )
  const matching = () => post(`${path}/records/delete_where`, { filter: { all: [] }, expect: 2 })
  await audited('records.deleteWhere', matching, () => ({ action: 'records.deleted', ...inTable, object: null }))

  // Imports and exports
  const csv = { method: 'POST', body: 'Name\nImported\n', headers: { 'content-type': 'text/csv' } }
  await audited(
    'csv.import',
    () => app.as(owner).send(`${path}/import`, csv),
    () => ({ action: 'records.imported', ...ofTable }),
  )
  await audited(
    'csv.importTable',
    () => app.as(owner).send(`/api/space/${space}/tables/import`, csv),
    ({ table_id }) => ({ action: 'table.created', ...actor, space_id: space, table_id, object: object('table', table_id) }),
  )
  await audited(
    'csv.export',
    () => app.as(owner).get(`${path}/export.csv`),
    () => ({ action: 'export.csv', ...ofTable }),
  )
  await audited(
    'audit.export',
    () => app.as(owner).get('/api/audit/export.jsonl'),
    () => ({ action: 'export.audit', ...actor }),
  )
  await audited(
    'tables.delete',
    () => post(`${path}/delete`),
    () => ({ action: 'table.deleted', ...ofTable }),
  )
  await audited(
    'users.export',
    () => app.as(owner).get(`/api/user/${account.member.id}/export.zip`),
    () => ({ action: 'export.user', ...ofMember }),
  )
  await audited(
    'users.erase',
    () => post(`/api/user/${account.viewer.id}/erase`, { current_password: passwords.new_password }),
    () => ({ action: 'user.erased', ...actor, object: object('user', account.viewer.id) }),
  )
  await audited(
    'account.owner',
    () => post('/api/account/owner', { user_id: account.member.id, current_password: passwords.new_password }),
    () => ({ action: 'account.owner_changed', ...actor, object: object('account', account.id) }),
  )

  const known = [...done, ...Object.keys(UNAUDITED)]
  expect(known.toSorted()).toEqual([...(await changes()), ...AUDITED_READS].toSorted())
})

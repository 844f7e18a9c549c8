/** All operations of the API, in the form that generic tests need to call them. */
import { startSession } from '../../src/auth/sessions.ts'
import { type RestProcedure, restProcedures } from '../../src/platform/http/procedures/rest.ts'
import { appRouter } from '../../src/router.ts'
import type { Answer, As, Caller, TestAccount, TestApp } from './app.ts'

export interface Operation extends RestProcedure {
  method: 'GET' | 'POST'
  path: string
  pathIds: string[]
  /** Ids in the body of the email endpoints: tableId, recordId. */
  bodyIds: string[]
  isPublic: boolean
}

export const operations: Operation[] = restProcedures(appRouter).map((procedure) => {
  const { openapi, access } = procedure.meta
  return {
    ...procedure,
    method: openapi.method as 'GET' | 'POST',
    path: openapi.path,
    pathIds: [...openapi.path.matchAll(/\{(\w+)\}/g)].map(([, id]) => id as string),
    bodyIds: access.idsIn === 'body' ? (access.resource?.ids.map(({ name }) => name) ?? []) : [],
    isPublic: access.callers.length === 0,
  }
})

export type Ids = Record<string, number | string>

/** The path with its ids filled in. */
export const pathOf = ({ path }: Operation, ids: Ids) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(ids[name])))

/** The account's caller with the most rights that the operation admits. */
export function callerFor({ meta }: Operation, account: TestAccount): Caller {
  const callers = meta.access.callers as readonly string[]
  // Off a record, account keys are refused by the resource: `Task is not on a record`.
  if (meta.access.resource?.ids.length === 0) return account.owner
  if (callers.includes('account')) return account.keys.account
  if (callers.includes('session')) return account.owner
  return callers.includes('personal') ? account.keys.personal : null
}

/** Calls by REST. */
export function callRest(as: As, operation: Operation, ids: Ids, input: Record<string, unknown> = {}): Promise<Answer> {
  const path = pathOf(operation, ids)
  const body = { ...input, ...Object.fromEntries(operation.bodyIds.filter((id) => id in ids).map((id) => [id, ids[id]])) }
  return operation.method === 'GET' ? as.get(path) : as.post(path, body)
}

/** Calls by RPC over raw HTTP. @returns the answer in the form of REST */
export async function callRpc(as: As, operation: Operation, ids: Ids, input: Record<string, unknown> = {}): Promise<Answer> {
  const whole = {
    ...input,
    ...Object.fromEntries([...operation.pathIds, ...operation.bodyIds].filter((id) => id in ids).map((id) => [id, ids[id]])),
  }
  const answer = await as.post(`/trpc/${operation.name}`, whole)
  const { result, error } = answer.body as { result?: { data: unknown }; error?: { data: Record<string, unknown> } }
  if (error) {
    const { httpStatus: _, ...body } = error.data
    return { ...answer, body }
  }
  const data = result?.data
  return { ...answer, body: operation.meta.isList && data && typeof data === 'object' && 'rows' in data ? data.rows : data }
}

/**
 * Creates resources for all ids that a path can contain. A new id in the API has to be added here, or the tests fail.
 * @param mark is part of each name and text, so that a test finds them in an answer
 */
export async function idsOf(app: TestApp, account: TestAccount, mark = ''): Promise<Record<string, Ids>> {
  const as = app.as(account.owner)
  const made = async (path: string, body: unknown, caller: Caller = account.owner) => {
    const answer = await app.as(caller).post(path, body)
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body as { id: number; change_id: number }
  }
  const key = await made('/api/keys/create', { kind: 'account', name: `Spare${mark}` })
  const table = await made(`/api/space/${account.space}/tables/create`, {
    name: `Deals${mark}`,
    fields: [
      { name: 'Company', type: 'text' },
      { name: 'Stage', type: 'select', options: ['Lead', 'Won', 'Lost'] },
      { name: 'Documents', type: 'file' },
    ],
  })
  const record = await made(`/api/table/${table.id}/records/create`, { data: { company: `Acme${mark}` } })
  const change = await made(`/api/table/${table.id}/record/${record.id}/update`, { data: { stage: 'Lead' } })
  const gone = await made(`/api/table/${table.id}/records/create`, { data: { company: `Gone${mark}` } })
  await made(`/api/table/${table.id}/record/${gone.id}/comments/create`, { content: `Lost${mark}` })
  await made(`/api/table/${table.id}/record/${gone.id}/delete`, {})
  const shared: Ids = {
    space_id: account.space,
    user_id: account.viewer.id,
    key_id: key.id,
    table_id: table.id,
    record_id: record.id,
    field_id: 'stage',
    change_id: change.change_id,
  }
  // Created by the callers of `callerFor`: only its author edits a comment, and only its recipient reads a notification.
  const task = await made(
    `/api/tasks/onRecord/${table.id}/${record.id}/create`,
    { title: `Call${mark}`, assignee_user_id: account.owner.id },
    account.keys.personal,
  )
  const comment = await made(
    `/api/task/${task.id}/comments/create`,
    { content: `@{${account.owner.id}:Olga}${mark}` },
    account.keys.account,
  )
  const onRecord = await made(
    `/api/table/${table.id}/record/${record.id}/comments/create`,
    { content: `Hello${mark}` },
    account.keys.account,
  )
  const view = await made(`/api/table/${table.id}/views/create`, { name: `All${mark}`, type: 'grid', config: {} })
  const notifications = await as.post('/api/notifications/list')
  const smtp = await made(`/api/space/${account.space}/smtp/create`, {
    label: `Mail${mark}`,
    host: '127.0.0.1',
    port: 1,
    tls: 'none',
    from_domains: ['example.com'],
  })
  const signature = await made('/api/email/signatures/create', { name: `Short${mark}`, html: `<p>Olga${mark}</p>` }, account.keys.account)
  const mail = await app.as(account.keys.account).post('/api/email/send', {
    tableId: table.id,
    recordId: record.id,
    smtpIntegrationId: smtp.id,
    fromIdentity: { email: 'desk@example.com' },
    to: ['ann@customer.example'],
  })
  const other = await made(`/api/space/${account.space}/tables/create`, { name: 'Notes', fields: [{ name: 'Note', type: 'text' }] })
  const conversion = await app.as(account.owner).post(`/api/table/${other.id}/field/note/changeType`, { type: 'long_text' })
  const preference = await as.post(`/api/preference/draft${mark.toLowerCase()}/update`, { value: `Dear${mark}` })
  await startSession(app.deps, account.owner.id, app.deps.clock())
  const [session] = (await as.get('/api/auth/sessions/list')).body.filter(({ current }: { current: boolean }) => !current)
  return {
    'records.restore': { record_id: gone.id },
    shared: { ...shared, tableId: table.id, recordId: record.id },
    email: { comment_id: mail.body.id },
    comments: { comment_id: onRecord.id },
    views: { view_id: view.id },
    jobs: { job_id: conversion.body.job_id },
    preferences: { name: preference.body.name },
    signatures: { id: signature.id },
    sessions: { id: session.id },
    smtp: { id: smtp.id },
    tasks: { task_id: task.id, comment_id: comment.id },
    notifications: { id: notifications.body[0].id },
  }
}

/** The ids that this operation takes: those of all, of its feature, and of the operation alone. */
export function idsFor(operation: Operation, known: Record<string, Ids>): Ids {
  const group = operation.name.split('.')[0] ?? ''
  const ids = { ...known.shared, ...known[group], ...known[operation.name] }
  for (const id of [...operation.pathIds, ...operation.bodyIds])
    if (!(id in ids)) throw new Error(`${operation.name}: add an id for ${id} to test/support/operations.ts`)
  return ids
}

/** The example of the document, in which each id is one of the account's. */
export function inputOf({ meta }: Operation, account: TestAccount, known: Record<string, Ids>): Record<string, unknown> {
  const ids: Record<string, unknown> = {
    ...Object.assign({}, ...Object.values(known)),
    space_ids: [account.space],
    table_ids: [known.shared?.table_id],
    smtpIntegrationId: known.smtp?.id,
    signatureId: known.signatures?.id,
    parentCommentId: known.email?.comment_id,
  }
  const input = (meta.example?.input ?? {}) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => {
      if (key.endsWith('user_id')) return [key, account.owner.id]
      return [key, key in ids && typeof value === typeof ids[key] ? ids[key] : value]
    }),
  )
}

/** Compares every transition of an email's state (contract.md §6, States) in the code with the one in the database. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { insertSent, updateEmail } from '../src/comments/emails.ts'
import { OutgoingMetadata, type RecipientState } from '../src/email/metadata.ts'
import { emailAfter, errorOf, failedForAll, type Outcome, recipientAfter } from '../src/email/outbound/outcome.ts'
import {
  canBecome,
  EMAIL_STATUSES,
  type EmailStatus,
  newEmailState,
  RECIPIENT_STATUSES,
  type RecipientStatus,
  recipientCanBecome,
  THREAD_STATUSES,
  transitionTo,
} from '../src/email/states.ts'
import { userContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord } = taskSupport(app)
const { account, table, record, space, member } = await onRecord()

const now = new Date('2026-03-31T09:30:00Z')
const AT = '2026-03-31 09:30:00'

/** The metadata that each possible transition changes. */
const TRANSITIONS: Record<string, object> = {
  'queued → sent': { status: 'sent', sentAt: AT },
  'queued → dropped': { status: 'dropped', droppedAt: AT },
  'dropped → queued': { status: 'queued', queuedAt: AT },
  'bounced → sent': { status: 'sent', sentAt: AT },
  'sent → read': { status: 'read', readAt: AT },
  'sent → bounced': { status: 'bounced', bouncedAt: AT },
  'read → bounced': { status: 'bounced', bouncedAt: AT },
}

const RECIPIENT_TRANSITIONS = [
  'queued → sent',
  'queued → dropped',
  'queued → unknown',
  'unknown → sent',
  'sent → bounced',
  'unknown → bounced',
  'dropped → queued',
]

const pairsOf = <Status extends string>(statuses: readonly Status[]) =>
  statuses.flatMap((from) => statuses.map((to) => [from, to] as const))

test.each(pairsOf(EMAIL_STATUSES))('an email goes from %s to %s only if the table says so', async (from, to) => {
  const expected = TRANSITIONS[`${from} → ${to}`]
  expect(canBecome(from, to)).toBe(expected !== undefined)

  const before = { ...newEmailState(now), ...(from !== 'queued' && transitionTo(from, now).metadata), subject: 'Offer' }
  const place = { account_id: account.id, space_id: space, table_id: table, record_id: record }
  const { actor } = userContext(app.deps, { ...member, accountId: account.id, userId: member.id, timeZone: 'UTC', isOwner: false })
  const id = (await insertSent(app.db, { ...place, content: '', attachments: [], metadata: before }, actor, now)) ?? 0
  expect(await updateEmail(app.db, id, transitionTo(to, now), now)).toBe(expected !== undefined)

  const [row] = await app.db.read<{ metadata: object }>(sql`select metadata from record_comments where id = ${id}`)
  expect(row?.metadata).toEqual({ ...before, ...expected })
  const events = await app.db.read<{ type: string }>(sql`select type from events where comment_id = ${id} order by id`)
  expect(events.map(({ type }) => type)).toEqual(['comment.created', ...(expected ? ['email.status'] : [])])
})

test.each(pairsOf(RECIPIENT_STATUSES))('a recipient goes from %s to %s only if the table says so', (from, to) => {
  expect(recipientCanBecome(from, to)).toBe(RECIPIENT_TRANSITIONS.includes(`${from} → ${to}`))
})

test('the schema of the metadata has every status and its stamp', () => {
  expect(OutgoingMetadata.shape.status.options).toEqual(['queued', 'sent', 'read', 'bounced', 'dropped'])
  for (const status of EMAIL_STATUSES) expect(OutgoingMetadata.shape).toHaveProperty(`${status}At`)
  expect(THREAD_STATUSES).toEqual(['sent', 'read'])
})

const recipient = (status: RecipientStatus): RecipientState => ({ email: 'Ann@example.org', kind: 'to', status, error: null })
const failure = (kind: 'permanent' | 'temporary' | 'unknown') => ({ kind, code: '450', enhanced: null, message: 'Later' })
const silent: Outcome = failedForAll(failure('temporary'))
const accepted: Outcome = { ...silent, accepted: new Set(['ann@example.org']) }
const refused: Outcome = { ...failedForAll(failure('unknown')), refused: new Map([['ann@example.org', failure('permanent')]]) }

test.each<[string, RecipientStatus, Outcome, boolean, RecipientStatus]>([
  ['is sent when the server accepts it', 'queued', accepted, false, 'sent'],
  ['is sent when the server accepts it later', 'unknown', accepted, false, 'sent'],
  ['stays bounced', 'bounced', accepted, false, 'bounced'],
  ['stays queued after a temporary failure', 'queued', failedForAll(failure('temporary')), false, 'queued'],
  ['is dropped when the last attempt fails', 'queued', failedForAll(failure('temporary')), true, 'dropped'],
  ['is dropped after a permanent failure', 'queued', failedForAll(failure('permanent')), false, 'dropped'],
  ['is unknown after a failure with an unknown outcome', 'queued', failedForAll(failure('unknown')), true, 'unknown'],
  ['stays queued when the server does not mention it', 'queued', silent, false, 'queued'],
  ['is dropped when the server refuses it before the outcome for the others becomes unknown', 'queued', refused, false, 'dropped'],
  ['stays sent when another recipient fails', 'sent', failedForAll(failure('permanent')), true, 'sent'],
])('a recipient %s', (_, before, outcome, isLastAttempt, after) => {
  expect(recipientAfter(recipient(before), outcome, isLastAttempt).status).toBe(after)
})

test.each<[EmailStatus, RecipientStatus[], EmailStatus | undefined]>([
  ['queued', ['queued', 'dropped'], undefined],
  ['queued', ['sent', 'queued'], 'sent'],
  ['queued', ['dropped', 'unknown'], 'sent'],
  ['queued', ['queued', 'unknown'], undefined],
  ['queued', ['queued', 'bounced'], 'sent'],
  ['queued', ['dropped'], 'dropped'],
  ['dropped', ['dropped'], undefined],
  ['sent', ['sent', 'dropped'], undefined],
  ['read', ['sent', 'sent'], undefined],
  ['sent', ['bounced', 'dropped'], 'bounced'],
  ['read', ['bounced', 'bounced'], 'bounced'],
  ['sent', ['bounced', 'queued'], undefined],
  ['sent', ['bounced', 'unknown'], undefined],
  ['bounced', ['bounced', 'dropped'], undefined],
  ['bounced', ['bounced', 'queued'], 'sent'],
  ['dropped', ['dropped', 'queued'], 'queued'],
  ['read', ['sent', 'queued'], undefined],
])('after an attempt, an email that is %s with recipients %j gets the state %s', (before, recipients, after) => {
  expect(emailAfter(before, recipients.map(recipient))).toBe(after)
})

test.each<[RecipientStatus[], RecipientStatus | null]>([
  [['sent', 'sent'], null],
  [['dropped', 'sent'], 'dropped'],
  [['dropped', 'bounced'], 'bounced'],
  [['dropped', 'bounced', 'unknown'], 'unknown'],
  [['dropped', 'unknown', 'queued'], 'dropped'],
])('the error of an email with recipients %j is that of the recipient that is %s', (statuses, expected) => {
  const recipients = statuses.map((status) => {
    const error = status === 'sent' || status === 'queued' ? null : { code: status, enhanced: null, message: '' }
    return { ...recipient(status), error }
  })
  expect(errorOf(recipients)?.code ?? null).toBe(expected)
})

test.each<[string, EmailStatus, RecipientStatus[], object]>([
  ['of unknown outcome', 'dropped', ['dropped', 'unknown'], { status: 'sent', sentAt: AT, droppedAt: null, error: { code: 'unknown' } }],
  ['that was refused', 'dropped', ['dropped'], { status: 'dropped', sentAt: null, droppedAt: AT }],
  [
    'whose last recipient was dropped',
    'sent',
    ['bounced', 'dropped'],
    { status: 'bounced', bouncedAt: expect.stringMatching(/^\d{4}-.{14}$/) },
  ],
  ['with an open recipient', 'sent', ['bounced', 'queued'], { status: 'sent', bouncedAt: null }],
])('the migration corrects only what the previous release had wrong: a mail %s', async (_, from, statuses, expected) => {
  const recipients = statuses.map((status) => ({ ...recipient(status), error: { code: status } }))
  const before = { ...newEmailState(now), ...transitionTo(from, now).metadata, recipients, error: { code: 'dropped' } }
  const place = { account_id: account.id, space_id: space, table_id: table, record_id: record }
  const { actor } = userContext(app.deps, { ...member, accountId: account.id, userId: member.id, timeZone: 'UTC', isOwner: false })
  const id = (await insertSent(app.db, { ...place, content: '', attachments: [], metadata: before }, actor, now)) ?? 0
  const migration = readFileSync('prisma/migrations/20261122101200_unknown_outcomes/migration.sql', 'utf8')
  for (const text of migration.split(/;\n/).filter((part) => part.trim())) await app.db.write({ text, values: [] })
  const [row] = await app.db.read<{ metadata: object }>(sql`select metadata from record_comments where id = ${id}`)
  expect(row?.metadata).toMatchObject({ ...before, error: { code: 'dropped' }, ...expected })
})

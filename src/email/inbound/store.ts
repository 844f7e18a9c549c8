/** Stores inbound messages before anything reads them (docs/decisions/0020-stored-messages.md). */

import { decodeWords, type Header } from 'postal-mime'
import { z } from 'zod'
import type { Spool } from '../../platform/bytes/spool.ts'
import { Batches } from '../../platform/concurrency/batches.ts'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { isOutage } from '../../platform/database/database-errors.ts'
import { labelled, StreamedValue, shortRead, streamedWrite } from '../../platform/database/statements/statement.ts'
import { tooBusy } from '../../platform/errors.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { memo } from '../../platform/memo.ts'
import { perProcess } from '../../platform/processes/per-process.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { belongingTo } from '../../tables/deleted/rows.ts'
import type { SenderAuthentication } from '../authenticity/authentication-results.ts'
import { headerValues, MAX_HEADER_BYTES, oneLine, readHeaders, replyTokens } from '../headers.ts'
import { inboundMails } from '../metrics.ts'
import { parking, tokensAside } from './parked.ts'
import { LARGE_BYTES } from './parser.ts'
import { turnOf } from './turns.ts'

export const Received = z.object({ id: z.int() })

/** Reads a stored message. */
export const receiveEmail = defineQueue({ name: 'email.receive', schema: Received, options: { retryLimit: 10 } })

/** The same for large messages, which may take seconds each, so that the others need not wait for them. */
export const receiveLargeEmail = defineQueue({ name: 'email.receive-large', schema: Received, options: { retryLimit: 10 } })

const queueFor = (bytes: number) => (bytes > LARGE_BYTES ? receiveLargeEmail : receiveEmail)

/** Queues the messages whose job was lost or has failed too often. */
export const receiveWaiting = defineQueue({ name: 'email.receive-waiting', schema: z.object({}) })

/** The raw bytes of a message. */
export interface ArrivedMessage {
  /** The first bytes, at least its headers or MAX_HEADER_BYTES. */
  start: Buffer
  /** All bytes. Those of a large message are read when they are sent to the database. */
  raw: Buffer | StreamedValue
}

/** A message, and what the server that received it knows about it. */
export interface Arrival extends ArrivedMessage {
  /** Of the bytes that are the same when the client sends the message again. */
  sha256: Buffer
  /** The hashes of the reply tokens that it is for. */
  tokens: Buffer[]
  /** The results of the receiver's own checks; null for a message that came in another way. */
  authentication: SenderAuthentication | null
}

/** Large messages are stored a few at once, because the database holds each of them whole. */
export const storingLarge = new Semaphore(perProcess(2), () => tooBusy({ retryAfterSeconds: 30 }))

/** The message that the spool has received, until the spool is closed. @param before the first lines, if the spool lacks them */
export async function spooledMessage(spool: Spool, before: Buffer = Buffer.alloc(0)): Promise<ArrivedMessage> {
  const start = async (bytes: number) => (before.length ? Buffer.concat([before, await spool.start(bytes)]) : spool.start(bytes))
  if (spool.bytes <= LARGE_BYTES) {
    const raw = await start(spool.bytes)
    return { start: raw, raw }
  }
  async function* pieces() {
    if (before.length) yield before
    yield* spool.pieces()
  }
  return { start: await start(MAX_HEADER_BYTES), raw: new StreamedValue(before.length + spool.bytes, pieces) }
}

/** Stores a raw message for the known reply addresses that its headers name. One that names none is dropped. */
export async function storeInbound(context: Context, message: ArrivedMessage, sha256: Buffer): Promise<void> {
  const tokens = await addressed(context, message.start)
  if (tokens.length) await storeArrival(context, { ...message, sha256, tokens, authentication: null })
}

/**
 * Whether a message names a known reply address. If not, it counts as dropped.
 * @param beginning its first bytes, at least its headers or MAX_HEADER_BYTES
 */
export async function isAddressed(context: Context, beginning: Buffer): Promise<boolean> {
  return (await addressed(context, beginning)).length > 0
}

/** Nobody answers so many mails with one message; a stranger could name thousands of addresses, each of which would be looked up. */
const MOST_TOKENS = 100

/** The hashes of the known tokens in the headers. Anyone can send to the service, so only messages with one take up storage. */
async function addressed({ db, settings, log, metrics }: Context, beginning: Buffer): Promise<Buffer[]> {
  const named = replyTokens(readHeaders(beginning), settings.catchDomain)
  const tokens = named.length > MOST_TOKENS ? [] : await knownTokens(db, named)
  if (!tokens.length) {
    metrics.count(inboundMails, { verdict: 'dropped' })
    log.info('inbound mail without a known reply address dropped')
  }
  return tokens
}

/** The hashes of those tokens that exist, also of those whose record can be restored. */
export async function knownTokens(db: Database, tokens: readonly string[]): Promise<Buffer[]> {
  if (!tokens.length) return []
  const hashes = tokens.map(tokenHash)
  const rows = await db.read<{ token_hash: Buffer }>(
    shortRead(
      'known-reply-tokens',
      sql`select token_hash from reply_tokens where token_hash = any(${hashes}::bytea[]) union all ${tokensAside(hashes)}`,
    ),
  )
  return rows.map(({ token_hash }) => token_hash)
}

interface Storing {
  context: Context
  arrival: Arrival
}

/** Messages that arrive at the same time share a transaction, unless they are large. */
const batchesOf = memo((_: Database) => new Batches(storeTogether, { most: 20, isForAll: isOutage }))
const SHARING_BYTES = 65_536

/**
 * Stores a message and queues the job that reads it, in one transaction: once the promise has resolved, the message survives the end of
 * the process.
 */
export async function storeArrival(context: Context, arrival: Arrival): Promise<void> {
  const storing = { context, arrival }
  await (sizeOf(arrival) > SHARING_BYTES ? storeTogether([storing]) : batchesOf(context.db).add(storing))
  context.metrics.count(inboundMails, { verdict: 'accepted' })
}

const sizeOf = ({ raw }: ArrivedMessage) => (raw instanceof StreamedValue ? raw.bytes : raw.length)

async function storeTogether(all: readonly Storing[]): Promise<undefined[]> {
  // All processes insert in the same order; otherwise two that store the same messages could deadlock.
  const sorted = all.toSorted((a, b) => Buffer.compare(a.arrival.sha256, b.arrival.sha256))
  const { db, jobs } = (all[0] as Storing).context
  await db.transaction(async () => {
    const stored: { id: number; bytes: number; priority: number }[] = []
    for (const { context, arrival } of sorted) {
      const { now } = context
      const message = await insertMessage(db, arrival, listed(readHeaders(arrival.start)), now)
      if (message) stored.push({ id: message.id, bytes: sizeOf(arrival), priority: -message.turn })
      else await insertRepeated(db, arrival, now)
    }
    for (const [queue, messages] of Map.groupBy(stored, ({ bytes }) => queueFor(bytes)))
      await jobs.sendMany(
        queue,
        messages.map(({ id }) => ({ id })),
        { priority: messages.map(({ priority }) => priority) },
      )
  })
  return all.map(() => undefined)
}

/**
 * Inserts the message with an open verdict for each thread; those of deleted records lie aside.
 * @returns its id and its turn; undefined if the same bytes are stored
 */
async function insertMessage(
  db: Database,
  { raw, sha256, tokens, authentication }: Arrival,
  { name, email, subject }: Listed,
  now: Date,
): Promise<{ id: number; turn: number } | undefined> {
  const statement = sql`
    with stored as (
      insert into inbound_emails (raw, sha256, token_hashes, authentication, from_name, from_email, subject, received_at)
      values (${raw}, ${sha256}, ${tokens}, ${authentication && JSON.stringify(authentication)}::jsonb, ${name}, ${email}, ${subject},
        ${formatInstant(now)}::timestamp)
      on conflict (sha256) do nothing returning id
    ), named as (
      insert into inbound_verdicts (inbound_email_id, token_hash, account_id, space_id, table_id)
      select s.id, r.token_hash, r.account_id, r.space_id, r.table_id
      from stored s, reply_tokens r where r.token_hash = any(${tokens}::bytea[])
    ), parked as (${parking(sql`stored`, tokens)})
    select id, ${turnOf({ from: email, tokens, now })} as turn from stored`
  const [stored] = await db.write<{ id: number; turn: number }>(
    raw instanceof StreamedValue ? streamedWrite(raw, statement) : labelled('insert-message', statement),
  )
  return stored
}

/** Lists another arrival of bytes that are stored, without storing them again. */
async function insertRepeated(db: Database, { sha256 }: Arrival, now: Date): Promise<void> {
  const at = sql`${formatInstant(now)}::timestamp`
  await db.write(sql`
    with repeated as (
      insert into inbound_emails (duplicate_of, token_hashes, from_name, from_email, subject, received_at, processed_at)
      select id, token_hashes, from_name, from_email, subject, ${at}, ${at} from inbound_emails where sha256 = ${sha256}
      returning id, duplicate_of, token_hashes
    )
    insert into inbound_verdicts (inbound_email_id, token_hash, account_id, space_id, table_id, verdict, reason, decided_at)
    select m.id, r.token_hash, r.account_id, r.space_id, r.table_id,
      'duplicate', 'The same bytes arrived as message ' || m.duplicate_of, ${at}
    from repeated m join reply_tokens r on r.token_hash = any(m.token_hashes)`)
}

/** The sender and the subject for the list. */
interface Listed {
  name: string
  email: string
  subject: string
}

/** Reads them without the parser, which needs a process of its own. */
function listed(headers: Header[]): Listed {
  const text = (key: string) => oneLine(decodeWords((headerValues(headers, key)[0] ?? '').slice(0, 2_000)))
  const from = text('from')
  const [, name = '', address = from] = /^([^<]*)<([^<>]*)>/.exec(from) ?? []
  return {
    name: name
      .replace(/^\s*"|"\s*$/g, '')
      .trim()
      .slice(0, 200),
    email: address.trim().toLowerCase().slice(0, 320),
    subject: text('subject').slice(0, 1_000),
  }
}

/** Queues the messages of restored records that have not been read for them yet. */
export async function queueReturned({ db, jobs }: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  const messages = await db.read<{ id: number; bytes: number }>(sql`
    select distinct e.id, octet_length(e.raw) as bytes
    from reply_tokens r join inbound_verdicts v on v.token_hash = r.token_hash and v.verdict is null
      join inbound_emails e on e.id = v.inbound_email_id and e.raw is not null
    where ${belongingTo(sql`r`, tableId, recordIds)} order by e.id`)
  await queueAll(jobs, messages)
}

const HOUR_MS = 3_600_000
const WAITING_AT_ONCE = 1_000

/** Queues the messages of the last week that have waited for over an hour, such as after a long failure of the database. */
export async function queueWaiting({ db, jobs, now }: Context): Promise<void> {
  const waiting = await db.read<{ id: number; bytes: number }>(sql`
    select id, octet_length(raw) as bytes from inbound_emails
    where received_at between ${ago(now, 7 * 24 * HOUR_MS)} and ${ago(now, HOUR_MS)} and raw is not null
      and (processed_at is null or id in (select inbound_email_id from inbound_verdicts where verdict is null))
    order by id limit ${WAITING_AT_ONCE}`)
  await queueAll(jobs, waiting)
}

/** Queues messages that have waited. New ones go first. */
async function queueAll(jobs: Context['jobs'], waiting: readonly { id: number; bytes: number }[]): Promise<void> {
  for (const [queue, messages] of Map.groupBy(waiting, ({ bytes }) => queueFor(bytes)))
    await jobs.sendMany(
      queue,
      messages.map(({ id }) => ({ id })),
      { priority: -WAITING_AT_ONCE },
    )
}

const ago = (now: Date, ms: number): Sql => sql`${formatInstant(new Date(now.getTime() - ms))}::timestamp`

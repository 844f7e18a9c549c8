/** The timeline of the console, read and kept up by its own code, beside the rows that the API has while several people work. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { hear } from '../console/src/record/timeline/heard.ts'
import { merge } from '../console/src/record/timeline/merge.ts'
import type { Kind } from '../console/src/record/timeline/rows.ts'
import { createTimelineSource } from '../console/src/record/timeline/timeline-source.ts'
import { testApp } from './support/app.ts'
import { mailDesk, postMail, untilRead } from './support/mail-desk.ts'
import { startSmtp } from './support/smtp.ts'
import { makeRecords } from './support/tables.ts'
import { until } from './support/until.ts'

const KINDS: readonly Kind[] = ['comment', 'email_out', 'email_in', 'change', 'task']

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp({ CATCH_DOMAIN: 'reply.example.net' }, { worker: true })

/** Numbers that look random and are the same each time. */
function random(seed: number): (below: number) => number {
  const numbers = fc.sample(fc.nat(), { seed, numRuns: 2_000 })
  return (below) => (numbers.pop() ?? 0) % Math.max(below, 1)
}

async function recordOfDesk() {
  const desk = await mailDesk(app, smtp)
  const { recordId: record } = desk.mail([])
  const [other] = await makeRecords(app, desk, desk.table, [{ name: 'Bolt' }])
  return { ...desk, record: record as number, other: other as number }
}
type Desk = Awaited<ReturnType<typeof recordOfDesk>>

/** All that two people, an import and strangers do on the record and beside it, one thing at a time. */
function workOf(desk: Desk, pick: (below: number) => number) {
  const { table, record, owner, member } = desk
  const at = { table_id: table, record_id: record }
  const people = [app.as(owner).rpc, app.as(member).rpc] as const
  const somebody = () => people[pick(2)] as (typeof people)[number]
  const comments: { id: number; by: (typeof people)[number] }[] = []
  const tasks: { id: number; by: (typeof people)[number] }[] = []
  const mails: { id: number; address: string }[] = []
  const later = new Date(Date.now() + 86_400_000).toISOString()
  const one = <Item>(items: Item[]): Item | undefined => items[pick(items.length)]
  let number = 0
  const comment = async () => {
    const by = somebody()
    number += 1
    comments.push({ id: (await by.comments.create.mutate({ ...at, content: `Comment ${number}` })).id, by })
  }
  const task = async () => {
    const by = somebody()
    tasks.push({ id: (await by.tasks.createOnRecord.mutate({ ...at, title: `Task ${pick(1_000)}` })).id, by })
  }
  const acts: (() => Promise<unknown>)[] = [
    ...[comment, comment, task, task],
    async () => {
      const edited = one(comments)
      if (edited) await edited.by.comments.update.mutate({ ...at, comment_id: edited.id, content: `Edited ${pick(1_000)}` })
    },
    async () => {
      const [gone] = comments.splice(pick(comments.length), 1)
      if (gone) await gone.by.comments.delete.mutate({ ...at, comment_id: gone.id })
    },
    async () => {
      const renamed = one(tasks)
      if (renamed) await renamed.by.tasks.update.mutate({ task_id: renamed.id, title: `Renamed ${pick(1_000)}` })
    },
    async () => {
      const marked = one(tasks)
      if (marked) await marked.by.tasks[pick(2) ? 'markDone' : 'markUndone'].mutate({ task_id: marked.id })
    },
    async () => {
      const [gone] = tasks.splice(pick(tasks.length), 1)
      if (gone) await gone.by.tasks.delete.mutate({ task_id: gone.id })
    },
    () => somebody().records.update.mutate({ ...at, data: { name: `Acme ${pick(5)}` } }),
    () =>
      somebody().records.updateBatch.mutate({
        table_id: table,
        records: [
          { id: record, data: { name: `Both ${pick(5)}` } },
          { id: desk.other, data: { name: 'Both' } },
        ],
      }),
    // What happens elsewhere is none of this timeline.
    () => somebody().comments.create.mutate({ table_id: table, record_id: desk.other, content: 'Elsewhere' }),
    async () => {
      const { id, address } = await desk.sent('ann@customer.example')
      mails.push({ id, address })
    },
    async () => {
      const { id } = await people[1].email.send.mutate({ ...desk.mail(['ann@customer.example']), sendAt: later } as never)
      const what = pick(3)
      if (what > 0) await people[1].email.cancel.mutate({ comment_id: id, ...(what === 1 && { discard: true }) })
    },
    async () => {
      const mail = one(mails)
      if (!mail) return
      number += 1
      const from = ['From: Ann <ann@customer.example>', `To: ${mail.address}`, `Message-ID: <${desk.record}-${number}@customer.example>`]
      await postMail(app, [...from, 'Subject: Re: Our offer', '', 'Yes, please.'])
      await untilRead(app)
    },
  ]
  /** More comments than a page has, and no more at once than a process serves of one account. */
  const begin = async () => {
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 8 }, comment))
  }
  return { begin, act: () => acts[pick(acts.length)]?.() }
}

/** A page of the console that shows the timeline: its source, kept up by the stream of events. */
function watching(desk: Desk) {
  const place = { tableId: desk.table, recordId: desk.record }
  const client = app.as(desk.admin).rpc
  const source = createTimelineSource(client, { ...place, kinds: new Set(KINDS) })
  let isReady = false
  let stream: { unsubscribe(): void } | undefined
  const disconnect = () => {
    stream?.unsubscribe()
    isReady = false
  }
  const connect = async () => {
    disconnect()
    stream = client.events.subscribe(
      { table_ids: [desk.table] },
      {
        onData: ({ data }) => {
          // A stream that goes on after nothing has missed what was before.
          hear(source.lists, isReady ? data : { type: 'reset' }, place)
          isReady = true
        },
      },
    )
    await until(async () => isReady, 'for the stream to be open')
  }
  onTestFinished(() => {
    disconnect()
    source.end()
  })
  return { source, connect, disconnect }
}

/** The rows of the API, each list read by itself and joined. */
async function rowsOf({ table, record, admin }: Desk) {
  const { rpc } = app.as(admin)
  const at = { table_id: table, record_id: record }
  const [changes, tasks, newest, older] = await Promise.all([
    rpc.records.history.query({ ...at, limit: 200 }),
    rpc.tasks.listOnRecord.query({ ...at, limit: 100, order: 'created' }),
    rpc.comments.list.query({ ...at, limit: 100, offset: 0 }),
    rpc.comments.list.query({ ...at, limit: 100, offset: 100 }),
  ])
  // These are all of them.
  for (const { rows } of [changes, tasks, older]) expect(rows.length).toBeLessThan(100)
  return [
    [...newest.rows, ...older.rows].map((row) => ({ kind: row.type, at: row.created_at, row })),
    tasks.rows.map((row) => ({ kind: 'task', at: row.created_at, row })),
    changes.rows.map((row) => ({ kind: 'change', at: row.at, row })),
  ]
}

test.each([1, 2])('what a timeline shows is what the API has, whatever people do meanwhile (%i)', async (seed) => {
  const desk = await recordOfDesk()
  const pick = random(seed)
  const { begin, act } = workOf(desk, pick)
  const { source, connect, disconnect } = watching(desk)
  await begin()
  for (let count = 0; count < 30; count += 1) await act()
  source.need(20)
  await connect()
  const step = async () => {
    await act()
    if (pick(5) === 0) source.need(pick(200))
    const { entries } = source.state()
    expect(new Set(entries.map(({ key }) => key)).size).toBe(entries.length)
  }
  for (let count = 0; count < 40; count += 1) {
    if (pick(20) === 0) disconnect()
    await step()
    if (pick(10) === 0) await connect()
  }
  await connect()
  // From here on all is known by events alone.
  for (let count = 0; count < 60; count += 1) await step()
  source.need(1_000)
  // Read together each time, because what a job does to a mail may still come.
  const both = async () => {
    const lists = await rowsOf(desk)
    const { entries } = merge<{ kind: string; at: string; row: object }>(lists.map((entries) => ({ entries, isWhole: true })))
    const shown = { ...source.state(), entries: source.state().entries.map(({ kind, at, row }) => ({ kind, at, row })) }
    return { shown, expected: { entries, isWhole: true, isLoading: false, problem: null } }
  }
  await until(async () => {
    const { shown, expected } = await both()
    return isDeepStrictEqual(shown, expected)
  }, 'for the timeline to show what the API has').catch(() => {})
  const { shown, expected } = await both()
  expect(shown).toEqual(expected)
  expect(new Set(expected.entries.map(({ kind }) => kind))).toEqual(new Set(KINDS))
})

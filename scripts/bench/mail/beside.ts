/** Measures what other callers wait while large messages arrive at the webhook, and the memory that these cost. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, Step } from '../case.ts'
import { asked, withChild } from '../child.ts'
import { cpuMs, pidsOfChildren, rssMb } from '../cpu.ts'
import type { PostOrder, PostReport } from './postman.ts'
import { missed, type Prepared, replyAddresses } from './queueing.ts'
import { LARGE_MAIL_BYTES, untilRead } from './receiving.ts'

const QUIET_SECONDS = 5
const AT_ONCE = 30
/** Of one message at a time, and of thirty at once: multiples of the quiet p99, and for the thirty the health check and the memory. */
const GOALS = { one: 3, thirty: 5, healthMs: 100, megabytes: 200 }

export const besideSteps: Record<string, Step<Prepared>> = {
  'beside one large mail': { run: (bench, prepared) => watchOthers(bench, prepared, { atOnce: 1, times: 5, goal: GOALS.one }) },
  'beside thirty large mails': {
    run: (bench, prepared) => watchOthers(bench, prepared, { atOnce: AT_ONCE, times: 1, goal: GOALS.thirty }),
  },
  'large mails that are refused': { run: weighRefused },
}

type Post = (order: Pick<PostOrder, 'addresses' | 'bytes'>) => Promise<PostReport['statuses']>

/** Runs the function with a process that posts messages, and waits until they are read. */
const withPostman = <T>(bench: Bench, fn: (post: Post) => Promise<T>): Promise<T> =>
  withChild(join(import.meta.dirname, 'postman.ts'), (postman) =>
    fn(async (order) => {
      const report = (await asked(postman, { url: `${bench.url}/webhooks/email_receive`, ...order } satisfies PostOrder)) as PostReport
      if (report.error !== undefined) throw new Error(report.error)
      await untilRead(bench.db)
      return report.statuses
    }),
  )

const printed = (statuses: PostReport['statuses']) =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')

interface Load {
  /** Messages at once, how often, and the multiple of the quiet p99 that others may wait meanwhile. */
  atOnce: number
  times: number
  goal: number
}

async function watchOthers(bench: Bench, prepared: Prepared, { atOnce, times, goal }: Load): Promise<void> {
  const addresses = await replyAddresses(bench, prepared, atOnce)
  const task = await taskOf(bench, prepared)
  const bytes = LARGE_MAIL_BYTES
  await withPostman(bench, async (post) => {
    // The first message compiles the code.
    await post({ addresses: addresses.slice(0, 1), bytes })
    const quiet = await watch(bench, task, sleep(QUIET_SECONDS * 1_000))
    let statuses: PostReport['statuses'] = {}
    const posting = async () => {
      for (let time = 0; time < times; time++) statuses = await post({ addresses, bytes })
    }
    const busy = await watch(bench, task, posting())
    const factor = busy.p99 / quiet.p99
    const over = busy.megabytes - quiet.megabytes
    const isMet = factor <= goal && busy.healthMs <= GOALS.healthMs && over <= GOALS.megabytes
    console.log(
      `beside ${atOnce} of 25 MB (${printed(statuses)}; read after ${(busy.ms / times).toFixed(0)} ms): ` +
        `a task get p50 ${busy.p50.toFixed(1)}, p99 ${busy.p99.toFixed(1)} ms, quiet ${quiet.p50.toFixed(1)} and ${quiet.p99.toFixed(1)} ms: ` +
        `${factor.toFixed(1)} times; health ${busy.healthMs.toFixed(0)} ms at most, quiet ${quiet.healthMs.toFixed(0)} ms; ` +
        `+${over.toFixed(0)} MB, its children ${busy.childrenMb.toFixed(0)} MB ` +
        `(goals: ${goal} times, ${GOALS.healthMs} ms, ${GOALS.megabytes} MB)${missed(isMet)}`,
    )
  })
}

const WEIGHED = 10
/** The most CPU time of a message that is not stored, as a share of one that is. */
const REFUSED_SHARE = 0.25

async function weighRefused(bench: Bench, prepared: Prepared): Promise<void> {
  const addresses = await replyAddresses(bench, prepared, WEIGHED)
  const kinds = [
    { name: 'stored and read', addresses, bytes: LARGE_MAIL_BYTES },
    { name: 'for nobody', addresses: addresses.map(() => 'reply-0123456789abcdef@reply.localhost'), bytes: LARGE_MAIL_BYTES },
    { name: 'too large', addresses, bytes: LARGE_MAIL_BYTES + 1_048_576 },
  ]
  await withPostman(bench, async (post) => {
    for (const kind of kinds) await post({ ...kind, addresses: kind.addresses.slice(0, 1) })
    let stored = Number.NaN
    for (const { name, ...order } of kinds) {
      const before = cpuMs(bench.pids.ours)
      const statuses = await post(order)
      const ms = (cpuMs(bench.pids.ours) - before) / WEIGHED
      if (Number.isNaN(stored)) stored = ms
      const isMet = ms === stored || ms <= stored * REFUSED_SHARE
      console.log(`25 MB ${name} (${printed(statuses)}): ${ms.toFixed(0)} ms of CPU time, with the parsers${missed(isMet)}`)
    }
  })
}

/** The path of a new task on a record. */
async function taskOf({ key }: Bench, { tableId, recordIds: [recordId] }: Prepared): Promise<string> {
  const { id } = (await key('POST', `/api/tasks/onRecord/${tableId}/${recordId}/create`, { title: 'Call back' })) as { id: number }
  return `/api/task/${id}/get`
}

interface Watched {
  /** Milliseconds that a reader of the task waited, the longest wait for the health check, and the time of it all. */
  p50: number
  p99: number
  healthMs: number
  ms: number
  /** The most memory of the process, and of its children together. */
  megabytes: number
  childrenMb: number
}

const HEALTH_EVERY_MS = 20
const MEMORY_EVERY_MS = 100

/** Reads the task again and again until the promise is settled. */
async function watch({ url, account, pids }: Bench, task: string, until: Promise<unknown>): Promise<Watched> {
  const from = performance.now()
  let isOver = false
  const ended = until.finally(() => {
    isOver = true
  })
  ended.catch(() => {})
  let [healthMs, megabytes, childrenMb] = [0, 0, 0]
  const asking = (async () => {
    while (!isOver) {
      healthMs = Math.max(healthMs, await timed(`${url}/healthz`))
      await sleep(HEALTH_EVERY_MS)
    }
  })()
  const weighing = (async () => {
    while (!isOver) {
      megabytes = Math.max(megabytes, rssMb(pids.ours))
      // A child may end before it is weighed.
      const children = pidsOfChildren(pids.ours)
        .filter((pid) => pid !== pids.postmaster)
        .map((pid) => rssMb(pid) || 0)
      childrenMb = Math.max(
        childrenMb,
        children.reduce((sum, mb) => sum + mb, 0),
      )
      await sleep(MEMORY_EVERY_MS)
    }
  })()
  const times: number[] = []
  while (!isOver) times.push(await timed(url + task, { authorization: `Bearer ${account.secret}` }))
  await Promise.all([ended, asking, weighing])
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99), healthMs, ms: performance.now() - from, megabytes, childrenMb }
}

async function timed(url: string, headers: Record<string, string> = {}): Promise<number> {
  const from = performance.now()
  const answer = await fetch(url, { headers })
  await answer.arrayBuffer()
  if (!answer.ok) throw new Error(`${url} is answered with ${answer.status}`)
  return performance.now() - from
}

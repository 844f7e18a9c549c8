/**
 * The suite "files" measures what ten large uploads at once cost the process and other callers, compares uploads and downloads with a bare server
 * that pipes to disk, hashes and syncs, and measures thumbnails.
 */
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../../../src/platform/database/database.ts'
import type { Bench, Suite } from '../case.ts'
import { asked, withChild } from '../child.ts'
import { rssMb } from '../cpu.ts'
import { median } from '../measure.ts'
import { startProcess } from '../process.ts'
import type { Form, LoadOrder, LoadReport } from './loader.ts'
import { photograph } from './photograph.ts'

interface Prepared {
  recordPath: string
  taskId: number
}

const MB = 1_048_576
const LARGE = 50 * MB
/** The goals: megabytes more than the quiet process, multiple of the quiet p99, and ratio to the bare server. */
const GOALS = { megabytes: 150, p99: 3, throughput: 0.7 }

export const files: Suite<Prepared> = {
  defaults: { records: 0, seconds: 1 },
  async prepare({ key }) {
    const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Files' })) as { id: number }
    const fields = [{ name: 'Name', type: 'text' }]
    const { id: tableId } = (await key('POST', `/api/space/${spaceId}/tables/create`, { name: 'Files', fields })) as { id: number }
    const { id } = (await key('POST', `/api/table/${tableId}/records/create`, { data: { name: 'A' } })) as { id: number }
    const task = (await key('POST', `/api/tasks/onRecord/${tableId}/${id}/create`, { title: 'Call back' })) as { id: number }
    return { recordPath: `/api/table/${tableId}/record/${id}`, taskId: task.id }
  },
  cases: () => [],
  steps: {
    'at once, PUT': { run: (bench, prepared) => weigh(bench, prepared, 'PUT') },
    'at once, multipart': { run: (bench, prepared) => weigh(bench, prepared, 'multipart') },
    'at once, JSON': { run: (bench, prepared) => weigh(bench, prepared, 'JSON') },
    'at once, to the bare server': { run: (bench, prepared) => withBare(bench, (bare) => weigh(bench, prepared, 'PUT', bare)) },
    'throughput of uploads': { run: compareUploads },
    'throughput of downloads': { run: compareDownloads },
    thumbnails: { run: timeThumbnails },
  },
}

const authorization = ({ account }: Bench) => ({ authorization: `Bearer ${account.secret}` })
const missed = (isMet: boolean) => (isMet ? '' : ' MISSED')

type Load = (order: LoadOrder) => Promise<LoadReport>

/** Runs the function with a process that sends files. */
const withLoader = <T>(fn: (load: Load) => Promise<T>): Promise<T> =>
  withChild(join(import.meta.dirname, 'loader.ts'), (child) =>
    fn(async (order) => {
      const report = (await asked(child, order)) as LoadReport
      if (report.error !== undefined) throw new Error(report.error)
      return report
    }),
  )

// ── ten at once ─────────────────────────────────────────────────────────────

const AT_ONCE = 10
const QUIET_SECONDS = 3
const SAMPLE_MS = 20

/**
 * Uploads ten files at once, twice, and watches the memory of the process and a caller who reads a task meanwhile.
 * @param bare the server that receives the files instead: what the caller then waits for is the machine that all of them share
 */
async function weigh(bench: Bench, { recordPath, taskId }: Prepared, form: Form, bare?: string): Promise<void> {
  const order = {
    url: bare === undefined ? `${bench.url}${recordPath}/comments/upload` : `${bare}/file`,
    headers: authorization(bench),
    form,
    bytes: LARGE,
    count: AT_ONCE,
    atOnce: AT_ONCE,
  }
  await withLoader(async (load) => {
    // The first upload compiles the code, and makes the connection to the database.
    await load({ ...order, count: 1, atOnce: 1 })
    const isQuiet = sleep(QUIET_SECONDS * 1_000).then(() => true)
    const quiet = await watch(bench, taskId, isQuiet)
    const busy = await watch(bench, taskId, load({ ...order, count: 2 * AT_ONCE }))
    const over = busy.megabytes - quiet.megabytes
    const times = busy.p99 / quiet.p99
    console.log(
      `ten uploads of 50 MB at once by ${form}${bare === undefined ? '' : ' to the bare server'}: ${over.toFixed(0)} MB over the quiet process (${quiet.megabytes.toFixed(0)} MB; goal: at most ` +
        `${GOALS.megabytes})${missed(over <= GOALS.megabytes)}; a task get p50 ${busy.p50.toFixed(1)}, p99 ${busy.p99.toFixed(1)} ms, ` +
        `quiet ${quiet.p50.toFixed(1)} and ${quiet.p99.toFixed(1)} ms: ${times.toFixed(1)} times (goal: under ${GOALS.p99})` +
        `${missed(times < GOALS.p99)}; ${((2 * AT_ONCE * LARGE) / MB / (busy.ms / 1_000)).toFixed(0)} MB/s`,
    )
  })
}

interface Watched {
  /** The most private memory of the process. */
  megabytes: number
  p50: number
  p99: number
  ms: number
}

/** Reads the task again and again until the promise is settled. */
async function watch({ url, account, pids }: Bench, taskId: number, until: Promise<unknown>): Promise<Watched> {
  const from = performance.now()
  let isOver = false
  const ended = until.finally(() => {
    isOver = true
  })
  ended.catch(() => {})
  let megabytes = 0
  const sampling = (async () => {
    while (!isOver) {
      megabytes = Math.max(megabytes, rssMb(pids.ours))
      await sleep(SAMPLE_MS)
    }
  })()
  const times: number[] = []
  while (!isOver) {
    const start = performance.now()
    const answer = await fetch(`${url}/api/task/${taskId}/get`, { headers: { authorization: `Bearer ${account.secret}` } })
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`A task get is answered with ${answer.status}`)
    times.push(performance.now() - start)
  }
  await Promise.all([ended, sampling])
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? Number.NaN
  return { megabytes, p50: at(0.5), p99: at(0.99), ms: performance.now() - from }
}

// ── beside a bare server ────────────────────────────────────────────────────

const ROUNDS = 5

/** Runs the function with the bare server, whose files lie on the disk of the service. */
async function withBare<T>({ db }: Bench, fn: (url: string) => Promise<T>): Promise<T> {
  const [postgres] = await db.read<{ folder: string }>(sql`select current_setting('data_directory') as folder`)
  const folder = join(dirname(postgres?.folder ?? ''), 'bench-bare-files')
  const bare = await startProcess([join(import.meta.dirname, 'bare.ts')], /(http\S+)/, { BENCH_BARE: JSON.stringify({ folder }) })
  try {
    return await fn(bare.found)
  } finally {
    await bare.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const SIZES = [
  { name: '50 MB', bytes: LARGE, count: 6, atOnce: 3, goal: GOALS.throughput },
  { name: '1 MB', bytes: MB, count: 60, atOnce: 3, goal: undefined },
]

async function compareUploads(bench: Bench, { recordPath }: Prepared): Promise<void> {
  const ours = { url: `${bench.url}${recordPath}/comments/upload`, headers: authorization(bench) }
  await withBare(bench, (bare) =>
    withLoader(async (load) => {
      for (const { name, goal, ...size } of SIZES) {
        const sides = [{ ...ours }, { url: `${bare}/file`, headers: {} }].map((side) => ({ ...side, ...size, form: 'PUT' as const }))
        print(`uploads of ${name} by PUT`, size, await inTurn(load, sides), goal)
      }
    }),
  )
}

async function compareDownloads(bench: Bench, { recordPath }: Prepared): Promise<void> {
  const upload = { form: 'PUT' as const, count: 1, atOnce: 1 }
  const headers = authorization(bench)
  await withBare(bench, (bare) =>
    withLoader(async (load) => {
      for (const { name, goal, ...size } of SIZES) {
        const toOurs = { ...upload, ...size, url: `${bench.url}${recordPath}/comments/upload`, headers, count: 1, atOnce: 1 }
        const ours = (await load(toOurs)).answer as { path: string }
        const theirs = (await load({ ...toOurs, url: `${bare}/file`, headers: {} })).answer as { path: string }
        const sides = [
          { url: `${bench.url}/api/file/${ours.path}`, headers },
          { url: `${bare}/file?path=${encodeURIComponent(theirs.path)}`, headers: {} },
        ].map((side) => ({ ...side, ...size, form: 'GET' as const }))
        print(`downloads of ${name}`, size, await inTurn(load, sides), goal)
      }
    }),
  )
}

/** Warms both sides up, and loads them in turn. @returns the median milliseconds of each */
async function inTurn(load: Load, sides: LoadOrder[]): Promise<number[]> {
  for (const side of sides) await load({ ...side, count: side.atOnce })
  const times = sides.map((): number[] => [])
  for (let round = 0; round < ROUNDS; round++) {
    const order = [...sides.keys()]
    for (const index of round % 2 ? order.toReversed() : order) times[index]?.push((await load(sides[index] as LoadOrder)).ms)
  }
  return times.map(median)
}

function print(
  what: string,
  { bytes, count, atOnce }: (typeof SIZES)[number] | Omit<(typeof SIZES)[number], 'name' | 'goal'>,
  ms: number[],
  goal?: number,
): void {
  const [ours = Number.NaN, bare = Number.NaN] = ms.map((time) => (bytes * count) / MB / (time / 1_000))
  const ratio = ours / bare
  const target = goal === undefined ? '' : ` (goal: ${goal})${missed(ratio >= goal)}`
  console.log(`${what}, ${atOnce} at once: ${ours.toFixed(0)} MB/s, bare ${bare.toFixed(0)} MB/s, ratio ${ratio.toFixed(2)}${target}`)
}

// ── thumbnails ──────────────────────────────────────────────────────────────

const PHOTOS = 24
const VIEWS = 10

/** Makes thumbnails of photographs of 12 megapixels for the first time, and answers with them again. */
async function timeThumbnails({ url, account }: Bench, { recordPath }: Prepared): Promise<void> {
  const headers = { authorization: `Bearer ${account.secret}` }
  const photo = await photograph()
  const paths: string[] = []
  for (let index = 0; index < PHOTOS; index++) {
    const answer = await fetch(`${url}${recordPath}/comments/upload`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'image/jpeg', 'content-disposition': 'attachment; filename="photo.jpg"' },
      body: photo,
    })
    paths.push(((await answer.json()) as { path: string }).path)
  }
  const fetched = async (times: number, atOnce: number) => {
    const wanted = Array.from({ length: times }, () => paths).flat()
    const from = performance.now()
    const caller = async () => {
      for (let path = wanted.pop(); path !== undefined; path = wanted.pop()) {
        const answer = await fetch(`${url}/api/file/${path}?w=320`, { headers })
        await answer.arrayBuffer()
        if (!answer.ok) throw new Error(`A thumbnail is answered with ${answer.status}`)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, caller))
    return (PHOTOS * times) / ((performance.now() - from) / 1_000)
  }
  const [made, again] = [await fetched(1, 4), await fetched(VIEWS, 4)]
  console.log(
    `thumbnails of ${(photo.length / MB).toFixed(1)} MB and 12 megapixels, 320 wide, 4 at once: ${made.toFixed(1)}/s made, ${again.toFixed(0)}/s again`,
  )
}

/** Measures bulk writes: batches on the table with all its indexes, and an import into another table. */
import type { Bench } from '../case.ts'
import { rssMb } from '../cpu.ts'
import { FIELDS } from '../foundation/data.ts'
import { type Filled, newRecord } from './data.ts'

const BATCHES = 20
const BATCH = 1_000
const BATCH_GOAL = 5_000

/** Returns rows per second, end to end. */
export async function createInBatches({ key }: Bench, { tableId }: Filled): Promise<void> {
  const bodies = Array.from({ length: BATCHES + 2 }, (_, batch) => ({
    records: Array.from({ length: BATCH }, (_, index) => newRecord(batch * BATCH + index)),
  }))
  const path = `/api/table/${tableId}/records/create_batch`
  for (const body of bodies.slice(0, 2)) await key('POST', path, body)
  const from = performance.now()
  for (const body of bodies.slice(2)) await key('POST', path, body)
  const perSecond = (BATCHES * BATCH * 1_000) / (performance.now() - from)
  console.log(
    `\nBatches of 1,000 records: ${Math.round(perSecond)} rows/s (goal ${BATCH_GOAL}${perSecond < BATCH_GOAL ? ', missed' : ''}).`,
  )
}

const MOST_TIMES_CREATE = 3

/** Updates every field but the tags and the owner of batches that were created before, and compares the time with that of creating them. */
export async function updateInBatches({ key }: Bench, { tableId }: Filled): Promise<void> {
  const [create, update] = [`/api/table/${tableId}/records/create_batch`, `/api/table/${tableId}/records/update_batch`]
  let [createMs, updateMs] = [0, 0]
  for (let batch = 0; batch < BATCHES + 2; batch++) {
    const records = Array.from({ length: BATCH }, (_, index) => newRecord(batch * BATCH + index))
    const from = performance.now()
    const created = (await key('POST', create, { records })) as { id: number }[]
    const between = performance.now()
    await key('POST', update, { records: created.map(({ id }, index) => ({ id, data: changedRecord(batch * BATCH + index) })) })
    // The first batches make the statements known.
    if (batch < 2) continue
    createMs += between - from
    updateMs += performance.now() - between
  }
  const times = updateMs / createMs
  console.log(
    `\nUpdates of 1,000 records in a batch: ${Math.round(updateMs / BATCHES)} ms, ${times.toFixed(1)} times their creation ` +
      `(goal ${MOST_TIMES_CREATE}${times > MOST_TIMES_CREATE ? ', missed' : ''}).`,
  )
}

const changedRecord = (index: number) => ({
  ...{ name: `Won ${index}`, email: `won${index}@example.com`, phone: `+49 40 ${100_000 + index}`, status: 'Open', amount: 2.5 },
  ...{ due: '2031-05-17', met: '2027-01-02 03:04:05', active: false, city: 'Elsewhere', notes: `Changed ${index}` },
})

const ROWS = 1_000_000
const CHUNK_ROWS = 2_000
const MEMORY_GOAL_MB = 100
const SAMPLE_MS = 250

/** Imports a file of a million rows as a stream, and measures the time and the growth of the service over its idle size. */
export async function importRecords({ key, url, account, pids }: Bench, { spaceId }: Filled): Promise<void> {
  const { id: tableId } = (await key('POST', `/api/space/${spaceId}/tables/create`, {
    name: `Imported ${Date.now()}`,
    fields: FIELDS,
  })) as {
    id: number
  }
  const quietMb = rssMb(pids.ours)
  let mostMb = quietMb
  const sampling = setInterval(() => {
    mostMb = Math.max(mostMb, rssMb(pids.ours))
  }, SAMPLE_MS)
  const from = performance.now()
  const answer = await fetch(`${url}/api/table/${tableId}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.secret}`, 'content-type': 'text/csv' },
    body: ReadableStream.from(csv()),
    duplex: 'half',
  } as RequestInit)
  const result = await answer.text()
  clearInterval(sampling)
  if (!answer.ok) throw new Error(`import: ${answer.status} ${result.slice(0, 1_000)}`)
  const seconds = (performance.now() - from) / 1_000
  const grownMb = mostMb - quietMb
  console.log(
    `\nImport of a million rows: ${Math.round(seconds)} s (${Math.round(ROWS / seconds)} rows/s), ` +
      `memory ${Math.round(quietMb)} MB + ${Math.round(grownMb)} MB (goal ${MEMORY_GOAL_MB}${grownMb > MEMORY_GOAL_MB ? ', missed' : ''}).`,
  )
  await key('POST', `/api/table/${tableId}/delete`)
}

function* csv(): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  const header = FIELDS.map(({ name }) => name)
  yield encoder.encode(`${header.join(',')}\r\n`)
  for (let row = 0; row < ROWS; row += CHUNK_ROWS)
    yield encoder.encode(Array.from({ length: CHUNK_ROWS }, (_, index) => line(row + index)).join(''))
}

function line(index: number): string {
  const { name, email, phone, status, amount, due, met, city, notes } = newRecord(index).data
  return `${[name, email, `"${phone}"`, status, '', amount, due, met, 'true', city, `"${notes}"`, ''].join(',')}\r\n`
}

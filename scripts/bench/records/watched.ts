/** Measures what takes long on a large table, while a reader and a writer go on: an index, an import, and an update of many records. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../../test/support/until.ts'
import type { Bench } from '../case.ts'
import { type Filled, newRecord } from './data.ts'

const QUIET_MS = 5_000
const POLL_MS = 500
const WITHIN_MS = 3_600_000
const IMPORTED = 100_000
const TIMEOUT_MS = 60_000

/** Prints a row for each: how long it took, and how the reader and the writer fared meanwhile. */
export async function watchLongWork(bench: Bench, filled: Filled): Promise<void> {
  const { browser } = bench
  const path = `/api/table/${filled.tableId}`
  console.log(
    '\n| meanwhile | seconds | reads p50 / p99 / longest ms | failed | writes p50 / p99 / longest ms | failed |\n|---|---|---|---|---|---|',
  )
  await watched('nothing', bench, filled, () => sleep(QUIET_MS))
  let viewId = 0
  await watched('an index is built', bench, filled, async () => {
    ;({ id: viewId } = (await browser('POST', `${path}/views/create`, { name: `By met ${Date.now()}`, type: 'grid', order_by: 'met' })) as {
      id: number
    })
    await untilIndexed(bench, filled, true)
  })
  await watched('the index is dropped', bench, filled, async () => {
    await browser('POST', `${path}/view/${viewId}/delete`)
    await untilIndexed(bench, filled, false)
  })
  const city = `Imported ${Date.now()}`
  await watched(`${IMPORTED.toLocaleString('en')} rows are imported`, bench, filled, () => importRows(bench, path, city))
  await watched(`${IMPORTED.toLocaleString('en')} records are updated`, bench, filled, () => updateRecords(bench, path, city))
}

/** Waits until the table has an index that begins with the field `met`, or until the last such index has been dropped. */
async function untilIndexed({ key }: Bench, { tableId }: Filled, isWanted: boolean): Promise<void> {
  const isSo = async () => {
    const indexes = (await key('GET', `/api/table/${tableId}/indexes`)) as { fields: string[]; state: string }[]
    const found = indexes.find(({ fields }) => fields[0] === 'met')
    return isWanted ? found?.state === 'ready' : !found
  }
  await until(isSo, 'for the index', { withinMs: WITHIN_MS, everyMs: POLL_MS })
}

async function importRows({ url, account }: Bench, path: string, city: string): Promise<void> {
  const { name, phone, notes } = newRecord(1).data
  const body = `Name,Phone,Notes,City\r\n${`${name},"${phone}","${notes}",${city}\r\n`.repeat(IMPORTED)}`
  const headers = { authorization: `Bearer ${account.secret}`, 'content-type': 'text/csv' }
  const answer = await fetch(`${url}${path}/import`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`import: ${answer.status} ${(await answer.text()).slice(0, 1_000)}`)
  await answer.arrayBuffer()
}

/** Updates the records of the import by a job. */
async function updateRecords({ key }: Bench, path: string, city: string): Promise<void> {
  const body = { where: { city }, data: { amount: 7.5, active: true }, expect: IMPORTED }
  const { job_id } = (await key('POST', `${path}/records/update_where`, body)) as { job_id: number }
  const isOver = async () => {
    const { state, error } = (await key('GET', `/api/job/${job_id}`)) as { state: string; error: string | null }
    if (state !== 'running' && state !== 'done') throw new Error(`update: ${state} ${error}`)
    return state === 'done'
  }
  await until(isOver, 'for the update', { withinMs: WITHIN_MS, everyMs: POLL_MS })
}

// ── reader and writer ───────────────────────────────────────────────────────

async function watched(name: string, bench: Bench, { tableId, views }: Filled, work: () => Promise<void>): Promise<void> {
  const path = `/api/table/${tableId}/records`
  const reader = caller(bench, `${path}/query`, () => ({ view_id: views.byAmount, limit: 100 }))
  const writer = caller(bench, `${path}/create`, newRecord)
  const from = performance.now()
  let seconds = Number.NaN
  try {
    await work()
    seconds = (performance.now() - from) / 1_000
  } finally {
    await Promise.all([reader.stop(), writer.stop()])
  }
  console.log(`| ${[name, seconds.toFixed(1), reader.text(), reader.failed, writer.text(), writer.failed].join(' | ')} |`)
}

/** Sends one request after the other until it is stopped. An answer that takes a minute counts as failed. */
function caller({ url, account }: Bench, path: string, body: (index: number) => unknown) {
  const times: number[] = []
  const headers = { authorization: `Bearer ${account.secret}`, 'content-type': 'application/json' }
  let isStopped = false
  const self = { failed: 0, text, stop }
  const running = run()

  async function run(): Promise<void> {
    while (!isStopped) {
      const from = performance.now()
      const isDone = await fetch(url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body(times.length)),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
        .then(async (answer) => (await answer.arrayBuffer()) && answer.ok)
        .catch(() => false)
      times.push(performance.now() - from)
      if (!isDone) self.failed++
    }
  }

  function stop(): Promise<void> {
    isStopped = true
    return running
  }

  function text(): string {
    const sorted = times.toSorted((a, b) => a - b)
    const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN).toFixed(1)
    return `${at(0.5)} / ${at(0.99)} / ${at(1)}`
  }

  return self
}

/** Measures how the CPU time of each case grows with the number of records, and keeps the figures for the chart. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case, Pids } from '../case.ts'
import { drive, loadOf, type Target, timesAlone } from '../drive.ts'
import { median } from '../measure.ts'
import { drawGrowth, type Growth, sizesOf } from './chart.ts'

/** The numbers of records that are measured without `--records`. */
export const SIZES = [10_000, 100_000, 1_000_000, 10_000_000]

const FOLDER = join(import.meta.dirname, '../../../docs/benchmarks')
const FIGURES = join(FOLDER, 'growth.json')
const CHART = join(FOLDER, 'growth.svg')

interface Measured {
  records: number
  url: string
  secret: string
  pids: Pids
  rounds: number
  seconds: number
  connections: number
}

/** Measures the service alone, case after case. The figures replace those of the same cases and number of records in the kept ones. */
export async function measureGrowth(
  cases: readonly Case[],
  { records, url, secret, pids, rounds, seconds, connections }: Measured,
): Promise<void> {
  const kept: Record<string, Growth> = existsSync(FIGURES) ? JSON.parse(readFileSync(FIGURES, 'utf8')) : {}
  for (const { name, method, ours, body } of cases) {
    const headers = { ...(body && { 'content-type': 'application/json' }), authorization: `Bearer ${secret}` }
    const target: Target = { name: 'ours', pid: pids.ours, method, url, headers, path: ours, ...(body && { body }) }
    const load = loadOf(median(await timesAlone(target)), connections, seconds)
    const figures = []
    for (let round = 0; round < rounds; round++) figures.push(await drive(target, load, pids.postmaster))
    const [nodeMs, postgresMs] = [median(figures.map((figure) => figure.nodeMs)), median(figures.map((figure) => figure.postgresMs))]
    kept[name] = { ...kept[name], [records]: { nodeMs: hundredths(nodeMs), postgresMs: hundredths(postgresMs) } }
  }
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(FIGURES, `${JSON.stringify(kept, null, 2)}\n`)
  writeFileSync(CHART, drawGrowth(kept))
  console.log(`${tableOf(kept)}\n\nThe figures are in ${FIGURES}, the chart in ${CHART}.`)
}

const hundredths = (value: number) => Math.round(value * 100) / 100

function tableOf(cases: Readonly<Record<string, Growth>>): string {
  const sizes = sizesOf(cases)
  const rows = Object.entries(cases).map(([name, growth]) => {
    const cells = sizes.map((size) => {
      const figures = growth[size]
      return figures ? `${figures.nodeMs.toFixed(2)} + ${figures.postgresMs.toFixed(2)}` : '–'
    })
    return `| ${[name, ...cells].join(' | ')} |`
  })
  const head = ['node + pg ms of CPU a request', ...sizes.map((size) => size.toLocaleString('en'))]
  return [`| ${head.join(' | ')} |`, `|${'---|'.repeat(head.length)}`, ...rows].join('\n')
}

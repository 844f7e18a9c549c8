/** Shows where the service spends CPU time: the self time of a V8 profile by package, and for our own code by file. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** Prints a table of the largest shares. @param dir the folder of the files that --cpu-prof wrote */
export function printProfile(dir: string, most = 40): void {
  for (const name of readdirSync(dir).filter((file) => file.endsWith('.cpuprofile'))) {
    const profile = JSON.parse(readFileSync(join(dir, name), 'utf8')) as CpuProfile
    const sources = new Map(profile.nodes.map(({ id, callFrame }) => [id, sourceOf(callFrame)]))
    const bySource = new Map<string, number>()
    let busy = 0
    profile.samples.forEach((id, index) => {
      const source = sources.get(id) ?? '?'
      if (source === '(idle)' || source === '(program)') return
      const micros = profile.timeDeltas[index] ?? 0
      busy += micros
      bySource.set(source, (bySource.get(source) ?? 0) + micros)
    })
    const rows = [...bySource].sort(([, a], [, b]) => b - a).slice(0, most)
    console.log(`\n| where | share of busy CPU (${Math.round(busy / 1000)} ms) |\n|---|---|`)
    for (const [source, micros] of rows) console.log(`| ${source} | ${((100 * micros) / busy).toFixed(1)} % |`)
  }
}

function sourceOf({ functionName, url }: { functionName: string; url: string }): string {
  if (!url) return functionName || '(native)'
  if (url.startsWith('node:')) return `node: ${url.slice(5).split('/').slice(0, 2).join('/')}`
  const [, dependency] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? []
  return dependency ?? url.replace(/^.*\/(src|generated)\//, '$1/')
}

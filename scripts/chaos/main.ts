/**
 * `npm run chaos`: kills and breaks what the service depends on while callers work with it, and accounts for every write, reminder and
 * mail that was acknowledged (docs/reliability.md). Its options are in options.ts, and printed by `npm run chaos -- --help`.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runScript, ScriptError } from '../runtime.ts'
import { FAULTS, type Fault } from './faults.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { hasNginx } from './proxy.ts'
import { printReport } from './report.ts'
import { type Result, runTrial } from './trial.ts'
import { type Kind, openWorld, type World } from './world.ts'

/** The share of the rounds with the embedded PostgreSQL. */
const EMBEDDED_SHARE = 5

await runScript(async () => {
  const options = readOptions(process.argv.slice(2))
  if (options === 'help') return console.log(USAGE)
  const dir = mkdtempSync(join(tmpdir(), 'gridpost-chaos-'))
  // PostgreSQL runs under another account if this one is root.
  chmodSync(dir, 0o711)
  const disk = mountDisk(join(dir, 'disk'))
  const isProxied = hasNginx()
  if (!isProxied) console.log('nginx is not installed: callers go to the web processes in turn.')
  if (!disk) console.log('No tmpfs could be mounted, which takes root: the disk is not filled.')
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new ScriptError(`Ended by ${signal}`)))
  })
  interrupted.catch(() => {})
  let isFine = false
  try {
    const results: Result[] = []
    for (const [kind, rounds] of sharesOf(options.rounds)) {
      const world = await openWorld(kind, { dir, processes: options.processes, isProxied, disk })
      try {
        const faults = sequence(kind, world, rounds, options)
        if (faults.length) results.push(await Promise.race([runTrial(world, faults, options), interrupted]))
      } finally {
        await world.close()
      }
    }
    isFine = printReport(results, options)
    if (!isFine) process.exitCode = 1
  } finally {
    if (disk) spawnSync('umount', [disk])
    if (isFine) rmSync(dir, { recursive: true, force: true })
    else console.log(`\nThe logs are in ${dir}`)
  }
})
// The callers of an interrupted trial still retry.
process.exit()

function sharesOf(rounds: number): [Kind, number][] {
  const embedded = Math.floor(rounds / EMBEDDED_SHARE)
  return [
    ['embedded', embedded],
    ['cluster', rounds - embedded],
  ]
}

/** The faults of a trial, each in its turn. */
function sequence(kind: Kind, world: World, rounds: number, { only }: Options): Fault[] {
  const possible = FAULTS.filter(
    ({ name, kinds, missing }) => kinds.includes(kind) && !missing?.(world) && (!only.length || only.some((part) => name.includes(part))),
  )
  if (!possible.length) return []
  return Array.from({ length: rounds }, (_, index) => possible[index % possible.length] as Fault)
}

/** A small disk that can be filled. @returns undefined if none can be mounted */
function mountDisk(path: string): string | undefined {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return undefined
  mkdirSync(path)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=600m,mode=0711', 'gridpost-chaos', path], { stdio: 'ignore' })
  return status === 0 ? path : undefined
}

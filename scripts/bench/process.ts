import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Process {
  child: ChildProcess
  /** The first group of the pattern in the output. */
  found: string
  stop(): Promise<void>
}

/** The process id of the PostgreSQL server whose data is in the folder. */
export const postmasterIn = (folder: string): number => Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])

/** What the service prints once it listens: its address is the first group. */
export const SERVICE_LISTENS = /listens on (http[^;\s]+)/

/** The arguments that `npm start` passes to node, including the flags of V8. @param root the folder of another release */
export function startArguments(root = join(import.meta.dirname, '../..')): string[] {
  // The previous release has the command in package.json.
  const file = ['scripts/start.sh', 'package.json'].map((name) => join(root, name)).find((path) => existsSync(path)) ?? root
  const [, line = ''] = /exec node (.* src\/main\.ts)/.exec(readFileSync(file, 'utf8')) ?? []
  const flags = line.split(' ')
  const main = flags.pop() ?? ''
  return [...flags, join(root, main)]
}

/** What `npm start` sets for the C library, which bare servers get as well. */
const OF_THE_C_LIBRARY = { MALLOC_TRIM_THRESHOLD_: '1048576' }

/** Starts a server and waits until its output contains its address. */
export function startProcess(args: string[], pattern: RegExp, environment: Record<string, string>): Promise<Process> {
  const env = { ...process.env, ...OF_THE_C_LIBRARY, ...environment }
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const stop = stopOf(child)
  return new Promise((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
      const found = pattern.exec(output)?.[1]
      if (found) resolve({ child, found, stop })
    })
    child.once('exit', () => reject(new Error(`${args.join(' ')} ended before it listened:\n${output}`)))
  })
}

/** Asks the process to end, and waits until it has. */
export const stopOf = (child: ChildProcess) => async (): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

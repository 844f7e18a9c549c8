import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Process {
  child: ChildProcess
  /** What the pattern found in the output. */
  found: string
  stop(): Promise<void>
}

/** Starts a server and waits until its output says where it listens. */
export function startProcess(args: string[], pattern: RegExp, environment: Record<string, string>): Promise<Process> {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] })
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

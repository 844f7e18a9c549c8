/** Child processes that are asked by messages, so that their work takes no time from the process that measures. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** Sends a message. @returns the child's answer */
export async function asked(child: ChildProcess, order: unknown): Promise<unknown> {
  child.send(order as object)
  const [answer] = await once(child, 'message')
  return answer
}

/** Runs the function with a child process that executes the file, and ends the child. */
export async function withChild<T>(file: string, fn: (child: ChildProcess) => Promise<T>): Promise<T> {
  const child = fork(file)
  try {
    return await fn(child)
  } finally {
    child.disconnect()
    await once(child, 'exit')
  }
}

/** CPU time and memory of processes, from /proc: steadier than the clock where all share one machine. Linux only; NaN elsewhere. */
import { readdirSync, readFileSync } from 'node:fs'

const MS_PER_TICK = 10

interface Stat {
  pid: number
  parent: number
  /** Own time and that of children that have ended. */
  ms: number
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may itself hold blanks and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0)
    return { pid, parent: Number(fields[1]), ms: ticks * MS_PER_TICK }
  } catch {
    // It has ended between the listing and the reading.
    return null
  }
}

/** Milliseconds of CPU that the process has used, with its children if asked for. */
export function cpuMs(pid: number, { withChildren = false }: { withChildren?: boolean } = {}): number {
  const own = statOf(pid)
  if (!own) return Number.NaN
  if (!withChildren) return own.ms
  return childrenOf(pid).reduce((sum, { ms }) => sum + ms, own.ms)
}

function childrenOf(pid: number): Stat[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((name) => statOf(Number(name)) ?? []).filter(({ parent }) => parent === pid)
}

/** The most that a child of the process has for itself: of Postgres, the largest connection. */
export const largestChildMb = (pid: number): number => Math.max(...childrenOf(pid).map((child) => rssMb(child.pid)))

/** Megabytes of memory that the process has for itself: without what it shares, such as the buffers of Postgres. */
export function rssMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024
  } catch {
    return Number.NaN
  }
}

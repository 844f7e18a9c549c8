/** CPU time and memory of processes, from /proc. They vary less than the clock if all processes share one machine. Linux only; NaN elsewhere. */
import { readdirSync, readFileSync } from 'node:fs'

const MS_PER_TICK = 10

interface Stat {
  pid: number
  parent: number
  /** The time of the process and of its ended children. */
  ms: number
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may contain blanks and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0)
    return { pid, parent: Number(fields[1]), ms: ticks * MS_PER_TICK }
  } catch {
    // The process ended between the listing and the reading.
    return null
  }
}

/** The CPU time that the process has used, in milliseconds, optionally with its children. */
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

export const pidsOfChildren = (pid: number): number[] => childrenOf(pid).map((child) => child.pid)

/** The private memory of the largest child process, which for Postgres is the largest connection. */
export const largestChildMb = (pid: number): number => Math.max(...pidsOfChildren(pid).map(rssMb))

/** The private memory of the process in megabytes, without shared memory such as the buffers of Postgres. */
export const rssMb = (pid: number): number => memoryMb(pid, 'RssAnon')

/** The memory of the process in megabytes, with its program and what it shares. */
export const residentMb = (pid: number): number => memoryMb(pid, 'VmRSS')

function memoryMb(pid: number, kind: 'RssAnon' | 'VmRSS'): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`${kind}:\\s+(\\d+) kB`).exec(status)?.[1] ?? Number.NaN) / 1024
  } catch {
    return Number.NaN
  }
}

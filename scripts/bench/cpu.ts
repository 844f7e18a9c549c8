/** CPU time of processes, from /proc: steadier than the clock where all share one machine. Linux only; NaN elsewhere. */
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
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const children = pids.flatMap((name) => statOf(Number(name)) ?? []).filter(({ parent }) => parent === pid)
  return children.reduce((sum, { ms }) => sum + ms, own.ms)
}

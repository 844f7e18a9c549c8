/** The log of a process: JSON lines on standard output. */
import pino from 'pino'
import type { Deps } from '../context.ts'
import { membership } from './per-process.ts'

/** Of several processes, each says which one it is. */
export function openLog({ logLevel }: Pick<Deps['settings'], 'logLevel'>): Deps['log'] {
  const log = pino({ level: logLevel }, standardOutput())
  return (membership ? log.child({ process: membership.number }) : log) as unknown as Deps['log']
}

/** A line that cannot be written, as on a full disk, ends no process. Four megabytes are kept until there is room; what follows is lost. */
export function standardOutput(): pino.DestinationStream {
  const output = pino.destination({ fd: 1, sync: false, maxLength: MOST_UNWRITTEN_BYTES })
  let isFailing = false
  output.on('error', () => {
    isFailing = true
  })
  output.on('write', () => {
    isFailing = false
  })
  // When the process ends, the library (sonic-boom 4.2) repeats a write that fails for ever.
  process.prependListener('exit', () => isFailing && output.destroy())
  return output
}

const MOST_UNWRITTEN_BYTES = 4_194_304

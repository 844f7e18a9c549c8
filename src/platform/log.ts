/** The log of a process: JSON lines on standard output. */
import pino from 'pino'
import type { Deps } from './context.ts'
import { membership } from './processes/own-part.ts'

/** Of several processes, each says which one it is. */
export function openLog({ logLevel }: Pick<Deps['settings'], 'logLevel'>): Deps['log'] {
  const log = pino({ level: logLevel })
  return (membership ? log.child({ process: membership.number }) : log) as unknown as Deps['log']
}

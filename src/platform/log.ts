/** The log of a process: JSON lines on standard output. */
import pino from 'pino'
import { stackInSources } from './bundle.ts'
import type { Deps } from './context.ts'
import { membership } from './processes/own-part.ts'

/** Of several processes, each says which one it is. */
export function openLog({ logLevel }: Pick<Deps['settings'], 'logLevel'>): Deps['log'] {
  const log = pino({ level: logLevel, serializers: { err: serializedError } }, standardOutput())
  return (membership ? log.child({ process: membership.number }) : log) as unknown as Deps['log']
}

/** Lines that cannot be written, as on a full disk, are lost. They end no process, and none of them is kept in memory for long. */
export function standardOutput(): pino.DestinationStream {
  const output = pino.destination({ fd: 1, sync: false, maxLength: MOST_UNWRITTEN_BYTES })
  output.on('error', () => {})
  return output
}

const MOST_UNWRITTEN_BYTES = 4_194_304

function serializedError(error: Error): pino.SerializedError {
  const serialized = pino.stdSerializers.err(error)
  if (typeof serialized?.stack === 'string') serialized.stack = stackInSources(serialized.stack)
  return serialized
}

/** The log of a process: JSON lines on standard output. */
import pino from 'pino'
import { stackInSources } from './bundle.ts'
import type { Deps } from './context.ts'
import { membership } from './processes/own-part.ts'

/** Of several processes, each says which one it is. */
export function openLog({ logLevel }: Pick<Deps['settings'], 'logLevel'>): Deps['log'] {
  const log = pino({ level: logLevel, serializers: { err: serializedError } })
  return (membership ? log.child({ process: membership.number }) : log) as unknown as Deps['log']
}

function serializedError(error: Error): pino.SerializedError {
  const serialized = pino.stdSerializers.err(error)
  if (typeof serialized?.stack === 'string') serialized.stack = stackInSources(serialized.stack)
  return serialized
}

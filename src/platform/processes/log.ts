/** The log of a process on standard output: lines of JSON, and on a terminal lines for people. */
import { isatty } from 'node:tty'
import pino from 'pino'
import type { Deps } from '../context.ts'
import { membership } from './per-process.ts'
import { openTerminalLog } from './terminal-log.ts'

/** Of several processes, each says which one it is. */
export function openLog({ logLevel }: Pick<Deps['settings'], 'logLevel'>): Deps['log'] {
  const log = pino({ level: logLevel }, standardOutput())
  return (membership ? log.child({ process: membership.number }) : log) as unknown as Deps['log']
}

interface Output {
  /** Takes the lines of the log. */
  destination: pino.DestinationStream
  print(text: string): void
}

/** The only one of the process, so that lines keep their order. */
let output: Output | undefined

function opened(): Output {
  output ??= isatty(1) ? openTerminal() : openPipe()
  return output
}

function openPipe(): Output {
  const destination = openDestination()
  return { destination, print: (text) => void (text && destination.write(text)) }
}

/** A terminal, on which people read the output as it comes. */
function openTerminal(): Output {
  const raw = openDestination()
  const destination = openTerminalLog((text) => raw.write(text), {
    hasColors: process.stdout.hasColors(),
    canReplaceLines: process.env.TERM !== 'dumb',
  })
  return { destination, print: destination.print }
}

export const standardOutput = (): pino.DestinationStream => opened().destination

/** Prints lines for the operator below those of the log that came before. */
export const print = (lines: readonly string[]): void => opened().print(lines.map((line) => `${line}\n`).join(''))

/** Logs a step of a start that takes seconds. On a terminal the next step takes its line. */
export const logProgress = (log: Deps['log'], step: string): void => log.info({ progress: true }, step)

/** A line that cannot be written, as on a full disk, ends no process. Four megabytes are kept until there is room; what follows is lost. */
function openDestination(): pino.DestinationStream {
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

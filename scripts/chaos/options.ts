/** The command-line options of `npm run chaos`. */
import { parseArgs } from 'node:util'
import { argumentProblem, ScriptError } from '../runtime.ts'
import { FAULTS } from './faults.ts'

export const USAGE = `npm run chaos -- [options]

Breaks things under load, and accounts for everything that callers were told (docs/reliability.md).
  --rounds 40         number of faults, one after the other; a fifth of them with the embedded PostgreSQL
  --seconds 5         length of a round at least; some faults last longer
  --only <part>       only faults with this in their name; may be given several times
  --processes 2       number of web processes, and of workers
  --callers 6         number of callers at the same time
  --within 2000       milliseconds after which writes must work again, as the median of all faults of the database
  --settle 120        seconds that jobs may take to come to rest at the end`

export interface Options {
  rounds: number
  seconds: number
  /** Parts of names; an empty list selects all faults. */
  only: string[]
  processes: number
  callers: number
  withinMs: number
  settleSeconds: number
}

/**
 * @returns 'help' if --help was given
 * @throws ScriptError with one line about the first invalid option
 */
export function readOptions(args: string[]): Options | 'help' {
  const given = parsed(args)
  if (given.help) return 'help'
  for (const part of given.only)
    if (!FAULTS.some(({ name }) => name.includes(part)))
      throw new ScriptError(`--only ${part}: is part of no fault; they are ${FAULTS.map(({ name }) => name).join(', ')}`)
  return {
    rounds: whole('rounds', given.rounds),
    seconds: whole('seconds', given.seconds),
    only: given.only,
    processes: whole('processes', given.processes),
    callers: whole('callers', given.callers),
    withinMs: whole('within', given.within),
    settleSeconds: whole('settle', given.settle),
  }
}

function parsed(args: string[]) {
  const number = (value: string) => ({ type: 'string', default: value }) as const
  try {
    return parseArgs({
      args,
      options: {
        rounds: number('40'),
        seconds: number('5'),
        only: { type: 'string', multiple: true, default: [] },
        processes: number('2'),
        callers: number('6'),
        within: number('2000'),
        settle: number('120'),
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    throw new ScriptError(`${argumentProblem(error)}: npm run chaos -- --help lists the options`)
  }
}

function whole(name: string, text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new ScriptError(`--${name} ${text}: must be a whole number from 1 on`)
  return Number(text)
}

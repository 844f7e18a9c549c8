/** What `npm run bench` is asked. */
import { existsSync, statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { argumentProblem, ScriptError } from '../runtime.ts'
import type { Suite } from './case.ts'

export const USAGE = `npm run bench -- [options]
  --suite <name>         foundation (as without it), records, tables, tasks or events
  --only <part>          cases and steps with this in their name; may be given several times
  --connections 10,50    each case is driven with so many
  --rounds 5             whose medians are shown
  --seconds 3            of a round; slow cases get longer ones
  --records 1000         how many are made
  --data-dir <folder>    is kept, with the data, for the next run
  --prepare              makes the data there, and ends
  --others <folder>      where Directus and NocoDB were installed: they are measured beside (docs/benchmarks.md, Others)
  --own-copy             they get a copy of the table with a primary key alone, as they make it, in place of the table with our indexes
  --profile              prints where the service's CPU time went; its figures are slower by that`

export interface Options {
  suite: string
  /** Parts of names; none chooses all. */
  only: string[]
  connections: number[]
  rounds: number
  /** What the suite has by default where they are undefined. */
  seconds: number | undefined
  records: number | undefined
  dataDir: string | undefined
  prepare: boolean
  others: string | undefined
  ownCopy: boolean
  profile: boolean
}

type Suites = Record<string, Pick<Suite<never>, 'defaults' | 'fewest' | 'tableOf'>>

/**
 * @returns 'help' when only that is asked
 * @throws ScriptError, in one line, for whatever makes no sense
 */
export function readOptions(args: string[], suites: Suites): Options | 'help' {
  const given = parsed(args)
  if (given.help) return 'help'
  const suite = Object.hasOwn(suites, given.suite) ? suites[given.suite] : undefined
  if (!suite) throw wrong('suite', given.suite, `must be one of ${Object.keys(suites).join(', ')}`)
  const options: Options = {
    suite: given.suite,
    only: given.only.map((part) => part || refuse('only', part, 'must be a part of a name')),
    connections: given.connections.split(',').map((count) => whole('connections', count, given.connections, 'whole numbers, by commas')),
    rounds: whole('rounds', given.rounds),
    seconds: given.seconds === undefined ? undefined : whole('seconds', given.seconds),
    records: given.records === undefined ? undefined : whole('records', given.records),
    dataDir: given['data-dir'],
    prepare: given.prepare,
    others: given.others,
    ownCopy: given['own-copy'],
    profile: given.profile,
  }
  const { records, dataDir, others } = options
  if (records !== undefined && !suite.defaults.records) throw wrong('records', records, `the suite ${options.suite} makes none`)
  if (records !== undefined && records < (suite.fewest ?? 1))
    throw wrong('records', records, `the suite ${options.suite} needs ${suite.fewest} or more`)
  if (dataDir !== undefined && (!dataDir || (existsSync(dataDir) && !isFolder(dataDir))))
    throw wrong('data-dir', dataDir, 'must be a folder')
  if (options.prepare && dataDir === undefined) throw new ScriptError('--prepare: needs --data-dir, or the data would be gone at once')
  if (others !== undefined && !isFolder(others)) throw wrong('others', others, 'must be the folder where they were installed')
  if (others !== undefined && !suite.tableOf) throw wrong('others', others, `the suite ${options.suite} has nothing to ask them`)
  if (options.ownCopy && others === undefined) throw new ScriptError('--own-copy: needs --others, who get it')
  return options
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        suite: { type: 'string', default: 'foundation' },
        only: { type: 'string', multiple: true, default: [] },
        connections: { type: 'string', default: '10,50' },
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string' },
        records: { type: 'string' },
        'data-dir': { type: 'string' },
        prepare: { type: 'boolean', default: false },
        others: { type: 'string' },
        'own-copy': { type: 'boolean', default: false },
        profile: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new ScriptError(`${argumentProblem(error)}; npm run bench -- --help`)
  }
}

function whole(option: string, text: string, given = text, what = 'a whole number'): number {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : refuse(option, given, `must be ${what}, 1 or more`)
}

function refuse(option: string, given: string, why: string): never {
  throw wrong(option, given, why)
}

const wrong = (option: string, given: string | number, why: string) => new ScriptError(`--${option} ${given || "''"}: ${why}`)

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/** Whether `--only` chooses the name; without one all are. */
export const isWanted = (only: readonly string[], name: string): boolean => !only.length || only.some((part) => name.includes(part))

/** @throws ScriptError for a part that is in none of the names */
export function refuseUnknown(only: readonly string[], names: readonly string[]): void {
  for (const part of only)
    if (!names.some((name) => name.includes(part)))
      throw wrong('only', part, `is in no name of ${names.map((name) => `"${name}"`).join(', ')}`)
}

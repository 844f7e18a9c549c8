/** The command-line options of `npm run bench`. */
import { existsSync, statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { argumentProblem, ScriptError } from '../runtime.ts'
import type { Suite } from './case.ts'

export const USAGE = `npm run bench -- [options]
  --suite <name>         foundation (as without it), records, queries, tables, tasks, events, mail, files,
                         processes, replicas, console, which needs a browser, or cluster, which needs CITUS_DIR
  --only <part>          cases and steps with this in their name; may be given several times
  --connections 10,50    numbers of concurrent connections; each case runs with each of them
  --rounds 5             number of rounds; the medians are printed
  --seconds 3            length of a round; slow cases get longer rounds
  --records 1000         number of records to create
  --chart                of the suite records: measures the service alone with 10,000 to 10,000,000 records, or with --records, and draws
                         how each case grows (docs/benchmarks/growth.svg)
  --data-dir <folder>    keeps the data in this folder for the next run
  --prepare              only creates the data, in --data-dir
  --others <folder>      where Directus and NocoDB are installed: measures them, too (scripts/bench/README.md)
  --own-copy             gives them a copy of the table with only a primary key, as they create tables, instead of the table with our indexes
  --profile              prints where the service spent CPU time; profiling makes the measured service slower`

export interface Options {
  suite: string
  /** Parts of names; an empty list selects all cases. */
  only: string[]
  connections: number[]
  rounds: number
  /** The suite's default applies if undefined. */
  seconds: number | undefined
  records: number | undefined
  dataDir: string | undefined
  prepare: boolean
  /** Measures how the cases grow with the number of records. */
  chart: boolean
  others: string | undefined
  ownCopy: boolean
  profile: boolean
}

type Suites = Record<string, Pick<Suite<never>, 'defaults' | 'fewest' | 'tableOf'>>

/**
 * @returns 'help' if --help was given
 * @throws ScriptError with one line about the first invalid option
 */
export function readOptions(args: string[], suites: Suites): Options | 'help' {
  const given = parsed(args)
  if (given.help) return 'help'
  const suite = Object.hasOwn(suites, given.suite) ? suites[given.suite] : undefined
  if (!suite) throw wrong('suite', given.suite, `must be one of ${Object.keys(suites).join(', ')}`)
  const options: Options = {
    suite: given.suite,
    only: given.only.map((part) => part || refuse('only', part, 'must be a part of a name')),
    connections: given.connections
      .split(',')
      .map((count) => whole('connections', count, given.connections, 'whole numbers, separated by commas')),
    rounds: whole('rounds', given.rounds),
    seconds: given.seconds === undefined ? undefined : whole('seconds', given.seconds),
    records: given.records === undefined ? undefined : whole('records', given.records),
    dataDir: given['data-dir'],
    prepare: given.prepare,
    chart: given.chart,
    others: given.others,
    ownCopy: given['own-copy'],
    profile: given.profile,
  }
  if (options.chart && options.suite !== 'records') throw wrong('chart', options.suite, 'needs --suite records')
  checkRecords(options, suite)
  checkDataDir(options)
  checkOthers(options, suite)
  return options
}

function checkRecords({ suite: name, records }: Options, { defaults, fewest = 1 }: Suites[string]): void {
  if (records === undefined) return
  if (!defaults.records) throw wrong('records', records, `the suite ${name} creates no records`)
  if (records < fewest) throw wrong('records', records, `the suite ${name} needs ${fewest} or more`)
}

function checkDataDir({ dataDir, prepare }: Options): void {
  if (dataDir === undefined) {
    if (prepare) throw new ScriptError('--prepare: needs --data-dir, because the data would be deleted at once')
    return
  }
  const isUsable = dataDir && (isFolder(dataDir) || !existsSync(dataDir))
  if (!isUsable) throw wrong('data-dir', dataDir, 'must be a folder')
}

function checkOthers({ suite: name, others, ownCopy }: Options, { tableOf }: Suites[string]): void {
  if (others === undefined) {
    if (ownCopy) throw new ScriptError('--own-copy: needs --others')
    return
  }
  if (!isFolder(others)) throw wrong('others', others, 'must be the folder where they are installed')
  if (!tableOf) throw wrong('others', others, `the suite ${name} has no table that they can be measured on`)
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
        chart: { type: 'boolean', default: false },
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

/** Whether `--only` selects the name; without `--only`, all names are selected. */
export const isWanted = (only: readonly string[], name: string): boolean => !only.length || only.some((part) => name.includes(part))

/** @throws ScriptError for a part that no name contains */
export function refuseUnknown(only: readonly string[], names: readonly string[]): void {
  for (const part of only)
    if (!names.some((name) => name.includes(part)))
      throw wrong('only', part, `no name contains it: ${names.map((name) => `"${name}"`).join(', ')}`)
}

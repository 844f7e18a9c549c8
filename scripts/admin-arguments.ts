/**
 * What each command of `npm run admin` takes. It is read without loading what the commands work with, so that help and a typing error come
 * at once.
 */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { argumentProblem, ScriptError } from './runtime.ts'

const text = { type: 'string' } as const
const flag = { type: 'boolean' } as const
const person = { email: text, timezone: text, 'password-stdin': flag }

export interface Given {
  positional: string | undefined
  /** All arguments, of a command with several. */
  positionals: string[]
  options: Record<string, string | boolean | undefined>
}

interface Command {
  options?: ParseArgsOptionsConfig
  /** The name of its one argument, or the names of several; none by default. */
  argument?: string
}

export const commands = {
  'create-account': { options: { name: text, owner: text, ...person } },
  'create-user': { options: { account: text, name: text, ...person } },
  'create-space': { options: { account: text, name: text } },
  'create-key': { options: { account: text, user: text, name: text, 'read-only': flag, spaces: text, ips: text, expires: text } },
  'account list': {},
  'account owner': { argument: '<account> <email|id>' },
  'user list': { options: { account: text } },
  'user disable': { argument: '<email|id>' },
  'user enable': { argument: '<email|id>' },
  'user erase': { argument: '<email|id>', options: { yes: flag } },
  'key list': { options: { account: text } },
  'set-password': { argument: '<email>', options: { 'password-stdin': flag } },
  'restore-table': { argument: '<id>' },
  'restore-space': { argument: '<id>' },
  'space place': { argument: '<id> <node>' },
  'space move': { argument: '<id> <node>' },
  export: { argument: '<file.csv>', options: { table: text, view: text } },
  import: { argument: '<file.csv>', options: { table: text } },
  doctor: { options: { json: flag } },
  replay: { argument: '<id|since>' },
  'rotate-secrets': {},
  files: { argument: '<check>', options: { repair: flag } },
  'files copy': { argument: '<to>' },
  'files move': { argument: '<to>' },
  backup: { argument: '<file.tar.gz>' },
  restore: { argument: '<file.tar.gz>', options: { replace: flag } },
} satisfies Record<string, Command>
export type CommandName = keyof typeof commands

/** @throws ScriptError that names the command and what is wrong with its arguments */
export function argumentsOf(name: string, { argument, options = {} }: Command, args: string[]): Given {
  try {
    const parsed = parseArgs({ args, options, allowPositionals: argument !== undefined })
    const positionals: string[] = parsed.positionals
    const wanted = argument?.split(' ').length ?? 0
    if (positionals.length !== wanted || positionals.includes(''))
      throw new Error(`needs ${wanted > 1 ? wanted : 'one'} argument${wanted > 1 ? 's' : ''}, ${argument}`)
    return { positional: positionals[0], positionals, options: parsed.values as Given['options'] }
  } catch (error) {
    throw new ScriptError(`${name}: ${argumentProblem(error)}; npm run admin -- --help shows how it is used`)
  }
}

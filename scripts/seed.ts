/** Seeds an account, beside a running service as well as without one: `npm run seed`, or for programs `npm run -s seed -- --json`. */
import { parseArgs } from 'node:util'
import { readSettings } from '../src/settings.ts'
import { argumentProblem, catcherOf, findService, runScript, ScriptError, withDeps } from './runtime.ts'
import type { Person, Seeded } from './seed-account.ts'

const USAGE = `npm run seed                  make a fresh account with people, keys, two tables and 25 records, and say how to use it
npm run -s seed -- --json     the same, as exactly one JSON object`

await runScript(async () => {
  const options = argumentsOf()
  if (options.help) return console.log(USAGE)

  // Loaded only for arguments that can be read: the parts of the service take most of the time of a command.
  const { seedAccount } = await import('./seed-account.ts')
  const settings = readSettings()
  const server = await smtpServer()
  const account = await withDeps(settings, (deps) => seedAccount(deps, server))
  const { baseUrl, catchDomain } = findService(settings)
  const seeded = { base_url: baseUrl, ...account, catch_domain: catchDomain }
  console.log(options.json ? JSON.stringify(seeded) : readable(seeded))

  /** The mail catcher of the embedded default; with DATABASE_URL, the operator's own server is used. */
  async function smtpServer(): Promise<{ host: string; port: number }> {
    if (!settings.databaseUrl) return catcherOf(settings)
    const url = new URL(settings.smtpUrl ?? 'smtp://127.0.0.1:1025')
    return { host: url.hostname, port: Number(url.port) || (url.protocol === 'smtps:' ? 465 : 25) }
  }
})

function argumentsOf(): { json: boolean; help: boolean } {
  try {
    const options = { json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } } as const
    return parseArgs({ options }).values
  } catch (error) {
    throw new ScriptError(`${argumentProblem(error)}; npm run seed -- --help`)
  }
}

function readable(seeded: Seeded & { base_url: string; catch_domain: string }): string {
  const { base_url, account_id, space_id, other_space_id, table_id, other_table_id, record_ids, keys, smtp, catch_domain } = seeded
  const person = (role: string, { id, email, password, timezone }: Person) =>
    `  ${role.padEnd(9)}${email}  ${password}  (user ${id}, ${timezone})`
  return `Account ${account_id} on ${base_url}

People, by email and password:
${(['owner', 'admin', 'member', 'viewer', 'outsider'] as const).map((role) => person(role, seeded[role])).join('\n')}

Keys:
${Object.entries(keys)
  .map(([name, secret]) => `  ${name.padEnd(20)}${secret}`)
  .join('\n')}

Space ${space_id}, another ${other_space_id}; table ${table_id} with a field of every type, table ${other_table_id} that its lookups point to
Records ${record_ids[0]} to ${record_ids.at(-1)}
SMTP integration ${smtp.id} sends from ${smtp.from_domain} through ${smtp.host}:${smtp.port}; replies to @${catch_domain}

Try:
  curl -s ${base_url}/api/table/${table_id}/records/query -H 'authorization: Bearer ${keys.account}' \\
    -H 'content-type: application/json' -d '{"filters":[{"column":"select","compare":"=","value":"Won"}],"order_by":"number"}'`
}

/** What each command of `npm run admin` does. */
import { createInterface } from 'node:readline/promises'
import { z } from 'zod'
import { createAccount, createUser, setPassword } from '../src/accounts/service.ts'
import { audit } from '../src/audit/log.ts'
import { noticePassword } from '../src/auth/password-notice.ts'
import { endProofs } from '../src/auth/password-reset.ts'
import { Password, TimeZone } from '../src/auth/schema.ts'
import { type ReplayChoice, replayMessages } from '../src/email/inbox/replay.ts'
import { NewKey } from '../src/keys/schema.ts'
import { create as createKey } from '../src/keys/service.ts'
import { accounts, keysOf, usersOfAccounts } from '../src/people/queries.ts'
import { type ActingUser, type Deps, systemContext, userContext } from '../src/platform/context.ts'
import type { Database } from '../src/platform/database/database.ts'
import { EmailAddress, Id, Name } from '../src/platform/http/procedures/schemas.ts'
import { newToken } from '../src/platform/secrets/secrets.ts'
import { openStorage } from '../src/platform/storage/open-storage.ts'
import { instantText } from '../src/platform/time/time.ts'
import { readSettings } from '../src/settings.ts'
import { create as createSpace, restore as restoreSpace } from '../src/spaces/service.ts'
import { moveSpace, placeSpace } from '../src/tables/elsewhere/placement.ts'
import { restore as restoreTable } from '../src/tables/service.ts'
import type { CommandName, Given } from './admin-arguments.ts'
import { disablePerson, enablePerson, erasePerson, giveAccount } from './admin-people.ts'
import { backUp, restore } from './backup.ts'
import { exportTable, importTable } from './csv.ts'
import { examine, printed } from './doctor/doctor.ts'
import { checkFiles } from './files-check.ts'
import { copyFiles } from './files-copy.ts'
import { moveFiles } from './files-move.ts'
import { rotateSecrets } from './rotate-secrets.ts'
import { ScriptError, withDeps } from './runtime.ts'

/** Parses an id from an option. */
const IdText = z.coerce.number('must be a whole number').pipe(Id)

/** A command on the open database; its result is printed. */
const onDatabase = (work: (deps: Deps, given: Given) => Promise<object>) => async (given: Given) => {
  const result = await withDeps(readSettings(), (deps) => work(deps, given))
  console.log(JSON.stringify(result))
}

/** A command that prints a JSON array, with one row in each line. */
const listing = (rows: (deps: Deps, options: Given['options']) => Promise<object[]>) => async (given: Given) => {
  const lines = (await withDeps(readSettings(), (deps) => rows(deps, given.options))).map((row) => JSON.stringify(row))
  console.log(lines.length ? `[\n${lines.join(',\n')}\n]` : '[]')
}

/** The commands, by the names that admin-arguments.ts lists. */
export const runs: Record<CommandName, (given: Given) => Promise<void>> = {
  'create-account': onDatabase(async (deps, { options }) => {
    const { db, clock } = deps
    const input = read(z.object({ name: Name, owner: Name, email: EmailAddress, timezone: TimeZone.optional() }), options)
    const { password, shown } = await passwordFor(options)
    const { email, timezone = 'UTC' } = input
    const made = await db.transaction(async () => {
      const created = await createAccount(db, input.name, { email, name: input.owner, timezone, password }, clock())
      const { accountId } = created
      await audit(systemContext(deps), 'account.created', { id: accountId, name: input.name, accountId })
      return created
    })
    return { account_id: made.accountId, owner: { id: made.ownerId, email, ...shown } }
  }),
  'create-user': onDatabase(async (deps, { options }) => {
    const { db, clock } = deps
    const input = read(z.object({ account: IdText, name: Name, email: EmailAddress, timezone: TimeZone.optional() }), options)
    const { account, email, name, timezone = 'UTC' } = input
    await ownerOf(db, account)
    const { password, shown } = await passwordFor(options)
    return db.transaction(async () => {
      const id = await createUser(db, account, { email, name, timezone, password }, clock())
      await audit(systemContext(deps), 'user.created', { id, accountId: account })
      return { id, email, ...shown }
    })
  }),
  'create-space': onDatabase(async (deps, { options }) => {
    const { account, name } = read(z.object({ account: IdText, name: Name }), options)
    const { id } = await createSpace(userContext(deps, await ownerOf(deps.db, account)), { name })
    return { id, name, account_id: account }
  }),
  'create-key': onDatabase(async (deps, { options }) => {
    const { account, user } = read(z.object({ account: IdText.optional(), user: EmailAddress.optional() }), options)
    if ((account === undefined) === (user === undefined))
      throw new ScriptError('create-key needs either --account <id>, for an account key, or --user <email>, for a personal key')
    const input = read(NewKey, {
      kind: user ? 'personal' : 'account',
      name: options.name,
      read_only: options['read-only'] === true,
      ...(typeof options.spaces === 'string' && { space_ids: listOf(options.spaces).map(Number) }),
      ...(typeof options.ips === 'string' && { ip_allowlist: listOf(options.ips) }),
      ...(options.expires !== undefined && { expires_at: options.expires }),
    })
    const actor = user ? await userOf(deps.db, user) : await ownerOf(deps.db, account ?? 0)
    return createKey(userContext(deps, actor), input)
  }),
  'account list': listing(({ db }) => accounts(db)),
  'account owner': onDatabase((deps, { positionals: [account, person = ''] }) =>
    giveAccount(deps, read(z.object({ account: IdText }), { account }).account, person),
  ),
  'user list': listing(async ({ db }, options) => usersOfAccounts(db, await accountIn(db, options))),
  'user disable': onDatabase((deps, { positional = '' }) => disablePerson(deps, positional)),
  'user enable': onDatabase((deps, { positional = '' }) => enablePerson(deps, positional)),
  'user erase': onDatabase((deps, { positional = '', options }) => erasePerson(deps, positional, options.yes === true)),
  'key list': listing(async ({ db }, options) => keysOf(db, await accountIn(db, options))),
  'set-password': onDatabase(async (deps, { positional, options }) => {
    const { db, clock } = deps
    const { email } = read(z.object({ email: EmailAddress }), { email: positional })
    const { password, shown } = await passwordFor(options)
    return db.transaction(async () => {
      const { id, accountId } = await setPassword(db, email, password, clock())
      await endProofs(db, id, null)
      await audit(systemContext(deps), 'password.set', { id, accountId })
      await noticePassword(systemContext(deps), id, 'operator')
      return { id, email, ...shown }
    })
  }),
  'restore-table': onDatabase(async (deps, { positional }) =>
    restoreTable(systemContext(deps), read(z.object({ id: IdText }), { id: positional }).id),
  ),
  'restore-space': onDatabase(async (deps, { positional }) =>
    restoreSpace(systemContext(deps), read(z.object({ id: IdText }), { id: positional }).id),
  ),
  'space place': onDatabase((deps, { positionals: [id, node = ''] }) =>
    placeSpace(systemContext(deps), read(z.object({ id: IdText }), { id }).id, node),
  ),
  'space move': onDatabase((deps, { positionals: [id, node = ''] }) =>
    moveSpace(systemContext(deps), read(z.object({ id: IdText }), { id }).id, node),
  ),
  export: onDatabase(async (deps, { positional = '', options }) => {
    const { table, view } = read(z.object({ table: IdText, view: IdText.optional() }), options)
    return exportTable(deps, await ownerOfTable(deps.db, table), table, view, positional)
  }),
  import: onDatabase(async (deps, { positional = '', options }) => {
    const { table } = read(z.object({ table: IdText }), options)
    return importTable(deps, await ownerOfTable(deps.db, table), table, positional)
  }),
  doctor: async ({ options }) => {
    const report = await examine()
    for (const line of options.json ? [JSON.stringify(report)] : printed(report)) console.log(line)
    if (report.findings.some(({ severity }) => severity === 'error')) process.exitCode = 1
  },
  replay: onDatabase(async (deps, { positional = '' }) => {
    const choice = replayChoice(positional)
    const summary = await replayMessages(systemContext(deps), choice)
    const [failure] = summary.failed
    if (failure && 'id' in choice) throw new ScriptError(failure.message)
    if (failure) process.exitCode = 1
    return summary
  }),
  'rotate-secrets': async () => {
    const { lines, isDone } = await withDeps(readSettings(), rotateSecrets)
    for (const line of lines) console.log(line)
    if (!isDone) process.exitCode = 1
  },
  files: async ({ positional, options }) => {
    if (positional !== 'check') throw new ScriptError(`files: there is no ${positional}; npm run admin -- --help shows how it is used`)
    const check = (deps: Deps) => checkFiles(deps, { repairs: options.repair === true, print: console.log })
    if (!(await withDeps(readSettings(), check))) process.exitCode = 1
  },
  'files copy': async ({ positional = '' }) => {
    const { storage, storagePrevious } = readSettings()
    if (positional === storage) throw new ScriptError('files copy: the files are there already: name another folder or bucket')
    const [from, to] = [openStorage(storage, { previous: storagePrevious }), openStorage(positional)]
    console.log(JSON.stringify(await copyFiles(from, to).catch(asStorageFailure)))
  },
  'files move': onDatabase(async ({ db, log, settings }, { positional = '' }) => {
    const { storage, storagePrevious } = settings
    if (positional !== storage || storagePrevious === undefined)
      throw new ScriptError(
        'files move: the service must know both storages first: set STORAGE to the new one and STORAGE_PREVIOUS to the old one (docs/stored-files.md)',
      )
    const moved = await moveFiles(db, openStorage(storagePrevious, { log }), openStorage(storage, { log }))
    if (moved.damaged.length) process.exitCode = 1
    return moved
  }),
  backup: async ({ positional = '' }) => {
    const settings = readSettings()
    const bytes = await backUp(settings, positional)
    console.log(`Wrote ${positional}, ${(bytes / 1_048_576).toFixed(1)} MB; keep it secret, for it holds the secret key`)
    if (settings.storage.startsWith('s3://')) console.log('The files in the bucket are not in it')
  },
  restore: async ({ positional = '', options }) => {
    const settings = readSettings()
    const { madeAt, accounts, users, aside } = await restore(settings, positional, { replaces: options.replace === true })
    console.log(`Restored the state of ${madeAt} into ${settings.dataDir}: ${accounts} accounts, ${users} users`)
    if (aside) console.log(`What was there before is in ${aside}: remove it when you need it no longer`)
  },
}

/** Says in one line why a folder or bucket cannot be read or written. */
function asStorageFailure(error: Error): never {
  const { name, message } = error.cause instanceof Error ? error.cause : error
  throw new ScriptError(`files copy: ${name === 'Error' ? message : `${name}: ${message}`}`)
}

/** Parses the options by a schema. @throws ScriptError naming the first invalid option */
function read<Schema extends z.ZodType>(schema: Schema, given: Given['options'] | object): z.infer<Schema> {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const { path = [], message } = parsed.error.issues[0] ?? {}
  const [name] = path.map(String)
  if (name === undefined) throw new ScriptError(message ?? 'wrong')
  const isMissing = (given as Record<string, unknown>)[name] === undefined
  throw new ScriptError(`${name} ${isMissing ? 'is missing' : message}`)
}

/** The account that `--account` names; null for all. @throws ScriptError if there is none with the id */
async function accountIn(db: Database, options: Given['options']): Promise<number | null> {
  const { account } = read(z.object({ account: IdText.optional() }), options)
  if (account !== undefined) await ownerOf(db, account)
  return account ?? null
}

/** @throws ScriptError for what is neither an id nor an instant */
function replayChoice(text: string): ReplayChoice {
  if (/^\d+$/.test(text)) return { id: read(z.object({ id: IdText }), { id: text }).id }
  const since = instantText(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text} 00:00:00` : text)
  if (since === null) throw new ScriptError(`replay: ${text} is neither the id of a message nor an instant such as 2026-11-22 09:30:00`)
  return { since }
}

/** Returns the line on standard input, or a generated password, which is then printed. */
async function passwordFor(options: Given['options']): Promise<{ password: string; shown: { password?: string } }> {
  if (!options['password-stdin']) {
    const password = newToken(12)
    return { password, shown: { password } }
  }
  const lines = createInterface({ input: process.stdin })
  const { value } = await lines[Symbol.asyncIterator]().next()
  lines.close()
  return { password: read(z.object({ password: Password }), { password: value ?? '' }).password, shown: {} }
}

function ownerOf(db: Database, accountId: number): Promise<ActingUser> {
  return findActor(db, { owns: { id: accountId } }, `There is no account ${accountId}`)
}

function userOf(db: Database, email: string): Promise<ActingUser> {
  return findActor(db, { email, status: 'active' }, `There is no active user ${email}`)
}

/** @throws ScriptError when the table does not exist or is deleted */
async function ownerOfTable(db: Database, tableId: number): Promise<ActingUser> {
  const table = await db.prisma.table.findFirst({ where: { id: tableId, deletedAt: null, space: { deletedAt: null } } })
  if (!table) throw new ScriptError(`There is no table ${tableId}`)
  return ownerOf(db, table.accountId)
}

async function findActor(
  db: Database,
  where: { owns: { id: number } } | { email: string; status: string },
  missing: string,
): Promise<ActingUser> {
  const user = await db.prisma.user.findFirst({ where, include: { owns: true } })
  if (!user) throw new ScriptError(missing)
  const { id: userId, accountId, email, name, timezone: timeZone, owns } = user
  return { accountId, userId, email, name, timeZone, isOwner: owns !== null }
}

function listOf(list: string): string[] {
  return list.split(',').map((part) => part.trim())
}

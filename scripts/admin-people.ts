/** What the commands of `npm run admin` about accounts, users and keys do. */
import { createInterface } from 'node:readline/promises'
import { emailOf, type UserRef, userStatus } from '../src/accounts/user-status.ts'
import { eraseAs } from '../src/people/erasure.ts'
import { disable, enable, setOwner } from '../src/people/service.ts'
import { type Deps, systemContext } from '../src/platform/context.ts'
import { type Database, sql } from '../src/platform/database/database.ts'
import { ScriptError } from './runtime.ts'

/** @param person an id or an address */
export async function disablePerson(deps: Deps, person: string): Promise<object> {
  const user = await personOf(deps.db, person)
  await disable(systemContext(deps), user)
  return stateOf(deps.db, user)
}

/** @param person as `disablePerson` */
export async function enablePerson(deps: Deps, person: string): Promise<object> {
  const user = await personOf(deps.db, person)
  await enable(systemContext(deps), user)
  return stateOf(deps.db, user)
}

/**
 * Erases a person. The running service, or the next one that runs, changes the texts that name them.
 * @param person as `disablePerson`
 * @param isSure whether the operator has said beforehand that they are sure
 */
export async function erasePerson(deps: Deps, person: string, isSure: boolean): Promise<object> {
  const user = await personOf(deps.db, person)
  if (!isSure) await confirmErasure(user)
  await eraseAs(systemContext(deps), user)
  return stateOf(deps.db, user)
}

/** @throws ScriptError unless the operator types the address */
async function confirmErasure({ id, email }: Named): Promise<void> {
  if (!process.stdin.isTTY) throw new ScriptError(`user erase: ${email} (user ${id}) cannot be brought back; repeat the command with --yes`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const typed = await lines.question(`${email} (user ${id}) cannot be brought back. Type the address to erase this user: `)
  lines.close()
  if (typed.trim().toLowerCase() !== email) throw new ScriptError('user erase: nothing was changed')
}

/** @param person as `disablePerson` */
export async function giveAccount(deps: Deps, accountId: number, person: string): Promise<object> {
  const user = await personOf(deps.db, person)
  if (user.account_id !== accountId) throw new ScriptError(`${person} is a user of account ${user.account_id}, not of account ${accountId}`)
  await setOwner(systemContext(deps), user)
  return { account_id: accountId, owner: { id: user.id, email: user.email } }
}

interface Named extends UserRef {
  email: string
}

/** @throws ScriptError if nobody has the id or the address */
async function personOf(db: Database, person: string): Promise<Named> {
  const [found] = await db.read<Named>(
    /^[1-9]\d{0,8}$/.test(person)
      ? sql`select id, account_id, email from users where id = ${Number(person)}`
      : sql`select id, account_id, email from users where email = ${person.trim().toLowerCase()}`,
  )
  if (!found) throw new ScriptError(`There is no user ${person}`)
  return found
}

async function stateOf(db: Database, { id }: Named): Promise<object> {
  const [found] = await db.read<{ id: number; email: string | null; status: string }>(
    sql`select u.id, ${emailOf(sql`u`)} as email, ${userStatus(sql`u`)} as status from users u where u.id = ${id}`,
  )
  return found ?? { id }
}

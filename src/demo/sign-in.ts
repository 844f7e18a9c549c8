/** Signing in to the demo account with one click, on the machine of the service (contract.md §11). */
import { hasUsers } from '../accounts/service.ts'
import { type SignedIn, signInUnasked } from '../auth/service.ts'
import type { Visitor } from '../auth/sessions.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { notFound } from '../platform/errors.ts'
import { readLogin } from './login.ts'
import type { DemoSignIn, DemoUser, SignInMethods } from './schema.ts'

/** Says how one signs in. @param isLocal whether the caller is a program on this machine */
export async function methods(context: Context, isLocal: boolean): Promise<SignInMethods> {
  const setup = !(await hasUsers(context.db))
  const demo = isLocal ? await demoUsers(context) : []
  return { password: true, setup, ...(demo.length && { demo: demo.map(({ name, email, role }) => ({ name, email, role })) }) }
}

/**
 * Signs in a user of the demo account. @param isLocal whether the caller is a program on this machine
 * @throws AppError 404 for every other caller and every other address
 */
export async function signInToDemo(context: Context, { email }: DemoSignIn, isLocal: boolean, visitor: Visitor): Promise<SignedIn> {
  const user = isLocal && (await demoUsers(context)).find((found) => found.email === email)
  const signedIn = user && (await signInUnasked(context, user.id, visitor))
  if (!signedIn) throw notFound('Demo user')
  return signedIn
}

const ROLES = ['owner', 'member', 'viewer'] as const

/** The active users of the demo account whom the first start created, the owner first. Empty without a demo account. */
async function demoUsers({ db, settings }: Context): Promise<(DemoUser & { id: number })[]> {
  const login = readLogin(settings.dataDir)
  if (!login) return []
  const found = await db.read<{ id: number; name: string; email: string }>(sql`
    select id, name, email from users
    where account_id = ${login.account_id} and email = any(${ROLES.map((role) => login[role].email)}) and status = 'active'`)
  return ROLES.flatMap((role) => found.filter(({ email }) => email === login[role].email).map((user) => ({ ...user, role })))
}

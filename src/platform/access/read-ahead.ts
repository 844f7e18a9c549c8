/**
 * Reads that are sent together with the access check: one round trip to the database instead of two. They are sent for a caller whom this
 * process has just admitted with the same credentials, so nobody else can cause them, and their result is used only if the check admits the
 * same caller again (docs/decisions/0031-reads-ahead.md). What the check itself reads of the answer is read for such a caller only, too.
 */
import type { z } from 'zod'
import { BoundedMap } from '../collections/bounded-map.ts'
import type { Context } from '../context.ts'
import type { Database } from '../database/database.ts'
import { isValidText } from '../http/text-encoding.ts'
import { memo } from '../memo.ts'
import { type Actor, nameOf, systemActor } from './authenticate.ts'
import { type Access, type AccessRequest, type Admission, admit, type ReadAhead } from './authorize.ts'

/** A read that has begun. */
export interface BegunRead {
  caller: Actor
  result: Promise<unknown>
}

/** The read of a procedure with this input. An invalid input is refused later, after the access check. */
export const readAhead =
  <Input, Result>(schema: z.ZodType<Input>, read: (context: Context, input: Input) => Promise<Result> | undefined): ReadAhead<Result> =>
  (context, input) => {
    const { success, data } = schema.safeParse(input)
    return success && isValidText(data) ? read(context, data) : undefined
  }

const MOST_CALLERS = 10_000

/** The callers who were admitted last, by their credentials. */
const admitted = memo((_: Database) => new BoundedMap<string, Actor>(MOST_CALLERS))

/** Admits as `admit` does, and remembers the caller. After a refusal nothing is read ahead for the next request. */
export async function admitExpected(
  asking: AccessRequest,
  access: Access,
  isWrite: boolean,
  ids: Record<string, unknown>,
): Promise<Admission> {
  const callers = admitted(asking.db)
  const name = nameOf(asking.credentials)
  try {
    const isKnown = name !== undefined && callers.has(name)
    const admission = await admit(asking, isKnown ? access : checkOnly(access), isWrite, ids)
    if (name) callers.set(name, admission.actor)
    return admission
  } catch (refusal) {
    if (name) callers.delete(name)
    throw refusal
  }
}

/** The same access, whose check reads nothing of the answer. */
const checkOnly = memo((access: Access): Access => {
  const { resource } = access
  // The check itself may have a further rule.
  return resource?.checkOnly ? { ...access, resource: { ...resource.checkOnly, check: resource.check } } : access
})

/** Whether a read may begin for the caller. */
export function isExpected({ db, credentials }: Pick<AccessRequest, 'db' | 'credentials'>): boolean {
  const name = nameOf(credentials)
  return name !== undefined && admitted(db).has(name)
}

/**
 * Begins the read of the procedure, if the caller is expected. An input that cannot be read is refused after the access check, whose refusal
 * comes first, so nothing is thrown here.
 * @param input as it was sent
 * @param contextOf makes the context of a call by the caller
 */
export function beginRead(
  { db, credentials }: Pick<AccessRequest, 'db' | 'credentials'>,
  { ahead }: Access,
  input: unknown,
  contextOf: (caller: Actor) => Context,
): BegunRead | undefined {
  const name = ahead && nameOf(credentials)
  const caller = name === undefined ? undefined : admitted(db).get(name)
  if (!caller) return undefined
  let result: Promise<unknown> | undefined
  try {
    result = ahead?.(contextOf(caller), input)
  } catch {
    return undefined
  }
  if (!result) return undefined
  // If the caller is refused, nobody waits for the result.
  result.catch(() => {})
  return { caller, result }
}

/** The result of the read, if it was made for this caller, in whom nothing has changed. */
export function resultFor({ caller, result }: BegunRead, actor: Actor): Promise<unknown> | undefined {
  return PROPERTIES.every((name) => isSame(caller[name], actor[name])) ? result : undefined
}

const PROPERTIES = Object.keys(systemActor) as (keyof Actor)[]

/** The ids of spaces are a list. */
const isSame = (one: Actor[keyof Actor], other: Actor[keyof Actor]): boolean =>
  one === other || (Array.isArray(one) && Array.isArray(other) && one.join() === other.join())

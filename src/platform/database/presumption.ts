/**
 * Writes that are sent on the presumption that the access of their caller is still what it was when this process last looked it up. The presumption is
 * checked in the transaction of the write, in front of it, so that a request needs one round trip to the database (docs/decisions/0035-presumed-access.md).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { unavailable } from '../http/errors.ts'
import type { NamedStatement } from './prepared-statements.ts'

const presumptions = new AsyncLocalStorage<Presumption | undefined>()

/** What the check of a presumption raises if it does not hold. */
const DOES_NOT_HOLD = 'GP002'
/** True if a check has refused its transaction, of which nothing is committed then. */
export const isRefusedByCheck = (error: Error & { code?: unknown }): boolean => error.code === DOES_NOT_HOLD

/** The condition under which a row is as the write presumes it to be. */
export interface RowCondition {
  /** SQL in which $3 and the following are the values. Each different text is kept, and prepared on every connection, so it must not contain values. */
  condition: string
  values: (string | number | null)[]
}

const checks = new Map<string, Pick<NamedStatement, 'name' | 'text'>>()

/** The check of the access, and of a further condition. */
function checkOf(condition: string): Pick<NamedStatement, 'name' | 'text'> {
  const known = checks.get(condition)
  if (known) return known
  const text = `select public.refuse_changed_access()
    where (exists (select from public.access_versions where account_id = $1 and version = $2) and ${condition}) is not true`
  const check = { name: createHash('sha1').update(text).digest('base64url'), text }
  checks.set(condition, check)
  return check
}

/**
 * - `open`: nothing was sent.
 * - `sent`: the write is under way behind the check.
 * - `held`: the check has passed, whatever became of the write.
 * - `refused`: the check has not passed, and the write was rolled back.
 * - `unknown`: the write was not answered. Perhaps it was never sent, perhaps the connection was lost behind the commit.
 * - `over`: the request no longer presumes anything.
 */
type State = 'open' | 'sent' | 'held' | 'refused' | 'unknown' | 'over'

const NO_ROW: RowCondition = { condition: 'true', values: [] }

/** That the access of an account has the version, and perhaps that a row is as it was. It serves one write. */
export class Presumption {
  readonly check: NamedStatement
  #state: State = 'open'

  constructor(accountId: number, version: string, { condition, values }: RowCondition = NO_ROW) {
    this.check = { ...checkOf(condition), values: [accountId, version, ...values] }
  }

  get state(): State {
    return this.#state
  }

  /** True if the check is of the same access. If it was refused, this one would be refused as well, unless only a row had changed. */
  isOfAccess({ values }: NamedStatement): boolean {
    const [accountId, version] = this.check.values
    return values[0] === accountId && values[1] === version
  }

  /** The write with its check was answered. */
  answered(): void {
    this.#end('held')
  }

  /**
   * The write with its check has failed.
   * @param isChecked whether the check was answered before the error
   * @param isUndone whether both were rolled back for certain
   */
  failed({ isChecked, isUndone }: { isChecked: boolean; isUndone: boolean }): void {
    if (isChecked) this.#end('held')
    else this.#end(isUndone ? 'refused' : 'unknown')
  }

  /** The request may have ended before its write. */
  #end(state: State): void {
    if (this.#state === 'sent') this.#state = state
  }

  /**
   * Runs the request. It reaches the database only with one short write, to which the check is added, until that was answered: any other statement
   * fails before it is sent.
   * @returns undefined if nothing was written, because the request needs another statement first, sends no write or the presumption does not hold. What it
   * returned or threw is dropped then: the caller has to check the access and run it again
   * @throws what `request` throws, if its write was sent
   */
  async run<Result>(request: () => Promise<Result>): Promise<Result | undefined> {
    try {
      const result = await presumptions.run(this, request)
      return this.#isDone ? result : undefined
    } catch (error) {
      if (this.#isDone) throw error
      return undefined
    } finally {
      this.#state = 'over'
    }
  }

  get #isDone(): boolean {
    return this.#state !== 'open' && this.#state !== 'refused'
  }

  /**
   * The presumption of the caller, for their write, which is about to be sent.
   * @returns undefined if the request presumes nothing, or not any more: the write is then sent without a check
   * @throws AppError 503 for a second write that comes too early
   */
  static take(): Presumption | undefined {
    const presumption = presumptions.getStore()
    if (presumption?.state !== 'open') return requireConfirmedAccess()
    presumption.#state = 'sent'
    return presumption
  }

  /**
   * For a write that is repeated if it wrote nothing. It may have waited for long, and the access may have ended meanwhile.
   * @returns a function to call before the repetition. If the check was sent with the write, it is sent with the repetition as well
   */
  static forRepetition(): () => void {
    const presumption = presumptions.getStore()
    if (presumption?.state !== 'open') return () => {}
    return () => {
      if (presumption.state === 'held') presumption.#state = 'open'
    }
  }

  /** Runs what several requests share, on behalf of none of them. */
  static exit<Result>(shared: () => Result): Result {
    return presumptions.run(undefined, shared)
  }
}

/** Lets a statement other than the presuming write fail as long as it is not known that the presumption holds. @throws AppError 503 */
export function requireConfirmedAccess(): undefined {
  const presumption = presumptions.getStore()
  if (presumption && UNCONFIRMED.has(presumption.state)) throw unavailable('The database did not confirm the access; retry')
}

const UNCONFIRMED = new Set<State>(['open', 'sent', 'refused', 'unknown'])

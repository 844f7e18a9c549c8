/** Errors of a database role that may not do what the service needs, in words for the operator. */
import { sqlState } from '../database-errors.ts'

const INSUFFICIENT_PRIVILEGE = '42501'
const READ_ONLY_TRANSACTION = '25006'
const ADVICE = 'docs/operations.md (Ten steps, 1) has the rights that it needs'

/** One line for an error of `pg` or Prisma that says that the role lacks a right, or that the database is read-only; else undefined. */
export function missingRight(error: unknown): string | undefined {
  const state = sqlState(error)
  if (state === READ_ONLY_TRANSACTION) return 'The database is read-only: connect to the primary, and make it accept writes'
  if (state !== INSUFFICIENT_PRIVILEGE) return undefined
  // Prisma puts the statement around the message of the server.
  const [reason] = /(?:permission denied|must be|only)[^\n]*/.exec((error as Error).message) ?? ['permission denied']
  return `The database role lacks a right: ${reason}; ${ADVICE}`
}

/** Recognises statements that fail because the table that they name was changed after they had been written. */
import { TRPCError } from '@trpc/server'
import pg from 'pg'
import { sqlState } from './database-errors.ts'

/** Thrown when a table has been changed since its definition was read. */
export const outdated = new Error('The definition of the table is outdated')

/** What the function `require_table_version` of our migrations raises. */
const OTHER_VERSION = 'GP001'
/** 42703, 42P01: the column or table does not exist. 42804, 42846, 42883: the column has another type. */
const CHANGED = new Set(['42703', '42P01', '42804', '42846', '42883', OTHER_VERSION])
const NOT_SUPPORTED = '0A000'
/** The function of PostgreSQL that refuses a prepared statement whose columns have changed. Its message is translated, the name is not. */
const REFUSES_OLD_PLANS = 'RevalidateCachedQuery'

/** True if the error is `outdated`, or a database error with the same cause, also if tRPC has wrapped it. */
export function isOutdated(thrown: unknown): boolean {
  const error = causeOf(thrown)
  return error === outdated || CHANGED.has(sqlState(error) ?? '') || isOutdatedPlan(error)
}

/**
 * True if a prepared statement was refused because its columns have changed. Other features that PostgreSQL or an extension such as
 * Citus does not support have the same SQLSTATE.
 */
function isOutdatedPlan(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === NOT_SUPPORTED && error.routine === REFUSES_OLD_PLANS
}

/** The error behind one of tRPC. */
export const causeOf = (thrown: unknown) => (thrown instanceof TRPCError ? thrown.cause : thrown)

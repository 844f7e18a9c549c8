/** Whose data are read for an export, and by what. */
import type { UserRef } from '../accounts/user-status.ts'
import type { Context } from '../platform/context.ts'

/** The person, and whether that is left out which others have written and the person may not read any more. */
export interface Subject extends UserRef {
  isOwner: boolean
  seesAll: boolean
}

export type Reading = Pick<Context, 'db' | 'signal'>

/** Stamps attempts just before their end. Attempts that reach this point at the same time share a statement. */
import { type EmailChange, updateEmails } from '../../comments/emails.ts'
import { Batches } from '../../platform/concurrency/batches.ts'
import type { Context } from '../../platform/context.ts'
import { isOutage } from '../../platform/database/database-errors.ts'
import { type Lease, LeaseLost, stampAttempt, stampAttempts } from './lease.ts'

/** How many attempts are stamped in one statement. */
const MOST_AT_ONCE = 60

interface Stamp {
  lease: Lease
  /** How the comment changes to show what the recipients may have got; undefined if it shows that already. */
  change: Omit<EmailChange, 'commentId'> | undefined
}

export interface Stamping {
  /**
   * From now on a second attempt could be a second delivery. The comment shows what the recipients may have got, even if the worker dies.
   * @throws LeaseLost
   */
  stamp(stamp: Stamp): Promise<void>
}

/** @param context makes the context of a transaction */
export function openStamping(context: () => Context): Stamping {
  const batches = new Batches((stamps: readonly Stamp[]) => stampTogether(context(), stamps), { most: MOST_AT_ONCE, isForAll: isOutage })
  return {
    async stamp(stamp) {
      const result = await batches.add(stamp)
      if (result === 'lost') throw new LeaseLost()
      // The other attempts do not wait for the transaction that has locked the row.
      if (result === 'locked') await stampAlone(context(), stamp)
    },
  }
}

async function stampTogether(context: Context, stamps: readonly Stamp[]): Promise<('stamped' | 'lost' | 'locked')[]> {
  const leases = stamps.map(({ lease }) => lease)
  if (!stamps.some(({ change }) => change)) return stampAttempts(context, leases, false)
  return context.transaction(async () => {
    const results = await stampAttempts(context, leases, true)
    await change(
      context,
      stamps.filter((_, index) => results[index] === 'stamped'),
    )
    return results
  })
}

/** Uses a transaction even for one statement: outside of one, PostgreSQL would complete the waiting statement of a killed worker. */
function stampAlone(context: Context, stamp: Stamp): Promise<void> {
  return context.transaction(async () => {
    await stampAttempt(context, stamp.lease)
    await change(context, [stamp])
  })
}

async function change({ db, now }: Context, stamps: readonly Stamp[]): Promise<void> {
  const changes = stamps.flatMap(({ lease, change }) => (change ? [{ ...change, commentId: lease.comment_id }] : []))
  if (changes.length) await updateEmails(db, changes, now)
}

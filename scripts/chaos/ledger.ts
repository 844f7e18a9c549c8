/** Everything that callers were told, for the account at the end. */
import { createHash } from 'node:crypto'

/** A thing that a caller has created, by the name that it was given. */
export interface LedgerEntry {
  /** The id, once an answer has arrived. */
  id?: number
  /** The record that it is on. */
  recordId?: number
}

export class Ledger {
  /** Names of records. An entry without an id was never acknowledged, so it may exist or not, but not twice. */
  readonly records = new Map<string, LedgerEntry>()
  readonly comments = new Map<string, LedgerEntry>()
  readonly tasks = new Map<string, LedgerEntry & { dueAt: number }>()
  readonly mails = new Map<string, LedgerEntry & { to: string }>()
  readonly files = new Map<string, LedgerEntry & { path?: string; sha256: string }>()
  /** Ids of records whose deletion was acknowledged, and of those where it is unknown. */
  readonly deleted = new Set<number>()
  readonly perhapsDeleted = new Set<number>()
  /** Answers by status; 0 stands for a broken connection. */
  readonly statuses = new Map<number, number>()
  /** Answers that no caller may ever get, in words. */
  readonly wrong: string[] = []

  count(status: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
  }

  /** The ids of records on which a caller may work. */
  liveRecords(): number[] {
    return [...this.records.values()].flatMap(({ id }) =>
      id === undefined || this.deleted.has(id) || this.perhapsDeleted.has(id) ? [] : [id],
    )
  }
}

export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** Positions in PostgreSQL's log: what a caller wrote is before its position, and a replica that has replayed up to there shows it. */

export interface WalPosition {
  /** Grows with each failover. Positions of different timelines cannot be compared. */
  timeline: number
  /** The byte in the log. */
  lsn: number
}

/** A page of the log, and the longest of the headers that pages begin with. */
const [PAGE_BYTES, HEADER_BYTES] = [8_192, 40]

/** The number of an LSN such as `16/B374D848`. It has 64 bits, of which a log of nine petabytes uses 53. */
export function lsnOf(text: string): number {
  const [high = '', low = ''] = text.split('/')
  return Number.parseInt(high, 16) * 2 ** 32 + Number.parseInt(low, 16)
}

/**
 * The end of what has been written, from the place of the next record. If that is the first of its page, it lies behind the header of the
 * page, which a replica reports as replayed only with the record.
 */
export function endOfLog(nextRecord: string): number {
  const lsn = lsnOf(nextRecord)
  const inPage = lsn % PAGE_BYTES
  return inPage <= HEADER_BYTES ? lsn - inPage : lsn
}

/** The timeline in the name of a file of the log. `pg_control_checkpoint` names the old one until some time after a promotion. */
export const timelineOf = (walFile: string): number => Number.parseInt(walFile.slice(0, 8), 16)

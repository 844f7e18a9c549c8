/** Reads the bytes of stored messages in pieces, so that a large message neither fills the memory of the process nor blocks it for long. */
import { type Database, sql } from '../../platform/database/database.ts'

const PIECE_BYTES = 1_048_576

/**
 * The raw bytes of a message. The next piece is read while the caller works with the one before it.
 * @param bytes the length of the message
 */
export async function* storedBytes(db: Database, { id, bytes }: { id: number; bytes: number }): AsyncGenerator<Buffer> {
  let next = pieceAt(db, id, 0)
  for (let offset = 0; offset < bytes; offset += PIECE_BYTES) {
    const piece = await next
    if (offset + PIECE_BYTES < bytes) {
      next = pieceAt(db, id, offset + PIECE_BYTES)
      // The caller may stop before it asks for this piece.
      next.catch(() => {})
    }
    yield piece
  }
}

/** Base64, because decoding PostgreSQL's own text form of bytes, which is hexadecimal, takes twice the CPU time. */
async function pieceAt(db: Database, id: number, offset: number): Promise<Buffer> {
  const [row] = await db.query<{ piece: string }>(
    sql`select encode(substring(raw from ${offset + 1}::int for ${PIECE_BYTES}), 'base64') as piece from inbound_emails where id = ${id} and raw is not null`,
    'stored-piece',
  )
  if (!row) throw new Error(`Message ${id} was deleted while it was read`)
  return Buffer.from(row.piece, 'base64')
}

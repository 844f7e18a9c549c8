/** Reads the bytes of stored messages in pieces, so that a large message neither fills the memory of the process nor blocks it for long. */

import { type Database, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'

const PIECE_BYTES = 262_144

/** A message in the database, and its length. */
export interface MessageBytes {
  id: number
  bytes: number
}

/** The raw bytes of a message, each piece when the caller asks for it. */
export async function* storedBytes(db: Database, { id, bytes }: MessageBytes): AsyncGenerator<Buffer> {
  for (let offset = 0; offset < bytes; offset += PIECE_BYTES) yield await pieceAt(db, id, offset)
}

/** Base64, because decoding PostgreSQL's own text form of bytes, which is hexadecimal, takes twice the CPU time. */
async function pieceAt(db: Database, id: number, offset: number): Promise<Buffer> {
  const [row] = await db.read<{ piece: string }>(
    labelled(
      'stored-piece',
      sql`select encode(substring(raw from ${offset + 1}::int for ${PIECE_BYTES}), 'base64') as piece
        from inbound_emails where id = ${id} and raw is not null`,
    ),
  )
  if (!row) throw new Error(`Message ${id} was deleted while it was read`)
  return Buffer.from(row.piece, 'base64')
}

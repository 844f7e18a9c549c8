/** Files that come with inbound mail: stored like an upload, on the record that the mail belongs to. */
import { sql } from '../db.ts'
import type { Scope } from '../scope.ts'
import { newToken } from '../secrets.ts'
import { formatInstant } from '../time.ts'

interface Place {
  account_id: number
  space_id: number
  table_id: number
  record_id: number
}

interface MailFile {
  name: string
  type: string
  content: Uint8Array
}

interface StoredMailFile {
  name: string
  path: string
  size: number
  type: string
  host: string
}

/** Stores bytes and row. */
export async function keepFile({ db, storage, now }: Scope, place: Place, { name, type, content }: MailFile): Promise<StoredMailFile> {
  const safe = name.replace(/[^\p{L}\p{N}._-]+/gu, '_').slice(-80)
  const file = {
    name,
    path: `${place.space_id}-${place.table_id}-${newToken(12)}-${safe}`,
    size: content.byteLength,
    type,
    host: storage.host,
  }
  await storage.write(file.path, content)
  await db.execute(sql`
    insert into stored_files (path, account_id, space_id, table_id, record_id, name, size, type, host, created_at)
    values (${file.path}, ${place.account_id}, ${place.space_id}, ${place.table_id}, ${place.record_id}, ${name}, ${file.size}, ${type},
      ${file.host}, ${formatInstant(now)}::timestamp)`)
  return file
}

/** Nothing names these files after all: a job removes the bytes later. */
export async function forgetFiles({ db, now }: Scope, files: readonly { path: string }[]): Promise<void> {
  if (!files.length) return
  await db.execute(sql`
    update stored_files set dropped_at = ${formatInstant(now)}::timestamp where path = any(${files.map(({ path }) => path)}) and dropped_at is null`)
}

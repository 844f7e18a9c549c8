/** The server of an integration as it is stored. Its password is encrypted, and the ciphertext is bound to the id of the integration. */
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts'
import { decrypt, encrypt, UnreadableSecret } from '../../platform/secrets/secrets.ts'
import type { SmtpServer } from './connections.ts'
import { DeliveryError, type Failure } from './failure.ts'

export interface ServerRow {
  id: number
  host: string
  port: number
  tls: SmtpServer['tls']
  username: string | null
  password_encrypted: Buffer | null
}

/** The server of the integration; undefined when the integration has been deleted. */
export async function readServer(db: Database, id: number): Promise<ServerRow | undefined> {
  const [row] = await db.read<ServerRow>(
    sql`select id, host, port, tls, username, password_encrypted from smtp_integrations where id = ${id}`,
  )
  return row
}

/** The server with its decrypted password. @throws DeliveryError when the password was encrypted with another SECRET_KEY */
export function serverOf({ settings }: Context, { id, password_encrypted, host, port, tls, username }: ServerRow): SmtpServer {
  try {
    const password = password_encrypted && decrypt(settings.secretKeys, password_encrypted, secretContext(id))
    return { host, port, tls, username, password }
  } catch (error) {
    throw error instanceof UnreadableSecret ? new DeliveryError(PASSWORD_UNREADABLE, { isFault: true }) : error
  }
}

/** A fault of the integration, so its mails wait: the operator may restore the key. */
const PASSWORD_UNREADABLE: Failure = {
  kind: 'temporary',
  code: 'PASSWORD_UNREADABLE',
  enhanced: null,
  message: 'The password of the SMTP integration was encrypted with another SECRET_KEY; enter it again',
}

/** The statement that stores the password, encrypted. */
export const setPassword = ({ settings }: Context, id: number, password: string): Sql =>
  sql`update smtp_integrations set password_encrypted = ${encrypt(settings.secretKeys, password, secretContext(id))} where id = ${id}`

const secretContext = (id: number | string) => `smtp:${id}`

export const sealedPasswords: SealedColumn = {
  what: 'passwords of SMTP integrations',
  table: 'smtp_integrations',
  column: 'password_encrypted',
  key: { column: 'id', type: 'int' },
  contextOf: { column: 'id', context: secretContext },
}

/** The keys that sign the mails of an integration (RFC 6376). They are made here, and the private part never leaves the service. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../platform/bytes/temporary-files.ts'
import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts'
import { decrypt, encrypt, UnreadableSecret } from '../../platform/secrets/secrets.ts'
import { DeliveryError, type Failure } from '../smtp/failure.ts'
import type { Dkim, NewDkim } from './dkim.ts'

/** What signing needs. */
export interface DkimSigner {
  domain: string
  selector: string
  /** In PEM. */
  privateKey: string
  /** Where large messages are kept while they are signed. */
  folder: string
}

/** The key of an integration as it is stored. */
export interface DkimRow {
  integration_id: number
  domain: string
  selector: string
  key_encrypted: Buffer
}

/** Columns of smtp_integrations: the key as the API answers it, and the DNS record to publish. */
export const dkimColumns = sql`
  case when dkim_domain is not null then
    jsonb_build_object('domain', dkim_domain, 'selector', dkim_selector, 'public_key', dkim_public_key) end as dkim,
  case when dkim_domain is not null then
    jsonb_build_object('name', dkim_selector || '._domainkey.' || dkim_domain, 'type', 'TXT',
      'value', 'v=DKIM1; k=rsa; p=' || dkim_public_key)
  end as dkim_record`

const BITS = 2_048

/** The statement that gives the integration a new key, or takes its key away. */
export async function replaceKey({ settings }: Context, id: number, dkim: NewDkim | null): Promise<Sql> {
  if (!dkim)
    return sql`
      update smtp_integrations
      set dkim_domain = null, dkim_selector = null, dkim_public_key = null, dkim_key_encrypted = null where id = ${id}`
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: BITS,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return sql`
    update smtp_integrations set dkim_domain = ${dkim.domain}, dkim_selector = ${dkim.selector},
      dkim_public_key = ${publicKey.toString('base64')}, dkim_key_encrypted = ${encrypt(settings.secretKeys, privateKey, secretContext(id))}
    where id = ${id}`
}

/** True if the integration goes on with its key. Another selector asks for a new key: that is how keys are replaced. */
export const isSameKey = (present: Dkim | null, dkim: NewDkim | null): boolean =>
  present?.domain === dkim?.domain && present?.selector === dkim?.selector

/** @throws DeliveryError when the key was encrypted with another SECRET_KEY */
export async function signerOf({ settings }: Context, row: DkimRow | null): Promise<DkimSigner | null> {
  if (!row) return null
  try {
    const privateKey = decrypt(settings.secretKeys, row.key_encrypted, secretContext(row.integration_id))
    return { domain: row.domain, selector: row.selector, privateKey, folder: await temporaryFolder(settings.dataDir) }
  } catch (error) {
    throw error instanceof UnreadableSecret ? new DeliveryError(KEY_UNREADABLE, { isFault: true }) : error
  }
}

/** A fault of the integration, so its mails wait: the operator may restore the key. */
const KEY_UNREADABLE: Failure = {
  kind: 'temporary',
  code: 'DKIM_KEY_UNREADABLE',
  enhanced: null,
  message: 'The DKIM key of the SMTP integration was encrypted with another SECRET_KEY; give it another selector, which makes a new key',
}

const secretContext = (id: number | string) => `dkim:${id}`

export const sealedDkimKeys: SealedColumn = {
  what: 'DKIM keys of SMTP integrations',
  table: 'smtp_integrations',
  column: 'dkim_key_encrypted',
  key: { column: 'id', type: 'int' },
  contextOf: { column: 'id', context: secretContext },
}

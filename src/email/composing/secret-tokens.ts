/** The secrets of an outbound email: the token of its reply address and the token of its pixel. */
import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts'
import { decrypt, encrypt, newHexToken, newToken } from '../../platform/secrets/secrets.ts'
import type { SecretKeys } from '../../settings.ts'
import { sealedAside } from '../../tables/deleted/rows.ts'

export interface SecretTokens {
  /** 16 hexadecimal digits: api.md fixes the form of reply addresses. */
  reply: string
  pixel: string
}

export const newSecretTokens = (): SecretTokens => ({ reply: newHexToken(8), pixel: newToken() })

/** Encrypts the tokens until the job sends the email. The ciphertext is bound to the Message-ID. */
export const encryptTokens = (secretKeys: SecretKeys, messageId: string, tokens: SecretTokens) =>
  encrypt(secretKeys, JSON.stringify(tokens), purpose(messageId))

/** @throws UnreadableSecret */
export const decryptTokens = (secretKeys: SecretKeys, messageId: string, encrypted: Buffer): SecretTokens =>
  JSON.parse(decrypt(secretKeys, encrypted, purpose(messageId))) as SecretTokens

const purpose = (messageId: string) => `outbound:${messageId}`

export const sealedTokens: SealedColumn = {
  what: 'tokens of outbound mails',
  table: 'outbound_emails',
  column: 'tokens_encrypted',
  key: { column: 'comment_id', type: 'int' },
  contextOf: { column: 'message_id', context: purpose },
}

/** The same of mails of deleted records, which can be sent once more after a restore. */
export const sealedTokensAside: SealedColumn = sealedAside(sealedTokens, 'tokens of mails of deleted records')

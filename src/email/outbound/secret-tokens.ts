/** The secrets of an outbound email: the token of its reply address and the token of its pixel. */
import { decrypt, encrypt, newHexToken, newToken } from '../../platform/secrets.ts'

export interface SecretTokens {
  /** 16 hexadecimal digits: api.md fixes the form of reply addresses. */
  reply: string
  pixel: string
}

export const newSecretTokens = (): SecretTokens => ({ reply: newHexToken(8), pixel: newToken() })

/** Encrypts the tokens until the job sends the email. The ciphertext is bound to the Message-ID. */
export const encryptTokens = (secretKey: Buffer, messageId: string, tokens: SecretTokens) =>
  encrypt(secretKey, JSON.stringify(tokens), purpose(messageId))

/** @throws Error when the tokens were encrypted with another SECRET_KEY */
export const decryptTokens = (secretKey: Buffer, messageId: string, encrypted: Buffer): SecretTokens =>
  JSON.parse(decrypt(secretKey, encrypted, purpose(messageId))) as SecretTokens

const purpose = (messageId: string) => `outbound:${messageId}`

/** `npm run admin -- rotate-secrets`: encrypts everything stored with the current SECRET_KEY, and says when a previous key may go. */
import { sealedDkimKeys } from '../src/email/authenticity/dkim-keys.ts'
import { sealedTokens, sealedTokensAside } from '../src/email/composing/secret-tokens.ts'
import { sealedPasswords } from '../src/email/smtp/stored-server.ts'
import type { Deps } from '../src/platform/context.ts'
import { sealedAnswers } from '../src/platform/http/procedures/idempotency.ts'
import { type Reencrypted, reencryptColumn, type SealedColumn } from '../src/platform/secrets/sealed-columns.ts'
import { type KeyUse, keyUses } from '../src/platform/secrets/secret-key-uses.ts'
import { fingerprintOf } from '../src/platform/secrets/secrets.ts'
import { addDays } from '../src/platform/time/time.ts'
import type { SecretKeys } from '../src/settings.ts'

/** Every encrypted column. A test compares the list with prisma/schema.prisma, and with the rows that are moved aside with deleted records. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  ...[sealedPasswords, sealedDkimKeys, sealedTokens, sealedTokensAside, sealedAnswers],
]

/** Links to unsubscribe are signed, and must work for 30 days after the mail was sent (CAN-SPAM Act, 16 CFR 316). */
const LINKS_LIVE_DAYS = 30

export interface Rotation {
  /** The output, in lines. */
  lines: string[]
  /** True if all secrets are under the current key, and no process writes with another one. */
  isDone: boolean
}

/** Encrypts all stored secrets with the current key. It may be interrupted, repeated, and run beside the service. */
export async function rotateSecrets({ db, settings: { secretKeys } }: Pick<Deps, 'db' | 'settings'>): Promise<Rotation> {
  const results: [SealedColumn, Reencrypted][] = []
  for (const sealed of SEALED_COLUMNS) results.push([sealed, await reencryptColumn(db, secretKeys, sealed)])
  const uses = await keyUses(db)
  const { current, previous } = fingerprintsOf(secretKeys, uses)
  const strangers = uses.filter(({ fingerprint, is_used }) => is_used && ![current, ...previous].includes(fingerprint))
  const used = uses.filter(({ fingerprint, is_used }) => is_used && previous.includes(fingerprint))
  return {
    lines: [
      ...results.map(columnLine),
      ...previous.map((fingerprint) =>
        adviceFor(
          fingerprint,
          uses.find((use) => use.fingerprint === fingerprint),
        ),
      ),
      ...strangers.map(strangerLine),
    ],
    isDone: !used.length && !strangers.length && results.every(([, { unreadable }]) => unreadable === 0),
  }
}

/** Of the guesses only those count that a process has written with. Beside them, keys of the list that no process has used are misread parts. */
function fingerprintsOf({ current, previous, guesses = [] }: SecretKeys, uses: readonly KeyUse[]) {
  const isProven = (fingerprint: string) => uses.some((use) => use.fingerprint === fingerprint)
  const proven = guesses.map(fingerprintOf).filter(isProven)
  const listed = previous.map(fingerprintOf).filter((fingerprint) => !proven.length || isProven(fingerprint))
  return { current: fingerprintOf(current), previous: [...listed, ...proven] }
}

function columnLine([{ what }, { total, changed, unreadable }]: [SealedColumn, Reencrypted]): string {
  const lost = unreadable ? `; ${unreadable} cannot be read with any of the keys: add the key that wrote them to SECRET_KEY_PREVIOUS` : ''
  return `${what}: ${changed} of ${total} encrypted again${lost}`
}

function adviceFor(fingerprint: string, use: KeyUse | undefined): string {
  const key = `Previous key ${fingerprint}`
  if (!use) return `${key} was not used by any process of this release and may go, unless older processes still run with it`
  if (use.is_used)
    return `${key} must stay: a process wrote with it at ${use.last_used_at}. Restart that process with the new key; a minute later, run this again`
  const until = addDays(use.last_used_at.slice(0, 10), LINKS_LIVE_DAYS)
  return `${key} may go: nothing stored needs it. Links to unsubscribe in mails sent before ${use.last_used_at} end with it, so better keep it until ${until}`
}

const strangerLine = ({ fingerprint, last_used_at }: KeyUse) =>
  `Key ${fingerprint} is unknown here, and a process wrote with it at ${last_used_at}: give it the same SECRET_KEY and SECRET_KEY_PREVIOUS`

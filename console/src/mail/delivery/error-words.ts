/** Why a mail did not arrive, or waits, in plain words: from the codes of the service and of mail servers. */
import { deliveryTexts } from '../../texts/mail/delivery.ts'
import type { DeliveryError, Recipient } from '../mail-facts.ts'

export interface Cause {
  /** The end of a sentence, such as `the address does not exist (550 5.1.1)`. */
  words: string
  /** The words of the other server as it said them; null where the service itself gives the cause. */
  said: string | null
}

interface Circumstances {
  /** What the service has read in the words of the server. */
  bounce?: Recipient['bounce']
  /** Whether the address is on the suppression list now; undefined if that is not known. */
  isSuppressed?: boolean | undefined
}

/** @param dayWords a calendar date in words, such as `3 May` */
export function causeOf(error: DeliveryError, dayWords: (day: string) => string, { bounce, isSuppressed }: Circumstances = {}): Cause {
  const { code, enhanced, message } = error
  const codes = [/^\d{3}$/.test(code) ? code : '', enhanced ?? ''].filter(Boolean).join(' ')
  const words = bounce ? lowered(bounce.reason) : wordsOf(error, dayWords, isSuppressed)
  return { words: codes ? `${words} (${codes})` : words, said: isOfService(code) || !hasOwnWords(message) ? null : message }
}

function wordsOf({ code, enhanced, message }: DeliveryError, dayWords: (day: string) => string, isSuppressed?: boolean): string {
  if (code === 'SUPPRESSED') return suppressedWords(message, dayWords, isSuppressed)
  // Servers put off mail of unknown senders by this code, which as a refusal would mean more.
  if (/^4\.7\.[01]$/.test(enhanced ?? '')) return deliveryTexts.refusedForNow
  const known = SERVICE[code] ?? STATUS[(enhanced ?? '').replace(/^\d\./, '')] ?? REPLY[code]
  if (known) return known
  const isForNow = (enhanced ?? code).startsWith('4')
  if (!/^\d{3}$/.test(code)) return lowered(message) || deliveryTexts.refused
  return isForNow ? deliveryTexts.refusedForNow : deliveryTexts.refused
}

/**
 * `suppressed since 3 May, because …`, from the message of the service, which names the day and the reason. Once the address is off the
 * list only the reason still holds.
 */
function suppressedWords(message: string, dayWords: (day: string) => string, isSuppressed = true): string {
  const [, day] = / since (\d{4}-\d{2}-\d{2})\b/.exec(message) ?? []
  const [, because] = /, because (.+)$/.exec(message) ?? []
  const since = !isSuppressed ? deliveryTexts.suppressedThen : day ? deliveryTexts.suppressedSince(dayWords(day)) : SERVICE.SUPPRESSED
  return because ? `${since}, because ${because}` : String(since)
}

const SERVICE: Readonly<Record<string, string>> = deliveryTexts.serviceCauses
const STATUS: Readonly<Record<string, string>> = deliveryTexts.statusCauses
const REPLY: Readonly<Record<string, string>> = deliveryTexts.replyCauses

/** Codes of the service behind which there are words of another program. */
const WITH_WORDS = new Set(['INTEGRATION_FAILING', 'INTERNAL', 'CONNECTION', 'TIMEOUT', 'TLS', 'AUTH', 'DNS', 'BOUNCED', 'DELAYED'])
const isOfService = (code: string) => code in SERVICE && !WITH_WORDS.has(code)
/** What the service writes where a report has no words. */
const hasOwnWords = (message: string) => message !== '' && message !== 'The mail could not be delivered'

const lowered = (sentence: string): string =>
  /^\p{Lu}\p{Ll}/u.test(sentence) ? sentence.charAt(0).toLowerCase() + sentence.slice(1) : sentence

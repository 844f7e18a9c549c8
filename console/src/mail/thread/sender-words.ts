/** What is known of who wrote a mail: whether its checks failed, and whether a program wrote it (docs/email.md, Replies). */
import { threadTexts } from '../../texts/mail/thread.ts'
import type { Authentication, IncomingMail } from '../mail-facts.ts'

export interface Warning {
  /** bad: the address may be forged. note: a check failed, but another one confirms the sender. */
  level: 'bad' | 'note'
  words: string
}

/** The results of checks that failed. Those that could not be made (`temperror`, `none`, `neutral`) say nothing against the sender. */
const FAILED = new Set(['fail', 'softfail', 'hardfail', 'permerror', 'policy'])

/** The warning about the sender; undefined if no check failed, or none was made. */
export function senderWarning(authentication: Authentication | null): Warning | undefined {
  if (!authentication) return undefined
  const failed = (['dmarc', 'spf', 'dkim'] as const).filter((check) => FAILED.has(authentication[check] ?? ''))
  if (!failed.length) return undefined
  const words = failed.map((check) => threadTexts.checkFailed[check]).join('; ')
  // DMARC passes if one of the other two does for the domain that the reader sees (RFC 7489 §4.2).
  if (authentication.dmarc === 'pass') return { level: 'note', words: capitalized(threadTexts.failedButFine(words)) }
  return { level: 'bad', words: threadTexts.maybeForged(words) }
}

/** What kind of program wrote the mail; undefined for that of a person. The service says whether, its subject and sender say which. */
export function automaticWords({ isAutomatic, subject, from }: Pick<IncomingMail, 'isAutomatic' | 'subject' | 'from'>): string | undefined {
  if (!isAutomatic) return undefined
  const { outOfOffice, report, program, automatic } = threadTexts.automatic
  if (MAIL_SYSTEM.test(from.email) || REPORT.test(subject)) return report
  if (OUT_OF_OFFICE.test(subject)) return outOfOffice
  return PROGRAM.test(from.email) ? program : automatic
}

const MAIL_SYSTEM = /^(mailer-daemon|postmaster|mail-daemon|microsoftexchange[0-9a-f]{32})@/i
const PROGRAM = /^(no-?_?reply|do-?not-?reply|bounce|notifications?|auto-?reply|autoresponder)\b/i
const REPORT = new RegExp(
  [
    'undeliver(ed|able)|delivery (status|failure|has failed|incomplete)|returned mail|mail delivery|failure notice',
    'unzustellbar|non remis|delayed',
  ].join('|'),
  'i',
)
const OUT_OF_OFFICE = new RegExp(
  [
    'out[ -]of[ -](the[ -])?office|vacation|holiday|away from|on leave|automatic reply|auto(matic)?[ -]?(reply|response)',
    'abwesen|nicht im büro|ausser haus|außer haus|automatische antwort|absence|absent|réponse automatique|respuesta automática',
    'fuera de la oficina|risposta automatica|fuori ufficio|afwezig|automatisch antwoord|autosvar|frånvaro|fravær|poza biurem',
    'resposta automática|automatyczna odpowiedź|odpowiedź automatyczna|не в офисе|автоответ',
  ].join('|'),
  'i',
)

const capitalized = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1)

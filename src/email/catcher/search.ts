/** Which caught mails a search finds. */
import type { CaughtMail } from './mail-folder.ts'

/** The mails that contain each of the words, in their order. @param search what the query of an address has, which may be no text */
export function matching(mails: CaughtMail[], search: unknown): CaughtMail[] {
  const words = String(search ?? '')
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
  return mails.filter((mail) => {
    const text = [mail.subject, mail.from, ...mail.envelopeTo, mail.text ?? '', mail.html ?? '', mail.messageId].join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

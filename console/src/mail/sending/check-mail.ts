/** Asks the service, before a mail goes, what its writer should know. */
import type { QueryClient } from '@tanstack/react-query'
import type { Client } from '../../session/client.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { timeWords } from '../../ui/locale/time-words.ts'
import { timesOf } from '../delivery/times.ts'
import { newestAnswerQuery, type SmtpOption, senderOptionsQuery } from '../draft/beginning.ts'
import type { MailDraft, NewEmail } from '../draft/mail-draft.ts'
import { type Warnings, warningsOf } from './warnings.ts'

interface Checked {
  input: NewEmail
  mail: MailDraft
  reader: DatePlace
}

/** @returns null if nothing is to be said @throws what the service refuses the mail with */
export async function checkMail(client: Client, queries: QueryClient, { input, mail, reader }: Checked): Promise<Warnings | null> {
  const { tableId, recordId, sendAt, smtpIntegrationId } = input
  const senders = senderOptionsQuery(client, tableId)
  const serverOf = (options: readonly SmtpOption[] = []) => options.find(({ id }) => id === smtpIntegrationId)
  const isFailureShown = Boolean(serverOf(queries.getQueryData(senders.queryKey))?.failing)
  // The time of a mail that goes at once is that of its sending.
  const now = { ...input, sendAt: mail.later ? sendAt : undefined }
  const [{ problems }, newest, options] = await Promise.all([
    client.email.preview.query(now),
    queries.fetchQuery({ ...newestAnswerQuery(client, tableId, recordId), staleTime: 0 }),
    queries.fetchQuery({ ...senders, staleTime: 0 }),
  ])
  const server = serverOf(options)
  const found = [
    ...(newest && newest.id > mail.seen ? [composerTexts.newAnswer(newest.user_name, timeWords(newest.created_at, reader))] : []),
    ...(server?.failing && !isFailureShown ? [composerTexts.failing(server.label, server.failing.message)] : []),
    ...problems,
  ]
  return warningsOf(found, [...input.to, ...(input.cc ?? []), ...(input.bcc ?? [])], timesOf(reader).day)
}

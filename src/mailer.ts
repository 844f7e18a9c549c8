/** The operator's own mail: invitations, notifications. Mail from a record goes through `email/`. */
import { createTransport } from 'nodemailer'
import type { Settings } from './settings.ts'

export interface Letter {
  to: string
  subject: string
  text: string
  html: string
  headers?: Record<string, string>
}

export interface Mailer {
  /** Hands the letter to the operator's SMTP server. @throws when it does not take it, so that the job tries again */
  send(letter: Letter): Promise<void>
  close(): void
}

/** The operator's mail is not set up: whoever sends is told so in the log, and the letter is lost. */
export class NoMailer extends Error {
  constructor() {
    super('SMTP_URL is not set, so no mail is sent')
  }
}

/** @param fallbackUrl where mail goes without SMTP_URL: the catcher of the embedded default */
export function openMailer({ smtpUrl, mailFrom }: Pick<Settings, 'smtpUrl' | 'mailFrom'>, fallbackUrl?: string): Mailer {
  const url = smtpUrl ?? fallbackUrl
  if (!url) {
    return {
      send: async () => {
        throw new NoMailer()
      },
      close: () => {},
    }
  }
  const transport = createTransport(url, { from: mailFrom, disableFileAccess: true, disableUrlAccess: true })
  return {
    send: async (letter) => {
      await transport.sendMail(letter)
    },
    close: () => transport.close(),
  }
}

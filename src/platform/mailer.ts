/** The operator's own mail: invitations, notifications. Mail from a record goes through `email/`. */
import { createTransport } from 'nodemailer'
import type { Settings } from '../settings.ts'

export interface Letter {
  to: string
  subject: string
  text: string
  html: string
  headers?: Record<string, string>
}

export interface Mailer {
  /** Whether there is a server to send through. */
  isSetUp: boolean
  /** Hands the letter to the operator's SMTP server. @throws when it does not take it, so that the job tries again */
  send(letter: Letter): Promise<void>
  close(): void
}

const SILENCE_TIMEOUT_MS = 30_000

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
      isSetUp: false,
      send: async () => {
        throw new NoMailer()
      },
      close: () => {},
    }
  }
  const transport = createTransport(
    {
      url,
      disableFileAccess: true,
      disableUrlAccess: true,
      // Shorter than the time after which a job is taken for dead and repeated.
      connectionTimeout: SILENCE_TIMEOUT_MS,
      greetingTimeout: SILENCE_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
    },
    { from: mailFrom },
  )
  return {
    isSetUp: true,
    send: async (letter) => {
      await transport.sendMail(letter)
    },
    close: () => transport.close(),
  }
}

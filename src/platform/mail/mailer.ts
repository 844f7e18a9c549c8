/** Mail of the operator: invitations and notifications. Mail from a record is sent by `email/`. */
import { createRequire } from 'node:module'
import type { createTransport, Transporter } from 'nodemailer'
import type { Settings } from '../../settings.ts'
import { inSpan } from '../tracing/tracing.ts'

export interface Letter {
  to: string
  subject: string
  text: string
  html: string
  headers?: Record<string, string>
}

export interface Mailer {
  /** Whether an SMTP server is configured. */
  isConfigured: boolean
  /** Sends the letter through the operator's SMTP server. @throws if the server refuses it, so that the job is retried */
  send(letter: Letter): Promise<void>
  close(): void
}

declare module '../context.ts' {
  interface Shared {
    mailer: Mailer
  }
}

const require = createRequire(import.meta.url)

const SILENCE_TIMEOUT_MS = 30_000

/** No SMTP server is configured. The sender logs it, and the letter is not sent. */
export class NoMailer extends Error {
  constructor() {
    super('SMTP_URL is not set, so no mail is sent')
  }
}

/** @param fallbackUrl the server to use without SMTP_URL: the mail catcher of the embedded default */
export function openMailer({ smtpUrl, mailFrom }: Pick<Settings, 'smtpUrl' | 'mailFrom'>, fallbackUrl?: string): Mailer {
  const url = smtpUrl ?? fallbackUrl
  if (!url) {
    return {
      isConfigured: false,
      send: async () => {
        throw new NoMailer()
      },
      close: () => {},
    }
  }
  let transport: Transporter | undefined
  return {
    isConfigured: true,
    send: async (letter) => {
      transport ??= openTransport(url, mailFrom)
      const opened = transport
      await inSpan('SMTP deliver', { kind: 'client' }, () => opened.sendMail(letter))
    },
    close: () => transport?.close(),
  }
}

/** The package is loaded when the first letter is sent, because loading it takes a tenth of the CPU time of a start. */
function openTransport(url: string, from: string | undefined): Transporter {
  const nodemailer = require('nodemailer') as { createTransport: typeof createTransport }
  return nodemailer.createTransport(
    {
      url,
      disableFileAccess: true,
      disableUrlAccess: true,
      // Shorter than the time after which a job expires and is retried.
      connectionTimeout: SILENCE_TIMEOUT_MS,
      greetingTimeout: SILENCE_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
    },
    { from },
  )
}

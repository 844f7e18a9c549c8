/** Servers that the service or its users must reach: the operator's mail server, PUBLIC_URL, and the way of inbound mail. */
import { createTransport } from 'nodemailer'
import type { Examined, Finding } from './finding.ts'
import { DNS } from './name-server.ts'
import { within } from './within.ts'

const TIMEOUT_MS = 10_000
/** A server that answers byte by byte is never silent. */
const SIGN_IN_MS = 30_000

/** Connects and signs in to the operator's mail server, without sending a mail. @param options a test waits for a shorter time */
export async function checkSmtp(
  { settings: { smtpUrl } }: Pick<Examined, 'settings'>,
  { signInMs = SIGN_IN_MS }: { signInMs?: number } = {},
): Promise<Finding[]> {
  if (!smtpUrl) return []
  const timeouts = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }
  const transport = createTransport({ url: smtpUrl, ...timeouts })
  try {
    await within(signInMs, () => transport.verify())
    return []
  } catch (error) {
    const { hostname, port } = new URL(smtpUrl)
    return [
      {
        check: 'smtp.unreachable',
        severity: 'error',
        problem: `The mail server ${hostname}${port && `:${port}`} of SMTP_URL does not take mail: ${firstLine(error)}`,
        advice:
          'Look at host, port, user and password in SMTP_URL; notifications and invitations wait for about five hours and are then given up.',
      },
    ]
  } finally {
    transport.close()
  }
}

/** Asks the service itself, at the address that callers use, whether it is there and takes inbound mail. */
export async function checkPublicUrl({ settings: { publicUrl } }: Pick<Examined, 'settings'>): Promise<Finding[]> {
  if (!publicUrl) return []
  const said = await statusOf(`${publicUrl}/healthz`)
  if (said !== 200)
    return [
      {
        check: 'public_url.unreachable',
        severity: 'error',
        problem: `The service does not answer at PUBLIC_URL: ${publicUrl}/healthz ${typeof said === 'number' ? `is ${said}` : `cannot be reached (${said})`}`,
        advice:
          'Start the service, and look at the proxy, the DNS name and the certificate. If the proxy closes /healthz to the public, that is fine.',
      },
    ]
  const inbound = await statusOf(`${publicUrl}/webhooks/email_receive`)
  // The webhook takes POST only, so that another method shows that it is there without a message.
  if (inbound === 405) return []
  return [
    {
      check: 'inbound.unreachable',
      severity: 'error',
      problem: `Inbound mail does not reach the service: ${publicUrl}/webhooks/email_receive answers ${inbound} to GET instead of 405`,
      advice: 'Let the proxy pass POST /webhooks/email_receive to the service, with bodies of 25 MB.',
    },
  ]
}

async function statusOf(url: string): Promise<number | string> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    await response.body?.cancel()
    return response.status
  } catch (error) {
    return firstLine((error as Error).cause ?? error)
  }
}

/** Whether the domain of the reply addresses has a mail server. */
export async function checkCatchDomain({ settings: { catchDomain, databaseUrl } }: Pick<Examined, 'settings'>): Promise<Finding[]> {
  if (!databaseUrl || catchDomain.endsWith('.localhost')) return []
  try {
    if ((await DNS.resolveMx(catchDomain)).length) return []
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENODATA' && code !== 'ENOTFOUND')
      return [noMailServer(`whether ${catchDomain} (CATCH_DOMAIN) has a mail server is unknown: DNS says ${code}`)]
  }
  return [noMailServer(`${catchDomain} (CATCH_DOMAIN) has no mail server in DNS: replies to mails from records are lost`)]
}

const noMailServer = (problem: string): Finding => ({
  check: 'inbound.no_mail_server',
  severity: 'warning',
  problem,
  advice:
    'Add an MX record for the domain that names the receiver of the service, or the mail server that hands it the messages (docs/mail.md).',
})

const firstLine = (error: unknown) =>
  String((error as Error).message || (error as NodeJS.ErrnoException).code || error).split('\n')[0] ?? ''

/** The receiver of mail (docs/mail.md): its certificate, and whether other mail servers reach it. */
import { X509Certificate } from 'node:crypto'
import { connect } from 'node:net'
import { CertificateError, readCertificate } from '../../src/email/receiver/certificate.ts'
import type { Examined, Finding } from './finding.ts'
import { DNS } from './name-server.ts'

const DAY_MS = 86_400_000
/** A certificate that renews itself is renewed before this. */
const RENEWED_DAYS = 14
const TIMEOUT_MS = 10_000

type Given = Pick<Examined, 'settings'>

/** Whether the receiver has a certificate that clients can use. */
export async function checkReceiverCertificate({ settings: { inboundSmtp, inboundCertificate } }: Given): Promise<Finding[]> {
  if (!inboundSmtp) return []
  if (!inboundCertificate)
    return inboundSmtp.protocol === 'lmtp'
      ? []
      : [
          {
            check: 'receiver.no_certificate',
            severity: 'warning',
            problem: 'The receiver of mail has no certificate: replies come to it without encryption',
            advice: 'Set INBOUND_SMTP_CERT and INBOUND_SMTP_KEY (docs/mail.md).',
          },
        ]
  try {
    const { cert } = await readCertificate(inboundCertificate)
    return validity(new X509Certificate(cert))
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error
    return [
      {
        check: 'receiver.certificate',
        severity: 'error',
        problem: error.message,
        advice: 'Correct the files, and let the account of the service read them. Until then the service does not start.',
      },
    ]
  }
}

function validity({ validToDate, subject }: X509Certificate): Finding[] {
  const days = Math.floor((validToDate.getTime() - Date.now()) / DAY_MS)
  if (days >= RENEWED_DAYS) return []
  const name = subject.split('\n').at(-1) ?? ''
  return [
    {
      check: 'receiver.certificate',
      severity: days < 0 ? 'error' : 'warning',
      problem: `The certificate of the receiver of mail (${name}) ${days < 0 ? 'has expired' : `expires in ${days} days`}`,
      advice: 'Renew it; the service reads the new files within a minute.',
    },
  ]
}

/** The mail servers of the domain in DNS. Another check reports a domain without any. */
const mailServersOf = async (domain: string): Promise<string[]> =>
  (await DNS.resolveMx(domain).catch(() => [])).map(({ exchange }) => exchange)

/** Whether the mail servers in DNS answer. @param options tests have servers and a port of their own */
export async function checkReceiverReach(
  { settings: { inboundSmtp, catchDomain } }: Given,
  { port = 25, lookUp = mailServersOf }: { port?: number; lookUp?: typeof mailServersOf } = {},
): Promise<Finding[]> {
  if (inboundSmtp?.protocol !== 'smtp' || catchDomain.endsWith('.localhost')) return []
  const servers = await lookUp(catchDomain)
  const silent = await Promise.all(servers.slice(0, 5).map(async (server) => ((await isGreeted(server, port)) ? [] : [server])))
  return silent.flat().map((server) => ({
    check: 'receiver.unreachable',
    severity: 'warning',
    problem: `The mail server ${server} of ${catchDomain} (CATCH_DOMAIN) does not answer at port ${port}`,
    advice:
      'Start the service, let port 25 through to INBOUND_SMTP, and look at the address of the MX record. Some networks let no connection to port 25 out.',
  }))
}

/** True if a mail server greets. */
async function isGreeted(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: TIMEOUT_MS })
  try {
    return await new Promise<boolean>((resolve) => {
      socket.once('data', (bytes) => resolve(bytes.toString('latin1').startsWith('220')))
      for (const event of ['timeout', 'close', 'error'] as const) socket.once(event, () => resolve(false))
    })
  } finally {
    socket.destroy()
  }
}

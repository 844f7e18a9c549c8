/** The certificate of the receiver. It is read again from time to time, because it is renewed while the service runs. */
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { FastifyBaseLogger } from 'fastify'
import type { CertificateFiles } from '../../settings.ts'

/** In PEM. */
export interface Certificate {
  cert: string
  key: string
}

/** Names the setting whose file cannot be used, in one line. */
export class CertificateError extends Error {}

/** @throws CertificateError when a file cannot be read, or the key does not belong to the certificate */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  // One after the other, so that the same fault always names the same setting.
  const cert = await readSetting('INBOUND_SMTP_CERT', files.cert)
  const key = await readSetting('INBOUND_SMTP_KEY', files.key)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new CertificateError(`INBOUND_SMTP_CERT: ${files.cert} and ${files.key} cannot be used: ${(error as Error).message}`)
  }
  return { cert, key }
}

async function readSetting(setting: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: Error) => {
    throw new CertificateError(`${setting}: ${error.message}`)
  })
}

interface WatchOptions {
  present: Certificate
  use(certificate: Certificate): void
  everyMs: number
  log: FastifyBaseLogger
}

/** Calls `use` with each new certificate. One that cannot be used is logged, and the present one stays. @returns stops watching */
export function watchCertificate(files: CertificateFiles, { present, use, everyMs, log }: WatchOptions): () => void {
  let last = present
  const timer = setInterval(async () => {
    try {
      const next = await readCertificate(files)
      if (next.cert === last.cert && next.key === last.key) return
      use(next)
      last = next
      log.info('the receiver of mail uses a new certificate')
    } catch (error) {
      // A renewal replaces two files, so one of them may be new already.
      log.warn({ err: error }, 'the new certificate of the receiver of mail cannot be used')
    }
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

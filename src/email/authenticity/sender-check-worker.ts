/** The thread that sender-checks.ts starts. It checks several messages at once, because most of the time it waits for DNS. */

import { Resolver } from 'node:dns/promises'
import { readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { authenticate } from 'mailauth'
import { bestOf, type SenderAuthentication } from './authentication-results.ts'
import type { CheckRequest } from './sender-checks.ts'

/** DNS lookups for one message. SPF takes 10 at most, and each signature one. */
const MAX_LOOKUPS = 50
const DNS_TIMEOUT_MS = 2_000

parentPort?.on('message', async ({ id, ...request }: CheckRequest & { id: number }) => {
  try {
    parentPort?.postMessage({ id, authentication: await check(request) })
  } catch (error) {
    parentPort?.postMessage({ id, error: error instanceof Error ? error.message : String(error) })
  }
})

async function check({ raw, ip, helo, sender, servers, dnsMs }: CheckRequest): Promise<SenderAuthentication> {
  const { lookUp, end } = openLookups(servers, dnsMs)
  try {
    const { spf, dkim, dmarc, arc } = await authenticate(bytesOf(raw), {
      ip,
      helo,
      sender,
      resolver: lookUp,
      disableBimi: true,
      rejectRsaSha1: true,
    })
    return {
      spf: spf ? spf.status.result : 'none',
      dkim: bestOf(dkim.results.map(({ status }) => status.result)) ?? 'none',
      dmarc: dmarc ? dmarc.status.result : 'none',
      arc: arc ? arc.status.result : 'none',
    }
  } finally {
    end()
  }
}

function bytesOf(raw: CheckRequest['raw']): Buffer {
  if (raw instanceof Uint8Array) return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const bytes = Buffer.allocUnsafeSlow(raw.bytes)
  for (let at = 0; at < bytes.length; ) {
    const read = readSync(raw.file, bytes, at, bytes.length - at, at)
    if (!read) throw new Error('The file is shorter than what was written')
    at += read
  }
  return bytes
}

/** Lookups for one message. When their time is over they fail, and the checks that need them end as `temperror`. */
function openLookups(servers: string[], dnsMs: number) {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  resolver.setServers(servers)
  let left = MAX_LOOKUPS
  let isOver = false
  const stop = () => {
    isOver = true
    resolver.cancel()
  }
  const timer = setTimeout(stop, dnsMs)
  return {
    lookUp: (name: string, type: string): Promise<never> => {
      if (isOver || left-- <= 0) return Promise.reject(Object.assign(new Error('No more time for DNS'), { code: 'ETIMEOUT' }))
      return resolver.resolve(name, type) as Promise<never>
    },
    end: () => {
      clearTimeout(timer)
      stop()
    },
  }
}

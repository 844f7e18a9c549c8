/** A DNS server with the records of a test. It answers queries of this process that do not come from the system's resolver. */
import { createSocket, type RemoteInfo } from 'node:dgram'
import system from 'node:dns'
import { once } from 'node:events'

export interface TestDns {
  /** Texts by type and name, such as `TXT example.com`; A records are addresses. */
  records: Map<string, string>
  /** The server is silent when it is asked for one of these names. */
  silent: Set<string>
  queries: string[]
  close(): Promise<void>
}

const TYPES: Record<number, string> = { 1: 'A', 15: 'MX', 16: 'TXT', 28: 'AAAA' }

/** Becomes the DNS server of this process until it is closed. */
export async function startDns(): Promise<TestDns> {
  const before = system.getServers()
  const socket = createSocket('udp4')
  const dns: TestDns = {
    records: new Map(),
    silent: new Set(),
    queries: [],
    async close() {
      system.setServers(before)
      socket.close()
      await once(socket, 'close')
    },
  }
  socket.on('message', (query: Buffer, { port, address }: RemoteInfo) => {
    const { name, type, end } = questionOf(query)
    dns.queries.push(`${type} ${name}`)
    if (dns.silent.has(name)) return
    const value = dns.records.get(`${type} ${name}`)
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(value === undefined ? 0x8183 : 0x8180, 2)
    head.writeUInt16BE(value === undefined ? 0 : 1, 6)
    head.writeUInt32BE(0, 8)
    socket.send(
      Buffer.concat([head, query.subarray(12, end), value === undefined ? Buffer.alloc(0) : answerOf(type, value)]),
      port,
      address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  system.setServers([`127.0.0.1:${socket.address().port}`])
  return dns
}

function questionOf(query: Buffer): { name: string; type: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: TYPES[query.readUInt16BE(at + 1)] ?? 'other', end: at + 5 }
}

function answerOf(type: string, value: string): Buffer {
  const data =
    type === 'TXT'
      ? Buffer.concat((value.match(/.{1,255}/gs) ?? []).map((part) => Buffer.concat([Buffer.of(part.length), Buffer.from(part)])))
      : Buffer.from(value.split('.').map(Number))
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type === 'TXT' ? 16 : 1, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

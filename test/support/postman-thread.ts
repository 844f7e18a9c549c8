/** The thread that postman.ts starts. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Delivery, LargeMessage } from './postman.ts'
import { smtpClient } from './smtp-client.ts'

const { to, messages } = workerData as Delivery
const send = (message: LargeMessage) => ('url' in to ? post(to.url, message) : sendByLmtp(to.lmtp, message))
parentPort?.postMessage(await Promise.all(messages.map(send)))

async function post(url: string, message: LargeMessage): Promise<number> {
  const headers = { 'content-type': 'message/rfc822' }
  const { status } = await fetch(`${url}/webhooks/email_receive`, { method: 'POST', headers, body: textOf(message) })
  return status
}

async function sendByLmtp(port: number, message: LargeMessage): Promise<string> {
  const client = await smtpClient(port)
  await client.answer()
  for (const line of ['LHLO client.example', 'MAIL FROM:<ann@customer.example>', `RCPT TO:<${message.address}>`, 'DATA'])
    await client.command(line)
  client.write(textOf(message))
  client.write('.\r\n')
  const answer = await client.answer()
  client.socket.destroy()
  return answer
}

function textOf({ address, bytes }: LargeMessage): Buffer<ArrayBuffer> {
  const opening = [
    'From: Ann <ann@customer.example>',
    `To: ${address}`,
    `Message-ID: <${crypto.randomUUID()}@customer.example>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'See the plan.',
    '--b',
    'Content-Type: application/pdf; name=plan.pdf',
    'Content-Transfer-Encoding: base64',
    '',
    '',
  ].join('\r\n')
  const closing = '\r\n--b--\r\n'
  const rest = Buffer.alloc(bytes - opening.length - closing.length, `${'QUJD'.repeat(19)}\r\n`)
  return Buffer.concat([Buffer.from(opening), rest, Buffer.from(closing)])
}

/** A separate process with a bare nodemailer pool: the least that sending can cost. */
import { createTransport } from 'nodemailer'

export interface PoolOrder {
  port: number
  maxConnections: number
  mails: number
  html: string
}

process.on('message', async ({ port, maxConnections, mails, html }: PoolOrder) => {
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    pool: true,
    maxConnections,
    maxMessages: 1_000,
    secure: false,
    ignoreTLS: true,
  })
  const message = { from: 'desk@example.com', to: 'ann@customer.example', subject: 'Hello', html }
  // The parent learns from the sink when all of them have arrived.
  const sent = Array.from({ length: mails }, () => transport.sendMail(message))
  process.send?.('queued')
  await Promise.all(sent)
  transport.close()
})
process.on('disconnect', () => process.exit())

/** Sends large messages from a thread of its own, so that the thread of the test is free to measure the service. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** A message with one attachment. */
export interface LargeMessage {
  address: string
  bytes: number
}

/** Where the thread sends the messages, all at once: to the webhook, or to a port that speaks LMTP. */
export interface Delivery {
  to: { url: string } | { lmtp: number }
  messages: LargeMessage[]
}

/** Sends the messages. @returns for each the status, or the answer of LMTP */
export async function deliver(delivery: Delivery): Promise<(number | string)[]> {
  const worker = new Worker(new URL('./postman-thread.ts', import.meta.url), { workerData: delivery })
  const [answers] = await once(worker, 'message')
  return answers
}

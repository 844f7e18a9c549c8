import { type Work, work } from '../platform/jobs/worker.ts'
import { receive } from './inbound/receive.ts'
import { queueWaiting, receiveEmail, receiveLargeEmail, receiveWaiting } from './inbound/store.ts'
import { forgetSpaces, removeOrphans } from './integrations.ts'
import { startDispatcher, wakeDispatcher } from './outbound/dispatcher.ts'
import { sendEmail } from './outbound/queue.ts'
import { forgetMail, removeOldMail } from './retention.ts'

export const emailWorks: Work[] = [
  // Two workers, which take many of these short jobs at once: a fetch costs more than such a job.
  work(sendEmail, wakeDispatcher, { concurrency: 40, batchSize: 20, start: startDispatcher }),
  // Only the first message of a flood has priority 0 (turns.ts), so it takes one reserved slot at most. With more workers for the other
  // slots each of them would fetch fewer messages, and a fetch costs PostgreSQL more than reading a message.
  work(receiveEmail, receive, { concurrency: 10, reserved: 2, batchSize: 4 }),
  work(receiveLargeEmail, receive, { concurrency: 3, reserved: 2 }),
  work(receiveWaiting, queueWaiting, { concurrency: 1, cron: '29 * * * *' }),
  work(forgetSpaces, removeOrphans, { concurrency: 1, cron: '17 3 * * *' }),
  work(forgetMail, removeOldMail, { concurrency: 1, cron: '47 3 * * *' }),
]

import { type Work, work } from '../platform/jobs/worker.ts'
import { decideMail, mailLetter, mailWaiting, sendLetter } from './mail.ts'

/** Every minute one job decides which users get mail, and sends a job for each letter. */
export const notificationWorks: Work[] = [
  work(mailWaiting, decideMail, { concurrency: 1, cron: '* * * * *' }),
  work(sendLetter, mailLetter, { concurrency: 4 }),
]

import { type Work, work } from '../platform/jobs/worker.ts'
import { decideMail, mailLetter, mailWaiting, sendLetter } from './mail.ts'

export const notificationWorks: Work[] = [
  work(mailWaiting, decideMail, { concurrency: 1, cron: '* * * * *' }),
  work(sendLetter, mailLetter, { concurrency: 4 }),
]

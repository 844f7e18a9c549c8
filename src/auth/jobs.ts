import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { mailAddressLink, mailAddressNotice, sendAddressLink, sendAddressNotice } from './address-letters.ts'
import { mailPasswordNotice, sendPasswordNotice } from './password-notice.ts'
import { mailReset, sendReset } from './password-reset.ts'
import { deleteExpired } from './service.ts'

const forget = defineQueue({ name: 'auth.forget', schema: z.object({}) })

export const authWorks: Work[] = [
  work(forget, deleteExpired, { concurrency: 1, cron: '17 * * * *' }),
  work(sendReset, mailReset),
  work(sendPasswordNotice, mailPasswordNotice),
  work(sendAddressLink, mailAddressLink),
  work(sendAddressNotice, mailAddressNotice),
]

import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { forgetEnded } from './service.ts'

const forget = defineQueue({ name: 'auth.forget', schema: z.object({}) })

export const authWorks: Work[] = [work(forget, forgetEnded, { concurrency: 1, cron: '17 * * * *' })]

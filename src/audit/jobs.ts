import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { deleteForgottenSignIns } from './failed-sign-ins.ts'
import { deleteOldEntries } from './service.ts'

const forgetEntries = defineQueue({ name: 'audit.forget', schema: z.object({}) })

export const auditWorks: Work[] = [
  work(
    forgetEntries,
    async (context) => {
      await deleteForgottenSignIns(context)
      await deleteOldEntries(context)
    },
    { concurrency: 1, cron: '37 * * * *' },
  ),
]

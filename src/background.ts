/** All background jobs on one page, as router.ts lists all requests. Each feature defines its jobs in its jobs.ts. */
import { auditWorks } from './audit/jobs.ts'
import { authWorks } from './auth/jobs.ts'
import { conversionWorks } from './conversions/jobs.ts'
import { csvWorks } from './csv/jobs.ts'
import { emailWorks } from './email/jobs.ts'
import { eventWorks } from './events/jobs.ts'
import { fileWorks } from './files/jobs.ts'
import { indexWorks } from './indexes/jobs.ts'
import { notificationWorks } from './notifications/jobs.ts'
import { peopleWorks } from './people/jobs.ts'
import { cleanupWorks } from './platform/http/cleanup.ts'
import type { Queue } from './platform/jobs/queue.ts'
import type { Work } from './platform/jobs/worker.ts'
import { recordWorks } from './records/jobs.ts'
import { spaceWorks } from './spaces/jobs.ts'
import { tableWorks } from './tables/jobs.ts'
import { taskWorks } from './tasks/jobs.ts'
import { viewWorks } from './views/jobs.ts'

export const works: readonly Work[] = [
  ...cleanupWorks,
  ...auditWorks,
  ...authWorks,
  ...spaceWorks,
  ...eventWorks,
  ...tableWorks,
  ...conversionWorks,
  ...viewWorks,
  ...recordWorks,
  ...fileWorks,
  ...csvWorks,
  ...indexWorks,
  ...notificationWorks,
  ...taskWorks,
  ...emailWorks,
  ...peopleWorks,
]

/** The queues that `deploy` creates and a worker reads. */
export const queues: readonly Queue[] = works.map(({ queue }) => queue)

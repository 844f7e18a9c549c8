/** The whole API on one page: the procedures, which are served as RPC and as REST, and the plain routes for bytes and streams. */
import type { FastifyInstance } from 'fastify'
import { auditOperations } from './audit/docs.ts'
import { auditRouter } from './audit/router.ts'
import { mountAudit } from './audit/routes.ts'
import { authOperations } from './auth/docs.ts'
import { authRouter, sessionsRouter } from './auth/router.ts'
import { mountLinkPages } from './auth/routes.ts'
import { commentsRouter, subscriptionsRouter } from './comments/router.ts'
import { conversionsRouter, jobsRouter } from './conversions/router.ts'
import { csvOperations } from './csv/docs.ts'
import { mountCsv } from './csv/routes.ts'
import { emailOperations } from './email/docs.ts'
import { inboundOperations } from './email/inbox/docs.ts'
import { emailRouter, inboundRouter, signaturesRouter, smtpRouter, suppressionsRouter } from './email/router.ts'
import { mountEmail } from './email/routes.ts'
import { streamOperations } from './events/docs.ts'
import { eventsProcedure } from './events/router.ts'
import { mountStreams } from './events/routes.ts'
import { fileOperations } from './files/docs.ts'
import { filesRouter } from './files/router.ts'
import { mountFiles } from './files/routes.ts'
import { accountRouter } from './files/usage/router.ts'
import { indexesRouter } from './indexes/router.ts'
import { keysRouter } from './keys/router.ts'
import { notificationOperations } from './notifications/docs.ts'
import { notificationsRouter } from './notifications/router.ts'
import { mountUnsubscribe } from './notifications/routes.ts'
import type { Deps } from './platform/context.ts'
import { healthOperations } from './platform/http/health.ts'
import { metricsOperation } from './platform/http/metrics.ts'
import type { PlainOperation } from './platform/http/openapi/document.ts'
import { mergeRouters, router } from './platform/http/procedures/trpc.ts'
import { recordsRouter } from './records/router.ts'
import { spacesRouter } from './spaces/router.ts'
import { fieldsRouter, tablesRouter } from './tables/router.ts'
import { tasksRouter } from './tasks/router.ts'
import { viewsRouter } from './views/router.ts'

export const appRouter = router({
  account: accountRouter,
  audit: auditRouter,
  auth: authRouter,
  sessions: sessionsRouter,
  keys: keysRouter,
  spaces: spacesRouter,
  tables: tablesRouter,
  fields: mergeRouters(fieldsRouter, conversionsRouter),
  jobs: jobsRouter,
  views: viewsRouter,
  indexes: indexesRouter,
  records: recordsRouter,
  files: filesRouter,
  comments: commentsRouter,
  subscriptions: subscriptionsRouter,
  notifications: notificationsRouter,
  tasks: tasksRouter,
  email: emailRouter,
  inbound: inboundRouter,
  signatures: signaturesRouter,
  smtp: smtpRouter,
  suppressions: suppressionsRouter,
  events: eventsProcedure,
})

export type AppRouter = typeof appRouter

/** Mounts the plain Fastify routes of the features. */
export function mountRoutes(app: FastifyInstance, deps: Deps): void {
  mountLinkPages(app)
  mountAudit(app)
  mountFiles(app, deps)
  mountCsv(app, deps)
  mountUnsubscribe(app, deps)
  mountEmail(app, deps)
  mountStreams(app, deps)
}

const plainOperations: PlainOperation[] = [
  ...healthOperations,
  metricsOperation,
  ...authOperations,
  ...auditOperations,
  ...fileOperations,
  ...csvOperations,
  ...notificationOperations,
  ...emailOperations,
  ...inboundOperations,
  ...streamOperations,
]

/** Generates openapi.json, which the service serves as a file: only this function loads the generator, and no start needs it. */
export async function apiDocument(): Promise<object> {
  const { openApiDocument } = await import('./platform/http/openapi/document.ts')
  return openApiDocument(appRouter, plainOperations)
}

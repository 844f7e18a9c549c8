/** The whole API on one page: the procedures, which are served as RPC and as REST, and the plain routes for bytes and streams. */
import type { FastifyInstance } from 'fastify'
import { auditOperations } from './audit/docs.ts'
import { auditRouter } from './audit/router.ts'
import { mountAudit } from './audit/routes.ts'
import { authOperations } from './auth/docs.ts'
import { authRouter, sessionsRouter } from './auth/router.ts'
import { mountLinkPages } from './auth/routes.ts'
import { commentsRouter, subscriptionsRouter } from './comments/router.ts'
import { conversionsRouter } from './conversions/router.ts'
import { csvOperations } from './csv/docs.ts'
import { mountCsv } from './csv/routes.ts'
import { demoRouter } from './demo/router.ts'
import { emailOperations } from './email/docs.ts'
import { inboundOperations } from './email/inbox/docs.ts'
import { mailPageOperations } from './email/page/docs.ts'
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
import { jobsRouter } from './jobs/router.ts'
import { keysRouter } from './keys/router.ts'
import { notificationOperations } from './notifications/docs.ts'
import { notificationsRouter } from './notifications/router.ts'
import { mountUnsubscribe } from './notifications/routes.ts'
import { peopleOperations } from './people/docs.ts'
import { ownerRouter, setupRouter, usersRouter } from './people/router.ts'
import { mountPeople } from './people/routes.ts'
import type { Deps } from './platform/context.ts'
import { healthOperations } from './platform/http/health.ts'
import { metricsOperation } from './platform/http/metrics.ts'
import type { PlainOperation } from './platform/http/openapi/document.ts'
import { mergeRouters, router } from './platform/http/procedures/trpc.ts'
import { securityTxtOperation } from './platform/http/security-txt.ts'
import { preferencesRouter } from './preferences/router.ts'
import { recordsRouter } from './records/router.ts'
import { spacesRouter } from './spaces/router.ts'
import { fieldsRouter, tablesRouter } from './tables/router.ts'
import { tasksRouter } from './tasks/router.ts'
import { tableListRouter, viewsRouter } from './views/router.ts'

export const appRouter = router({
  account: mergeRouters(accountRouter, ownerRouter),
  audit: auditRouter,
  auth: mergeRouters(authRouter, setupRouter, demoRouter),
  sessions: sessionsRouter,
  keys: keysRouter,
  preferences: preferencesRouter,
  users: usersRouter,
  spaces: spacesRouter,
  tables: mergeRouters(tableListRouter, tablesRouter),
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
  mountPeople(app)
}

const plainOperations: PlainOperation[] = [
  ...healthOperations,
  metricsOperation,
  securityTxtOperation,
  ...authOperations,
  ...auditOperations,
  ...fileOperations,
  ...csvOperations,
  ...notificationOperations,
  ...emailOperations,
  ...inboundOperations,
  ...mailPageOperations,
  ...streamOperations,
  ...peopleOperations,
]

/** Generates openapi.json, which the service serves as a file: only this function loads the generator, and no start needs it. */
export async function apiDocument(): Promise<object> {
  const { openApiDocument } = await import('./platform/http/openapi/document.ts')
  return openApiDocument(appRouter, plainOperations)
}

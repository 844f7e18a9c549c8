import { RecordComment } from '../comments/schema.ts'
import { callers } from '../platform/access/authorize.ts'
import { BATCH_BODY_LIMIT } from '../platform/http/bodies/body-limits.ts'
import { listOf, NoInput, Ok, SpacePath } from '../platform/http/procedures/schemas.ts'
import { answering, rest, router, spaceProcedure } from '../platform/http/procedures/trpc.ts'
import { emailDocs, signatureDocs, smtpDocs } from './docs.ts'
import { inboundDocs } from './inbox/docs.ts'
import * as messages from './inbox/messages.ts'
import { InboundMessage, InboundQuery } from './inbox/schema.ts'
import * as integrations from './integrations.ts'
import { cancel, retry } from './outbound/interventions.ts'
import {
  adminProcedure,
  emailProcedure,
  emailRecordProcedure,
  emailTableProcedure,
  integrationProcedure,
  signatureProcedure,
  suppressionProcedure,
  writerProcedure,
} from './procedure.ts'
import {
  Cancellation,
  Cancelled,
  EmailPath,
  IdPath,
  NewEmail,
  NewSignature,
  NewSmtpIntegration,
  Open,
  Preview,
  QueuedEmail,
  RecordChoice,
  RecordContext,
  Signature,
  SignatureUpdate,
  SmtpIntegration,
  SmtpIntegrationUpdate,
  SmtpOption,
  SmtpTest,
  TableChoice,
} from './schema.ts'
import * as email from './service.ts'
import * as signatures from './signatures.ts'
import { suppressionDocs } from './suppressions/docs.ts'
import { SuppressedAddress, Suppression, SuppressionQuery } from './suppressions/schema.ts'
import * as suppressions from './suppressions/service.ts'
import { listOpens } from './tracking/opens.ts'

export const emailRouter = router({
  send: emailRecordProcedure
    .meta(rest('POST', '/api/email/send', emailDocs.send, { status: 202, isRepeatable: true, bodyLimit: BATCH_BODY_LIMIT }))
    .input(NewEmail)
    .output(QueuedEmail)
    .mutation(({ ctx, input }) => email.send(ctx.context, ctx.table, ctx.record, input)),

  preview: emailRecordProcedure
    .meta(rest('POST', '/api/email/preview', emailDocs.preview, { bodyLimit: BATCH_BODY_LIMIT }))
    .input(NewEmail)
    .output(Preview)
    .query(({ ctx, input }) => email.preview(ctx.context, ctx.table, ctx.record, input)),

  recordContext: emailRecordProcedure
    .meta(rest('POST', '/api/email/recordContext', emailDocs.recordContext))
    .input(RecordChoice)
    .output(RecordContext)
    .query(({ ctx }) => email.recordContext(ctx.context, ctx.table, ctx.record)),

  smtpOptions: emailTableProcedure
    .meta(rest('POST', '/api/email/smtpOptions', emailDocs.smtpOptions, { isList: true }))
    .input(TableChoice)
    .output(listOf(SmtpOption))
    .query(({ ctx }) => integrations.options(ctx.context, ctx.table)),

  cancel: emailProcedure
    .meta(rest('POST', '/api/email/{comment_id}/cancel', emailDocs.cancel))
    .input(Cancellation.extend(EmailPath.shape))
    .output(Cancelled)
    .mutation(({ ctx, input }) => cancel(ctx.context, ctx.row, input)),

  retry: emailProcedure
    .meta(rest('POST', '/api/email/{comment_id}/retry', emailDocs.retry))
    .input(EmailPath)
    .output(RecordComment)
    .mutation(({ ctx }) => retry(ctx.context, ctx.row)),

  opens: emailProcedure
    .meta(rest('GET', '/api/email/{comment_id}/opens', emailDocs.opens, { isList: true }))
    .input(EmailPath)
    .output(listOf(Open))
    .query(({ ctx }) => listOpens(ctx.context, ctx.row)),
})

export const inboundRouter = router({
  list: adminProcedure
    .meta(rest('GET', '/api/email/inbound/list', inboundDocs.list, { isList: true }))
    .input(InboundQuery)
    .output(listOf(InboundMessage))
    .query(({ ctx, input }) => messages.list(ctx.context, input)),
})

export const suppressionsRouter = router({
  list: suppressionProcedure
    .meta(rest('GET', '/api/email/suppressions/list', suppressionDocs.list, { isList: true }))
    .input(SuppressionQuery)
    .output(listOf(Suppression))
    .query(({ ctx, input }) => suppressions.list(ctx.context, input)),

  remove: suppressionProcedure
    .meta(rest('POST', '/api/email/suppressions/remove', suppressionDocs.remove))
    .input(SuppressedAddress)
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await suppressions.remove(ctx.context, input.email)
      return { ok: true }
    }),
})

export const signaturesRouter = router({
  list: writerProcedure
    .meta(rest('POST', '/api/email/signatures/list', signatureDocs.list, { isList: true }))
    .input(NoInput)
    .output(listOf(Signature))
    .query(({ ctx }) => signatures.list(ctx.context)),

  create: writerProcedure
    .meta(rest('POST', '/api/email/signatures/create', signatureDocs.create, { etag: 'answered', isRepeatable: true }))
    .input(NewSignature)
    .output(Signature)
    .mutation(answering(({ ctx, input }) => signatures.create(ctx.context, input))),

  update: signatureProcedure
    .meta(rest('POST', '/api/email/signature/{id}/update', signatureDocs.update, { etag: 'answered and heeded' }))
    .input(SignatureUpdate.extend(IdPath.shape))
    .output(Signature)
    .mutation(answering(({ ctx, input }) => signatures.update(ctx.context, ctx.row, input, ctx.ifMatch))),

  delete: signatureProcedure
    .meta(rest('POST', '/api/email/signature/{id}/delete', signatureDocs.delete))
    .input(IdPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await signatures.remove(ctx.context, ctx.row)
      return { ok: true }
    }),
})

export const smtpRouter = router({
  list: spaceProcedure('admin', callers.session)
    .meta(rest('GET', '/api/space/{space_id}/smtp/list', smtpDocs.list, { isList: true }))
    .input(SpacePath)
    .output(listOf(SmtpIntegration))
    .query(({ ctx }) => integrations.list(ctx.context, ctx.space)),

  create: spaceProcedure('admin', callers.session)
    .meta(rest('POST', '/api/space/{space_id}/smtp/create', smtpDocs.create, { isRepeatable: true }))
    .input(NewSmtpIntegration.extend(SpacePath.shape))
    .output(SmtpIntegration)
    .mutation(({ ctx, input }) => integrations.create(ctx.context, ctx.space, input)),

  update: integrationProcedure
    .meta(rest('POST', '/api/smtp/{id}/update', smtpDocs.update))
    .input(SmtpIntegrationUpdate.extend(IdPath.shape))
    .output(SmtpIntegration)
    .mutation(({ ctx, input }) => integrations.update(ctx.context, ctx.row, input)),

  delete: integrationProcedure
    .meta(rest('POST', '/api/smtp/{id}/delete', smtpDocs.delete))
    .input(IdPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await integrations.remove(ctx.context, ctx.row)
      return { ok: true }
    }),

  test: integrationProcedure
    .meta(rest('POST', '/api/smtp/{id}/test', smtpDocs.test))
    .input(IdPath)
    .output(SmtpTest)
    .mutation(({ ctx }) => integrations.test(ctx.context, ctx.row)),
})

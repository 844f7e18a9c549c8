import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok } from '../platform/http/schemas.ts'
import { rest, router, spaceProcedure } from '../platform/http/trpc.ts'
import * as examples from './examples.ts'
import * as integrations from './integrations.ts'
import { emailProcedure, integrationProcedure, recordProcedure, signatureProcedure, tableProcedure, writerProcedure } from './procedure.ts'
import {
  CommentPath,
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
  SpacePath,
  TableChoice,
} from './schema.ts'
import * as email from './service.ts'
import * as signatures from './signatures.ts'

const SEND_ERRORS = {
  400: 'An invalid input; `From domain not allowed: <domain>`; an attachment that is no stored file of the table',
  404: 'Table, Record, SMTP integration or Signature not found',
}

export const emailRouter = router({
  send: recordProcedure
    .meta(
      rest('POST', '/api/email/send', 'Send a mail from a record', {
        description:
          'Accepted and queued: the mail shows as an email_out comment of the record at once, and `metadata.status` tells there what became of it. ' +
          '`{{field:slug}}` in subject and body becomes the value that the record has when the mail is sent.',
        tags: ['Email'],
        example: {
          input: examples.newEmail,
          output: { id: 501, status: 'queued', comment: { id: 501, type: 'email_out', metadata: examples.metadata } },
        },
        errors: SEND_ERRORS,
        status: 202,
        isRepeatable: true,
      }),
    )
    .input(NewEmail)
    .output(QueuedEmail)
    .mutation(({ ctx, input }) => email.send(ctx.context, ctx.table, ctx.record, input)),

  preview: recordProcedure
    .meta(
      rest('POST', '/api/email/preview', 'Show a mail without sending it', {
        description: 'Takes what send takes and answers what it would send now, tokens resolved, and what to look at before.',
        tags: ['Email'],
        example: {
          input: examples.newEmail,
          output: {
            subject: 'Our offer for Acme',
            html: '<p>Dear Ann,</p><p>please find our offer attached.</p>',
            text: 'Dear Ann,\n\nplease find our offer attached.',
            unresolved: [],
            problems: [],
          },
        },
        errors: SEND_ERRORS,
      }),
    )
    .input(NewEmail)
    .output(Preview)
    .query(({ ctx, input }) => email.preview(ctx.context, ctx.table, ctx.record, input)),

  recordContext: recordProcedure
    .meta(
      rest('POST', '/api/email/recordContext', 'What a composer needs of a record', {
        description: "The values of the record's email fields, and the fields that `{{field:slug}}` can name.",
        tags: ['Email'],
        example: {
          input: { tableId: 101, recordId: 12 },
          output: { emails: ['ann@customer.example'], fields: [{ id: 'company', name: 'Company' }] },
        },
      }),
    )
    .input(RecordChoice)
    .output(RecordContext)
    .query(({ ctx }) => email.recordContext(ctx.context, ctx.table, ctx.record)),

  smtpOptions: tableProcedure
    .meta(
      rest('POST', '/api/email/smtpOptions', 'What a table may send through', {
        description: "The space's SMTP integrations that are open to the table and have a domain to send from, by label.",
        tags: ['Email'],
        example: {
          input: { tableId: 101 },
          output: {
            rows: [
              {
                id: 3,
                label: 'Sales',
                fromDomains: ['example.com'],
                fromIdentities: [{ name: 'Sales', email: 'sales@example.com' }],
                disablePixel: false,
              },
            ],
          },
        },
        isList: true,
      }),
    )
    .input(TableChoice)
    .output(listOf(SmtpOption))
    .query(({ ctx }) => integrations.options(ctx.context, ctx.table)),

  opens: emailProcedure
    .meta(
      rest('GET', '/api/email/{comment_id}/opens', 'List the openings of a mail', {
        description: 'Every request for the image in the mail, oldest first, with a guess at who asked. No addresses are kept.',
        tags: ['Email'],
        example: {
          output: { rows: [{ opened_at: '2026-03-02 10:30:00', class: 'human', user_agent: 'Mozilla/5.0 (X11; Linux x86_64)' }] },
        },
        isList: true,
      }),
    )
    .input(CommentPath)
    .output(listOf(Open))
    .query(({ ctx }) => email.opens(ctx.context, ctx.row)),
})

export const signaturesRouter = router({
  list: writerProcedure
    .meta(
      rest('POST', '/api/email/signatures/list', 'List signatures', {
        description: "The caller's own, by name.",
        tags: ['Email'],
        example: { output: { rows: [examples.signature] } },
        isList: true,
      }),
    )
    .input(NoInput)
    .output(listOf(Signature))
    .query(({ ctx }) => signatures.list(ctx.context)),

  create: writerProcedure
    .meta(
      rest('POST', '/api/email/signatures/create', 'Make a signature', {
        description: 'A new default takes the place of the old one.',
        tags: ['Email'],
        etag: 'answered',
        example: { input: { name: 'Short', html: '<p>Max Born<br />Sales</p>', is_default: true }, output: examples.signature },
        isRepeatable: true,
      }),
    )
    .input(NewSignature)
    .output(Signature)
    .mutation(({ ctx, input }) => signatures.create(ctx.context, input)),

  update: signatureProcedure
    .meta(
      rest('POST', '/api/email/signature/{id}/update', 'Change a signature', {
        description: "A key that is absent keeps its value. Another user's signature is 404.",
        tags: ['Email'],
        example: { input: { name: 'Short' }, output: examples.signature },
        etag: 'answered and heeded',
        errors: { 409: 'The signature has changed since' },
      }),
    )
    .input(SignatureUpdate.extend(IdPath.shape))
    .output(Signature)
    .mutation(({ ctx, input }) => signatures.update(ctx.context, ctx.row, input)),

  delete: signatureProcedure
    .meta(
      rest('POST', '/api/email/signature/{id}/delete', 'Delete a signature', {
        description: "Mails that wait keep it. Another user's signature is 404.",
        tags: ['Email'],
        example: { output: { ok: true } },
      }),
    )
    .input(IdPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await signatures.remove(ctx.context, ctx.row)
      return { ok: true }
    }),
})

export const smtpRouter = router({
  list: spaceProcedure('admin', callers.session)
    .meta(
      rest('GET', '/api/space/{space_id}/smtp/list', 'List SMTP integrations', {
        description: 'By label. Passwords are never shown.',
        tags: ['Email'],
        example: { output: { rows: [examples.integration] } },
        isList: true,
      }),
    )
    .input(SpacePath)
    .output(listOf(SmtpIntegration))
    .query(({ ctx }) => integrations.list(ctx.context, ctx.space)),

  create: spaceProcedure('admin', callers.session)
    .meta(
      rest('POST', '/api/space/{space_id}/smtp/create', 'Add an SMTP integration', {
        description: 'A host at a private, loopback or link-local address is refused unless the operator allows it.',
        tags: ['Email'],
        example: { input: examples.newIntegration, output: examples.integration },
        isRepeatable: true,
      }),
    )
    .input(NewSmtpIntegration.extend(SpacePath.shape))
    .output(SmtpIntegration)
    .mutation(({ ctx, input }) => integrations.create(ctx.context, ctx.space, input)),

  update: integrationProcedure
    .meta(
      rest('POST', '/api/smtp/{id}/update', 'Change an SMTP integration', {
        description: 'A key that is absent keeps its value; `password: null` and `username: null` clear theirs.',
        tags: ['Email'],
        example: { input: { label: 'Sales EU' }, output: { ...examples.integration, label: 'Sales EU' } },
        errors: { 409: 'Deleted meanwhile' },
      }),
    )
    .input(SmtpIntegrationUpdate.extend(IdPath.shape))
    .output(SmtpIntegration)
    .mutation(({ ctx, input }) => integrations.update(ctx.context, ctx.row, input)),

  delete: integrationProcedure
    .meta(
      rest('POST', '/api/smtp/{id}/delete', 'Delete an SMTP integration', {
        description: 'Mails that still wait for it are dropped.',
        tags: ['Email'],
        example: { output: { ok: true } },
      }),
    )
    .input(IdPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await integrations.remove(ctx.context, ctx.row)
      return { ok: true }
    }),

  test: integrationProcedure
    .meta(
      rest('POST', '/api/smtp/{id}/test', 'Try an SMTP integration', {
        description: 'Connects and signs in for real, sends nothing, and says what the server said.',
        tags: ['Email'],
        example: { output: { ok: true, error: null } },
        errors: { 409: 'Deleted meanwhile' },
      }),
    )
    .input(IdPath)
    .output(SmtpTest)
    .mutation(({ ctx }) => integrations.test(ctx.context, ctx.row)),
})

import type { PlainOperation } from '../../platform/http/openapi/document.ts'
import { operationDocs } from '../../platform/http/procedures/operation-docs.ts'

export const inboundDocs = operationDocs('Email', {
  list: {
    summary: 'List inbound messages',
    description:
      'What came for the spaces that the caller administers, newest first, and what each message was read as. Messages without a known ' +
      'reply address are not stored. X-Total-Count is sent with the first page, unless there are more than 10,000 messages.',
    example: {
      input: {},
      output: {
        rows: [
          {
            id: 91,
            received_at: '2026-03-02 11:05:00',
            from: { name: 'Ann Lee', email: 'ann@customer.example' },
            subject: 'Re: Our offer for Acme',
            verdict: 'comment',
            reason: null,
            comment_ids: [502],
          },
        ],
      },
    },
  },
})

const MESSAGE: PlainOperation['responses'] = {
  200: {
    description: 'The message, always as an attachment.',
    content: { 'message/rfc822': { schema: { type: 'string', format: 'binary' } } },
  },
}

export const inboundOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/email/inbound/{id}/raw',
    operationId: 'inbound.raw',
    tag: 'Email',
    summary: 'Download an inbound message',
    description:
      'Returns the bytes of the message as they came. Requires an admin of a space that the message came for. The reply addresses of ' +
      'other spaces are masked.',
    isPublic: false,
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'The id in the list of inbound messages.',
        schema: { type: 'integer' },
        example: 91,
      },
    ],
    responses: MESSAGE,
    errors: [400, 401, 403, 404, 429],
  },
  {
    method: 'get',
    path: '/api/email/{comment_id}/raw',
    operationId: 'email.raw',
    tag: 'Email',
    summary: 'Download the message of a mail that was received',
    description:
      'Returns the bytes of the message that became the email_in comment, as they came. Requires an admin of the space. 404 for a ' +
      'mail that was sent, and once the message is older than the installation keeps messages.',
    isPublic: false,
    parameters: [
      {
        name: 'comment_id',
        in: 'path',
        required: true,
        description: 'The id of the email_in comment.',
        schema: { type: 'integer' },
        example: 502,
      },
    ],
    responses: MESSAGE,
    errors: [400, 401, 403, 404, 429],
  },
]

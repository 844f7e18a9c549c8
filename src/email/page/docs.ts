import type { PlainOperation } from '../../platform/http/openapi/document.ts'

export const mailPageOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/email/{comment_id}/html',
    operationId: 'email.html',
    tag: 'Email',
    summary: 'Show a mail as a page',
    description:
      'Returns the sanitised body of a mail that was sent or received, for a frame of the same origin: a policy lets it run ' +
      'nothing, send no form and load nothing. Images inside the mail are in the page, up to 8 MB together; those on other servers ' +
      'are left out unless `images` asks for them. For everybody who can read the record.',
    isPublic: false,
    parameters: [
      {
        name: 'comment_id',
        in: 'path',
        required: true,
        description: 'The id of the email_in or email_out comment.',
        schema: { type: 'integer' },
        example: 502,
      },
      {
        name: 'images',
        in: 'query',
        required: false,
        description: 'remote: images on other servers, too, which tells these servers that the mail is read.',
        schema: { type: 'string', enum: ['remote'] },
        example: 'remote',
      },
    ],
    responses: { 200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } } },
    errors: [400, 401, 403, 404, 429],
  },
]

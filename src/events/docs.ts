import type { PlainOperation } from '../platform/http/openapi/document.ts'

export const streamOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/events',
    operationId: 'events.stream',
    tag: 'Events',
    summary: 'Stream events',
    description:
      'Server-Sent Events, within a second of each change that the caller may read: `task.created`, `task.updated`, `task.deleted`, ' +
      '`task.done`, `task.undone`, `comment.created`, `comment.updated`, `comment.deleted`, `email.status`, and for users ' +
      '`notification`. `event` is the type; `data` has the time and the ids that apply. With `Last-Event-ID` the stream continues ' +
      'after that event, without gaps or duplicates, for up to a day; a `reset` event means that this is not possible and the client ' +
      'must reload. Ids do not arrive in order. Comment lines keep the connection open. The stream ends when the service stops, when ' +
      'the key or session expires, or when the client reads too slowly.',
    isPublic: false,
    parameters: [
      {
        name: 'Last-Event-ID',
        in: 'header',
        required: false,
        description: 'The id of the last event received; EventSource sends it automatically.',
        schema: { type: 'string' },
        example: '4711',
      },
    ],
    responses: {
      200: {
        description: 'The stream.',
        content: {
          'text/event-stream': {
            schema: { type: 'string' },
            example:
              'event: task.done\ndata: {"id":4712,"type":"task.done","at":"2026-03-31 ' +
              '09:30:00","space_id":1,"table_id":101,"record_id":12,"task_id":55}\nid: 4712\n\n',
          },
        },
      },
    },
    errors: [400, 401, 429],
  },
]

import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { MAX_ID } from '../platform/row-ids.ts'
import { MOST_TABLES } from './schema.ts'

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
      'the key or session expires, or when the client reads too slowly.\n\n' +
      'With `table_ids` the stream also tells what changes in these tables: `record.created`, `record.updated` with its `fields`, ' +
      '`record.deleted` and `record.restored`, each with `record_id`, `change_id` and `user_id`; `records.changed` with `count`, for a ' +
      'change of several records; `table.updated`, and `table.deleted` as the last of a table; `view.created`, `view.updated` and ' +
      '`view.deleted` with `view_id`; `members.changed` with `space_id`. The first message of a table comes at once, and then at most ' +
      'one each 250 ms for changes of records: several become one `records.changed`, whose `change_id` and `user_id` are null. A table ' +
      'that the caller may not read any more falls silent, and the stream ends with the last one.',
    isPublic: false,
    parameters: [
      {
        name: 'table_ids',
        in: 'query',
        required: false,
        description: 'Tables of which records, definitions, views and members are told, too: their ids, separated by commas, at most 50.',
        schema: { type: 'array', items: { type: 'integer', minimum: 1, maximum: MAX_ID }, maxItems: MOST_TABLES },
        style: 'form',
        explode: false,
        example: [101],
      },
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
              '09:30:00","space_id":1,"table_id":101,"record_id":12,"task_id":55}\nid: 4712\n\n' +
              'event: record.updated\ndata: {"id":4713,"type":"record.updated","at":"2026-03-31 09:30:01","space_id":1,"table_id":101,' +
              '"record_id":12,"change_id":834,"user_id":3,"fields":["stage"]}\nid: 4713\n\n',
          },
        },
      },
    },
    errors: [400, 401, 404, 429],
  },
]

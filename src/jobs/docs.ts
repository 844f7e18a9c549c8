import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

export const jobDocs = operationDocs('Tables', {
  get: {
    summary: 'Get the status of a job',
    description:
      'The job that `changeType`, an import, `records/update_where`, `records/delete_where` or an undo created, for those who may create ' +
      'such a job: an admin of the space, or a member for a change of records or an import into a table. The job can be read for 30 days ' +
      'after it has ended.',
    example: {
      output: {
        state: 'running',
        done: 40_000,
        total: 1_000_000,
        error: null,
        converts: 999_999,
        failing: 1,
        fails: [{ record_id: 17, value: 'about 20' }],
      },
    },
  },

  cancel: {
    summary: 'Cancel a job',
    description:
      'Ends the job, for the user who started it and admins of the space. Of a change of many records, what is changed stays. An import ' +
      'or a change of a type then changes nothing. `ok` is false if the job was over.',
    example: { output: { ok: true } },
  },
})

import { operationDocs } from '../platform/http/procedures/operation-docs.ts'

export const conversionDocs = operationDocs('Tables', {
  changeType: {
    summary: 'Change the type of a field',
    description:
      'Creates a job that counts the cells that can be converted and then converts them. The field keeps its type until the job is ' +
      'done. If cells cannot be converted, the job ends as `refused` unless `drop_failing` is true; if the new type makes views ' +
      'invalid, the answer is 409 unless `force` is true. With `dry_run` the job ends once the cells are counted. docs/field-types.md ' +
      'lists which type converts to which.',
    example: { input: { type: 'number', decimals: 2, drop_failing: true }, output: { job_id: 12 } },
    errors: { 409: 'The field is being converted to another type' },
  },
})

export const jobDocs = operationDocs('Tables', {
  get: {
    summary: 'Get the status of a job',
    description:
      'The job that `changeType` or an import created, for those who may create such a job: an admin of the space, or a member for an ' +
      'import into a table. The job can be read for 30 days after it has ended.',
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
})

import { operationDocs } from '../platform/http/operation-docs.ts'

export const conversionDocs = operationDocs('Tables', {
  changeType: {
    summary: 'Change the type of a field',
    description:
      'Starts a job that converts every cell; the field keeps its type until the job is done. If cells do not convert, the answer is 409 ' +
      'unless `drop_failing` is true; if the new type makes views invalid, it is 409 unless `force` is true. With `dry_run` the answer only ' +
      'reports which cells would convert. docs/field-types.md lists which type converts to which.',
    example: {
      input: { type: 'number', decimals: 2, drop_failing: true },
      output: { job_id: 12, converts: 998, fails: [{ record_id: 17, value: 'about 20' }], failing: 1 },
    },
    errors: { 409: '1 text cells do not convert; send drop_failing: true to empty them' },
  },
})

export const jobDocs = operationDocs('Tables', {
  get: {
    summary: 'Get the status of a job',
    description: 'A job that a request started on a table. Requires an admin of its space.',
    example: { output: { state: 'running', done: 40_000, total: 1_000_000, error: null } },
  },
})

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

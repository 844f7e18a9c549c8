import { KEY_FIELD } from '../fields/definition.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import { type Field, fieldOf, type TableWithFields } from './schema.ts'

const flags = { required: false, always_hidden: false, admin_only: false }
const title: Field = { id: 'company', name: 'Company', type: 'text', ...flags, required: true, version: 1 }
const options = { options: ['Lead', 'Won', 'Lost'], colors: { Won: 'green', Lost: 'red' } } as const satisfies Partial<Field>
const CLOSED_COLORS: Field['colors'] = { Closed: 'green', Lost: 'red' }
const stage: Field = { id: 'stage', name: 'Stage', type: 'select', ...flags, ...options, version: 1 }
const table: TableWithFields = { id: 101, name: 'Deals', space_id: 1, fields: [fieldOf(KEY_FIELD), title, stage] }
const NAME_TAKEN = { 409: 'This name is taken' }

export const tableDocs = operationDocs('Tables', {
  get: {
    summary: 'Get a table with its fields',
    description: 'The key field comes first, then the fields in their order, then the calculated fields.',
    example: { output: table },
  },

  create: {
    summary: 'Create a table',
    description: 'Creates the table and its fields together or not at all. The first text field is the title of a record.',
    example: {
      input: {
        name: 'Deals',
        fields: [
          { name: 'Company', type: 'text', required: true },
          { name: 'Stage', type: 'select', ...options },
        ],
      },
      output: table,
    },
    errors: NAME_TAKEN,
  },

  update: {
    summary: 'Rename a table',
    description: 'The id, the fields and the records stay unchanged.',
    example: { input: { name: 'Deals' }, output: table },
    errors: NAME_TAKEN,
  },

  delete: {
    summary: 'Delete a table',
    description:
      'Also deletes its records with their tasks and comments. An operator can restore the table for seven days. If views of ' +
      'other tables name its fields through lookups, the answer is 409 and names them; with `force` they are deleted or changed.',
    example: { input: { force: true }, output: { ok: true } },
    errors: { 409: 'Views need this table: Deals by city; send force: true to change them' },
  },
})

export const fieldDocs = operationDocs('Tables', {
  create: {
    summary: 'Create a field',
    description: 'Adds the field at the end of the table. Its id is derived from its name and never changes.',
    example: { input: { name: 'Stage', type: 'select', ...options }, output: stage },
    errors: NAME_TAKEN,
  },

  update: {
    summary: 'Update a field',
    description:
      'Send `options` as the whole list, in which `{title, was}` renames an option, or `add_options` and `remove_options`, which leave ' +
      'alone what others change meanwhile. Options keep their colors, unless `colors` has others. A change that would alter cells ' +
      '(removing an option that records use, fewer decimals), or that removes an option that a view filters by, is 409 unless `force` ' +
      'is true. Once it is answered, every reader sees those cells as changed, and the view finds no record by the option. On a large ' +
      'table a job rewrites the cells afterwards, and the decimals and type of the field cannot be changed until it is done.',
    example: {
      input: { options: ['Lead', { title: 'Closed', was: 'Won' }, 'Lost'] },
      output: { ...stage, options: ['Lead', 'Closed', 'Lost'], colors: CLOSED_COLORS, version: 2 },
    },
    errors: { 409: 'The field has changed since' },
  },

  delete: {
    summary: 'Delete a field',
    description:
      'Deletes its values, too. If views need the field, the answer is 409 and names them; with `force` they are deleted or changed, ' +
      'and the answer lists both.',
    example: { input: { force: true }, output: { ok: true, deleted_views: [{ id: 4, name: 'Board' }], unsorted_views: [] } },
    errors: { 409: 'Views need this field: Board; send force: true to change them' },
  },

  reorder: {
    summary: 'Reorder the fields',
    description:
      'The list must name every field once, except for the key and calculated fields. The first text field is the title of a record.',
    example: { input: { field_ids: ['stage', 'company'] }, output: { rows: [stage, title] } },
  },
})

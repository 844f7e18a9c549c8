import { KEY_FIELD } from '../fields/definition.ts'
import { callers } from '../platform/access/authorize.ts'
import { listOf, Ok } from '../platform/http/schemas.ts'
import { rest, router, spaceProcedure, tableProcedure } from '../platform/http/trpc.ts'
import * as fieldChanges from './fields/alter-fields.ts'
import {
  Field,
  FieldDeleted,
  FieldDeletion,
  FieldOrder,
  FieldPath,
  FieldUpdate,
  fieldOf,
  NewField,
  NewTable,
  SpacePath,
  Table,
  TablePath,
  TableUpdate,
  TableWithFields,
} from './schema.ts'
import * as tables from './service.ts'

const flags = { required: false, always_hidden: false, admin_only: false }
const title: Field = { id: 'company', name: 'Company', type: 'text', ...flags, required: true }
const stage: Field = { id: 'stage', name: 'Stage', type: 'select', ...flags, options: ['Lead', 'Won', 'Lost'] }
const summary: Table = { id: 101, name: 'Deals', space_id: 1 }
const table: TableWithFields = { ...summary, fields: [fieldOf(KEY_FIELD), title, stage] }
const NAME_TAKEN = { 409: 'This name is taken' }

export const tablesRouter = router({
  list: spaceProcedure('read', callers.any)
    .meta(
      rest('GET', '/api/space/{space_id}/tables/list', 'List the tables of a space', {
        description: 'By name, ignoring case.',
        tags: ['Tables'],
        example: { output: { rows: [summary] } },
        isList: true,
      }),
    )
    .input(SpacePath)
    .output(listOf(Table))
    .query(({ ctx }) => tables.list(ctx.context, ctx.space)),

  get: tableProcedure('read', callers.any)
    .meta(
      rest('GET', '/api/table/{table_id}/get', 'Get a table with its fields', {
        description: 'The key first, then the fields in their order, calc fields last.',
        tags: ['Tables'],
        example: { output: table },
      }),
    )
    .input(TablePath)
    .output(TableWithFields)
    .query(({ ctx }) => tables.get(ctx.context, ctx.table)),

  create: spaceProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/space/{space_id}/tables/create', 'Make a table', {
        description: 'With its fields, all or nothing. The first text field is the title of a record.',
        tags: ['Tables'],
        example: {
          input: {
            name: 'Deals',
            fields: [
              { name: 'Company', type: 'text', required: true },
              { name: 'Stage', type: 'select', options: stage.options },
            ],
          },
          output: table,
        },
        errors: NAME_TAKEN,
        isRepeatable: true,
      }),
    )
    .input(NewTable.extend(SpacePath.shape))
    .output(TableWithFields)
    .mutation(({ ctx, input }) => tables.create(ctx.context, ctx.space, input)),

  update: tableProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/table/{table_id}/update', 'Rename a table', {
        description: 'Its id, fields and records stay as they are.',
        tags: ['Tables'],
        example: { input: { name: 'Deals' }, output: table },
        errors: NAME_TAKEN,
      }),
    )
    .input(TableUpdate.extend(TablePath.shape))
    .output(TableWithFields)
    .mutation(({ ctx, input }) => tables.update(ctx.context, ctx.table, input)),

  delete: tableProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/table/{table_id}/delete', 'Delete a table', {
        description: 'With its records, their tasks and comments. For seven days an operator can bring it back.',
        tags: ['Tables'],
        example: { output: { ok: true } },
      }),
    )
    .input(TablePath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await tables.remove(ctx.context, ctx.table)
      return { ok: true }
    }),
})

export const fieldsRouter = router({
  create: tableProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/table/{table_id}/fields/create', 'Add a field', {
        description: 'At the end of the table. Its id is made from its name and never changes.',
        tags: ['Tables'],
        example: { input: { name: 'Stage', type: 'select', options: stage.options }, output: stage },
        errors: NAME_TAKEN,
        isRepeatable: true,
      }),
    )
    .input(NewField.extend(TablePath.shape))
    .output(Field)
    .mutation(({ ctx, input }) => fieldChanges.create(ctx.context, ctx.table, input)),

  update: tableProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/table/{table_id}/field/{field_id}/update', 'Change a field', {
        description:
          'Options are given as the whole list; `{title, was}` renames one. What would change cells (an option that records use goes, ' +
          'fewer decimals) is 409 unless `force` is true. From the answer on everybody reads such cells as changed; on a large table a job then ' +
          'changes them, and until it is done the field keeps its decimals and type.',
        tags: ['Tables'],
        example: {
          input: { options: ['Lead', { title: 'Closed', was: 'Won' }, 'Lost'] },
          output: { ...stage, options: ['Lead', 'Closed', 'Lost'] },
        },
        errors: { 409: 'options: records use "Lost"; send force: true to change them' },
      }),
    )
    .input(FieldUpdate.extend(FieldPath.shape))
    .output(Field)
    .mutation(({ ctx, input: { field_id, ...changes } }) => fieldChanges.update(ctx.context, ctx.table, field_id, changes)),

  delete: tableProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/table/{table_id}/field/{field_id}/delete', 'Delete a field', {
        description: 'With its values. Views that need it are named in a 409; `force` deletes or changes them, and the answer lists both.',
        tags: ['Tables'],
        example: { input: { force: true }, output: { ok: true, deleted_views: [{ id: 4, name: 'Board' }], unsorted_views: [] } },
        errors: { 409: 'Views need this field: Board; send force: true to change them' },
      }),
    )
    .input(FieldDeletion.extend(FieldPath.shape))
    .output(FieldDeleted)
    .mutation(({ ctx, input }) => fieldChanges.remove(ctx.context, ctx.table, input.field_id, input.force)),

  reorder: tableProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/table/{table_id}/fields/reorder', 'Bring the fields into an order', {
        description: 'The list names every field but the key and calc fields, once. The first text field is the title of a record.',
        tags: ['Tables'],
        example: { input: { field_ids: ['stage', 'company'] }, output: { rows: [stage, title] } },
        isList: true,
      }),
    )
    .input(FieldOrder.extend(TablePath.shape))
    .output(listOf(Field))
    .mutation(({ ctx, input }) => tables.reorder(ctx.context, ctx.table, input.field_ids)),
})

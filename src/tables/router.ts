import { callers } from '../platform/access/authorize.ts'
import { listOf, Ok, SpacePath, TablePath } from '../platform/http/procedures/schemas.ts'
import { answering, rest, router, spaceProcedure, tableProcedure } from '../platform/http/procedures/trpc.ts'
import { fieldDocs, tableDocs } from './docs.ts'
import * as fieldChanges from './fields/alter-fields.ts'
import {
  Field,
  FieldDeleted,
  FieldDeletion,
  FieldOrder,
  FieldPath,
  FieldUpdate,
  NewField,
  NewTable,
  TableDeletion,
  TableUpdate,
  TableWithFields,
} from './schema.ts'
import * as tables from './service.ts'

export const tablesRouter = router({
  get: tableProcedure('read', callers.any)
    .meta(rest('GET', '/api/table/{table_id}/get', tableDocs.get))
    .input(TablePath)
    .output(TableWithFields)
    .query(({ ctx }) => tables.get(ctx.context, ctx.table)),

  create: spaceProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/space/{space_id}/tables/create', tableDocs.create, { isRepeatable: true }))
    .input(NewTable.extend(SpacePath.shape))
    .output(TableWithFields)
    .mutation(({ ctx, input }) => tables.create(ctx.context, ctx.space, input)),

  update: tableProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/table/{table_id}/update', tableDocs.update))
    .input(TableUpdate.extend(TablePath.shape))
    .output(TableWithFields)
    .mutation(({ ctx, input }) => tables.update(ctx.context, ctx.table, input)),

  delete: tableProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/table/{table_id}/delete', tableDocs.delete))
    .input(TableDeletion.extend(TablePath.shape))
    .output(Ok)
    .mutation(async ({ ctx, input }) => {
      await tables.remove(ctx.context, ctx.table, input.force)
      return { ok: true }
    }),
})

export const fieldsRouter = router({
  create: tableProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/table/{table_id}/fields/create', fieldDocs.create, { etag: 'answered', isRepeatable: true }))
    .input(NewField.extend(TablePath.shape))
    .output(Field)
    .mutation(answering(({ ctx, input }) => fieldChanges.create(ctx.context, ctx.table, input))),

  update: tableProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/table/{table_id}/field/{field_id}/update', fieldDocs.update, { etag: 'answered and heeded' }))
    .input(FieldUpdate.extend(FieldPath.shape))
    .output(Field)
    .mutation(
      answering(({ ctx, input: { field_id, ...changes } }) => fieldChanges.update(ctx.context, ctx.table, field_id, changes, ctx.ifMatch)),
    ),

  delete: tableProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/table/{table_id}/field/{field_id}/delete', fieldDocs.delete))
    .input(FieldDeletion.extend(FieldPath.shape))
    .output(FieldDeleted)
    .mutation(({ ctx, input }) => fieldChanges.remove(ctx.context, ctx.table, input.field_id, input.force)),

  reorder: tableProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/table/{table_id}/fields/reorder', fieldDocs.reorder, { isList: true }))
    .input(FieldOrder.extend(TablePath.shape))
    .output(listOf(Field))
    .mutation(({ ctx, input }) => tables.reorder(ctx.context, ctx.table, input.field_ids)),
})

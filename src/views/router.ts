import { callers } from '../platform/access/authorize.ts'
import { tableOf } from '../platform/access/resources.ts'
import { listOf, Ok, SpacePath, TablePath } from '../platform/http/procedures/schemas.ts'
import { answering, resourceProcedure, rest, router, spaceProcedure, tableProcedure } from '../platform/http/procedures/trpc.ts'
import { docs, tableListDocs } from './docs.ts'
import { ListedTable, NewView, TableQuery, View, ViewCheck, ViewPath, ViewUpdate } from './schema.ts'
import * as views from './service.ts'
import { listTables } from './table-list.ts'

/** The list of tables, which has their views, too. */
export const tableListRouter = router({
  list: spaceProcedure('read', callers.any)
    .meta(rest('GET', '/api/space/{space_id}/tables/list', tableListDocs.list, { isList: true }))
    .input(TableQuery.extend(SpacePath.shape))
    .output(listOf(ListedTable))
    .query(({ ctx, input }) => listTables(ctx.context, ctx.space, input)),
})

export const viewsRouter = router({
  list: tableProcedure('read', callers.any)
    .meta(rest('GET', '/api/table/{table_id}/views/list', docs.list, { isList: true }))
    .input(TablePath)
    .output(listOf(View))
    .query(({ ctx }) => views.list(ctx.context, ctx.table)),

  get: resourceProcedure(views.anyViewResource, 'read', callers.any)
    .meta(rest('GET', '/api/table/{table_id}/view/{view_id}/get', docs.get, { etag: 'answered' }))
    .input(ViewPath)
    .output(View)
    .query(answering(({ ctx, input }) => views.get(ctx.context, tableOf(ctx.row, ctx.context.actor), input.view_id))),

  create: tableProcedure('admin', callers.session)
    .meta(rest('POST', '/api/table/{table_id}/views/create', docs.create, { etag: 'answered', mayIgnore: true, isRepeatable: true }))
    .input(NewView.extend(TablePath.shape))
    .output(View)
    .mutation(answering(({ ctx, input }) => views.create(ctx.context, ctx.table, input))),

  check: tableProcedure('admin', callers.session)
    .meta(rest('POST', '/api/table/{table_id}/views/check', docs.check, { mayIgnore: true }))
    .input(NewView.extend(TablePath.shape))
    .output(ViewCheck)
    .query(({ ctx, input }) => views.check(ctx.context, ctx.table, input)),

  update: resourceProcedure(views.viewResource, 'admin', callers.session)
    .meta(rest('POST', '/api/table/{table_id}/view/{view_id}/update', docs.update, { etag: 'answered and heeded', mayIgnore: true }))
    .input(ViewUpdate.extend(ViewPath.shape))
    .output(View)
    .mutation(
      answering(({ ctx, input }) => views.update(ctx.context, tableOf(ctx.row, ctx.context.actor), ctx.row.view_id, input, ctx.ifMatch)),
    ),

  delete: resourceProcedure(views.viewResource, 'admin', callers.session)
    .meta(rest('POST', '/api/table/{table_id}/view/{view_id}/delete', docs.delete))
    .input(ViewPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await views.remove(ctx.context, tableOf(ctx.row, ctx.context.actor), ctx.row.view_id)
      return { ok: true }
    }),
})

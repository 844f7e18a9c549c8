import { callers } from '../platform/access/authorize.ts'
import { tableOf } from '../platform/access/resources.ts'
import { listOf, Ok } from '../platform/http/schemas.ts'
import { resourceProcedure, rest, router, tableProcedure } from '../platform/http/trpc.ts'
import { TablePath } from '../tables/schema.ts'
import { NewView, View, ViewCheck, ViewPath, ViewUpdate } from './schema.ts'
import * as views from './service.ts'

const view: View = {
  id: 3,
  account_id: 1,
  table_id: 101,
  name: 'Won deals',
  type: 'grid',
  config: { columns: ['company', 'amount'] },
  filters: [{ column: 'stage', compare: '=', value: 'Won', connector: 'AND' }],
  order_by: 'amount',
  order_dir: 'D',
  created_by: 7,
  created_at: '2026-03-31 09:30:00',
  updated_at: '2026-03-31 09:30:00',
  is_default: false,
  is_table_default: false,
}
const input = { name: view.name, type: view.type, config: view.config, filters: view.filters, order_by: 'amount', order_dir: 'D' as const }
const changes = {
  name: 'Won or large',
  filter: {
    any: [
      { column: 'stage', compare: '=' as const, value: 'Won' },
      { column: 'amount', compare: '>' as const, value: 1000 },
    ],
  },
  order: [
    { field: 'stage', dir: 'A' as const },
    { field: 'amount', dir: 'D' as const },
  ],
}
const NAME_TAKEN = { 409: "The table already has a view named 'Won deals'" }

export const viewsRouter = router({
  list: tableProcedure('read', callers.any)
    .meta(
      rest('GET', '/api/table/{table_id}/views/list', 'List the views of a table', {
        description: 'The Default view (id 0) first, then the saved views by name, ignoring case.',
        tags: ['Views'],
        example: { output: { rows: [view] } },
        isList: true,
      }),
    )
    .input(TablePath)
    .output(listOf(View))
    .query(({ ctx }) => views.list(ctx.context, ctx.table)),

  get: resourceProcedure(views.anyViewResource, 'read', callers.any)
    .meta(
      rest('GET', '/api/table/{table_id}/view/{view_id}/get', 'Get a view', {
        description: '0 is the Default view, which every table has.',
        tags: ['Views'],
        etag: 'answered',
        example: { output: view },
      }),
    )
    .input(ViewPath)
    .output(View)
    .query(({ ctx, input }) => views.get(ctx.context, tableOf(ctx.row, ctx.context.actor), input.view_id)),

  create: tableProcedure('admin', callers.session)
    .meta(
      rest('POST', '/api/table/{table_id}/views/create', 'Save a view', {
        description:
          'By an admin of the space. Filters, sort and layout are checked against the fields of the table. ' +
          '`filter` may stand in place of `filters`, and `order` in place of order_by and order_dir: the view then has them, too.',
        tags: ['Views'],
        etag: 'answered',
        mayIgnore: true,
        example: { input, output: view },
        errors: NAME_TAKEN,
        isRepeatable: true,
      }),
    )
    .input(NewView.extend(TablePath.shape))
    .output(View)
    .mutation(({ ctx, input }) => views.create(ctx.context, ctx.table, input)),

  check: tableProcedure('admin', callers.session)
    .meta(
      rest('POST', '/api/table/{table_id}/views/check', 'Check a view without saving it', {
        description: 'Takes what create takes, and answers what it would store, leave out and index; or the same errors.',
        tags: ['Views'],
        mayIgnore: true,
        example: { input, output: { ...input, filters: view.filters, is_table_default: false, dropped: [], index: null } },
        errors: NAME_TAKEN,
      }),
    )
    .input(NewView.extend(TablePath.shape))
    .output(ViewCheck)
    .query(({ ctx, input }) => views.check(ctx.context, ctx.table, input)),

  update: resourceProcedure(views.viewResource, 'admin', callers.session)
    .meta(
      rest('POST', '/api/table/{table_id}/view/{view_id}/update', 'Change a view', {
        description:
          'A key that is absent keeps its value, null clears it. The type stays as it is. `filters` takes the place of a saved `filter`, ' +
          'and order_by of a saved `order`; and the other way round.',
        tags: ['Views'],
        etag: 'answered and heeded',
        mayIgnore: true,
        example: { input: changes, output: { ...view, ...changes, filters: [], order_by: 'stage', order_dir: 'A' } },
        errors: NAME_TAKEN,
      }),
    )
    .input(ViewUpdate.extend(ViewPath.shape))
    .output(View)
    .mutation(({ ctx, input }) => views.update(ctx.context, tableOf(ctx.row, ctx.context.actor), ctx.row.view_id, input)),

  delete: resourceProcedure(views.viewResource, 'admin', callers.session)
    .meta(
      rest('POST', '/api/table/{table_id}/view/{view_id}/delete', 'Delete a view', {
        description: 'With the calendar index that only it needed.',
        tags: ['Views'],
        example: { output: { ok: true } },
      }),
    )
    .input(ViewPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await views.remove(ctx.context, tableOf(ctx.row, ctx.context.actor), ctx.row.view_id)
      return { ok: true }
    }),
})

import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok } from '../platform/http/schemas.ts'
import { accountProcedure, resourceProcedure, rest, router } from '../platform/http/trpc.ts'
import { Key, KeyPath, KeyUpdate, KeyWithSecret, NewKey, Self } from './schema.ts'
import * as keys from './service.ts'

const key = {
  id: 3,
  kind: 'account' as const,
  name: 'Website form',
  read_only: false,
  space_ids: [1],
  ip_allowlist: [],
  expires_at: null,
  last_used_at: null,
  created_at: '2026-03-31 09:30:00',
}
const secret = 'gp_acct_…'

export const keysRouter = router({
  list: accountProcedure(callers.session)
    .meta(
      rest('GET', '/api/keys/list', 'List API keys', {
        description: "The caller's personal keys, and for the account's owner the account keys; newest first.",
        tags: ['Keys'],
        example: { output: { rows: [key] } },
        isList: true,
      }),
    )
    .input(NoInput)
    .output(listOf(Key))
    .query(({ ctx }) => keys.list(ctx.context)),

  create: accountProcedure(callers.session)
    .meta(
      rest('POST', '/api/keys/create', 'Make an API key', {
        description: "Account keys by the account's owner only. The secret is shown only in this answer.",
        tags: ['Keys'],
        example: { input: { kind: 'account', name: 'Website form', space_ids: [1] }, output: { ...key, secret } },
        isRepeatable: true,
      }),
    )
    .input(NewKey)
    .output(KeyWithSecret)
    .mutation(({ ctx, input }) => keys.create(ctx.context, input)),

  update: resourceProcedure(keys.keyResource, 'write', callers.session)
    .meta(
      rest('POST', '/api/key/{key_id}/update', 'Change an API key', {
        description: 'A key that is absent keeps its value, null clears it. Counts from the next request on.',
        tags: ['Keys'],
        example: { input: { read_only: true }, output: { ...key, read_only: true } },
      }),
    )
    .input(KeyUpdate.extend(KeyPath.shape))
    .output(Key)
    .mutation(({ ctx, input }) => keys.update(ctx.context, ctx.row, input)),

  rotate: resourceProcedure(keys.keyResource, 'write', callers.session)
    .meta(
      rest('POST', '/api/key/{key_id}/rotate', "Replace an API key's secret", {
        description: 'Keeps the row; the old secret is dead at once.',
        tags: ['Keys'],
        example: { output: { ...key, secret } },
      }),
    )
    .input(KeyPath)
    .output(KeyWithSecret)
    .mutation(({ ctx }) => keys.rotate(ctx.context, ctx.row)),

  delete: resourceProcedure(keys.keyResource, 'write', callers.session)
    .meta(
      rest('POST', '/api/key/{key_id}/delete', 'Revoke an API key', {
        description: 'At once and for good.',
        tags: ['Keys'],
        example: { output: { ok: true } },
      }),
    )
    .input(KeyPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await keys.remove(ctx.context, ctx.row)
      return { ok: true }
    }),

  self: accountProcedure(callers.keys)
    .meta(
      rest('GET', '/api/key/self', 'What is this key?', {
        description: 'What the calling key is, what it may do, and on whose behalf it acts.',
        tags: ['Keys'],
        example: {
          output: { key, account_id: 1, acts_as: { id: 7, email: 'ada@example.com', name: 'Ada Byron', timezone: 'Europe/London' } },
        },
      }),
    )
    .input(NoInput)
    .output(Self)
    .query(({ ctx }) => keys.self(ctx.context)),
})

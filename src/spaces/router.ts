import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok } from '../platform/http/schemas.ts'
import { accountProcedure, resourceProcedure, rest, router, spaceProcedure } from '../platform/http/trpc.ts'
import { Member, MemberPath, MemberUpdate, NewMember, NewSpace, Space, SpacePath, SpaceUpdate } from './schema.ts'
import * as spaces from './service.ts'

const space = { id: 1, name: 'Sales', account_id: 1, role: 'admin' as const }
const member = { user_id: 8, name: 'Max Born', email: 'max@example.com', role: 'member' as const, status: 'active' as const }

export const spacesRouter = router({
  list: accountProcedure(callers.any)
    .meta(
      rest('GET', '/api/spaces/list', 'List spaces', {
        description: 'The spaces that the caller can reach, by name.',
        tags: ['Spaces'],
        example: { output: { rows: [space] } },
        isList: true,
      }),
    )
    .input(NoInput)
    .output(listOf(Space))
    .query(({ ctx }) => spaces.list(ctx.context)),

  get: spaceProcedure('read', callers.any)
    .meta(
      rest('GET', '/api/space/{space_id}/get', 'Get a space', {
        description: "With the caller's role in it.",
        tags: ['Spaces'],
        example: { output: space },
      }),
    )
    .input(SpacePath)
    .output(Space)
    .query(({ ctx }) => ctx.space),

  create: accountProcedure(callers.managers, { isOwnerOnly: true })
    .meta(
      rest('POST', '/api/spaces/create', 'Make a space', {
        description: "By the account's owner, or an account key without a whitelist.",
        tags: ['Spaces'],
        example: { input: { name: 'Sales' }, output: space },
        isRepeatable: true,
      }),
    )
    .input(NewSpace)
    .output(Space)
    .mutation(({ ctx, input }) => spaces.create(ctx.context, input)),

  update: spaceProcedure('admin', callers.managers, { isOwnerOnly: true })
    .meta(
      rest('POST', '/api/space/{space_id}/update', 'Rename a space', {
        description: "By the account's owner, or an account key without a whitelist.",
        tags: ['Spaces'],
        example: { input: { name: 'Sales EU' }, output: { ...space, name: 'Sales EU' } },
      }),
    )
    .input(SpaceUpdate.extend(SpacePath.shape))
    .output(Space)
    .mutation(({ ctx, input }) => spaces.update(ctx.context, ctx.space, input)),

  delete: spaceProcedure('admin', callers.managers, { isOwnerOnly: true })
    .meta(
      rest('POST', '/api/space/{space_id}/delete', 'Delete a space', {
        description: 'With its tables, records, tasks and comments. For seven days an operator can bring it back.',
        tags: ['Spaces'],
        example: { output: { ok: true } },
      }),
    )
    .input(SpacePath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await spaces.remove(ctx.context, ctx.space)
      return { ok: true }
    }),

  members: spaceProcedure('admin', callers.any)
    .meta(
      rest('GET', '/api/space/{space_id}/members/list', 'List the members of a space', {
        description: 'Everyone who may be assigned, mentioned or named in a user field, by name.',
        tags: ['Spaces'],
        example: { output: { rows: [member] } },
        isList: true,
      }),
    )
    .input(SpacePath)
    .output(listOf(Member))
    .query(({ ctx }) => spaces.listMembers(ctx.context, ctx.space)),

  addMember: spaceProcedure('admin', callers.managers)
    .meta(
      rest('POST', '/api/space/{space_id}/members/add', 'Add a member', {
        description: 'An address that is unknown is invited by mail. A user belongs to one account: an address of another is 409.',
        tags: ['Spaces'],
        example: { input: { email: 'max@example.com', role: 'member' }, output: member },
        errors: { 409: 'Already a member of this space' },
        isRepeatable: true,
      }),
    )
    .input(NewMember.extend(SpacePath.shape))
    .output(Member)
    .mutation(({ ctx, input }) => spaces.addMember(ctx.context, ctx.space, input)),

  updateMember: resourceProcedure(spaces.memberResource, 'admin', callers.managers)
    .meta(
      rest('POST', '/api/space/{space_id}/member/{user_id}/update', "Change a member's role", {
        description: 'Counts from the next request on.',
        tags: ['Spaces'],
        example: { input: { role: 'admin' }, output: { ...member, role: 'admin' } },
        errors: { 409: "The account's owner is an admin of every space" },
      }),
    )
    .input(MemberUpdate.extend(MemberPath.shape))
    .output(Member)
    .mutation(({ ctx, input }) => spaces.updateMember(ctx.context, ctx.row, input.role)),

  removeMember: resourceProcedure(spaces.memberResource, 'admin', callers.managers)
    .meta(
      rest('POST', '/api/space/{space_id}/member/{user_id}/remove', 'Remove a member', {
        description: 'They lose sight of the space at once; what they wrote stays, with their name.',
        tags: ['Spaces'],
        example: { output: { ok: true } },
        errors: { 409: "The account's owner is an admin of every space" },
      }),
    )
    .input(MemberPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await spaces.removeMember(ctx.context, ctx.row)
      return { ok: true }
    }),
})

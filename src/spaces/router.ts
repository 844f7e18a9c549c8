import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok, SpacePath } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, resourceProcedure, rest, router, spaceProcedure } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { ListedMember, Member, MemberPath, MemberQuery, MemberUpdate, NewMember, NewSpace, Space, SpaceUpdate } from './schema.ts'
import * as spaces from './service.ts'

export const spacesRouter = router({
  list: accountProcedure(callers.any)
    .meta(rest('GET', '/api/spaces/list', docs.list, { isList: true }))
    .input(NoInput)
    .output(listOf(Space))
    .query(({ ctx }) => spaces.list(ctx.context)),

  get: spaceProcedure('read', callers.any)
    .meta(rest('GET', '/api/space/{space_id}/get', docs.get))
    .input(SpacePath)
    .output(Space)
    .query(({ ctx }) => ctx.space),

  create: accountProcedure(callers.managers, { isOwnerOnly: true })
    .meta(rest('POST', '/api/spaces/create', docs.create, { isRepeatable: true }))
    .input(NewSpace)
    .output(Space)
    .mutation(({ ctx, input }) => spaces.create(ctx.context, input)),

  update: spaceProcedure('admin', callers.managers, { isOwnerOnly: true })
    .meta(rest('POST', '/api/space/{space_id}/update', docs.update))
    .input(SpaceUpdate.extend(SpacePath.shape))
    .output(Space)
    .mutation(({ ctx, input }) => spaces.update(ctx.context, ctx.space, input)),

  delete: spaceProcedure('admin', callers.managers, { isOwnerOnly: true })
    .meta(rest('POST', '/api/space/{space_id}/delete', docs.delete))
    .input(SpacePath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await spaces.remove(ctx.context, ctx.space)
      return { ok: true }
    }),

  members: spaceProcedure('read', callers.any)
    .meta(rest('GET', '/api/space/{space_id}/members/list', docs.members, { isList: true }))
    .input(MemberQuery.extend(SpacePath.shape))
    .output(listOf(ListedMember))
    .query(({ ctx, input }) => spaces.listMembers(ctx.context, ctx.space, input)),

  addMember: spaceProcedure('admin', callers.managers)
    .meta(rest('POST', '/api/space/{space_id}/members/add', docs.addMember, { isRepeatable: true }))
    .input(NewMember.extend(SpacePath.shape))
    .output(Member)
    .mutation(({ ctx, input }) => spaces.addMember(ctx.context, ctx.space, input)),

  updateMember: resourceProcedure(spaces.memberResource, 'admin', callers.managers)
    .meta(rest('POST', '/api/space/{space_id}/member/{user_id}/update', docs.updateMember))
    .input(MemberUpdate.extend(MemberPath.shape))
    .output(Member)
    .mutation(({ ctx, input }) => spaces.updateMember(ctx.context, ctx.row, input.role)),

  removeMember: resourceProcedure(spaces.memberResource, 'admin', callers.managers)
    .meta(rest('POST', '/api/space/{space_id}/member/{user_id}/remove', docs.removeMember))
    .input(MemberPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await spaces.removeMember(ctx.context, ctx.row)
      return { ok: true }
    }),
})

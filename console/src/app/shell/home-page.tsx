/** `/`: the table that one had open last, or what to do if there is none. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Navigate, useLocation } from '@tanstack/react-router'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { type SpaceWithTables, spacesQuery, usePlaces } from '../../session/places.ts'
import { appTexts } from '../../texts/app.ts'
import { tableTexts } from '../../texts/manage/fields.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { Loading, Notice } from '../../ui/notice.tsx'
import { useTitle } from '../../ui/title.ts'
import { Admins } from './admins.tsx'
import { useRecentTables } from './remembered.ts'

const NewTableDialog = lazyPart(async () => ({ default: (await import('../../manage/tables/table-dialog.tsx')).NewTableDialog }))

export function HomePage() {
  const { places, isPending, error, refetch } = usePlaces()
  const recent = useRecentTables()
  /** Whether one is on the way to another page, which is not there yet. */
  const isLeft = useLocation({ select: ({ pathname }) => pathname !== '/' })
  useTitle(undefined)
  if (error) {
    return (
      <Notice title={appTexts.failed} isAlert actions={<RetryButton retry={refetch} />}>
        <p>{messageOf(error)}</p>
      </Notice>
    )
  }
  if (isPending || recent.isPending) return <Loading text={appTexts.loading} />
  const tables = places.flatMap((space) => space.tables)
  const last = recent.value.find((id) => tables.some((table) => table.id === id)) ?? tables[0]?.id
  if (last !== undefined && isLeft) return <Loading text={appTexts.loading} />
  if (last !== undefined) return <Navigate to="/table/$tableId" params={{ tableId: String(last) }} replace />
  return places.length ? <NoTable spaces={places} /> : <NoSpace />
}

export const RetryButton = ({ retry }: { retry: () => void }) => (
  <button type="button" className="button" onClick={retry}>
    {appTexts.retry}
  </button>
)

function NoSpace() {
  const { is_owner } = useMe()
  const client = useClient()
  const queries = useQueryClient()
  const creation = useMutation({
    mutationFn: () => client.spaces.create.mutate({ name: 'Main' }),
    onSuccess: () => queries.invalidateQueries({ queryKey: spacesQuery(client).queryKey }),
  })
  if (!is_owner) return <Notice title={appTexts.nothingYet}>{<p>{appTexts.noSpaceMember}</p>}</Notice>
  return (
    <Notice
      title={appTexts.nothingYet}
      actions={
        <button type="button" className="button primary" onClick={() => creation.mutate()}>
          {appTexts.createSpace}
        </button>
      }
    >
      <p>{appTexts.noSpaceOwner}</p>
      <p className="problem" role="alert">
        {creation.error && messageOf(creation.error)}
      </p>
    </Notice>
  )
}

function NoTable({ spaces }: { spaces: readonly SpaceWithTables[] }) {
  const [isAdding, setAdding] = useState(false)
  const own = spaces.find(({ role }) => role === 'admin')
  if (own) {
    return (
      <>
        <Notice
          title={appTexts.nothingYet}
          actions={
            <button type="button" className="button primary" onClick={() => setAdding(true)}>
              {tableTexts.newTable}
            </button>
          }
        >
          <p>{appTexts.noTableAdmin}</p>
        </Notice>
        {isAdding && <NewTableDialog space={own} close={() => setAdding(false)} />}
      </>
    )
  }
  return (
    <Notice title={appTexts.nothingYet}>
      <p>
        {appTexts.noTableOthers} <Admins spaceId={spaces[0]?.id} />
      </p>
    </Notice>
  )
}

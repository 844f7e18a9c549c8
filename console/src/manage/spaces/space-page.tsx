/** `/spaces/{id}/…`: what belongs to a space as a whole. */
import { useQuery } from '@tanstack/react-query'
import { Link, Navigate, useParams } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { useClient } from '../../session/client.ts'
import { messageOf } from '../../session/errors.ts'
import { type Me, useMe } from '../../session/me.ts'
import { type Space, spacesQuery } from '../../session/places.ts'
import { appTexts } from '../../texts/app.ts'
import { spaceTexts } from '../../texts/manage/spaces.ts'
import { NotHere } from '../../ui/not-here.tsx'
import { Loading, Notice } from '../../ui/notice.tsx'
import { IntegrationsSection } from '../integrations/integrations-section.tsx'
import { MembersSection } from '../members/members-section.tsx'
import { SectionsPage } from '../sections-page.tsx'
import { GeneralSection } from './general-section.tsx'

type Name = keyof typeof spaceTexts.sections

interface SpaceSection {
  Section: ComponentType<{ space: Space }>
  isOpenTo: (space: Space, me: Me) => boolean
}

const SECTIONS: Readonly<Record<Name, SpaceSection>> = {
  members: { Section: MembersSection, isOpenTo: () => true },
  integrations: { Section: IntegrationsSection, isOpenTo: ({ role }) => role === 'admin' },
  general: { Section: GeneralSection, isOpenTo: (_, { is_owner }) => is_owner },
}

export function SpacePage() {
  const { spaceId, _splat: name = '' } = useParams({ strict: false })
  const { data: spaces, error, refetch } = useQuery(spacesQuery(useClient()))
  const space = spaces?.find(({ id }) => String(id) === spaceId)
  if (error && !spaces) {
    return (
      <Notice
        title={appTexts.failed}
        isAlert
        actions={
          <button type="button" className="button" onClick={() => void refetch()}>
            {appTexts.retry}
          </button>
        }
      >
        <p>{messageOf(error)}</p>
      </Notice>
    )
  }
  if (!spaces) return <Loading text={spaceTexts.loading} />
  if (!space || spaceId === undefined) return <NotHere />
  if (name === '') return <Navigate to="/spaces/$spaceId/$" params={{ spaceId, _splat: 'members' }} replace />
  return Object.hasOwn(SECTIONS, name) ? <Opened key={`${spaceId} ${name}`} space={space} name={name as Name} /> : <NotHere />
}

function Opened({ space, name }: { space: Space; name: Name }) {
  const me = useMe()
  const { Section, isOpenTo } = SECTIONS[name]
  if (!isOpenTo(space, me)) return <NotHere />
  const links = (Object.keys(SECTIONS) as Name[])
    .filter((one) => SECTIONS[one].isOpenTo(space, me))
    .map((one) => (
      <Link key={one} to="/spaces/$spaceId/$" params={{ spaceId: String(space.id), _splat: one }}>
        {spaceTexts.sections[one]}
      </Link>
    ))
  return (
    <SectionsPage of={space.name} links={links} title={spaceTexts.sections[name]}>
      <Section space={space} />
    </SectionsPage>
  )
}

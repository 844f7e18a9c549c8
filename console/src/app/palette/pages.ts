/** The pages that are no tables: what waits for the person, their settings, and what belongs to a space. */
import { useRouter } from '@tanstack/react-router'
import { useMemo } from 'react'
import { usePlaces } from '../../session/places.ts'
import { appTexts } from '../../texts/app.ts'
import { settingsTexts } from '../../texts/manage/settings.ts'
import { spaceTexts } from '../../texts/manage/spaces.ts'
import type { IconName } from '../../ui/icons/icon-paths.ts'
import type { Found } from './found.ts'

export function usePages(): readonly Found[] {
  const { history } = useRouter()
  const { places } = usePlaces()
  return useMemo(() => {
    const page = (path: string, name: string, icon: IconName, beside?: string): Found => ({
      ...{ id: `page-${path}`, kind: 'page', name, icon, beside },
      run: () => history.push(path),
    })
    return [
      page('/inbox', appTexts.inbox, 'inbox'),
      page('/tasks', appTexts.tasks, 'square-check'),
      ...Object.entries(settingsTexts.sections).map(([name, title]) => page(`/settings/${name}`, title, 'settings', settingsTexts.title)),
      ...places.flatMap(({ id, name, role }) => [
        page(`/spaces/${id}/members`, appTexts.peopleOf(name), 'users'),
        ...(role === 'admin' ? [page(`/spaces/${id}/integrations`, spaceTexts.sections.integrations, 'send', name)] : []),
      ]),
    ]
  }, [history, places])
}

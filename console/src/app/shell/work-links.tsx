/** The way to what waits for the person, with how much there is of it. */
import { Link, type LinkProps } from '@tanstack/react-router'
import { useBadges, useLiveBadges } from '../../session/badges.ts'
import { appTexts } from '../../texts/app.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { IconName } from '../../ui/icons/icon-paths.ts'
import { useTitleCount } from '../../ui/title.ts'

const MOST_SHOWN = 999

export function WorkLinks() {
  const { unread, tasksDue } = useBadges()
  useLiveBadges()
  useTitleCount(unread + tasksDue)
  return (
    <nav className="work-links" aria-label={appTexts.work}>
      <ul>
        <WorkLink to="/inbox" icon="inbox" name={appTexts.inbox} count={unread} says={appTexts.unread(unread)} />
        <WorkLink to="/tasks" icon="square-check" name={appTexts.tasks} count={tasksDue} says={appTexts.tasksDue(tasksDue)} />
      </ul>
    </nav>
  )
}

interface Props {
  to: LinkProps['to']
  icon: IconName
  name: string
  count: number
  /** The count in words. */
  says: string
}

function WorkLink({ to, icon, name, count, says }: Props) {
  return (
    <li>
      <Link to={to}>
        <Icon name={icon} />
        <span>{name}</span>
        {count > 0 && (
          <b className="badge" title={says}>
            <span aria-hidden="true">{count > MOST_SHOWN ? `${MOST_SHOWN}+` : count}</span>
            <span className="visually-hidden">{says}</span>
          </b>
        )}
      </Link>
    </li>
  )
}

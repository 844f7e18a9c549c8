/** A notification: what happened, where, and when. */
import { Fragment, type MouseEvent, memo } from 'react'
import { plainName } from '../mail/plain-name.ts'
import { inboxTexts } from '../texts/inbox.ts'
import { Icon } from '../ui/icons/icon.tsx'
import type { DatePlace } from '../ui/locale/date-text.ts'
import { When } from '../ui/locale/when.tsx'
import { isUnread, type Notification } from './feed.ts'
import { addressOf } from './place.ts'
import type { Titles } from './record-titles.ts'
import { detailsOf, iconOf, kindOf } from './words.ts'

interface Props {
  row: Notification
  titles: Titles
  /** The names of the tables. */
  tables: ReadonlyMap<number, string>
  /** The spaces of which the person is an admin. */
  managed: ReadonlySet<number>
  place: DatePlace
  /** Whether Tab leads to this one. */
  isCurrent: boolean
  focused: (id: number) => void
  /** @param isInTab whether the browser opens it in a tab of its own */
  open: (row: Notification, isInTab: boolean) => void
  mark: (row: Notification, isRead: boolean) => void
}

export const NotificationRow = memo(function NotificationRow(props: Props) {
  const { row, titles, tables, managed, place, isCurrent, focused, open, mark } = props
  const unread = isUnread(row)
  const message = plainName(row.message)
  const details = detailsOf(row, titles, tables, place).map(plainName)
  const follow = (event: MouseEvent) => {
    // With a key held, or by the middle button, the browser opens a tab or a window of its own.
    const isInTab = event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey
    if (!isInTab) event.preventDefault()
    open(row, isInTab)
  }
  const markLabel = unread ? inboxTexts.markRead : inboxTexts.markUnread
  return (
    <li className="notification" data-unread={unread || undefined}>
      <a
        href={addressOf(row, managed)}
        tabIndex={isCurrent ? 0 : -1}
        onClick={follow}
        onAuxClick={(event) => event.button === 1 && follow(event)}
        onFocus={() => focused(row.id)}
      >
        <span className="kind" title={kindOf(row)}>
          <Icon name={iconOf(row)} />
        </span>
        <span className="what">
          {/* The sentence is English, whatever the name in it begins with. */}
          <b dir="ltr" title={message}>
            {unread && <span className="visually-hidden">{inboxTexts.unread}: </span>}
            {message}
          </b>
          {details.length > 0 && (
            <span className="details" title={details.join(' · ')}>
              {details.map((part, at) => (
                <Fragment key={part}>
                  {at > 0 && ' · '}
                  <bdi>{part}</bdi>
                </Fragment>
              ))}
            </span>
          )}
        </span>
        <When instant={row.created_at} place={place} />
      </a>
      <button
        type="button"
        className="button quiet small icon-only"
        tabIndex={isCurrent ? 0 : -1}
        aria-label={`${markLabel}: ${message}`}
        title={markLabel}
        onClick={() => mark(row, unread)}
      >
        <Icon name={unread ? 'check' : 'mail'} />
      </button>
    </li>
  )
})

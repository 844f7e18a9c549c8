/** `/inbox`: what has happened to the person's work, unread first. */
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { tellMarked, useBadges } from '../session/badges.ts'
import { useClient } from '../session/client.ts'
import { messageOf } from '../session/errors.ts'
import { usePreference } from '../session/preferences.ts'
import { inboxTexts } from '../texts/inbox.ts'
import { announce } from '../ui/announcer.ts'
import { Icon } from '../ui/icons/icon.tsx'
import { useKeys } from '../ui/keys/keys.ts'
import { useTitle } from '../ui/title.ts'
import { toast } from '../ui/toasts/toasts.ts'
import '../ui/switch.css'
import './inbox.css'
import { createInbox, type Inbox } from './inbox-store.ts'
import { NotificationList } from './notification-list.tsx'

export function InboxPage() {
  const client = useClient()
  const [isUnreadOnly, choose] = useUnreadOnly()
  const inbox = useMemo(() => createInbox(client, isUnreadOnly), [client, isUnreadOnly])
  useTitle(inboxTexts.title)
  const { unread } = useBadges()
  const readAll = useReadAll(inbox)
  useKeys(inboxTexts.keys, [
    { keys: 'Shift+E', does: inboxTexts.readAll, run: readAll },
    { keys: 'U', does: inboxTexts.toggleUnread, run: () => choose(!isUnreadOnly) },
  ])
  return (
    <main className="inbox" tabIndex={-1}>
      <header>
        <h1>{inboxTexts.title}</h1>
        <label className="switch">
          <input
            type="checkbox"
            role="switch"
            checked={isUnreadOnly}
            aria-checked={isUnreadOnly}
            onChange={({ target }) => choose(target.checked)}
          />
          {inboxTexts.unreadOnly}
        </label>
        <button type="button" className="button small" aria-disabled={unread === 0} onClick={readAll}>
          <Icon name="check" /> {inboxTexts.readAll}
        </button>
        <Link to="/settings/$" params={{ _splat: 'notifications' }} className="button quiet small icon-only" title={inboxTexts.mails}>
          <Icon name="settings" />
          <span className="visually-hidden">{inboxTexts.mails}</span>
        </Link>
      </header>
      <NotificationList key={String(isUnreadOnly)} inbox={inbox} />
    </main>
  )
}

/** The choice, which is kept. It counts here before it is. */
function useUnreadOnly(): [isUnreadOnly: boolean, choose: (isUnreadOnly: boolean) => void] {
  const kept = usePreference('console.inbox-unread-only', (stored) => stored === true)
  const [chosen, setChosen] = useState<boolean | null>(null)
  const choose = (isUnreadOnly: boolean) => {
    setChosen(isUnreadOnly)
    kept.set(isUnreadOnly)
  }
  return [chosen ?? kept.value, choose]
}

function useReadAll(inbox: Inbox) {
  return () =>
    void inbox.markAll().then(
      () => {
        announce(inboxTexts.allRead)
        tellMarked()
      },
      (error: unknown) => toast(messageOf(error)),
    )
}

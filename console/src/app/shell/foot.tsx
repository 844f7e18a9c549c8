/** Who is signed in, with their zone and theme, and the way out. */
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { isOfSomebodyElse, isSignedOut, messageOf } from '../../session/errors.ts'
import { useMe } from '../../session/me.ts'
import { noteSomebodyElse, tellSignedOut } from '../../session/session.ts'
import { appTexts } from '../../texts/app.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { readTheme, type Theme } from '../theme.ts'
import { useTheme } from './remembered.ts'

export function Foot({ showKeys }: { showKeys: () => void }) {
  const { name, email, timezone } = useMe()
  const theme = useTheme()
  const { signOut, problem } = useSignOut()
  return (
    <div className="foot">
      <div className="foot-person">
        <p title={email}>
          <b>{name}</b>
          <span title={appTexts.timeZone}>
            <Icon name="clock" /> {timezone}
          </span>
        </p>
        <Link
          to="/settings/$"
          params={{ _splat: 'profile' }}
          className="button quiet icon-only small"
          aria-label={appTexts.settings}
          title={appTexts.settings}
        >
          <Icon name="settings" />
        </Link>
      </div>
      <div className="foot-controls">
        <select aria-label={appTexts.theme} value={theme.value} onChange={({ target }) => theme.set(readTheme(target.value))}>
          {(Object.keys(appTexts.themes) as Theme[]).map((one) => (
            <option key={one} value={one}>
              {appTexts.themes[one]}
            </option>
          ))}
        </select>
        <button
          type="button"
          className="button quiet icon-only small"
          aria-label={appTexts.keys}
          title={`${appTexts.keys} (?)`}
          onClick={showKeys}
        >
          <Icon name="keyboard" />
        </button>
        <button type="button" className="button quiet small" onClick={signOut}>
          {appTexts.signOut}
        </button>
      </div>
      <p className="problem" role="alert">
        {problem}
      </p>
    </div>
  )
}

export function useSignOut() {
  const client = useClient()
  const [problem, setProblem] = useState('')
  async function signOut() {
    try {
      await client.auth.logout.mutate()
    } catch (error) {
      if (isOfSomebodyElse(error)) return noteSomebodyElse()
      // A session that has ended already is what was wanted.
      if (!isSignedOut(error)) return setProblem(messageOf(error))
    }
    tellSignedOut()
    // The page is loaded anew, so that nothing of one person is there for the next one, and asks first if something is not sent yet.
    location.assign('/sign-in')
  }
  return { signOut, problem }
}

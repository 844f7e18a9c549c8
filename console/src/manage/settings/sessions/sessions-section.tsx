/** Where the person is signed in. */
import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Client, type Outputs, useClient } from '../../../session/client.ts'
import { useDatePlace } from '../../../session/date-place.ts'
import { isNotHere, messageOf } from '../../../session/errors.ts'
import { settingsTexts } from '../../../texts/manage/settings.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Icon } from '../../../ui/icons/icon.tsx'
import { When } from '../../../ui/locale/when.tsx'
import { toast } from '../../../ui/toasts/toasts.ts'
import { Fetched } from '../../fetched.tsx'
import { deviceOf } from './device.ts'

type Session = Outputs['sessions']['list']['rows'][number]

/** Sessions begin and end elsewhere, and no event tells it. */
const ASKED_AGAIN_MS = 30_000

const sessionsQuery = (client: Client) =>
  queryOptions({
    queryKey: ['sessions'],
    queryFn: async () => (await client.sessions.list.query()).rows,
    refetchInterval: ASKED_AGAIN_MS,
  })

export function SessionsSection() {
  const client = useClient()
  const queries = useQueryClient()
  const query = useQuery(sessionsQuery(client))
  const [isAsked, setAsked] = useState(false)
  const sessions = (query.data ?? []).toSorted((one, other) => Number(other.current) - Number(one.current))
  const others = sessions.filter(({ current }) => !current)

  const readAgain = () => queries.invalidateQueries({ queryKey: ['sessions'] })
  const endOne = async ({ id }: Session) => {
    try {
      await client.sessions.end.mutate({ id })
    } catch (error) {
      // It has ended already, which is what was wanted.
      if (!isNotHere(error)) throw error
    }
  }
  const end = (session: Session) =>
    void endOne(session)
      .then(
        () => toast(settingsTexts.ended),
        (error: unknown) => toast(messageOf(error)),
      )
      .finally(readAgain)
  async function endOthers() {
    try {
      await Promise.all(others.map(endOne))
      toast(settingsTexts.othersEnded(others.length))
    } finally {
      await readAgain()
    }
  }

  return (
    <>
      <p>{settingsTexts.sessionsWhy}</p>
      <Fetched query={query} />
      <ul className="things" aria-label={settingsTexts.sessions}>
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} end={end} />
        ))}
      </ul>
      {others.length > 0 && (
        <p>
          <button type="button" className="button" onClick={() => setAsked(true)}>
            {settingsTexts.endOthers}
          </button>
        </p>
      )}
      {isAsked && (
        <ConfirmDialog
          title={settingsTexts.endOthersAsk}
          action={settingsTexts.endOthers}
          run={endOthers}
          wordsOf={messageOf}
          close={() => setAsked(false)}
        >
          <p>{settingsTexts.endOthersWhy(others.length)}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

function SessionRow({ session, end }: { session: Session; end: (session: Session) => void }) {
  const { current, ip, user_agent, last_seen_at, created_at } = session
  const place = useDatePlace()
  const { program, system, isPhone } = deviceOf(user_agent)
  const device = program && system ? settingsTexts.device(program, system) : (program ?? system ?? settingsTexts.unknownDevice)
  return (
    <li>
      <Icon name={isPhone ? 'phone' : 'monitor'} />
      <div>
        <b dir="auto" title={user_agent ?? undefined}>
          {device}
        </b>
        {current && <span className="thing-mark">{settingsTexts.thisBrowser}</span>}
        <p className="hint">
          {current ? (
            settingsTexts.lastUsedNow
          ) : (
            <>
              {settingsTexts.lastUsed} <When instant={last_seen_at} place={place} />
            </>
          )}
          {ip && ` ${settingsTexts.fromAddress(ip)}`} · {settingsTexts.signedIn} <When instant={created_at} place={place} />
        </p>
      </div>
      {!current && (
        <button type="button" className="button small" aria-label={settingsTexts.endOne(device)} onClick={() => end(session)}>
          {settingsTexts.end}
        </button>
      )}
    </li>
  )
}

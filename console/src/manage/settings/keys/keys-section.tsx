/** The keys by which programs work for the person, and for the account. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../../session/client.ts'
import { useDatePlace } from '../../../session/date-place.ts'
import { messageOf } from '../../../session/errors.ts'
import { spacesQuery } from '../../../session/places.ts'
import { settingsTexts } from '../../../texts/manage/settings.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Icon } from '../../../ui/icons/icon.tsx'
import { When } from '../../../ui/locale/when.tsx'
import { atOf } from '../../../ui/locale/zones.ts'
import { toast } from '../../../ui/toasts/toasts.ts'
import { Fetched } from '../../fetched.tsx'
import { KeyDialog } from './key-dialog.tsx'
import { rightsOf } from './key-words.ts'
import { type Key, type KeyWithSecret, keysQuery } from './keys-query.ts'
import { SecretDialog } from './secret-dialog.tsx'

type Open =
  | { what: 'new' }
  | { what: 'edit' | 'rotate' | 'revoke'; key: Key }
  /** The secret is nowhere else. */
  | { what: 'secret'; key: KeyWithSecret }

export function KeysSection() {
  const client = useClient()
  const query = useQuery(keysQuery(client))
  const { data: spaces = [] } = useQuery(spacesQuery(client))
  const names = new Map(spaces.map(({ id, name }) => [id, name]))
  const [open, setOpen] = useState<Open | null>(null)
  const keys = query.data ?? []
  return (
    <>
      <p>
        {settingsTexts.keysWhy} <a href="/docs/pages/authentication">{settingsTexts.howToUse}</a>
      </p>
      <p>
        <button type="button" className="button primary" onClick={() => setOpen({ what: 'new' })}>
          <Icon name="plus" /> {settingsTexts.addKey}
        </button>
      </p>
      <Fetched query={query} />
      {query.data && !keys.length && <p className="hint">{settingsTexts.noKeys}</p>}
      <ul className="things" aria-label={settingsTexts.keys}>
        {keys.map((key) => (
          <KeyRow key={key.id} of={key} spaces={names} open={(what) => setOpen({ what, key })} />
        ))}
      </ul>
      {open && <Opened {...{ open, setOpen }} />}
    </>
  )
}

function Opened({ open, setOpen }: { open: Open; setOpen: (open: Open | null) => void }) {
  const client = useClient()
  const queries = useQueryClient()
  const close = () => setOpen(null)
  const readAgain = () => queries.invalidateQueries({ queryKey: ['keys'] })
  switch (open.what) {
    case 'new':
    case 'edit':
      return (
        <KeyDialog
          of={open.what === 'edit' ? open.key : null}
          close={close}
          saved={(key) => {
            void readAgain()
            setOpen(key ? { what: 'secret', key } : null)
          }}
        />
      )
    case 'secret':
      return <SecretDialog of={open.key} close={close} />
    case 'rotate':
      return (
        <ConfirmDialog
          title={settingsTexts.rotateAsk}
          action={settingsTexts.rotate}
          run={async () => {
            const key = await client.keys.rotate.mutate({ key_id: open.key.id })
            void readAgain()
            // After this dialog has closed.
            setTimeout(() => setOpen({ what: 'secret', key }))
          }}
          wordsOf={messageOf}
          close={close}
        >
          <p>{settingsTexts.rotateWhy(open.key.name)}</p>
        </ConfirmDialog>
      )
    case 'revoke':
      return (
        <ConfirmDialog
          title={settingsTexts.revokeAsk}
          action={settingsTexts.revoke}
          run={async () => {
            await client.keys.delete.mutate({ key_id: open.key.id })
            toast(settingsTexts.revoked)
            await readAgain()
          }}
          wordsOf={messageOf}
          close={close}
        >
          <p>{settingsTexts.revokeWhy(open.key.name)}</p>
        </ConfirmDialog>
      )
  }
}

interface RowProps {
  of: Key
  spaces: ReadonlyMap<number, string>
  open: (what: 'edit' | 'rotate' | 'revoke') => void
}

function KeyRow({ of: key, spaces, open }: RowProps) {
  const place = useDatePlace()
  const { name, last_used_at, expires_at, created_at } = key
  const isExpired = expires_at !== null && atOf(expires_at) <= place.now.getTime()
  return (
    <li>
      <Icon name="key" />
      <div>
        <b dir="auto">{name}</b>
        {isExpired && <span className="thing-mark">{settingsTexts.expired}</span>}
        <p>{rightsOf(key, spaces)}</p>
        <p className="hint">
          {last_used_at ? (
            <>
              {settingsTexts.lastUsed} <When instant={last_used_at} place={place} />
            </>
          ) : (
            settingsTexts.neverUsed
          )}
          {expires_at && !isExpired && (
            <>
              {' '}
              · {settingsTexts.expiresOn} <When instant={expires_at} place={place} />
            </>
          )}{' '}
          · {settingsTexts.created} <When instant={created_at} place={place} />
        </p>
      </div>
      <div className="thing-actions">
        <button type="button" className="button small" aria-label={settingsTexts.editKey(name)} onClick={() => open('edit')}>
          {settingsTexts.edit}
        </button>
        <button type="button" className="button small" aria-label={settingsTexts.rotateOf(name)} onClick={() => open('rotate')}>
          {settingsTexts.rotate}
        </button>
        <button type="button" className="button small" aria-label={settingsTexts.revokeOf(name)} onClick={() => open('revoke')}>
          {settingsTexts.revoke}
        </button>
      </div>
    </li>
  )
}

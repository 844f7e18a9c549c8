/** The servers through which a space sends its mails, with a test of each in plain words. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useClient } from '../../session/client.ts'
import { isNotHere, messageOf } from '../../session/errors.ts'
import type { Space } from '../../session/places.ts'
import { integrationTexts } from '../../texts/manage/integrations.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Icon } from '../../ui/icons/icon.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { Fetched } from '../fetched.tsx'
import { IntegrationDialog } from './integration-form.tsx'
import { IntegrationRow } from './integration-row.tsx'
import './integrations.css'
import { type Integration, integrationsQuery } from './integrations-query.ts'

type Open = { what: 'new' } | { what: 'edit' | 'delete'; integration: Integration }

export function IntegrationsSection({ space }: { space: Space }) {
  const client = useClient()
  const queries = useQueryClient()
  const query = useQuery(integrationsQuery(client, space.id))
  const [open, setOpen] = useState<Open | null>(null)
  /** The one that was saved last, which is tested at once. */
  const [savedId, setSavedId] = useState<number | null>(null)
  const close = () => setOpen(null)
  const remove = async ({ id }: Integration) => {
    await client.smtp.delete.mutate({ id }).catch((error: unknown) => {
      // It is gone already, which is what was wanted.
      if (!isNotHere(error)) throw error
    })
    toast(integrationTexts.deleted)
    await Promise.all([
      queries.invalidateQueries({ queryKey: integrationsQuery(client, space.id).queryKey }),
      // What a composer offers.
      queries.invalidateQueries({ queryKey: ['mail', 'senders'] }),
    ])
  }
  return (
    <>
      <p>{integrationTexts.why}</p>
      <p>
        <button type="button" className="button primary" onClick={() => setOpen({ what: 'new' })}>
          <Icon name="plus" /> {integrationTexts.add}
        </button>
      </p>
      <Fetched query={query} />
      {query.data && !query.data.length && <p className="hint">{integrationTexts.none}</p>}
      <ul className="things" aria-label={integrationTexts.list}>
        {query.data?.map((integration) => (
          <IntegrationRow
            key={integration.id}
            integration={integration}
            isJustSaved={integration.id === savedId}
            edit={() => setOpen({ what: 'edit', integration })}
            remove={() => setOpen({ what: 'delete', integration })}
          />
        ))}
      </ul>
      {open && open.what !== 'delete' && (
        <IntegrationDialog
          space={space}
          of={open.what === 'edit' ? open.integration : null}
          close={close}
          saved={({ id }) => {
            setSavedId(id)
            close()
          }}
        />
      )}
      {open?.what === 'delete' && (
        <ConfirmDialog
          title={integrationTexts.deleteAsk}
          action={integrationTexts.delete}
          run={() => remove(open.integration)}
          wordsOf={messageOf}
          close={close}
        >
          <p>{integrationTexts.deleteWhy(open.integration.label)}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

/** What stands below the mails of the person. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { signaturesQuery } from '../../../mail/draft/beginning.ts'
import { useClient } from '../../../session/client.ts'
import { errorData, isNotHere, messageOf } from '../../../session/errors.ts'
import { settingsTexts } from '../../../texts/manage/settings.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { Icon } from '../../../ui/icons/icon.tsx'
import { toast } from '../../../ui/toasts/toasts.ts'
import { Fetched } from '../../fetched.tsx'
import { type Signature, SignatureForm } from './signature-form.tsx'
import { wordsOf } from './signature-text.ts'

export function SignaturesSection() {
  const client = useClient()
  const queries = useQueryClient()
  const { queryKey } = signaturesQuery(client)
  const query = useQuery(signaturesQuery(client))
  /** The one that is edited, as it was opened; `new` for another one. */
  const [edited, setEdited] = useState<Signature | 'new' | null>(null)
  const [deleting, setDeleting] = useState<Signature | null>(null)
  const signatures = query.data ?? []
  const readAgain = () => queries.invalidateQueries({ queryKey })
  const makeDefault = ({ id }: Signature) =>
    void client.signatures.update
      .mutate({ id, is_default: true })
      .then(
        () => toast(settingsTexts.saved),
        (error: unknown) => toast(messageOf(error)),
      )
      .finally(readAgain)
  const isRefused = errorData(query.error)?.code === 'FORBIDDEN'

  return (
    <>
      <p>{settingsTexts.signaturesWhy}</p>
      <Fetched query={query} {...(isRefused && { refused: settingsTexts.signaturesForWriters })} />
      {query.data && !signatures.length && edited === null && <p className="hint">{settingsTexts.noSignatures}</p>}
      <ul className="things" aria-label={settingsTexts.sections.signatures}>
        {signatures
          .filter(({ id }) => edited === null || edited === 'new' || edited.id !== id)
          .map((signature) => (
            <SignatureRow
              key={signature.id}
              signature={signature}
              edit={edited ? undefined : () => setEdited(signature)}
              remove={() => setDeleting(signature)}
              makeDefault={() => makeDefault(signature)}
            />
          ))}
      </ul>
      {edited ? (
        <SignatureForm
          key={edited === 'new' ? edited : edited.id}
          of={edited === 'new' ? null : edited}
          isFirst={!signatures.length}
          close={() => setEdited(null)}
        />
      ) : (
        query.data && (
          <p>
            <button type="button" className="button primary" onClick={() => setEdited('new')}>
              <Icon name="plus" /> {settingsTexts.addSignature}
            </button>
          </p>
        )
      )}
      {deleting && (
        <ConfirmDialog
          title={settingsTexts.deleteSignatureAsk}
          action={settingsTexts.delete}
          run={async () => {
            await client.signatures.delete.mutate({ id: deleting.id }).catch((error: unknown) => {
              // It is gone already, which is what was wanted.
              if (!isNotHere(error)) throw error
            })
            toast(settingsTexts.deleted)
            await readAgain()
          }}
          wordsOf={messageOf}
          close={() => setDeleting(null)}
        >
          <p>{settingsTexts.deleteSignatureWhy(deleting.name)}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

interface RowProps {
  signature: Signature
  /** Left out while one is edited, so that nothing typed is lost. */
  edit: (() => void) | undefined
  remove: () => void
  makeDefault: () => void
}

function SignatureRow({ signature: { name, html, is_default }, edit, remove, makeDefault }: RowProps) {
  return (
    <li>
      <Icon name="pencil" />
      <div>
        <b dir="auto">{name}</b>
        {is_default && <span className="thing-mark">{settingsTexts.default}</span>}
        <p className="hint excerpt" dir="auto">
          {wordsOf(html) || settingsTexts.emptySignature}
        </p>
      </div>
      <div className="thing-actions">
        {edit && (
          <button type="button" className="button small" aria-label={settingsTexts.editSignature(name)} onClick={edit}>
            {settingsTexts.edit}
          </button>
        )}
        {!is_default && (
          <button type="button" className="button small" aria-label={settingsTexts.makeDefaultOf(name)} onClick={makeDefault}>
            {settingsTexts.makeDefault}
          </button>
        )}
        <button type="button" className="button small" aria-label={settingsTexts.deleteSignature(name)} onClick={remove}>
          {settingsTexts.delete}
        </button>
      </div>
    </li>
  )
}

/** The signature below the mail: shown as it goes out, and left out if one likes. */
import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { useClient } from '../../session/client.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { signaturesQuery } from '../draft/beginning.ts'
import { HtmlFrame } from './html-frame.tsx'

export function SignatureField({ signature, change }: { signature: number | null; change(signature: number | null): void }) {
  const id = useId()
  const client = useClient()
  const { data: signatures = [], isSuccess } = useQuery(signaturesQuery(client))
  const shown = signatures.find((one) => one.id === signature)
  const isGone = signature !== null && isSuccess && !shown
  if (signatures.length === 0 && signature === null) return null
  return (
    <div className="mail-signature">
      <label htmlFor={id}>{composerTexts.signature}</label>
      <select
        id={id}
        value={signature ?? ''}
        aria-invalid={isGone || undefined}
        aria-describedby={`${id}-words`}
        onChange={({ target }) => change(target.value === '' ? null : Number(target.value))}
      >
        <option value="">{composerTexts.noSignature}</option>
        {isGone && <option value={signature}>{composerTexts.goneSignature}</option>}
        {signatures.map((one) => (
          <option key={one.id} value={one.id}>
            {one.name}
          </option>
        ))}
      </select>
      <p id={`${id}-words`} className="problem" aria-live="polite">
        {isGone && composerTexts.goneSignatureWords}
      </p>
      {shown && <HtmlFrame html={shown.html} title={`${composerTexts.signature}: ${shown.name}`} className="mail-signature-frame" />}
    </div>
  )
}

/** To, Cc and Bcc, with what is to be said of all recipients together. */
import { useState } from 'react'
import type { RecordPlace } from '../../record/record-parts.ts'
import { useDatePlace } from '../../session/date-place.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { timesOf } from '../delivery/times.ts'
import type { MailDraft } from '../draft/mail-draft.ts'
import { AddressField } from './address-field.tsx'
import { useRecordAddresses } from './address-options.ts'
import { addressKey, checkRecipients, KINDS, type Kind, listed, MOST_RECIPIENTS } from './addresses.ts'
import { useRefused } from './use-refused.ts'

interface Props {
  place: RecordPlace
  mail: MailDraft
  change(changes: Partial<MailDraft>): void
  problem(at: Kind): string | undefined
  isFocused: boolean
  /** True while the foot says who gets nothing. */
  isSaid: boolean
}

export function RecipientFields({ place, mail, change, problem, isFocused, isSaid }: Props) {
  const offered = useRecordAddresses(place)
  const refused = useRefused(place, mail, timesOf(useDatePlace()).day)
  const [isMore, setMore] = useState(false)
  const taken = new Set(KINDS.flatMap((kind) => mail[kind].chosen).map(addressKey))
  const shown = isMore ? KINDS : KINDS.filter((kind) => kind === 'to' || listed(mail[kind]).length > 0 || mail[kind].typed)
  const { doubled, count } = checkRecipients(KINDS.map((kind) => mail[kind]))
  return (
    <div className="mail-recipients">
      {shown.map((kind) => (
        <AddressField
          key={kind}
          label={composerTexts.kinds[kind]}
          value={mail[kind]}
          change={(value) => change({ [kind]: value })}
          {...{ place, offered, taken, refused }}
          problem={problem(kind)}
          isFocused={kind === 'to' ? isFocused : isMore && kind === 'cc'}
        >
          {kind === 'to' && shown.length < KINDS.length && (
            <button type="button" className="button quiet small mail-more" onClick={() => setMore(true)}>
              {composerTexts.moreRecipients}
            </button>
          )}
        </AddressField>
      ))}
      <div aria-live="polite">
        {doubled.length > 0 && <p className="mail-note">{composerTexts.doubled(doubled.join(', '))}</p>}
        {!isSaid &&
          [...refused].map(([address, words]) => (
            <p key={address} className="mail-note warning">
              {address} {words}.
            </p>
          ))}
        {count > MOST_RECIPIENTS && <p className="problem">{composerTexts.tooManyRecipients(MOST_RECIPIENTS, count)}</p>}
      </div>
    </div>
  )
}

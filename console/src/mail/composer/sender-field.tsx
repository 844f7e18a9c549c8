/** Who sends the mail: one of the senders of the integrations that the table may use. */
import { Link } from '@tanstack/react-router'
import { useId } from 'react'
import type { Me } from '../../session/me.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { type SmtpOption, sendersOf } from '../draft/beginning.ts'
import type { MailDraft, Sender } from '../draft/mail-draft.ts'
import { mailboxText } from '../recipients/addresses.ts'

interface Props {
  options: readonly SmtpOption[]
  me: Me
  mail: MailDraft
  change(changes: Partial<MailDraft>): void
  problem: string | undefined
  role: string
  spaceId: number
}

const keyOf = ({ integration, name, email }: Sender): string => JSON.stringify([integration, name, email])

export function SenderField({ options, me, mail, change, problem, role, spaceId }: Props) {
  const id = useId()
  const senders = sendersOf(options, me)
  const { from } = mail
  const isGone = from !== null && !senders.some((sender) => keyOf(sender) === keyOf(from))
  const used = from && options.find((option) => option.id === from.integration)
  const words = problem ?? (isGone && from ? composerTexts.goneSender(from.email) : undefined)
  return (
    <div className="mail-row">
      <label htmlFor={id}>{composerTexts.from}</label>
      <select
        id={id}
        className="mail-line"
        value={from ? keyOf(from) : ''}
        aria-invalid={words !== undefined || undefined}
        aria-describedby={`${id}-words`}
        onChange={({ target }) => {
          const chosen = senders.find((sender) => keyOf(sender) === target.value)
          if (chosen) change({ from: chosen })
        }}
      >
        {from === null && <option value="" />}
        {from && isGone && <option value={keyOf(from)}>{mailboxText(from)}</option>}
        {senders.map((sender) => (
          <option key={keyOf(sender)} value={keyOf(sender)}>
            {mailboxText(sender)}
            {options.length > 1 && ` · ${options.find((option) => option.id === sender.integration)?.label}`}
          </option>
        ))}
      </select>
      <div id={`${id}-words`} aria-live="polite">
        {words && <p className="problem">{words}</p>}
        {senders.length === 0 && (
          <p className="mail-note warning">
            {composerTexts.noIntegration}{' '}
            {role === 'admin' ? (
              <Link to="/spaces/$spaceId/$" params={{ spaceId: String(spaceId), _splat: 'integrations' }}>
                {composerTexts.addIntegration}
              </Link>
            ) : (
              composerTexts.noIntegrationOthers
            )}
          </p>
        )}
        {used?.failing && <p className="mail-note warning">{composerTexts.failing(used.label, used.failing.message)}</p>}
      </div>
    </div>
  )
}

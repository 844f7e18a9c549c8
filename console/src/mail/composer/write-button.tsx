/** The button in the head of a record, and the key, that begin a mail. */
import type { RecordPlace } from '../../record/record-parts.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { useKeys } from '../../ui/keys/keys.ts'

export function WriteButton({ role, openComposer }: RecordPlace) {
  const write = () => {
    openComposer('mail')
    // One that is open already gets the focus.
    document.querySelector<HTMLElement>('.composer [role=combobox]')?.focus()
  }
  const mayWrite = role !== 'viewer'
  useKeys(composerTexts.page, mayWrite ? [{ keys: 'M', does: composerTexts.write, run: write }] : [])
  if (!mayWrite) return null
  return (
    <button type="button" className="button small" aria-keyshortcuts="M" onClick={write}>
      <Icon name="mail" />
      {composerTexts.write}
    </button>
  )
}

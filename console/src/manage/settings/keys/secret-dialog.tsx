/** The secret of a new key, which is shown this once. */
import { useRef, useState } from 'react'
import { settingsTexts } from '../../../texts/manage/settings.ts'
import { announce } from '../../../ui/announcer.ts'
import { DialogBox } from '../../../ui/dialog-box.tsx'
import { Icon } from '../../../ui/icons/icon.tsx'
import type { KeyWithSecret } from './keys-query.ts'

export function SecretDialog({ of: { name, secret }, close }: { of: KeyWithSecret; close: () => void }) {
  const field = useRef<HTMLInputElement>(null)
  const [isCopied, setCopied] = useState(false)
  async function copy() {
    field.current?.select()
    if (!(await isInClipboard(secret))) return
    setCopied(true)
    announce(settingsTexts.copied)
  }
  // It can only be closed by saying so: a key that was not copied is lost.
  return (
    <DialogBox title={settingsTexts.keyCreated} isAlert>
      <p>{settingsTexts.keyCreatedWhy}</p>
      <div className="secret">
        <input
          ref={field}
          aria-label={settingsTexts.secretOf(name)}
          readOnly
          value={secret}
          spellCheck={false}
          onFocus={({ target }) => target.select()}
        />
        <button type="button" className="button primary" onClick={copy}>
          <Icon name={isCopied ? 'check' : 'copy'} /> {isCopied ? settingsTexts.copied : settingsTexts.copy}
        </button>
      </div>
      <p className="dialog-actions">
        <button type="button" className="button" onClick={close}>
          {settingsTexts.done}
        </button>
      </p>
    </DialogBox>
  )
}

/** Puts the text into the clipboard. Without TLS the browser lets only a selected text be copied. */
async function isInClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return document.execCommand('copy')
  }
}

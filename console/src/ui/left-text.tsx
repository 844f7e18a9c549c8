/** What was typed and cannot be saved any more, because it belongs to something that is gone or somebody else's. It can be copied. */
import { useId, useRef } from 'react'
import { uiTexts } from '../texts/ui.ts'
import './button.css'
import './left-text.css'
import { toast } from './toasts/toasts.ts'

interface Props {
  label: string
  text: string
  discard(): void
}

export function LeftText({ label, text, discard }: Props) {
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  return (
    <div className="left-text">
      <label htmlFor={id}>{label}</label>
      <textarea ref={field} id={id} dir="auto" rows={1} readOnly value={text} />
      <LeftBar text={text} discard={discard} select={() => field.current?.select()} />
    </div>
  )
}

/** @param select marks the text, for browsers that do not let the page copy */
export function LeftBar({ text, discard, select }: Omit<Props, 'label'> & { select(): void }) {
  // Pages that came by http from another machine have no clipboard.
  const clipboard = navigator.clipboard as Clipboard | undefined
  const copy = async () => {
    select()
    const isCopied = await clipboard?.writeText(text).then(
      () => true,
      () => false,
    )
    toast(isCopied ? uiTexts.copied : uiTexts.copyByHand)
  }
  return (
    <p className="left-bar">
      {uiTexts.leftOver}{' '}
      <button type="button" className="button small" onClick={() => void copy()}>
        {uiTexts.copy}
      </button>{' '}
      <button type="button" className="button quiet small" onClick={discard}>
        {uiTexts.discard}
      </button>
    </p>
  )
}

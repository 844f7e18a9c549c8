/** Asks before something is done that cannot be taken back. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { appTexts } from '../texts/app.ts'
import { DialogBox } from './dialog-box.tsx'

interface Props {
  title: string
  children: ReactNode
  /** What the button says that does it. */
  action: string
  /** Does it. What it throws is said by `wordsOf`, and the dialog stays. */
  run: () => Promise<unknown>
  wordsOf: (error: unknown) => string
  close: () => void
}

export function ConfirmDialog({ title, children, action, run, wordsOf, close }: Props) {
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const cancel = useRef<HTMLButtonElement>(null)
  // Enter that is pressed too often must not confirm.
  useEffect(() => void cancel.current?.focus(), [])
  async function confirm() {
    if (isBusy) return
    setBusy(true)
    setProblem('')
    try {
      await run()
      close()
    } catch (error) {
      setProblem(wordsOf(error))
      setBusy(false)
    }
  }
  return (
    <DialogBox title={title} close={close} isAlert>
      {children}
      <p className="problem" role="alert">
        {problem}
      </p>
      <p className="dialog-actions">
        <button ref={cancel} type="button" className="button" onClick={close}>
          {appTexts.cancel}
        </button>
        <button type="button" className="button danger" aria-disabled={isBusy} onClick={confirm}>
          {action}
        </button>
      </p>
    </DialogBox>
  )
}

/** Asks before something is deleted for good, and again if views of others would go with it. */
import { type ReactNode, useState } from 'react'
import { fieldTexts } from '../texts/manage/fields.ts'
import { DialogBox } from '../ui/dialog-box.tsx'
import './manage.css'
import { type Refusal, refusalOf } from './refusal.ts'

interface Props {
  title: string
  warning: string
  /** What else must be done before, such as to type a name. */
  children?: ReactNode
  isReady?: boolean
  texts: { deletion: string; deleteAnyway: string }
  remove(force: boolean): Promise<void>
  close(): void
}

export function DeletionDialog({ title, warning, children, isReady = true, texts, remove, close }: Props) {
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<Refusal | null>(null)
  async function run(force: boolean) {
    setBusy(true)
    try {
      await remove(force)
    } catch (error) {
      setRefusal(refusalOf(error))
      setBusy(false)
    }
  }
  return (
    <DialogBox title={title} close={close} isAlert>
      <p>{warning}</p>
      {children}
      {refusal && (
        <p className="problem" role="alert">
          {refusal.message}
        </p>
      )}
      <div className="manage-actions">
        <button type="button" className="button" onClick={close}>
          {fieldTexts.cancel}
        </button>
        <button type="button" className="button danger" disabled={isBusy || !isReady} onClick={() => void run(refusal?.canForce ?? false)}>
          {refusal?.canForce ? texts.deleteAnyway : texts.deletion}
        </button>
      </div>
    </DialogBox>
  )
}

/** The messages at the lower edge of the page, above dialogs. */
import { useEffect, useState } from 'react'
import { createPortal } from 'react-dom'
import { uiTexts } from '../../texts/ui.ts'
import '../button.css'
import { Icon } from '../icons/icon.tsx'
import { closeToast, type Toast, useToasts } from './toasts.ts'
import './toasts.css'

export function ToastList() {
  const toasts = useToasts()
  if (!toasts.length) return null
  return createPortal(
    // A dialog hides the rest of the page from screen readers and takes its clicks, but not those of the top layer.
    <section className="toasts" aria-label={uiTexts.toasts} data-react-aria-top-layer="true">
      {toasts.map((one) => (
        <Shown key={one.id} toast={one} />
      ))}
    </section>,
    document.body,
  )
}

function Shown({ toast: { id, text, action, lastsMs } }: { toast: Toast }) {
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => closeToast(id), lastsMs)
    return () => clearTimeout(timer)
  }, [id, lastsMs, isHeld])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it does nothing itself, it only stays while somebody is at it
    <div
      className="toast"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <p dir="auto">{text}</p>
      {action && (
        <button
          type="button"
          className="button small"
          onClick={() => {
            closeToast(id)
            action.run()
          }}
        >
          {action.label}
        </button>
      )}
      <button type="button" className="button quiet icon-only small" aria-label={uiTexts.closeToast} onClick={() => closeToast(id)}>
        <Icon name="x" />
      </button>
    </div>
  )
}

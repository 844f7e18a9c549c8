/** A page that has only something to say: loading, empty, refused, not here. */
import type { ReactNode } from 'react'
import './button.css'
import './notice.css'

interface Props {
  title: string
  children?: ReactNode
  /** What one can do about it: links and buttons. */
  actions?: ReactNode
  /** Whether screen readers are to say it at once. */
  isAlert?: boolean
}

export function Notice({ title, children, actions, isAlert = false }: Props) {
  return (
    <main className="notice" tabIndex={-1}>
      <div role={isAlert ? 'alert' : undefined}>
        <h1>{title}</h1>
        {children}
      </div>
      {actions && <p className="actions">{actions}</p>}
    </main>
  )
}

/** Shows nothing for a moment, because most things are there by then. */
export function Loading({ text }: { text: string }) {
  return (
    <main className="notice loading" aria-busy="true" tabIndex={-1}>
      <output>{text}</output>
    </main>
  )
}

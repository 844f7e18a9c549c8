/** The frame of the pages before one is signed in. */
import type { ReactNode } from 'react'
import { appTexts } from '../../texts/app.ts'
import './entry.css'

export function EntryPage({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="entry">
      <header className="brand">
        <Mark /> {appTexts.product}
      </header>
      <main>
        <h1>{title}</h1>
        {children}
      </main>
    </div>
  )
}

/** A grid, one cell of which is filled. */
export const Mark = () => (
  <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
    <rect width="24" height="24" rx="6" />
    <path className="cells" d="M6 6h5v5H6z M13 6h5v5h-5z M6 13h5v5H6z" />
    <path d="M13 13h5v5h-5z" />
  </svg>
)

/** A page of several sections, with the way from one to the other beside it. */
import type { ReactElement, ReactNode } from 'react'
import { useTitle } from '../ui/title.ts'
import './sections.css'

interface Props {
  /** What the sections are of, such as a space. */
  of: string
  /** Links to them, with keys. */
  links: readonly ReactElement[]
  /** The section that is shown. */
  title: string
  children: ReactNode
}

export function SectionsPage({ of, links, title, children }: Props) {
  useTitle(title)
  return (
    <div className="sections">
      <nav aria-label={of}>
        <h2>{of}</h2>
        <ul>
          {links.map((link) => (
            <li key={link.key}>{link}</li>
          ))}
        </ul>
      </nav>
      <main tabIndex={-1}>
        <h1>{title}</h1>
        {children}
      </main>
    </div>
  )
}

/** A button of a mail, with its icon. */
import type { ReactNode } from 'react'
import { Icon } from '../ui/icons/icon.tsx'
import type { IconName } from '../ui/icons/icon-paths.ts'

interface ActionProps {
  icon: IconName
  /** Its name, if what is written on it is not enough. */
  label?: string
  title?: string
  isBusy?: boolean
  /** Whether it has opened something; undefined for what opens nothing. */
  isOpen?: boolean
  /** True for a button that goes with what it does: the focus then stays at the mail. */
  goes?: boolean
  run(): void
  children: ReactNode
}

export function Action({ icon, label, title, isBusy = false, isOpen, goes = false, run, children }: ActionProps) {
  return (
    <button
      type="button"
      className="button quiet small"
      aria-label={label}
      title={title}
      data-disabled={isBusy ? '' : undefined}
      aria-disabled={isBusy || undefined}
      aria-expanded={isOpen}
      onClick={({ currentTarget, detail }) => {
        // The second click of a double click comes before the first one is seen.
        if (isBusy || detail > 1) return
        if (goes) currentTarget.closest('article')?.focus({ preventScroll: true })
        run()
      }}
    >
      <Icon name={icon} />
      {children}
    </button>
  )
}

/** The focus of a record that is open. */
import { announce } from '../ui/announcer.ts'

export const focusTitle = (frame: Element | null): void =>
  frame?.querySelector<HTMLElement>('.record-title')?.focus({ preventScroll: true })

export const announceTitle = (frame: Element | null): void => announce(frame?.querySelector('.record-title')?.textContent ?? '')

/** Sends the focus to the record that is open beside the grid already. */
export const focusOpenRecord = (): void => focusTitle(document.querySelector('.record-panel'))

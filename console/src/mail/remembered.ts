/** What a person has opened in a mail, while the page is open: the timeline takes entries out of the page that are out of sight. */
import { useState } from 'react'

const opened = new Map<string, boolean>()

/**
 * @param name a name that no other part of any mail has, such as `17 original`
 * @param isOpenAtFirst counts until the person has chosen
 */
export function useOpened(name: string, isOpenAtFirst = false): [isOpen: boolean, set: (isOpen: boolean) => void] {
  const [chosen, setChosen] = useState(() => opened.get(name))
  const set = (next: boolean) => {
    opened.set(name, next)
    setChosen(next)
  }
  return [chosen ?? isOpenAtFirst, set]
}

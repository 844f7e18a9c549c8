/** The title of the page in its tab. */
import { useEffect } from 'react'

const PRODUCT = 'Gridpost'

let shown: string | undefined
let waiting = 0

function show(): void {
  const title = shown ? `${shown} · ${PRODUCT}` : PRODUCT
  document.title = waiting ? `(${waiting}) ${title}` : title
}

/** @param text what is shown, such as the name of the table */
export function useTitle(text: string | undefined): void {
  useEffect(() => {
    shown = text
    show()
  }, [text])
}

/** @param count how many things wait for the person: it stands before every title */
export function useTitleCount(count: number): void {
  useEffect(() => {
    waiting = count
    show()
    return () => {
      waiting = 0
      show()
    }
  }, [count])
}

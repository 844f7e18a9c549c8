import { useEffect } from 'react'

/** While it is true, the browser asks before the page is left: what is typed into a form is nowhere else. */
export function useAskBeforeLeaving(hasTyped: boolean): void {
  useEffect(() => {
    if (!hasTyped) return
    const ask = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [hasTyped])
}

import { useMe } from '../session/me.ts'
import type { DatePlace } from '../ui/locale/date-text.ts'
import { useNow } from '../ui/now.ts'

/** Where and when tasks are read: the zone of the person, the language of the browser, and the present moment, which goes on. */
export function useReader(): DatePlace {
  const { timezone: zone } = useMe()
  const now = useNow()
  return { zone, locale: navigator.language, now }
}

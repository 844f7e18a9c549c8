/** What the shell remembers of a person: preferences and how they are read. */
import { usePreference } from '../../session/preferences.ts'
import { readTheme } from '../theme.ts'

const MOST_RECENT = 8

const numbers = (stored: unknown): readonly number[] =>
  Array.isArray(stored) ? stored.filter((one): one is number => Number.isSafeInteger(one)) : []

/** Tables, the last one that was opened first. */
export const useRecentTables = () => usePreference('console.recent', numbers)
export const withRecent = (recent: readonly number[], tableId: number): readonly number[] =>
  [tableId, ...recent.filter((id) => id !== tableId)].slice(0, MOST_RECENT)

export const useStarredTables = () => usePreference('console.starred', numbers)
/** The spaces whose tables are not listed. */
export const useFoldedSpaces = () => usePreference('console.folded', numbers)
export const useIsSideBarHidden = () => usePreference('console.side-bar-hidden', (stored) => stored === true)
export const useTheme = () => usePreference('console.theme', readTheme)

export const toggled = (ids: readonly number[], id: number): readonly number[] =>
  ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]

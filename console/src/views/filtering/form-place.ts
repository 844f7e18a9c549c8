/** What rows and groups share in the form of conditions. */
import type { Field, Place } from '../../cells/kind.ts'
import type { Wording } from '../condition-words.ts'
import type { Draft, Problems } from './filter-draft.ts'

export interface FormPlace {
  own: readonly Field[]
  linked: readonly Field[]
  fieldOf(name: string): Field | undefined
  place: Place
  spaceId: number
  wording: Wording
  problems: Problems
  change(key: number, change: (draft: Draft) => Draft | null): void
}

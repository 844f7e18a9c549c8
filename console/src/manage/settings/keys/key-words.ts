/** What an API key may do, in words. */
import { settingsTexts } from '../../../texts/manage/settings.ts'
import type { Key } from './keys-query.ts'

const { rights } = settingsTexts

/** @param spaces the names of the spaces by their ids */
export function rightsOf({ kind, read_only, space_ids, ip_allowlist }: Key, spaces: ReadonlyMap<number, string>): string {
  const may = kind === 'personal' ? personal(read_only) : account(read_only, space_ids, spaces)
  return [may, ...(ip_allowlist.length ? [rights.from(listed(ip_allowlist))] : [])].join(', ')
}

const personal = (isReadOnly: boolean): string => (isReadOnly ? rights.personalReadOnly : rights.personal)

function account(isReadOnly: boolean, ids: readonly number[] | null, spaces: ReadonlyMap<number, string>): string {
  if (ids === null) return isReadOnly ? rights.accountReadOnly : rights.account
  const names = listed(ids.map((id) => spaces.get(id) ?? rights.spaceGone))
  return isReadOnly ? rights.accountReadOnlyIn(names) : rights.accountIn(names)
}

const listed = (names: readonly string[]): string => new Intl.ListFormat('en', { type: 'conjunction' }).format(names)

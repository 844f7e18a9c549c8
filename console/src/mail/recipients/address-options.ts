/** Addresses that a composer offers: those of the record, of records that it links to, and of the members of the space. */
import { useQuery } from '@tanstack/react-query'
import { searchPeople } from '../../cells/find-people.ts'
import type { RecordPlace } from '../../record/record-parts.ts'
import { useClient } from '../../session/client.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { useSearch } from '../../ui/lists/use-search.ts'
import { addressKey, mailboxText, readMailbox } from './addresses.ts'

export interface AddressOption {
  /** As it is put into the list. */
  text: string
  /** Where it comes from, such as the name of the field. */
  origin: string
}

/** So many linked records are asked for their addresses. */
const MOST_LINKED = 12
const MOST_MEMBERS = 8

/** The addresses of the record and of what it links to. */
export function useRecordAddresses(place: RecordPlace): readonly AddressOption[] {
  const client = useClient()
  const { tableId, recordId, record, definition } = place
  const { fields } = definition.table
  const own = fields
    .filter(({ type }) => type === 'email')
    .flatMap(({ id, name }) => {
      const value = record.values[id]
      return typeof value === 'string' && readMailbox(value) ? [{ text: mailboxText({ name: '', email: value }), origin: name }] : []
    })
  const linked = fields
    .filter(({ type, table }) => /lookup$/.test(type) && table !== undefined)
    .flatMap(({ id, name, table }) => linksIn(record.values[id]).map((link) => ({ ...link, field: name, table: table ?? 0 })))
    .slice(0, MOST_LINKED)
  const { data = [] } = useQuery({
    queryKey: ['mail', 'linked addresses', tableId, recordId, linked.map(({ table, id }) => `${table}-${id}`).join()],
    queryFn: async () => {
      const found = await Promise.all(
        linked
          .map(async ({ table, id, title, field }): Promise<AddressOption[]> => {
            const { emails } = await client.email.recordContext.query({ tableId: table, recordId: id })
            const name = title ?? ''
            return emails.map((email) => ({ text: mailboxText({ name, email }), origin: composerTexts.ofField(field) }))
          })
          .map((asked) => asked.catch(() => [])), // One may not read every linked table.
      )
      return found.flat()
    },
    enabled: linked.length > 0,
    staleTime: 30_000,
  })
  return withoutDoubles([...own, ...data])
}

function linksIn(value: unknown): { id: number; title: string | null }[] {
  const all = Array.isArray(value) ? value : [value]
  return all.filter((link): link is { id: number; title: string | null } => typeof link === 'object' && link !== null && 'title' in link)
}

function withoutDoubles(options: readonly AddressOption[]): AddressOption[] {
  const keys = options.map(({ text }) => addressKey(text))
  return options.filter((_, at) => keys.indexOf(keys[at] ?? '') === at)
}

/** The options that fit what is typed, without those that are there already. */
export function useAddressOptions(place: RecordPlace, offered: readonly AddressOption[], typed: string, taken: ReadonlySet<string>) {
  const client = useClient()
  const { spaceId, tableId, recordId, definition } = place
  const { found } = useSearch(typed, (text, signal) => {
    const surroundings = { client, spaceId, tableId, recordId, me: definition.me, zone: '', locale: '', now: new Date() }
    return searchPeople(surroundings, text, MOST_MEMBERS, signal)
  })
  const members = found.flatMap(({ name, email }) => (email ? [{ text: mailboxText({ name, email }), origin: composerTexts.member }] : []))
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  return withoutDoubles([...offered, ...members]).filter(
    ({ text, origin }) => !taken.has(addressKey(text)) && words.every((word) => `${text} ${origin}`.toLowerCase().includes(word)),
  )
}

/** The people who can have a task: the members of the record's space, or those who share a space with the person. */
import { useQueries } from '@tanstack/react-query'
import { type Client, useClient } from '../session/client.ts'
import { useMe } from '../session/me.ts'
import { usePlaces } from '../session/places.ts'
import type { Person } from './quick-add/found-people.ts'

/** In a larger space people are searched for by what is typed. */
const MOST_LISTED = 200

export interface People {
  people: readonly Person[]
  /** True while somebody may still be found. */
  isBusy: boolean
}

/**
 * @param spaceId null for a task without a record
 * @param words what is typed of their names
 */
export function usePeople(spaceId: number | null, words: readonly string[] = []): People {
  const client = useClient()
  const me = useMe()
  const { places, isPending } = usePlaces()
  const spaceIds = spaceId === null ? places.map(({ id }) => id) : [spaceId]
  const listed = useQueries({ queries: spaceIds.map((id) => membersQuery(client, id, '')), combine })
  const isSearched = listed.hasMore && words.length > 0
  const searched = useQueries({
    queries: isSearched ? spaceIds.flatMap((id) => words.map((word) => membersQuery(client, id, word))) : [],
    combine,
  })
  const self: Person = { id: me.id, name: me.name, email: me.email }
  return {
    people: uniquePeople([self, ...listed.people, ...searched.people]),
    isBusy: (isPending && spaceId === null) || listed.isBusy || searched.isBusy,
  }
}

const membersQuery = (client: Client, spaceId: number, search: string) => ({
  queryKey: ['members', spaceId, search],
  queryFn: async () => {
    const { rows } = await client.spaces.members.query({ space_id: spaceId, limit: MOST_LISTED, ...(search && { search }) })
    return rows.map(({ user_id, name, email }): Person => ({ id: user_id, name, email }))
  },
  staleTime: 60_000,
})

const combine = (lists: readonly { data?: Person[] | undefined; isPending: boolean }[]) => ({
  people: lists.flatMap(({ data }) => data ?? []),
  hasMore: lists.some(({ data }) => data && data.length >= MOST_LISTED),
  isBusy: lists.some(({ isPending }) => isPending),
})

const uniquePeople = (people: readonly Person[]): Person[] => [...new Map(people.map((person) => [person.id, person])).values()]

/** Those whose name or address has every word; first those whose name has them. */
export function peopleNamed(people: readonly Person[], text: string): Person[] {
  const words = plain(text).split(/\s+/).filter(Boolean)
  const has = (said: string) => words.every((word) => plain(said).includes(word))
  const byName = people.filter(({ name }) => has(name))
  return [...byName, ...people.filter(({ name, email }) => !has(name) && has(`${name} ${email ?? ''}`))]
}

const plain = (text: string) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

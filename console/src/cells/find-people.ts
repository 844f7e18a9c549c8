/** Finds members of the space, by what is typed and by texts that are pasted. */
import { cellTexts } from '../texts/cells.ts'
import type { Person, Surroundings } from './kind.ts'
import { type Found, short } from './naming.ts'

/** The most members that one request lists. */
const MOST_LISTED = 1_000

/** Members of the space whose name or address has all words of the search. */
export async function searchPeople(
  { client, spaceId }: Pick<Surroundings, 'client' | 'spaceId'>,
  search: string,
  limit: number,
  signal?: AbortSignal,
): Promise<Person[]> {
  const input = { space_id: spaceId, limit, ...(search.trim() && { search: search.trim().slice(0, 500) }) }
  const { rows } = await client.spaces.members.query(input, { ...(signal && { signal }) })
  return rows.map(({ user_id, name, email }) => ({ id: user_id, name, email }))
}

/** The member that each name means. */
export async function findPeople(names: readonly string[], surroundings: Surroundings): Promise<Map<string, Found<Person>>> {
  if (!names.length) return new Map()
  const listed = await searchPeople(surroundings, '', MOST_LISTED)
  const found = new Map<string, Found<Person>>()
  for (const name of names) {
    const known = personNamed(name, listed, surroundings.me)
    // A larger space has members that were not listed.
    const isUnsure = !known && listed.length === MOST_LISTED
    found.set(
      name,
      known ??
        (isUnsure ? personNamed(name, await searchPeople(surroundings, name, MOST_LISTED), surroundings.me) : null) ?? {
          problem: cellTexts.noPerson(short(name)),
        },
    )
  }
  return found
}

function personNamed(name: string, people: readonly Person[], me: Person): Found<Person> | null {
  const wanted = name.toLowerCase()
  if (wanted === '@me') return { one: me }
  // Mail programs copy an address with its name: Ann Smith <ann@example.com>.
  const address = /<([^<>\s]+@[^<>\s]+)>$/.exec(wanted)?.[1] ?? wanted
  const addressed = people.find(({ email }) => email?.toLowerCase() === address)
  if (addressed) return { one: addressed }
  const [first, second] = people.filter((person) => person.name.toLowerCase() === wanted)
  if (!first) return null
  return second ? { problem: cellTexts.manyPeople(short(name)) } : { one: first }
}

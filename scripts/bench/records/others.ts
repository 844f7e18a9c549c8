/** The cases for Directus and NocoDB. Both return ids where the service returns the titles of options and the names of users. */
import type { Answer, Asked, PeerName } from '../others/peer.ts'
import { AMOUNT, CITY_PART, newRecord, PREFIX, WORDS } from './data.ts'

type Query = Record<string, string>

const TEXT_FIELDS = ['name', 'email', 'phone', 'city', 'notes']
const PAGE = { limit: '100' }

/** @param farIn the offset of page 100 @returns the requests by the name of the case; unsupported cases have no entry */
export function askedOfOthers(farIn: number): Record<string, Record<PeerName, Asked>> {
  const today = new Date().toISOString().slice(0, 10)
  const isOpenAndDue = {
    directus: { _and: [{ status: { _eq: 1 } }, { due: { _lte: today } }] },
    nocodb: `(status,eq,1)~and(due,lte,exactDate,${today})`,
  }
  const openAndDue = {
    directus: { filter: JSON.stringify(isOpenAndDue.directus), sort: '-due,-id' },
    nocodb: { where: isOpenAndDue.nocodb, sort: '-due,-id' },
  }
  const byAmount = { sort: '-amount,-id' }
  return {
    'open and due, newest due first': pages(openAndDue.directus, openAndDue.nocodb),
    "amount over x or city contains 'ber', by name": pages(
      { filter: JSON.stringify({ _or: [{ amount: { _gt: AMOUNT } }, { city: { _icontains: CITY_PART } }] }), sort: 'name,id' },
      { where: `(amount,gt,${AMOUNT})~or(city,like,${CITY_PART})`, sort: 'name,id' },
    ),
    'no filter, by amount': pages(byAmount, byAmount),
    'by status, then the largest amount': pages({ sort: 'status,-amount,-id' }, { sort: 'status,-amount,-id' }),
    'name starts with, by name': pages(
      { filter: JSON.stringify({ name: { _istarts_with: PREFIX } }), sort: 'name,id' },
      { where: `(name,like,${PREFIX}%)`, sort: 'name,id' },
    ),
    ...Object.fromEntries(
      Object.entries(WORDS).flatMap(([kind, word]) => [
        [`search for a ${kind} word`, pages({ search: word, sort: 'id' }, { where: anywhere(word), sort: 'id' })],
        [
          `open and due, search for a ${kind} word`,
          pages({ ...openAndDue.directus, search: word }, { ...openAndDue.nocodb, where: `${isOpenAndDue.nocodb}~and(${anywhere(word)})` }),
        ],
      ]),
    ),
    'page 100 by offset': pages({ ...byAmount, offset: String(farIn) }, { ...byAmount, offset: String(farIn) }),
    'count of open and due': {
      directus: {
        method: 'GET',
        path: `/items/records?${new URLSearchParams({ filter: openAndDue.directus.filter, 'aggregate[count]': '*' })}`,
        read: ({ data }) => Number(data?.[0]?.count),
        readBare: countOf,
      },
      nocodb: {
        method: 'GET',
        path: `/count?${new URLSearchParams({ where: isOpenAndDue.nocodb })}`,
        read: ({ count }) => count,
        readBare: countOf,
      },
    },
    'create a record': {
      directus: { method: 'POST', path: '/items/records', body: newRow },
      nocodb: { method: 'POST', path: '', body: newRow },
    },
  }
}

/** NocoDB's API has no search over fields, only a condition on each. */
const anywhere = (word: string) => TEXT_FIELDS.map((field) => `(${field},like,${word})`).join('~or')

function pages(directus: Query, nocodb: Query): Record<PeerName, Asked> {
  const readBare = (answer: unknown) => idsOf(answer as { id: unknown }[])
  return {
    directus: {
      method: 'GET',
      path: `/items/records?${new URLSearchParams({ ...PAGE, ...directus })}`,
      read: ({ data }: Answer) => idsOf(data),
      readBare,
    },
    nocodb: { method: 'GET', path: `?${new URLSearchParams({ ...PAGE, ...nocodb })}`, read: ({ list }: Answer) => idsOf(list), readBare },
  }
}

const idsOf = (rows: { id?: unknown }[] | undefined) => rows?.map(({ id }) => id)
const countOf = (answer: unknown) => (answer as { count: number }).count

/**
 * The values that the service stores for a new record, with the ids of options, but without users. Both products write an array only as
 * text.
 */
function newRow(index: number): Record<string, unknown> {
  const { owner: _owner, ...data } = newRecord(index).data
  const now = new Date().toISOString().slice(0, 19).replace('T', ' ')
  return { ...data, status: 3, tags: '{1,2}', created_at: now, updated_at: now }
}

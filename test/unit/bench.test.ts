/** Tests the options of the benchmark, and the length and load of a round. */
import { describe, expect, test } from 'vitest'
import { loadOf, loadOfOther } from '../../scripts/bench/drive.ts'
import { isWanted, type Options, readOptions, refuseUnknown } from '../../scripts/bench/options.ts'
import { drawGrowth } from '../../scripts/bench/records/chart.ts'
import { ScriptError } from '../../scripts/runtime.ts'

const SUITES = {
  foundation: { defaults: { records: 1_000, seconds: 3 } },
  records: { defaults: { records: 1_000_000, seconds: 1 }, fewest: 1_000, tableOf: () => 1 },
  events: { defaults: { records: 0, seconds: 1 } },
}
const FOLDER = import.meta.dirname
const FILE = import.meta.filename

describe('options', () => {
  const read = (...args: string[]) => readOptions(args, SUITES) as Options

  test('have defaults', () => {
    expect(read()).toEqual({
      suite: 'foundation',
      only: [],
      connections: [10, 50],
      rounds: 5,
      seconds: undefined,
      records: undefined,
      dataDir: undefined,
      prepare: false,
      chart: false,
      others: undefined,
      ownCopy: false,
      profile: false,
    })
    expect(readOptions(['-h'], SUITES)).toBe('help')
  })

  test('override the defaults', () => {
    const given = ['--suite', 'records', '--only', 'a, b', '--only', 'c', '--connections', '1,2', '--rounds', '3', '--seconds', '4']
    expect(
      read(
        ...given,
        '--records',
        '1000',
        '--data-dir',
        '/nowhere/yet',
        '--others',
        FOLDER,
        '--own-copy',
        '--prepare',
        '--chart',
        '--profile',
      ),
    ).toEqual({
      suite: 'records',
      only: ['a, b', 'c'],
      connections: [1, 2],
      rounds: 3,
      seconds: 4,
      records: 1_000,
      dataDir: '/nowhere/yet',
      prepare: true,
      chart: true,
      others: FOLDER,
      ownCopy: true,
      profile: true,
    })
  })

  test.each([
    [['--jason'], "Unknown option '--jason'; npm run bench -- --help"],
    [['records'], "Unexpected argument 'records'; npm run bench -- --help"],
    [['--rounds'], "Option '--rounds <value>' argument missing; npm run bench -- --help"],
    [['--rounds', '-1'], "Option '--rounds' argument is ambiguous; npm run bench -- --help"],
    [['--prepare=yes'], "Option '--prepare' does not take an argument; npm run bench -- --help"],
    [['--chart'], '--chart foundation: needs --suite records'],
    [['--suite', 'nope'], '--suite nope: must be one of foundation, records, events'],
    [['--suite', 'toString'], '--suite toString: must be one of foundation, records, events'],
    [['--suite', ''], "--suite '': must be one of foundation, records, events"],
    [['--rounds', '0'], '--rounds 0: must be a whole number, 1 or more'],
    [['--rounds', '1e3'], '--rounds 1e3: must be a whole number, 1 or more'],
    [['--seconds', '0.5'], '--seconds 0.5: must be a whole number, 1 or more'],
    [['--seconds', ''], "--seconds '': must be a whole number, 1 or more"],
    [['--connections', '10,,5'], '--connections 10,,5: must be whole numbers, separated by commas, 1 or more'],
    [['--connections', '10 50'], '--connections 10 50: must be whole numbers, separated by commas, 1 or more'],
    [['--only', 'a', '--only', ''], "--only '': must be a part of a name"],
    [['--records', 'many'], '--records many: must be a whole number, 1 or more'],
    [['--suite', 'records', '--records', '999'], '--records 999: the suite records needs 1000 or more'],
    [['--suite', 'events', '--records', '5'], '--records 5: the suite events creates no records'],
    [['--data-dir', ''], "--data-dir '': must be a folder"],
    [['--data-dir', FILE], `--data-dir ${FILE}: must be a folder`],
    [['--prepare'], '--prepare: needs --data-dir, because the data would be deleted at once'],
    [['--suite', 'records', '--others', '/nowhere'], '--others /nowhere: must be the folder where they are installed'],
    [['--suite', 'records', '--others', ''], "--others '': must be the folder where they are installed"],
    [['--own-copy'], '--own-copy: needs --others'],
    [['--others', FOLDER], `--others ${FOLDER}: the suite foundation has no table that they can be measured on`],
  ])('%j is refused with one line', (args, message) => {
    expect(() => read(...args)).toThrow(new ScriptError(message))
  })

  test('select cases by parts of their names, which may contain commas', () => {
    const names = ['open and due, newest due first', 'open and due, search for a rare word', 'count of open and due']
    const chosen = (only: string[]) => names.filter((name) => isWanted(only, name))
    expect(chosen([])).toEqual(names)
    expect(chosen(['open and due, newest due first'])).toEqual(names.slice(0, 1))
    expect(chosen(['count', 'rare'])).toEqual(names.slice(1))
    expect(() => refuseUnknown(['count', 'due, rare'], names)).toThrow(
      new ScriptError(`--only due, rare: no name contains it: ${names.map((name) => `"${name}"`).join(', ')}`),
    )
    expect(() => refuseUnknown(['count', 'rare'], names)).not.toThrow()
  })
})

describe('a round', () => {
  test('lasts as long as requested, or long enough for two requests per connection, up to a limit', () => {
    expect(loadOf(2, 50, 3)).toEqual({ connections: 50, seconds: 3, isSlow: false })
    expect(loadOf(60, 50, 1)).toEqual({ connections: 50, seconds: 6, isSlow: false })
    expect(loadOf(9_000, 50, 1)).toEqual({ connections: 50, seconds: 20, isSlow: false })
    expect(loadOf(9_000, 50, 30)).toEqual({ connections: 50, seconds: 30, isSlow: false })
  })

  test('of a slow product has as many callers as get three answers each in five seconds, and at least two', () => {
    expect(loadOfOther(10, 10, 1)).toEqual({ connections: 10, seconds: 1, isSlow: false })
    expect(loadOfOther(100, 10, 1)).toEqual({ connections: 10, seconds: 3, isSlow: true })
    expect(loadOfOther(100, 50, 1)).toEqual({ connections: 16, seconds: 4.8, isSlow: true })
    expect(loadOfOther(1_000, 50, 1)).toEqual({ connections: 2, seconds: 5, isSlow: true })
    expect(loadOfOther(30_000, 10, 1)).toEqual({ connections: 2, seconds: 5, isSlow: true })
    expect(loadOfOther(30_000, 1, 1)).toEqual({ connections: 1, seconds: 5, isSlow: true })
  })
})

describe('the chart of growth', () => {
  const growth = (...ms: number[]) => Object.fromEntries(ms.map((postgresMs, index) => [10 ** (4 + index), { nodeMs: 1, postgresMs }]))

  test('has a panel for each case, in which ten times the time is one line of the grid higher', () => {
    const svg = drawGrowth({ 'steep & <new>': growth(9, 99, 999), flat: growth(9, 9, 9) })
    const heights = [...svg.matchAll(/<circle class="dot" cx="[\d.]+" cy="([\d.]+)"/g)].map(([, cy]) => Number(cy))
    expect(heights.length).toBe(6)
    const [first = 0, second = 0, third = 0, ...flat] = heights
    expect(first - second).toBeCloseTo(second - third, 0)
    expect(first).toBeGreaterThan(second)
    expect(new Set(flat).size).toBe(1)
    expect(svg).toContain('>steep &amp; &lt;new></text>')
    expect(svg).not.toContain('NaN')
  })

  test('is drawn of one size, too', () => {
    expect(drawGrowth({ one: growth(5) })).not.toContain('NaN')
  })
})

/** Positions in the log, and what speaks against a replica. */
import { describe, expect, test } from 'vitest'
import { LagMeter, obstacleOf, type PrimaryRow, type ReplicaRow, TimeAside } from '../../src/platform/database/replicas/suitability.ts'
import { endOfLog, lsnOf, timelineOf } from '../../src/platform/database/replicas/wal-position.ts'
import { decodePosition, encodePosition } from '../../src/platform/http/procedures/signed-position.ts'

const keys = { current: Buffer.from('a key of at least thirty-two bytes'), previous: [Buffer.from('the key before, of thirty-two bytes')] }
const holder = { systemId: '7711152894685733394', tokenHash: Buffer.from('hash') }

describe('a position', () => {
  test.each([
    ['0/0', 0],
    ['0/3000190', 0x3000190],
    ['16/B374D848', 0x16_b374d848],
  ])('is the number of %s', (text, lsn) => expect(lsnOf(text)).toBe(lsn))

  test('ends before the header of a page that has no record yet', () => {
    expect(['0/3000000', '0/3000018', '0/3000028', '0/3000030', '0/3001FF8'].map(endOfLog)).toEqual([
      0x3000000, 0x3000000, 0x3000000, 0x3000030, 0x3001ff8,
    ])
  })

  test('has the timeline of the file that is written', () => expect(timelineOf('0000000A0000000000000003')).toBe(10))

  test('comes back as it was answered, also after a change of the secret key', () => {
    const text = encodePosition({ timeline: 3, lsn: 0x16_b374d848 }, holder, { current: keys.previous[0] as Buffer, previous: [] })
    expect(decodePosition(text, holder, keys)).toEqual({ timeline: 3, lsn: 0x16_b374d848 })
  })

  const text = encodePosition({ timeline: 3, lsn: 256 }, holder, keys)
  test.each([
    ['a changed byte', text.replace('.100.', '.101.'), holder],
    ['a changed timeline', text.replace('.3.', '.4.'), holder],
    ['more behind', `${text}A`, holder],
    ['nothing', '', holder],
    ['another key', text, { ...holder, tokenHash: Buffer.from('other') }],
    ['another system', text, { ...holder, systemId: '1' }],
  ])('is none with %s', (_, sent, of) => expect(decodePosition(sent, of, keys)).toBeUndefined())
})

const primary: PrimaryRow = {
  system_id: '1',
  wal_file: '000000020000000000000003',
  flushed: '0/3000000',
  migrations: 4,
  last_migration: 'd',
}
const replica: ReplicaRow = {
  ...{ is_replica: true, system_id: '1', replayed: '0/3000000', pause: 'not paused', is_receiving: true, receiver_status: 'streaming' },
  ...{ timeline: 2, role: 'gridpost', migrations: 4, last_migration: 'd' },
}

test.each<[Partial<ReplicaRow>, string | undefined]>([
  [{}, undefined],
  [{ system_id: '2', is_replica: false }, 'it is a replica of another database system'],
  [{ is_replica: false, pause: null, timeline: null, is_receiving: false }, 'it is not a replica, or no longer'],
  [{ pause: 'pause requested' }, 'its replay is paused'],
  [{ is_receiving: false, receiver_status: null, timeline: null }, 'it receives nothing from its primary'],
  [{ receiver_status: null, timeline: null }, 'its role gridpost may not read pg_stat_wal_receiver: grant it pg_read_all_stats'],
  [{ receiver_status: 'restarting' }, 'its connection to the primary is restarting'],
  [{ timeline: 1 }, 'it follows timeline 1, and the database is on 2'],
  [{ migrations: 3, last_migration: 'c' }, 'it is at an earlier migration, c'],
  [{ migrations: 5, last_migration: 'e' }, 'it is at a later migration, e'],
  [{ migrations: 4, last_migration: 'e' }, 'it is at a later migration, e'],
])('against a replica with %o speaks: %s', (differences, obstacle) => {
  expect(obstacleOf({ ...replica, ...differences }, primary)).toBe(obstacle)
})

describe('the lag', () => {
  const at = (flushed: string, timeline = 1) => ({ flushed, wal_file: `0000000${timeline}0000000000000003` })

  test('is the time since the primary wrote the first byte that is missing', () => {
    const meter = new LagMeter()
    meter.note(at('0/100'), 1_000)
    meter.note(at('0/100'), 2_000)
    meter.note(at('0/200'), 3_000)
    expect(meter.lagAt('0/0', 4_000)).toBe(3_000)
    expect(meter.lagAt('0/100', 4_000)).toBe(1_000)
    expect(meter.lagAt('0/200', 9_000)).toBe(0)
  })

  test('begins anew with a timeline, and stays right however many positions are missing', () => {
    const meter = new LagMeter()
    for (let count = 1; count <= 5_000; count++) meter.note(at(`0/${count.toString(16)}`), count)
    expect(meter.lagAt('0/0', 6_000)).toBe(5_999)
    meter.note(at('0/10', 2), 6_000)
    expect(meter.lagAt('0/10', 7_000)).toBe(0)
  })
})

describe('a replica that comes and goes', () => {
  test('stays aside for twice as long each time, and five minutes at most', () => {
    const aside = new TimeAside()
    let now = 0
    const times = Array.from({ length: 12 }, () => {
      const ms = aside.begin(now)
      expect([ms > 0 && aside.isOver(now + ms - 1), aside.isOver(now + ms)]).toEqual([false, true])
      aside.end(now + ms)
      now += ms + 200
      return ms / 1_000
    })
    expect(times).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
  })

  test('has recovered once it was read for ten seconds, or for as long as it stayed aside', () => {
    const aside = new TimeAside()
    /** Puts it aside, and again after it was read for this long. */
    const again = (readMs: number, now: number) => {
      aside.end(now)
      return aside.begin(now + readMs)
    }
    expect(aside.begin(0)).toBe(0)
    expect(again(10_000, 100_000)).toBe(0)
    expect([100, 200, 300, 400, 500].map((at) => again(9_999, at * 1_000))).toEqual([1_000, 2_000, 4_000, 8_000, 16_000])
    expect(again(15_999, 600_000)).toBe(32_000)
    expect(again(32_000, 700_000)).toBe(0)
    expect(again(0, 800_000)).toBe(1_000)
  })
})

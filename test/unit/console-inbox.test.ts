/** The order of notifications in the inbox, and what becomes of it when some come, and some are read elsewhere. */
import { describe, expect, test } from 'vitest'
import { emptyFeed, type Feed, isLike, marked, type Notification, withNews, withPage } from '../../console/src/inbox/feed.ts'
import { addressOf } from '../../console/src/inbox/place.ts'
import { detailsOf } from '../../console/src/inbox/words.ts'

const AT = '2026-03-30 09:30:00'
const row = (id: number, more: Partial<Notification> = {}): Notification => ({
  ...{ id, user_id: 1, actor_user_id: 2, account_id: 1, space_id: 1, table_id: 4, record_id: 12, task_id: null },
  ...{ event_type: 'COMMENT', message: `Message ${id}`, url: '/table/4/record/12', summary: '', seen_at: null, read_at: null },
  created_at: AT,
  ...more,
})
const read = (id: number) => row(id, { read_at: AT })
const page = (total: number, ...rows: Notification[]) => ({ rows, total })
const ids = ({ unread, earlier }: Feed) => [unread.map(({ id }) => id), earlier.map(({ id }) => id)]
const open = ({ unread, earlier }: Feed) => [...unread, ...earlier].filter(({ read_at }) => read_at === null).map(({ id }) => id)

describe('the feed', () => {
  test('has the unread ones first, then those of all that are not among them', () => {
    let feed = withPage(emptyFeed(false), page(3, row(9), row(7)))
    expect(feed.next).toEqual({ filter: 'unread', offset: 2 })
    feed = withPage(feed, page(3, row(5)))
    expect(feed.next).toEqual({ filter: 'all', offset: 0 })
    feed = withPage(feed, page(5, row(9), read(8), row(7)))
    expect([ids(feed), feed.next]).toEqual([[[9, 7, 5], [8]], { filter: 'all', offset: 3 }])
    feed = withPage(feed, page(5, row(5), read(4)))
    expect([ids(feed), feed.next]).toEqual([
      [
        [9, 7, 5],
        [8, 4],
      ],
      null,
    ])
  })

  test('ends after the unread ones if only they are wanted, and with an empty page', () => {
    expect(withPage(emptyFeed(true), page(1, row(9))).next).toBeNull()
    expect(withPage(emptyFeed(true), page(0)).next).toBeNull()
    expect(withPage(emptyFeed(false), page(9)).next).toEqual({ filter: 'all', offset: 0 })
    const ended = withPage(emptyFeed(true), page(1, row(9)))
    expect(withPage(ended, page(1, row(8)))).toBe(ended)
  })

  test('asks for the next page where it begins once some of those before are read, or unread again', () => {
    const feed = withPage(emptyFeed(false), page(9, row(9), row(8), row(7)))
    const marking = marked(feed, ({ id }) => id > 7, AT)
    expect([open(marking), marking.next?.offset, ids(marking)[0]]).toEqual([[7], 1, [9, 8, 7]])
    expect(marked(marking, ({ id }) => id === 8, null).next?.offset).toBe(2)
    expect(marked(marking, ({ id }) => id === 8, AT)).toEqual(marking)
    expect(withPage(marking, page(7, row(7), row(6))).unread.map(({ id }) => id)).toEqual([9, 8, 7, 6])
  })

  test('puts news in front and marks what was read elsewhere, but nothing below the page', () => {
    const feed = withPage(emptyFeed(false), page(5, row(9), row(8), row(7), row(6)))
    const news = withNews(feed, page(5, row(10), row(9), row(7)), AT) as Feed
    expect([ids(news)[0], open(news), news.next?.offset]).toEqual([[10, 9, 8, 7, 6], [10, 9, 7, 6], 4])
    const all = withNews(feed, page(1, row(8)), AT) as Feed
    expect(open(all)).toEqual([8])
    expect(open(withNews(feed, page(0), AT) as Feed)).toEqual([])
  })

  test('begins anew if more has come than a page holds', () => {
    const feed = withPage(emptyFeed(false), page(1, row(1)))
    expect(withNews(feed, page(9, row(20), row(19)), AT)).toBeNull()
    expect(ids(withNews(feed, page(2, row(20), row(1)), AT) as Feed)[0]).toEqual([20, 1])
    // All unread ones are in the page, so there is no gap.
    expect(ids(withNews(feed, page(1, row(20)), AT) as Feed)[0]).toEqual([20, 1])
  })

  test.each([
    ['of one record', {}, {}, true],
    ['a task on the record', { task_id: 5 }, {}, true],
    ['of another record', {}, { record_id: 13 }, false],
    ['of the same number in another table', {}, { table_id: 5 }, false],
    ['of one standalone task', { record_id: null, table_id: null, task_id: 5 }, { record_id: null, table_id: null, task_id: 5 }, true],
    ['of two standalone tasks', { record_id: null, table_id: null, task_id: 5 }, { record_id: null, table_id: null, task_id: 6 }, false],
    ['of a standalone task and a task on a record', { record_id: null, table_id: null, task_id: 5 }, { task_id: 5 }, false],
    ['of nothing', { record_id: null, table_id: null }, { record_id: null, table_id: null }, false],
  ])('two are alike or not: %s', (_, one, other, expected) => {
    expect(isLike(row(1, one), row(2, other))).toBe(expected)
  })
})

test.each([
  ['a record', {}, undefined, '/table/4/record/12'],
  ['a comment on a record', {}, 7, '/table/4/record/12?entry=7'],
  ['a task', { task_id: 5 }, undefined, '/task/5'],
  ['a mail server that fails, for an admin', { event_type: 'SMTP_FAILING' }, undefined, '/spaces/1/integrations'],
  ['a mail server that fails, for one who was an admin', { event_type: 'SMTP_FAILING', space_id: 2 }, undefined, '/table/4/record/12'],
] as const)('leads to %s', (_, more, entry, address) => {
  expect(addressOf(row(1, more), new Set([1]), entry)).toBe(address)
})

test.each([
  [{ event_type: 'TASK_ASSIGNED', summary: '“Call” is due on 2026-03-31 at 18:30 UTC.' }, ['Acme in Deals', 'Due 1 Apr 2026, 0:15']],
  [{ event_type: 'TASK_REMINDER', summary: '“Call” is due on 2026-03-31.' }, ['Acme in Deals', 'Due 31 Mar 2026']],
  [{ event_type: 'TASK_ASSIGNED', summary: '“Call is due on 2026-03-31.” has no due date.' }, ['Acme in Deals']],
  [{ event_type: 'TASK_DONE', summary: '“Call” is done.' }, ['Acme in Deals']],
  [{ event_type: 'COMMENT', summary: 'Please look', record_id: 13 }, ['Deals', 'Please look']],
  [{ event_type: 'COMMENT', summary: ' ', table_id: 5, record_id: 13 }, []],
  [{ event_type: 'SOMETHING_NEW', summary: 'It is so', table_id: null, record_id: null }, ['It is so']],
])('beside its sentence a notification says where, when and what: %j', (more, expected) => {
  const place = { zone: 'Asia/Kathmandu', locale: 'en-GB', now: new Date() }
  expect(detailsOf(row(1, more), new Map([['4/12', 'Acme']]), new Map([[4, 'Deals']]), place)).toEqual(expected)
})

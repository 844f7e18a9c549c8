/** Comments while they are written, and as they are shown. */
import { describe, expect, test } from 'vitest'
import { edited, fromContent, searchAt, toContent, withMention } from '../../console/src/record/comments/mention-text.ts'
import { folded, piecesOf } from '../../console/src/record/comments/pieces.ts'
import { editLeftMs, mayDelete } from '../../console/src/record/comments/rights.ts'
import { authorOf, deedOf, mayUndo, undoneWords } from '../../console/src/record/timeline/change-words.ts'

const ANN = { id: 3, name: 'Ann Smith' }

describe('a comment that is written', () => {
  test('shows people by their names, and is sent with their ids', () => {
    const content = 'Hi @{3:Ann Smith}, ask @{12:Bo}. @{0:} @{x:y} a@{4:C}'
    const written = fromContent(content)
    expect(written.text).toBe('Hi @Ann Smith, ask @Bo. @{0:} @{x:y} a@C')
    expect(written.mentions.map(({ id, at }) => [id, written.text.slice(at)])).toEqual([
      [3, '@Ann Smith, ask @Bo. @{0:} @{x:y} a@C'],
      [12, '@Bo. @{0:} @{x:y} a@C'],
      [4, '@C'],
    ])
    expect(toContent(written)).toBe(content)
  })

  const EDITS: [title: string, text: string, content: string][] = [
    ['letters before', 'Oh hi @Ann Smith and @Bo', 'Oh hi @{3:Ann Smith} and @{12:Bo}'],
    ['letters between', 'hi @Ann Smith, then @Bo', 'hi @{3:Ann Smith}, then @{12:Bo}'],
    ['letters after', 'hi @Ann Smith and @Bo!', 'hi @{3:Ann Smith} and @{12:Bo}!'],
    ['a letter right before a mention', 'hi(@Ann Smith and @Bo', 'hi(@{3:Ann Smith} and @{12:Bo}'],
    ['a changed name is text', 'hi @Ann Smit and @Bo', 'hi @Ann Smit and @{12:Bo}'],
    ['a letter within a name', 'hi @Anna Smith and @Bo', 'hi @Anna Smith and @{12:Bo}'],
    ['a part that has a mention is replaced', 'hi you and @Bo', 'hi you and @{12:Bo}'],
    ['everything is replaced', 'x', 'x'],
    ['everything is deleted', '', ''],
  ]
  test.each(EDITS)('keeps the mentions that were not touched: %s', (_, text, content) => {
    expect(toContent(edited(fromContent('hi @{3:Ann Smith} and @{12:Bo}'), text))).toBe(content)
  })

  test('takes a person in the place of what was typed after @', () => {
    const written = fromContent('@{12:Bo} and @an there @{12:Bo}')
    const { written: next, caret } = withMention(written, { from: 8, to: 11 }, ANN)
    expect(toContent(next)).toBe('@{12:Bo} and @{3:Ann Smith} there @{12:Bo}')
    expect(next.text.slice(0, caret)).toBe('@Bo and @Ann Smith ')
    const atEnd = withMention(fromContent('@an'), { from: 0, to: 3 }, { id: 7, name: 'A{n}\nn' })
    expect(toContent(atEnd.written)).toBe('@{7:A n  n} ')
    expect(toContent(withMention(fromContent('@'), { from: 0, to: 1 }, { id: 7, name: '{}' }).written)).toBe('@{7:7} ')
  })

  const SEARCHES: [text: string, search: string | null][] = [
    ['@', ''],
    ['hi @an', 'an'],
    ['(@an', 'an'],
    ['@Ann Smi', 'Ann Smi'],
    ['mail ann@exam', null],
    ['@ ', null],
    ['@Ann  ', null],
    ['@Ann\nhi', null],
    ['@Ann and then more words', null],
    ['no name', null],
    [`@${'x'.repeat(60)}`, null],
  ]
  test.each(SEARCHES)('looks for people by what is typed after @: %j', (text, search) => {
    expect(searchAt(fromContent(text), text.length)?.search ?? null).toBe(search)
  })

  test('looks for nobody in a name that was picked', () => {
    const written = fromContent('@{3:Ann Smith} x')
    expect(searchAt(written, 4)).toBe(null)
    expect(searchAt(written, 0)).toBe(null)
  })
})

describe('a comment that is shown', () => {
  test('has people and addresses in it, and nothing else', () => {
    expect(piecesOf('See https://a.example/x?y=1, @{3:Ann}! <b>javascript:x</b> \u202ehttp://\u2066.com')).toEqual([
      { kind: 'text', text: 'See ' },
      { kind: 'link', address: 'https://a.example/x?y=1' },
      { kind: 'text', text: ', ' },
      { kind: 'mention', id: 3, name: 'Ann' },
      { kind: 'text', text: '! <b>javascript:x</b> http://\u2066.com' },
    ])
    expect(piecesOf('')).toEqual([])
  })

  test('is folded if it is long, and no mention or character is cut', () => {
    expect(folded('x'.repeat(1_800))).toBe(null)
    expect(folded('x\n'.repeat(24))).toBe(null)
    expect(folded('x'.repeat(100_000))).toBe(`${'x'.repeat(1_500)}…`)
    expect(folded('x\n'.repeat(100))).toBe(`${'x\n'.repeat(19)}x…`)
    expect(folded(`${'x'.repeat(1_490)} @{3:Ann Smith}${'y'.repeat(1_000)}`)).toBe(`${'x'.repeat(1_490)}…`)
    expect(folded(`${'x'.repeat(1_499)}😀${'y'.repeat(1_000)}`)?.isWellFormed()).toBe(true)
  })

  const at = (seconds: number) => new Date(Date.UTC(2026, 4, 3, 12, 0, seconds))
  const own = { user_id: 3, api_key_id: null, created_at: '2026-05-03 12:00:00' }
  test('is edited by its author for 15 minutes, in whole seconds', () => {
    expect(editLeftMs(own, 3, true, at(60))).toBe(14 * 60_000)
    expect(editLeftMs(own, 3, true, at(899.9))).toBe(1_000)
    expect(editLeftMs(own, 3, true, at(900))).toBe(0)
    expect(editLeftMs(own, 3, true, at(-600))).toBe(15 * 60_000)
    expect(editLeftMs(own, 4, true, at(60))).toBe(0)
    expect(editLeftMs(own, 3, false, at(60))).toBe(0)
    expect(editLeftMs({ ...own, api_key_id: 8 }, 3, true, at(60))).toBe(0)
  })

  test('is deleted by its author and by admins', () => {
    expect([mayDelete(own, 3, 'member'), mayDelete(own, 4, 'member'), mayDelete(own, 4, 'admin')]).toEqual([true, false, true])
    expect(mayDelete(own, 3, 'viewer')).toBe(false)
  })
})

describe('a change in words', () => {
  const change = {
    change_id: 1,
    version: 2,
    at: '2026-05-03 12:00:00',
    user_id: 3,
    user_name: 'Ann',
    api_key_id: null,
    records: 1,
  } as const
  const fields = (...names: string[]) => names.map((name) => ({ field: name.toLowerCase(), name, from: null, to: 1 }))

  test('says who did it, a key by its name', () => {
    expect(authorOf(change)).toEqual({ name: 'Ann', isKey: false })
    expect(authorOf({ user_name: 'API: Importer', api_key_id: 4 })).toEqual({ name: 'Importer', isKey: true })
    expect(authorOf({ user_name: null, api_key_id: null })).toEqual({ name: 'Gridpost', isKey: false })
  })

  test('says what was done, and to how many', () => {
    expect(deedOf({ ...change, kind: 'create' })).toBe('created the record')
    expect(deedOf({ ...change, kind: 'create', records: 1_001 })).toBe('created the record, with 1,000 other records')
    expect(deedOf({ ...change, kind: 'update', changes: fields('Stage') })).toBe('changed Stage')
    expect(deedOf({ ...change, kind: 'update', changes: fields('A', 'B', 'C'), records: 2 })).toBe(
      'changed A, B and C, with 1 other record',
    )
    expect(deedOf({ ...change, kind: 'update', changes: fields('A', 'B', 'C', 'D') })).toBe('changed 4 fields')
    expect(deedOf({ ...change, kind: 'undo', changes: fields('A', 'B') })).toBe('took back a change of A and B')
    expect(deedOf({ ...change, kind: 'undo' })).toBe('took a change back')
    expect(deedOf({ ...change, kind: 'restore' })).toBe('brought the record back')
  })

  test('is taken back by its author and by admins', () => {
    const update = { ...change, kind: 'update' } as const
    expect([mayUndo(update, 3, 'member'), mayUndo(update, 4, 'member'), mayUndo(update, 4, 'admin')]).toEqual([true, false, true])
    expect([mayUndo(update, 3, 'viewer'), mayUndo({ ...update, kind: 'create' }, 3, 'admin')]).toEqual([false, false])
  })

  test('says what an undo has left, and why', () => {
    const skip = (record_id: number, field: string | null, reason: 'changed since' | 'deleted') => ({ record_id, field, reason })
    const nameOf = (field: string) => field.toUpperCase()
    expect(undoneWords({ undone: 1, skipped: 0, skips: [], change_id: 9 }, 1, nameOf)).toBe('The change was taken back.')
    expect(undoneWords({ undone: 0, skipped: 1, skips: [skip(1, 'stage', 'changed since')], change_id: null }, 1, nameOf)).toBe(
      'Nothing was left to take back. Left as it is: STAGE (changed since).',
    )
    const skips = [skip(2, 'a', 'changed since'), skip(3, null, 'deleted'), skip(1, null, 'deleted')]
    expect(undoneWords({ undone: 4, skipped: 12, skips, change_id: 9 }, 1, nameOf)).toBe(
      'The change was taken back. Left as it is: record 2, A (changed since); record 3 (deleted); this record (deleted); 9 more.',
    )
    expect(undoneWords({ job_id: 1, change_id: 9 }, 1, nameOf)).toBe('The change is being taken back in the background.')
  })
})

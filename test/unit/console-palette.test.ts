/** What the palette of the console offers for a text, and how pressed keys are named. */
import { expect, test } from 'vitest'
import { type Found, fitting } from '../../console/src/app/palette/found.ts'
import { keysOf } from '../../console/src/ui/keys/pressed.ts'

const found = (name: string, beside?: string): Found => ({ id: name, kind: 'table', name, beside, icon: 'layout-grid', run: () => {} })
const ALL = [found('Old deals'), found('Deals', 'Sales'), found('Wheel'), found('Événements'), found('Team deals 2026', 'Sales')]

test.each([
  ['', ['Old deals', 'Deals', 'Wheel', 'Événements', 'Team deals 2026']],
  ['   ', ['Old deals', 'Deals', 'Wheel', 'Événements', 'Team deals 2026']],
  ['deals', ['Deals', 'Old deals', 'Team deals 2026']],
  ['DEALS sales', ['Deals', 'Team deals 2026']],
  ['eel', ['Wheel']],
  ['evenements', ['Événements']],
  ['2026 deals', ['Team deals 2026']],
  ['nothing', []],
])('%j finds %j', (text, names) => {
  expect(fitting(ALL, text).map(({ name }) => name)).toEqual(names)
})

test.each([
  [{ key: 'k', ctrlKey: true }, 'Ctrl+K'],
  [{ key: 'k', metaKey: true }, 'Ctrl+K'],
  [{ key: 'Z', ctrlKey: true, shiftKey: true }, 'Ctrl+Shift+Z'],
  [{ key: '?', shiftKey: true }, '?'],
  [{ key: ' ', shiftKey: true }, 'Shift+Space'],
  [{ key: 'ArrowDown', altKey: true }, 'Alt+ArrowDown'],
  [{ key: 'j' }, 'J'],
])('%j is %s', (event, keys) => {
  expect(keysOf({ ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...event })).toBe(keys)
})

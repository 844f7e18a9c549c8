import { expect, test } from 'vitest'
import { openTerminalLog } from '../../src/platform/processes/terminal-log.ts'

function opened(abilities = { hasColors: false, canReplaceLines: true }) {
  let shown = ''
  const log = openTerminalLog((text) => {
    shown += text
  }, abilities)
  return { log, write: (entry: object) => log.write(`${JSON.stringify(entry)}\n`), shown: () => shown }
}

const shownOf = (entry: object) => {
  const { write, shown } = opened()
  write(entry)
  return shown()
}

test.each([
  ['a line of the log', { level: 30, pid: 1, hostname: 'x', msg: 'read' }, 'read\n'],
  ['with its facts', { level: 30, table: 7, name: 'two words', list: [1], msg: 'read' }, 'read  table=7 name="two words" list=[1]\n'],
  ['a warning', { level: 40, msg: 'slow' }, 'WARN  slow\n'],
  ['a fatal error', { level: 60, msg: 'lost' }, 'ERROR  lost\n'],
  [
    'an error with its stack',
    { level: 50, err: { message: 'no', stack: 'Error: no\n    at here' }, msg: 'fault' },
    'ERROR  fault\n    Error: no\n        at here\n',
  ],
  [
    'an answer',
    { level: 30, request_id: 'req-1', method: 'GET', route: '/api/task/{task_id}', status: 404, ms: 3, msg: 'answered' },
    'GET /api/task/{task_id} 404  3 ms\n',
  ],
  [
    'an answer to a path that no route has',
    { level: 30, request_id: 'req-1', method: 'GET', route: 'none', status: 404, ms: 3, msg: 'answered' },
    'GET (no such path) 404  3 ms\n',
  ],
  [
    'an answer that is a fault, with its request',
    { level: 30, request_id: 'req-1', method: 'GET', route: '/x', status: 500, ms: 3, msg: 'answered' },
    'GET /x 500  3 ms  request_id=req-1\n',
  ],
])('%s is short', (_, entry, text) => {
  expect(shownOf(entry)).toBe(text)
})

test('each line has the local time', () => {
  const time = new Date(2026, 2, 31, 9, 5, 7).getTime()
  expect(shownOf({ level: 30, time, msg: 'read' })).toBe('09:05:07  read\n')
})

test('steps share a line until something else is shown', () => {
  const { log, write, shown } = opened()
  write({ level: 30, progress: true, msg: 'one' })
  write({ level: 30, progress: true, msg: 'two' })
  write({ level: 30, msg: 'other' })
  write({ level: 30, progress: true, msg: 'three' })
  log.print('Welcome\n')
  log.print('')
  expect(shown()).toBe('one\r\x1b[Ktwo\nother\nthree\nWelcome\n')
})

test('a terminal that cannot replace lines shows each step', () => {
  const { write, shown } = opened({ hasColors: false, canReplaceLines: false })
  for (const msg of ['one', 'two']) write({ level: 30, progress: true, msg })
  expect(shown()).toBe('one\ntwo\n')
})

test('colours are used only where the terminal knows them', () => {
  const { write, shown } = opened({ hasColors: true, canReplaceLines: true })
  write({ level: 50, msg: 'fault', table: 7 })
  expect(shown()).toBe('\x1b[31mERROR\x1b[0m  fault  \x1b[2mtable=7\x1b[0m\n')
})

test('what callers have sent cannot control the terminal', () => {
  const text = 'a\x1b[2Jb\x9b1mc\rd\ne'
  const safe = 'a\u{fffd}[2Jb\u{fffd}1mc\u{fffd}d\u{fffd}e'
  expect(shownOf({ level: 30, msg: text })).toBe(`${safe}\n`)
  expect(shownOf({ level: 30, msg: 'x', name: 'a\x9b1m' })).toBe('x  name=a\u{fffd}1m\n')
  expect(shownOf({ level: 30, msg: 'x', err: { message: 'a\x1b[1m' } })).toBe('x\n    a\u{fffd}[1m\n')
  const { log, shown } = opened()
  log.write('no JSON \x1b[1m\n')
  expect(shown()).toBe('no JSON \u{fffd}[1m\n')
})

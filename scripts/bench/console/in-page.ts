/** Scripts that measure within the page, as text: the bench is compiled without the types of a browser. */

/** Whether every row in sight has its record. */
const IS_FILLED = `(() => {
  const rows = [...document.querySelectorAll('[role=row][data-row]:not(.away)')]
  return rows.length > 5 && rows.every((row) => !row.classList.contains('waiting'))
})()`

/** Resolves with the milliseconds from the next click until rows are shown. */
export const CLICK_TO_ROWS = `new Promise((resolve) => {
  addEventListener('click', ({ timeStamp }) => {
    const look = () => (${IS_FILLED} && document.title.includes('Large') ? resolve(performance.now() - timeStamp) : requestAnimationFrame(look))
    requestAnimationFrame(look)
  }, { capture: true, once: true })
})`

/** Moves the bar to a part of its length, and resolves with the milliseconds until the rows there are shown. */
export const jump = (part: number): string => `new Promise((resolve) => {
  const frame = document.querySelector('[role=grid]').parentElement
  const firstRow = () => Number(document.querySelector('[role=row][data-row]:not(.away)')?.dataset.row)
  const from = performance.now(), before = firstRow()
  frame.scrollTop = ${part} * (frame.scrollHeight - frame.clientHeight)
  const look = () => (firstRow() !== before && ${IS_FILLED} ? resolve(performance.now() - from) : requestAnimationFrame(look))
  requestAnimationFrame(look)
})`

/** Resolves with the milliseconds from the next Space until the record's panel is there, and until its fields and its timeline are. */
export const SPACE_TO_RECORD = `new Promise((resolve) => {
  addEventListener('keydown', ({ timeStamp }) => {
    let opened
    const look = () => {
      const panel = document.querySelector('.record-panel')
      const now = performance.now() - timeStamp
      if (panel?.querySelector('h2')?.textContent) opened ??= now
      const isWhole = panel && panel.querySelectorAll('.record-field').length > 40 && panel.querySelectorAll('article').length > 0
      if (isWhole && !panel.querySelector('.record-unknown')) resolve({ opened, whole: now })
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  }, { capture: true, once: true })
})`

/** Counts frames and long tasks from now on, for \`COUNTED\`. */
export const COUNT = `
  globalThis.counted = { frames: 0, longest: 0, long: 0 }
  const frame = () => { counted.frames++; requestAnimationFrame(frame) }
  requestAnimationFrame(frame)
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) { counted.long++; counted.longest = Math.max(counted.longest, duration) }
  }).observe({ type: 'longtask' })`

export const COUNTED = 'counted'
export const ELEMENTS = "document.querySelectorAll('*').length"

/** Notes in a new page when its first rows are shown. */
export const NOTE_FIRST_ROWS = `
  const observer = new MutationObserver(() => {
    if (!${IS_FILLED}) return
    globalThis.filledAt = performance.now()
    observer.disconnect()
  })
  observer.observe(document, { subtree: true, childList: true, attributes: true })`

/** The scripts that the page had asked for when its first rows were shown. */
export const SCRIPTS = `performance.getEntriesByType('resource')
  .filter(({ name, startTime }) => name.endsWith('.js') && startTime < filledAt).map(({ name }) => name)`

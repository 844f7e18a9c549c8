/** Scrolling through more pixels than an element of a browser can have. */

/** Chromium ends an element at 33,554,428 px; the rest is for the rows above and below the records. */
export const TALLEST = 33_000_000

/** Movements of the bar by less than this many screens are read as steps (wheel, keys), larger ones as jumps of the bar. */
const SCREENS_OF_A_STEP = 2

export interface Extent {
  /** The height of all rows, in pixels. */
  total: number
  /** The height of what is seen at once. */
  viewport: number
}

/** Where one is: `top` of all rows is the first pixel that is seen, and `bar` is the scrollTop of the element. */
export interface Place {
  top: number
  bar: number
}

/** The height of the scrolled element. */
export const barHeight = ({ total }: Extent): number => Math.min(total, TALLEST)

const lastTop = ({ total, viewport }: Extent) => Math.max(0, total - viewport)
const lastBar = (extent: Extent) => Math.max(0, barHeight(extent) - extent.viewport)
const isScaled = ({ total }: Extent) => total > TALLEST
const clamp = (value: number, max: number) => Math.min(Math.max(value, 0), max)

/** The place that shows `top` first, with the bar where it stands for that part of the rows. */
export function placeAt(extent: Extent, top: number): Place {
  const end = lastTop(extent)
  const wanted = clamp(Math.round(top), end)
  if (!isScaled(extent)) return { top: wanted, bar: wanted }
  const endOfBar = lastBar(extent)
  if (wanted === 0 || wanted === end) return { top: wanted, bar: wanted === 0 ? 0 : endOfBar }
  // The bar reaches its ends only with the rows, so that one can always scroll on.
  return { top: wanted, bar: clamp(Math.round((wanted / end) * endOfBar), endOfBar - 2) + 1 }
}

/**
 * The place after the bar has moved. A step moves the rows by as many pixels as the bar; a jump moves them to the same part of the whole.
 * If the `bar` of the answer is another than the one that came, the element's scrollTop has to be set to it, in the same frame.
 */
export function scrolledTo(extent: Extent, from: Place, bar: number): Place {
  if (!isScaled(extent)) return { top: clamp(bar, lastTop(extent)), bar }
  const step = bar - from.bar
  if (Math.abs(step) > SCREENS_OF_A_STEP * extent.viewport) {
    const end = lastTop(extent)
    return placedByBar(Math.round((clamp(bar, lastBar(extent)) / lastBar(extent)) * end), bar)
  }
  const top = from.top + step
  const isAtAnEnd = bar <= 0 || bar >= lastBar(extent) || top <= 0 || top >= lastTop(extent)
  return isAtAnEnd ? placeAt(extent, top) : { top, bar }
}

const placedByBar = (top: number, bar: number): Place => ({ top, bar })

/** The same rows, with the bar back where it stands for them: called when the scrolling has come to rest. */
export const settled = (extent: Extent, { top }: Place): Place => placeAt(extent, top)

/** The place after the height of the rows or of the window has changed: what is seen first stays. */
export const resized = (extent: Extent, { top }: Place): Place => placeAt(extent, top)

/** The top that shows a part of the rows whole with the least movement. @param reserved pixels at the bottom that something covers */
export function topToShow(extent: Extent, top: number, part: { start: number; size: number }): number {
  if (part.start < top || part.size > extent.viewport) return part.start
  return Math.max(top, part.start + part.size - extent.viewport)
}
